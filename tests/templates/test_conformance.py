"""What keeps a document from conforming to its template, with code and place."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clover_templates.conformance import check_document, in_characters
from clover_templates.template import Template
from clover_templates.template_findings import Code, Finding, Severity
from clover_templates.template_reader import read_template
from clover_templates.template_settings import Numbering
from tests.support.outlines import outline


def template(text: str) -> Template:
    reading = read_template(text, "t")
    assert reading.findings == ()
    return reading.template


INCIDENT = template("""\
---
status: {{status}}
owner: {{owner}}
---
# {{title}}

## Impact <!-- hint: who was affected -->

## Cause
{{cause}}

## Actions <!-- optional -->
- {{action}}

## Links <!-- optional -->

<!-- clover
status: {one of: [open, fixed]}
owner: {missing: drop}
cause: {max: 2 sentences, aliases: [Root cause]}
action: {max: 2 items}
-->
""")
GOOD = """\
---
status: open
---
# Outage

## Impact

Nobody could pay.

### Details

More of it.

## Cause

A certificate expired.

## Actions

- one
- two
"""
REQUEST = template("""\
{{机关}}关于{{事由}}的请示

{{主送}}：

{{缘由}}
一、请示事项
二、理由 <!-- optional -->
妥否，请批示。

附件：{{n}}.{{附件}}

{{机关}}
{{日期}}
<!-- clover
numbering: gongwen
主送: {format: '^[^、，]+$'}
附件: {repeat: 0.., format: '[^。]$'}
日期: {format: YYYY年M月D日, required: true}
-->
""")
GOOD_REQUEST = """\
某港务局关于加高码头的请示

某交通局：

码头常被淹没。
一、请示事项
请求批准加高30厘米。
妥否，请批示。

附件：1.概算
2.图纸

