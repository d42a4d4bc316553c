"""Whether an output has the headings its template wants."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from clover_templates.breach import Metric
from clover_templates.case import Expected
from clover_templates.document import Document
from clover_templates.structure import misfits
from clover_templates.trace import FromSource, Trace
from clover_templates.verify import verify
from tests.support.documents import REPORT


@dataclass(frozen=True)
class Wanted:
    level: int
    heading: str | None
    least: int = 1
    most: int | None = 1
    optional: bool = False


PATTERN = (
    Wanted(1, None),
    Wanted(2, "Summary"),
    Wanted(2, "Options"),
    Wanted(3, None, 2, 3),
    Wanted(2, "Luck", 0, 1, True),
    Wanted(2, "Actions"),
)
FITTING = (
    "# Anything\n\n## Summary\n\ntext\n\n### Free\n\n## Options\n\n### One\n\n### Two\n\n"
    "## 3. actions\n\ndone\n"
)


def codes(text: str, pattern: tuple[Wanted, ...] = PATTERN) -> list[tuple[str, str]]:
    found = misfits(Document.of(text.encode()).outline, pattern)
    return [(misfit.code, misfit.section.title if misfit.section else "") for misfit in found]


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("", "", []),
        ("## 3. actions", "## Luck\n\n## Actions", []),
        ("### Two\n\n", "", [("D01", "")]),
        ("### Two\n\n", "### Two\n\n### Three\n\n### Four\n\n", [("D06", "Four")]),
        ("## Summary\n\ntext\n\n### Free\n\n", "", [("D01", "")]),
        ("## 3. actions\n\ndone", "## Actions\n\n## Luck", [("D02", "Luck")]),
        ("## Options", "## Other\n\n## Options", [("D06", "Other")]),
        ("## Options", "## Summary\n\n## Options", [("D06", "Summary")]),
        ("### One", "#### One", [("D02", "One")]),
    ],
)
def test_misfits(old: str, new: str, found: list[tuple[str, str]]) -> None:
    assert codes(FITTING.replace(old, new, 1)) == found


def test_a_repeated_section_has_its_own_sections_each_time() -> None:
    pattern = (Wanted(2, None, 1, None), Wanted(3, "Added"), Wanted(3, "Fixed", 0, 1, True))
    assert codes("## 1.0\n### Added\n## 0.9\n### Added\n### Fixed\n", pattern) == []
    assert codes("## 1.0\n### Fixed\n## 0.9\n### Added\n", pattern) == [("D01", "")]


def test_two_sections_of_one_name_are_filled_one_after_the_other() -> None:
    pattern = (Wanted(2, "Notes"), Wanted(2, "Actions"), Wanted(2, "Notes"))
    text = "## Notes\n\na\n\n## Actions\n\nb\n\n## Notes\n\nc\n"
    assert not list(misfits(Document.of(text.encode()).outline, pattern))
    side_by_side = (Wanted(2, "Notes"), Wanted(2, "Notes"))
    twice = "## Notes\n\na\n\n## Notes\n\nc\n"
    assert not list(misfits(Document.of(twice.encode()).outline, side_by_side))
    more = Document.of(f"{twice}\n## Notes\n\nd\n".encode()).outline
    assert [found.code for found in misfits(more, side_by_side)] == ["D06"]


def test_a_numbered_text_may_have_a_title_its_template_does_not_name() -> None:
    pattern = tuple(Wanted(1, name) for name in ("基本情况", "主要问题", "对策建议"))
    assert codes(REPORT, pattern) == []
    assert [code for code, _ in codes(REPORT, pattern[1:])] == ["D06"]


def test_verify_tells_misfits_and_missing_keys_with_their_place() -> None:
    document = Document.of(b"---\ntags: a\n---\n# T\n\n## Odd\n")
    trace = Trace((FromSource(0, len(document.data)),))
    expected = Expected(outline=(Wanted(1, None), Wanted(2, "Even")), front_matter=("tags", "date"))
    found = verify(document, document.data, trace, expected)
    assert {(breach.metric, breach.code, breach.text) for breach in found} == {
        (Metric.STRUCTURE, "D06", "## Odd"),
        (Metric.STRUCTURE, "D01", ""),
        (Metric.STRUCTURE, "D01", "date"),
    }
    assert "byte 21" in str(found[0])


def test_an_empty_pattern_wants_no_headings() -> None:
    assert codes("# A\n", ()) == [("D06", "A")]
    assert codes("text\n", ()) == []
