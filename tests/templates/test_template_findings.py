"""Each fault of a template has its code, its place and a message that says what to do."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from clover_templates.template_findings import Code, Severity
from clover_templates.template_reader import read_template


def said(text: str, settings: str) -> str:
    """A template with settings."""
    return f"{text}<!-- clover\n{settings}\n-->\n"


SLOT = "# A\n{{a}}\n"
MAY = "# A <!-- optional -->\n{{a}}\n"
# what triggers a code, where, and the same put right
CASES = [
    (Code.T01, "4:1", said("# A\n", "a: ["), said(SLOT, "a: {}")),
    (Code.T01, "3:4", said("# A\n", "a: *b"), said("# A\n", "title: b")),
    (Code.T01, "1:1", said("", "lang: en") + said(SLOT, "lang: zh"), said(SLOT, "lang: zh")),
    (Code.T02, "4:1", said("# A\n{{cause}}\n", "cuase: {}"), said("# A\n{{cause}}\n", "cause: {}")),
    (Code.T03, "1:3", "# {{a b}}\n", "# {{a_b}}\n"),
    (Code.T03, "1:3", "# {{#each}}\n", "# {{each}}\n"),
    (Code.T03, "1:3", "# {{a:YYYY}}\n", "# {{date:YYYY}}\n"),
    (Code.T04, "1:3", "# {{a\n", "# \\{{a\n"),
    (Code.T05, "2:2", "# A\n`{{a}}` {{b}}\n", "# A\n{{a}}, {{b}}\n"),
    (Code.T05, "2:2", "# A\n${{a}}$\n", "# A\n\\${{a}}\n"),
    (Code.T06, "2:1", "# A\n### B\n", "# A\n## B\n### C\n"),
    (Code.T07, "2:1", "# A\n{{a}} {{b}}\n", "# A\n{{a}}\n{{b}}\n"),
    (Code.T08, "2:1", said(MAY, "a: {required: true}"), said(SLOT, "a: {required: true}")),
    (Code.T09, "4:13", said(SLOT, "a: {one of: [b]}"), said(SLOT, "a: {one of: [b, c]}")),
    (Code.T09, "4:13", said(SLOT, "a: {one of: [b, b]}"), said(SLOT, "a: {one of: vault}")),
    (Code.T10, "2:5", "# A\n## B <!-- repeat -->\n", "# A\n## {{b}} <!-- repeat -->\n"),
    (Code.T10, "2:1", said("# A\n", "A: {repeat: 2..3}"), said(SLOT, "a: {repeat: 2..3}")),
    (Code.T11, "3:1", "# A\n## B\n## B\n", "# A\n## B\n## C\n"),
    (Code.T12, "1:1", f"# A\n{'a' * 65_540}{{{{a}}}}\n", f"# A\n{'a' * 65_500}{{{{a}}}}\n"),
    (
        Code.T12,
        "2:1",
        said(SLOT, "a: {mode: write, max: 600 words}"),
        said(SLOT, "a: {mode: verbatim, max: 600 words}"),
    ),
    (Code.T13, "2:1", "# A\n<% tp.date.now() %>\n", "# A\n`<% tp.date.now() %>`\n"),
    (Code.T13, "2:1", "# A\n{% if x %}\n", "# A\nif x\n"),
    (Code.T14, "3:1", said("# A\n", "language: en"), said("# A\n", "lang: en")),
    (Code.T14, "4:5", said(SLOT, "a: {moda: write}"), said(SLOT, "a: {mode: write}")),
    (Code.T14, "3:7", said("# A\n", "lang: fr"), said("# A\n", "lang: zh")),
    (Code.T14, "1:5", "# A <!-- repeat 3..2 -->\n", "# {{a}} <!-- repeat 2..3 -->\n"),
    (Code.T14, "1:1", "<!-- optional -->\n{{a}}\n", "# A <!-- optional -->\n{{a}}\n"),
]


@pytest.mark.parametrize(("code", "at", "wrong", "right"), CASES)
def test_each_fault_has_its_code_and_place(code: Code, at: str, wrong: str, right: str) -> None:
    findings = read_template(wrong, "adr").findings
    assert [found.code for found in findings] == [code]
    assert findings[0].shown("adr.md", wrong).startswith(f"adr.md:{at} [{code}] ")
    assert read_template(right).findings == ()


def test_every_template_code_has_a_case() -> None:
    assert {case[0] for case in CASES} == {code for code in Code if code.startswith("T")}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("# {{a\n", 'a.md:1:3 [T04] "{{" is never closed; write \\{{ for two literal braces'),
        (
            said("# A\n{{cause}}\n", "cuase: {}"),
            'a.md:4:1 [T02] settings name the slot "cuase", which the body lacks;'
            ' did you mean "cause"?',
        ),
        (
            said("# A\n{{date}}\n", "date: {format: date}"),
            'a.md:4:1 [T02] "date" is filled by the program and takes no settings',
        ),
        (
            said(SLOT, "a: write"),
            'a.md:4:1 [T14] settings of the slot "a" are a mapping: write a: {…: …}',
        ),
        (
            said(SLOT, "a: {mode: writ}"),
            'a.md:4:11 [T14] "mode" takes verbatim | rewrite | write; did you mean "write"?',
        ),
        (
            said(SLOT, "a: {format: '(['}"),
            'a.md:4:13 [T14] "format" takes date | url | int, a date format (YYYY-MM-DD) or a'
            " regular expression",
        ),
        (
            said(SLOT, "A: {mode: write}"),
            'a.md:4:5 [T14] "mode" is no setting of a section',
        ),
        (
            "# A\n<!-- clover\na: 1",
            'a.md:2:1 [T01] the settings are never closed: end them with "-->"',
        ),
    ],
)
def test_messages_say_what_to_do(text: str, message: str) -> None:
    (shown,) = (found.shown("a.md", text) for found in read_template(text).findings)
    assert shown.startswith(message)


def test_what_warns_does_not_keep_a_template_from_use() -> None:
    first = {case[0]: read_template(case[2]).findings[0].severity for case in CASES}
    assert {code for code, severity in first.items() if severity is Severity.WARNING} == {
        Code.T05,
        Code.T06,
        Code.T07,
        Code.T11,
        Code.T13,
    }


@pytest.mark.parametrize(
    "yaml",
    [
        "a: &x [1]\nb: [*x, *x]",
        "!!python/object/apply:os.system ['true']",
        "[" * 2000,
        "a: [[[[[[[[[b]]]]]]]]]",
        "? [a]\n: b",
        '"\\UFFFFFFFF": b',
        "- a",
        "a: 1\na: 2",
        "\x07: b",
        "--- a\n--- b",
    ],
)
def test_settings_that_are_no_plain_yaml_are_a_finding(yaml: str) -> None:
    findings = read_template(said("# A\n", yaml)).findings
    assert Code.T01 in [found.code for found in findings]


README = Path(__file__).parents[2] / "templates" / "README.md"


def test_the_readme_names_every_code_and_its_example_is_sound() -> None:
    text = README.read_text(encoding="utf-8")
    assert all(f"| {code}" in text for code in Code)
    (example,) = re.findall(r"```markdown\n(.*?)```", text, re.DOTALL)
    assert read_template(example).findings == ()
