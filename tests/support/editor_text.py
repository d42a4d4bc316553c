"""A text as an editor keeps it, in UTF-16 code units: the oracle of documents and positions."""

from __future__ import annotations

import struct

from hypothesis import strategies as st

from clover_lsp.positions import Encoding

# what has broken such code: line ends LSP does not know, pairs, halves of pairs, joiners, CJK
SIGNS = "ab \t\r\n\f\v\x1c\x85\u2028\u2029é中\u0301\u200d\ufeff😀👩🇩🇪\ud83d\ude00"
# line ends most of all: an edit can make or part a "\r\n"
texts = st.text(st.sampled_from(SIGNS + "\r\n\r\n" * 4), max_size=30)
positions = st.tuples(st.integers(-1, 6), st.sampled_from([0, 0, 0, 1, 2, 3, 4, 40, -1]))
edits = st.tuples(positions, positions, texts)


class Editor:
    """The oracle: a text as UTF-16 code units, as JavaScript has it; slow and plain."""

    def __init__(self, text: str) -> None:
        self.units = _to_units(text)

    @property
    def text(self) -> str:
        return "".join(self.characters())

    def characters(self) -> list[str]:
        """Whole characters: joined pairs, and halves that have no partner."""
        found: list[str] = []
        for unit in self.units:
            if found and 0xDC00 <= unit < 0xE000 and "\ud800" <= found[-1] <= "\udbff":
                high = ord(found.pop())
                found.append(chr(0x10000 + ((high - 0xD800) << 10) + unit - 0xDC00))
            else:
                found.append(chr(unit))
        return found

    def lines(self) -> list[list[str]]:
        """Characters by line, line ends left on."""
        rows: list[list[str]] = [[]]
        characters = self.characters()
        for at, sign in enumerate(characters):
            rows[-1].append(sign)
            before_newline = sign == "\r" and characters[at + 1 : at + 2] == ["\n"]
            if sign in "\r\n" and not before_newline:
                rows.append([])
        return rows

    def offset(self, line: int, character: int, encoding: Encoding) -> int:
        rows = self.lines()
        if line < 0:
            return 0
        if line >= len(rows):
            return sum(map(len, rows))
        at, left = sum(map(len, rows[:line])), character
        for sign in rows[line]:
            left -= _width(sign, encoding)
            if sign in "\r\n" or left < 0:
                break
            at += 1
        return at

    def replace(self, start: int, end: int, new: str) -> None:
        characters = self.characters()
        units = [_to_units("".join(part)) for part in (characters[:start], characters[end:])]
        self.units = units[0] + _to_units(new) + units[1]


def _to_units(text: str) -> list[int]:
    encoded = text.encode("utf-16-le", "surrogatepass")
    return list(struct.unpack(f"<{len(encoded) // 2}H", encoded))


def _width(sign: str, encoding: Encoding) -> int:
    point = ord(sign)
    if encoding is Encoding.UTF32:
        return 1
    if encoding is Encoding.UTF16:
        return 1 + (point >= 0x10000)
    return 1 + (point >= 0x80) + (point >= 0x800) + (point >= 0x10000)
