"""Text of a document as it stands in a canvas, and where a long document's canvas ends."""

from __future__ import annotations

import re

from clover_engine.front_matter import front_matter
from clover_lsp.postprocess import with_newlines

# the next line begins within so many characters, or is not looked for
NEAR_CHARS = 2000
# in so many characters a note's front matter ends
HEAD_CHARS = 4096
_LINE_END = re.compile(r"\r\n|\n|\r")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def canvas_text(text: str) -> str:
    """A text as the engine takes it: line ends `\\n`, and no half of a surrogate pair, which no
    tokenizer and no UTF-8 can hold."""
    return _LONE_SURROGATE.sub("\ufffd", with_newlines(text))


def left_text(text: str, start: int, end: int) -> str:
    """The canvas from about `start`, where a line begins, to `end`, behind the front matter."""
    matter = front_matter(canvas_text(text[: min(start, HEAD_CHARS)]))
    return matter + canvas_text(text[_line_start(text, start) : end])


def right_text(text: str, start: int, end: int) -> str:
    """The canvas from `start` to about `end`, where a line has ended."""
    return canvas_text(text[start : _line_start(text, end)])


def _line_start(text: str, place: int) -> int:
    """Where a line starts, at `place` or soon behind it; else `place`."""
    if place in (0, len(text)):
        return place
    found = _LINE_END.search(text, place - 1, place + NEAR_CHARS)
    return found.end() if found else place