某港务局
2026年5月20日
"""


def findings(text: str, by: Template = INCIDENT) -> tuple[Finding, ...]:
    return check_document(by, outline(text, by.numbering))


def test_a_document_that_conforms_has_no_findings() -> None:
    assert findings(GOOD) == ()
    assert findings(GOOD_REQUEST, REQUEST) == ()


CAUSE = "## Cause\n\nA certificate expired.\n\n"
ACTIONS = "## Actions\n\n- one\n- two\n"
CASES = [
    # code, what is replaced, by what, and the place of the finding in bytes
    (Code.D01, "Nobody could pay.\n\n### Details\n\nMore of it.\n", "", "## Impact"),
    (Code.D01, CAUSE, "", "## Actions"),
    (Code.D01, "status: open\n", "", "---"),
    (Code.D02, CAUSE + ACTIONS, ACTIONS + CAUSE, "## Cause"),
    (Code.D02, "## Cause", "### Cause", "### Cause"),
    (Code.D02, CAUSE + ACTIONS, ACTIONS + CAUSE.replace("##", "#"), "# Cause"),
    (Code.D03, "status: open", "status: opened", "opened"),
    (Code.D05, "A certificate expired.", "It expired. Nobody saw. It rained.", "It expired"),
    (Code.D05, "- two\n", "- two\n- three\n", "## Actions"),
    (Code.D06, "## Actions", "## Weather\n\nRain.\n\n## Actions", "## Weather"),
    (Code.D06, "## Cause", "## Root cause", "## Root cause"),
    (Code.D06, "## Cause", "## Impact\n\nMore.\n\n## Cause", "## Impact\n\nMore"),
    (Code.D07, "A certificate expired.", "TODO(cause)", "TODO"),
    (Code.D07, "Nobody could pay.", "【待补：影响】", "【待补"),
    (Code.D08, "## Actions", "## Unplaced\n\nOne. Two.\n\n## Actions", "## Unplaced"),
]  # fmt: skip


@pytest.mark.parametrize(("code", "old", "new", "place"), CASES)
@pytest.mark.parametrize("eol", ["\n", "\r\n"])
def test_each_fault_has_its_code_and_place(
    code: Code, old: str, new: str, place: str, eol: str
) -> None:
    assert GOOD.count(old) == 1
    text = GOOD.replace(old, new).replace("\n", eol)
    (found,) = findings(text)
    assert found.code == code
    assert text.encode()[found.start :].decode().startswith(place.replace("\n", eol))


@pytest.mark.parametrize(
    ("code", "old", "new", "place"),
    [
        (Code.D04, "2026年5月20日", "2026年05月20日", "2026年05月20日"),
        (Code.D04, "某交通局：", "某交通局、某水利局：", "某交通局、"),
        (Code.D07, "2026年5月20日", "【待补：日期】", "【待补"),
        (Code.D04, "2.图纸", "2.图纸。", "图纸。"),
        (Code.D01, "2026年5月20日\n", "", "妥否"),
        (Code.D01, "请求批准加高30厘米。\n", "", "一、请示事项"),
    ],
)
def test_an_official_document_is_held_against_its_template(
    code: Code, old: str, new: str, place: str
) -> None:
    assert GOOD_REQUEST.count(old) == 1
    text = GOOD_REQUEST.replace(old, new)
    (found,) = findings(text, REQUEST)
    assert found.code == code
    assert text.encode()[found.start :].decode().startswith(place)


def test_text_a_model_has_worded_may_not_stand_in_a_verbatim_slot() -> None:
    start = GOOD.encode().index(b"A certificate")
    written = [(start, start + 5)]
    (found,) = check_document(INCIDENT, outline(GOOD), written=written)
    assert (found.code, found.start) == (Code.D09, start)
    writing = template("# {{title}}\n\n## Impact\n\n<!-- clover\nImpact: {mode: write}\n-->\n")
    text = "# A\n\n## Impact\n\nNew.\n"
    assert check_document(writing, outline(text), written=[(16, 20)]) == ()


def test_what_is_locked_stands_as_often_as_in_the_source() -> None:
    assert check_document(INCIDENT, outline(GOOD), locks=["certificate"]) == ()
    (found,) = check_document(INCIDENT, outline(GOOD), locks=["certificate", "certificate"])
    assert found.code is Code.D10
    assert found.expected == "certificate"


def test_a_lock_is_a_whole_word() -> None:
    text = GOOD.replace("certificate", "certificate 123")
    assert [f.code for f in check_document(INCIDENT, outline(text), locks=["12"])] == [Code.D10]
    assert check_document(INCIDENT, outline(text), locks=["123"]) == ()


def test_links_lead_to_notes_of_the_vault_if_they_are_known() -> None:
    note = template("# {{title}}\n[[{{link}}]]\n<!-- clover\nlink: {one of: vault}\n-->\n")
    parts = outline("# A\n[[Tides]]\n")
    assert check_document(note, parts) == ()
    assert check_document(note, parts, vault=["Tides", "Moon"]) == ()
    assert [f.code for f in check_document(note, parts, vault=["Moon"])] == [Code.D03]


def test_rows_stand_as_often_as_the_template_says() -> None:
    table = "| A |\n|---|\n"
    rows = template(
        f"# {{{{title}}}}\n{table}| {{{{a}}}} |\n<!-- clover\na: {{repeat: 2..3}}\n-->\n"
    )
    codes = [
        [found.code for found in findings(f"# T\n{table}| x |\n" + "| y |\n" * more, rows)]
        for more in range(4)
    ]
    assert codes == [[Code.D01], [], [], [Code.D05]]


def test_holes_in_code_are_text() -> None:
    assert findings(GOOD.replace("A certificate expired.", "`TODO(x)` and more.")) == ()


def test_offsets_in_characters_are_those_of_the_text() -> None:
    text = GOOD.replace("Nobody could pay.", "😀 没有人能付款，【待补：影响】")
    (found,) = in_characters(findings(text), text.encode())
    assert text[found.start : found.end] == "【待补：影响】"
    assert found.shown("n.md", text).startswith("n.md:8:10 [D07]")


def test_every_document_code_has_a_case() -> None:
    seen = {case[0] for case in CASES} | {Code.D04, Code.D09, Code.D10, Code.D11}
    assert seen == {code for code in Code if code.startswith("D")}


MESSAGES = [
    (
        "Nobody could pay.\n\n### Details\n\nMore of it.\n",
        "",
        '[D01] required section "Impact" has no text (template t:7)',
    ),
    (
        "status: open",
        "status: opne",
        '[D03] "opne" is none of open | fixed; did you mean "open"? (template t:2)',
    ),
    (
        "## Cause",
        "## Root cause",
        '[D06] the template calls "Root cause" "Cause" (template t:9)',
    ),
    ("## Actions\n\n- one\n- two\n", "## Unplaced\n\nOne. Two.\n", '"Unplaced" holds 2 sentences'),
    (
        "A certificate expired.",
        "One. Two. Three.",
        '[D05] "cause" is too long: 3 sentences, at most 2 (template t:10)',
    ),
]


@pytest.mark.parametrize(("old", "new", "message"), MESSAGES)
def test_messages_name_the_rule(old: str, new: str, message: str) -> None:
    shown = [found.shown("n.md", GOOD) for found in findings(GOOD.replace(old, new))]
    assert any(message in line for line in shown)


def test_holes_and_leftovers_are_warnings() -> None:
    (hole,) = findings(GOOD.replace("Nobody could pay.", "TODO(impact)"))
    assert hole.severity is Severity.WARNING


def test_headings_of_the_source_may_be_kept_where_the_template_says_so() -> None:
    keeping = template(
        "# {{title}}\n\n## Cause\n\n<!-- clover\nheadings: keep-source\n"
        "Cause: {aliases: [原因]}\n-->\n"
    )
    assert findings("# A\n\n## 一、原因\n\nRain.\n", keeping) == ()


def test_a_document_without_a_title_misses_only_that() -> None:
    text = GOOD.replace("# Outage\n\n", "", 1)
    (found,) = findings(text)
    assert (found.code, found.rule) == (Code.D01, 5)


def test_repeated_sections_take_any_heading_and_any_number() -> None:
    faq = template("# {{title}}\n\n## {{question}} <!-- repeat 1..2 -->\n\n## End\n")
    text = "# FAQ\n\n## Why?\n\nSo.\n\n## How?\n\nThus.\n\n## End\n\nBye.\n"
    assert findings(text, faq) == ()
    more = text.replace("## End", "## Who?\n\nWe.\n\n## End")
    assert [found.code for found in findings(more, faq)] == [Code.D06]
    assert [found.code for found in findings("# FAQ\n\n## End\n\nBye.\n", faq)] == [Code.D01]


@pytest.mark.parametrize("numbering", [Numbering.MD, Numbering.GONGWEN])
@given(text=st.text(alphabet="# \n-|一、（）Causeimpt:。.\r😀\ud800{}TODO", max_size=60))
def test_checking_raises_nothing(numbering: Numbering, text: str) -> None:
    by = INCIDENT if numbering is Numbering.MD else REQUEST
    length = len(text.encode("utf-8", "surrogatepass"))
    for found in check_document(by, outline(text, numbering)):
        assert 0 <= found.start <= found.end <= length
