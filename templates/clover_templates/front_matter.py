"""Where a text's front matter stands: the lines between two fences at its very beginning."""

from __future__ import annotations

import re
from dataclasses import dataclass

BOM = b"\xef\xbb\xbf"
_LINE = re.compile(rb"[^\r\n]*(?:\r\n|\n|\r|\Z)")
_CLOSERS = {b"---": (b"---", b"..."), b"+++": (b"+++",)}


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """Its lines without the fences are the bytes `[start, end)`; the text goes on at `body`."""

    start: int
    end: int
    body: int
    is_yaml: bool


def front_matter(source: bytes) -> FrontMatter | None:
    """The front matter of `source`, in YAML or TOML, behind a byte order mark if it has one.

    A fence that nothing closes is a rule, not front matter; so is one above a blank line.
    """
    first = _line(source, body_start(source))
    closers = _CLOSERS.get(first[0].rstrip())
    line = _line(source, first.end())
    if not closers or not line[0].strip():
        return None
    while line.end() > line.start():
        if line[0].rstrip() in closers:
            return FrontMatter(first.end(), line.start(), line.end(), b"..." in closers)
        line = _line(source, line.end())
    return None


def body_start(source: bytes) -> int:
    """Where the text begins: behind the byte order mark."""
    return len(BOM) if source.startswith(BOM) else 0


def line_end(source: bytes) -> str:
    """The line end that the first line has, `\\n` for a text of one line."""
    found = re.search(rb"\r\n|\n|\r", source)
    return found[0].decode() if found else "\n"


def _line(source: bytes, start: int) -> re.Match[bytes]:
    line = _LINE.match(source, start)
    assert line
    return line
