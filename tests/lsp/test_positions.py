"""Positions and edits agree with an editor that keeps UTF-16 code units, in every encoding."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clover_lsp.positions import Encoding, IndexedText

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


@pytest.mark.parametrize("encoding", Encoding)
@settings(max_examples=300, deadline=None)
@given(text=texts, script=st.lists(edits, max_size=6))
def test_edit_scripts_leave_the_text_of_the_editor(
    encoding: Encoding, text: str, script: list[tuple[tuple[int, int], tuple[int, int], str]]
) -> None:
    ours, editor = IndexedText.of(text), Editor(text)
    for first, second, new in script:
        start, end = sorted(ours.offset(*position, encoding) for position in (first, second))
        expected = sorted(editor.offset(*position, encoding) for position in (first, second))
        assert [start, end] == expected
        ours = ours.replaced(start, end, new)
        editor.replace(start, end, new)
        assert ours.text == editor.text
        assert ours == IndexedText.of(editor.text)
    assert [ours.line_content(line) for line in range(len(ours.starts))] == [
        "".join(row).rstrip("\r\n") for row in editor.lines()
    ]


@pytest.mark.parametrize("encoding", Encoding)
@settings(max_examples=300, deadline=None)
@given(text=texts)
def test_positions_lead_back_to_their_offsets(encoding: Encoding, text: str) -> None:
    indexed = IndexedText.of(text)
    for offset in range(len(indexed.text) + 1):
        inside_line_end = indexed.text[max(offset - 1, 0) : offset + 1] == "\r\n"
        expected = offset - 1 if inside_line_end else offset
        assert indexed.offset(*indexed.position(offset, encoding), encoding) == expected


def test_form_feed_and_unicode_separators_begin_no_line() -> None:
    indexed = IndexedText.of("a\f\u2028\x85b\nc")
    assert indexed.position(indexed.text.index("c"), Encoding.UTF16) == (1, 0)


@pytest.mark.parametrize(
    ("encoding", "end"), [(Encoding.UTF8, 8), (Encoding.UTF16, 4), (Encoding.UTF32, 2)]
)
def test_units_of_astral_characters(encoding: Encoding, end: int) -> None:
    assert IndexedText.of("😀😀").position(2, encoding) == (0, end)


def test_a_position_inside_a_pair_is_before_it() -> None:
    assert IndexedText.of("x😀y").offset(0, 2, Encoding.UTF16) == 1
    assert IndexedText.of("x😀y").offset(0, 3, Encoding.UTF8) == 1


def test_a_lone_surrogate_survives_and_joins_its_other_half() -> None:
    half = IndexedText.of("a\ud83db")
    assert half.text == "a\ud83db"
    assert half.replaced(2, 2, "\ude00").text == "a😀b"


@pytest.mark.parametrize(
    ("text", "start", "end", "new"),
    [("a\r", 2, 2, "\n"), ("a\r\nb", 1, 2, ""), ("a\nb", 1, 1, "\r"), ("\r\n", 1, 1, "x")],
)
def test_edits_that_make_or_part_a_line_end(text: str, start: int, end: int, new: str) -> None:
    edited = text[:start] + new + text[end:]
    assert IndexedText.of(text).replaced(start, end, new) == IndexedText.of(edited)
