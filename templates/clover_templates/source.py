"""The bytes of a document: its lines, byte order mark, line ends and front matter."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from clover_engine.errors import CloverError
from clover_templates.front_matter import body_start, front_matter

MAX_BYTES = 10_000_000
_LINE = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_LINE_END = re.compile(rb"\r\n|\r|\n")


class DocumentError(CloverError):
    """A document that cannot be read as text; nothing is done to it."""


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """`[start, end)` in bytes of a document."""

    start: int
    end: int


def byte_offsets(text: str) -> Sequence[int]:
    """Where each character of `text` begins in its UTF-8 bytes, and where the last one ends."""
    if text.isascii():
        return range(len(text) + 1)
    return list(accumulate(map(len, map(str.encode, text)), initial=0))


@dataclass(frozen=True)
class Source:
    """A document's bytes, which are UTF-8, and what its line structure is."""

    data: bytes

    @classmethod
    def of(cls, data: bytes) -> Source:
        """Raises DocumentError for what is no UTF-8 text or larger than MAX_BYTES."""
        if len(data) > MAX_BYTES:
            raise DocumentError(
                f"the document has {len(data):,} bytes, and {MAX_BYTES:,} are read at most:"
                " split it"
            )
        if data.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise DocumentError("the document is UTF-16: save it as UTF-8")
        if (at := data.find(b"\0")) >= 0:
            raise DocumentError(f"the document holds a NUL at byte {at}: this is no text file")
        try:
            data.decode()
        except UnicodeDecodeError as error:
            raise DocumentError(
                f"the document is not UTF-8 at byte {error.start}: save it as UTF-8"
            ) from error
        return cls(data)

    @cached_property
    def lines(self) -> tuple[Span, ...]:
        """Every line with its line end, without the byte order mark; they join to the rest."""
        return tuple(Span(*line.span()) for line in _LINE.finditer(self.data, self.body_start))

    @cached_property
    def _line_starts(self) -> tuple[int, ...]:
        return tuple(line.start for line in self.lines)

    @property
    def body_start(self) -> int:
        """Where the text begins: behind the byte order mark, if there is one."""
        return body_start(self.data)

    @cached_property
    def line_ends(self) -> Counter[bytes]:
        """How often each of LF, CRLF and CR ends a line."""
        return Counter(_LINE_END.findall(self.data))

    @property
    def line_end(self) -> bytes:
        """The line end most lines have; LF for a document of one line."""
        return self.line_ends.most_common(1)[0][0] if self.line_ends else b"\n"

    @property
    def ends_with_line_end(self) -> bool:
        return self.data.endswith((b"\n", b"\r"))

    @cached_property
    def front_matter_lines(self) -> int:
        """How many lines the front matter has, fences included; 0 where there is none."""
        matter = front_matter(self.data)
        return bisect_left(self._line_starts, matter.body) if matter else 0

    def line(self, number: int) -> bytes:
        """A line, from 0, with its line end."""
        span = self.lines[number]
        return self.data[span.start : span.end]

    def is_blank(self, number: int) -> bool:
        return not self.line(number).strip(b" \t\r\n")

    def line_at(self, offset: int) -> int:
        """The number of the line that holds the byte at `offset`, from 0."""
        return max(bisect_right(self._line_starts, offset) - 1, 0)

    def place(self, offset: int) -> str:
        """`line:column` of a byte offset, both from 1, columns in characters."""
        if not self.lines:
            return "1:1"
        number = self.line_at(offset)
        before = self.data[self.lines[number].start : offset]
        return f"{number + 1}:{len(before.decode(errors='ignore')) + 1}"
