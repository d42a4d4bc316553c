"""Text with a line index: offsets from and to LSP positions in utf-8, utf-16 and utf-32 units."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from enum import StrEnum

# LSP knows these line ends alone: a form feed or U+2028 does not begin a line
_LINE_END = re.compile(r"\r\n|\n|\r")
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")


class Encoding(StrEnum):
    """The unit in which a client counts characters; the values are those of the protocol."""

    UTF8 = "utf-8"
    UTF16 = "utf-16"
    UTF32 = "utf-32"


@dataclass(frozen=True, slots=True)
class IndexedText:
    """An immutable text, the offsets (in code points) at which its lines start, and its `size` in
    bytes of UTF-8.

    Lone surrogates are kept as they came, but a high one never stands before a low one: the two
    are joined to the character they encode, as they are in the editor.
    """

    text: str
    starts: tuple[int, ...]
    size: int

    @classmethod
    def of(cls, text: str) -> IndexedText:
        """Index `text`."""
        joined = _join_pairs(text)
        starts = (0, *_starts_within(joined, 0, len(joined)))
        return cls(joined, starts, _units(joined, Encoding.UTF8))

    def offset(self, line: int, character: int, encoding: Encoding) -> int:
        """The offset of a position, clamped to the text, its line and whole characters."""
        if line < 0:
            return 0
        if line >= len(self.starts):
            return len(self.text)
        content = self.line_content(line)
        return self.starts[line] + _code_points(content, max(character, 0), encoding)

    def position(self, offset: int, encoding: Encoding) -> tuple[int, int]:
        """Line and character of an offset; one inside or after a line end is the content's end."""
        line = self.line_of(offset)
        column = max(offset, 0) - self.starts[line]
        return line, _units(self.line_content(line)[:column], encoding)

    def line_of(self, offset: int) -> int:
        """The number of the line that holds `offset`."""
        return max(bisect_right(self.starts, offset) - 1, 0)

    def line_content(self, line: int) -> str:
        """The text of a line without its line end."""
        if line + 1 == len(self.starts):
            return self.text[self.starts[line] :]
        content = self.text[self.starts[line] : self.starts[line + 1]]
        return content.removesuffix("\n").removesuffix("\r")

    def replaced(self, start: int, end: int, new: str) -> IndexedText:
        """This text with `new` in place of `[start, end)`; reads only the lines that change."""
        new = _join_pairs(new)
        if _joins(self.text[start - 1 : start] + new[:1]) or _joins(
            (self.text[start - 1 : start] + new)[-1:] + self.text[end : end + 1]
        ):
            return IndexedText.of(self.text[:start] + new + self.text[end:])
        text = self.text[:start] + new + self.text[end:]
        # a line end can merge with its neighbour: "\r" before `start` with a "\n" put there
        first = self.line_of(max(start - 1, 0))
        last = self.line_of(end) + 1
        shift = len(new) - (end - start)
        stop = self.starts[last] + shift if last < len(self.starts) else len(text)
        # the window ends after a whole line end, so the start that follows it is found within
        middle = _starts_within(text, self.starts[first], stop)
        tail = [moved + shift for moved in self.starts[last + 1 :]]
        size = self.size + _units(new, Encoding.UTF8)
        size -= _units(self.text[start:end], Encoding.UTF8)
        return IndexedText(text, (*self.starts[: first + 1], *middle, *tail), size)


def _starts_within(text: str, begin: int, stop: int) -> list[int]:
    return [match.end() for match in _LINE_END.finditer(text, begin, stop)]


def _join_pairs(text: str) -> str:
    if text.isascii() or not _PAIR.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def _joins(two: str) -> bool:
    return _PAIR.fullmatch(two) is not None


def _units(text: str, encoding: Encoding) -> int:
    """How many code units `text` takes; a lone surrogate takes 3 bytes in utf-8."""
    if encoding is Encoding.UTF32 or text.isascii():
        return len(text)
    if encoding is Encoding.UTF16:
        return len(text.encode("utf-16-le", "surrogatepass")) // 2
    return len(text.encode("utf-8", "surrogatepass"))


def _code_points(text: str, units: int, encoding: Encoding) -> int:
    """How many whole characters of `text` fit into `units` code units."""
    if encoding is Encoding.UTF32 or text.isascii():
        return min(units, len(text))
    if encoding is Encoding.UTF16:
        encoded = text.encode("utf-16-le", "surrogatepass")
        cut = min(2 * units, len(encoded))
        # the high byte of the second half of a pair; a lone low surrogate stays a character
        if 0 < cut < len(encoded) and _splits_pair(encoded, cut):
            cut -= 2
        return len(encoded[:cut].decode("utf-16-le", "surrogatepass"))
    encoded = text.encode("utf-8", "surrogatepass")
    cut = min(units, len(encoded))
    while 0 < cut < len(encoded) and encoded[cut] & 0xC0 == 0x80:
        cut -= 1
    return len(encoded[:cut].decode("utf-8", "surrogatepass"))


def _splits_pair(encoded: bytes, cut: int) -> bool:
    return encoded[cut - 1] & 0xFC == 0xD8 and encoded[cut + 1] & 0xFC == 0xDC
