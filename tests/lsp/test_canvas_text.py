"""Where the canvas of a long document ends, and what of its far beginning is kept."""

from __future__ import annotations

import pytest

from clover_engine.api import Literal
from clover_lsp.infill import LEFT_CHARS, RIGHT_CHARS, plan

MATTER = "---\ntitle: The harbour\n---\n"


def around(text: str, offset: int) -> tuple[str, str]:
    """The literals left and right of the hole."""
    left, _, right = plan(text, offset).segments
    assert isinstance(left, Literal)
    assert isinstance(right, Literal)
    return left.text, right.text


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_canvas_begins_and_ends_with_whole_lines(end: str) -> None:
    text = "".join(f"line number {at}{end}" for at in range(20_000))
    left, right = around(text, len(text) // 2)
    lines = set(text.split(end))
    assert left.split("\n")[0] in lines
    assert right.endswith("\n")
    assert len(left) > LEFT_CHARS * 0.9
    assert len(right) > RIGHT_CHARS * 0.9


def test_a_line_without_end_is_cut() -> None:
    left, right = around("word " * 60_000, 150_000)
    assert len(left) >= LEFT_CHARS
    assert len(right) >= RIGHT_CHARS


def test_front_matter_stays_before_the_canvas_of_a_long_note() -> None:
    text = MATTER.replace("\n", "\r\n") + "words of a note\r\n" * 20_000
    left, _ = around(text, len(text))
    assert left.startswith(MATTER + "words of a note\n")
    assert around(MATTER + "words", len(MATTER))[0] == MATTER
