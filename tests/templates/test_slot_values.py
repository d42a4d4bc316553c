"""Values are read back out of what was made of literals and slots."""

from __future__ import annotations

import pytest

from clover_templates.slot_values import matches, read_values
from clover_templates.template import Section
from clover_templates.template_reader import read_template


def section(body: str, settings: str = "") -> Section:
    end = f"<!-- clover\n{settings}\n-->\n" if settings else ""
    template = read_template(f"# T\n{body}{end}").template
    return next(found for found in template.sections if found.level)


def values(body: str, text: str, settings: str = "") -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for value in read_values(section(body, settings).body, text):
        assert text[value.start : value.start + len(value.text)] == value.text
        found.setdefault(value.slot.name, []).append(value.text)
    return found


@pytest.mark.parametrize(
    ("body", "text", "expected"),
    [
        ("{{a}}\n", "\none\n\ntwo\n\n", {"a": ["one\n\ntwo"]}),
        ("{{a}} by {{b}}.\n", "Tides by the moon.\n", {"a": ["Tides"], "b": ["the moon"]}),
        ("{{a}}\n{{b}}\n", "one\ntwo\n", {"a": ["one"], "b": ["two"]}),
        ("{{a}}\n\n{{b}}\n", "one\nmore\n\ntwo\n", {"a": ["one\nmore"], "b": ["two"]}),
        ("{{a}}\n\n{{b}}\n", "one\n", {"a": ["one"], "b": [""]}),
        ("Due: {{a}}\n", "", {"a": [""]}),
        ("Due: {{a}}\n", "tomorrow\n", {"a": ["tomorrow"]}),
    ],
)
def test_slots_between_literals(body: str, text: str, expected: dict[str, list[str]]) -> None:
    assert values(body, text) == expected


TABLE = "| A | B |\n|---|---|\n| {{a}} | {{b}} |\n"


@pytest.mark.parametrize("head", ["| A | B |\n|---|---|\n", "| A  | B |\n|:--|--:|\n"])
def test_rows_of_a_table(head: str) -> None:
    rows = "| 1 | 2 |\n| 3 | 4 |\n"
    assert values(TABLE, head + rows) == {"a": ["1", "3"], "b": ["2", "4"]}
    assert values("{{x}}\n\n" + TABLE, f"Text.\n\n{head}{rows}")["x"] == ["Text."]
    assert values(TABLE, "no table\n") == {}


def test_items_of_a_list_with_what_is_indented_below_them() -> None:
    text = "- one\n  more\n\n  still\n- two (@me)\n"
    assert values("- {{a}}\n", text) == {"a": ["one\n  more\n\n  still", "two (@me)"]}
    assert values("- {{a}}\n", "  - one\n    - below\n  - two\n") == {
        "a": ["one\n    - below", "two"]
    }
    assert values("- {{a}} (@{{b}})\n", "- two (@me)\n") == {"a": ["two"], "b": ["me"]}


def test_lines_that_are_repeated_and_may_be_missing() -> None:
    body = "附件：{{n}}.{{a}}\n\n{{b}}\n{{c}}\n"
    repeated = "a: {repeat: 0..}"
    text = "附件：1.甲\n      2.乙\n\n某局\n某日\n"
    assert values(body, text, repeated) == {
        "n": ["1", "2"],
        "a": ["甲", "乙"],
        "b": ["某局"],
        "c": ["某日"],
    }
    assert values(body, "某局\n某日\n", repeated) == {"b": ["某局"], "c": ["某日"]}


@pytest.mark.parametrize(
    ("title", "heading", "fits"),
    [
        ("{{a}}", "anything", True),
        ("[{{v}}] - {{d}}", "[1.2] - 2026-01-01", True),
        ("[{{v}}] - {{d}}", "1.2 - 2026-01-01", False),
        ("Week {{n}}", "Week 3", True),
        ("Week {{n}}", "The Week 3", False),
        ("{{a}} outage", "Cart outage", True),
        ("{{a}} outage", "Cart outage today", False),
    ],
)
def test_a_heading_has_the_fixed_words_of_a_title(title: str, heading: str, fits: bool) -> None:
    template = read_template(f"# T\n## {title}\n{{{{x}}}}\n").template
    (found,) = (s for s in template.walk() if s.level == 2)
    assert matches(found.title, heading) is fits
