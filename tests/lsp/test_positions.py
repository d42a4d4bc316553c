"""Positions and edits agree with an editor that keeps UTF-16 code units, in every encoding."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clover_lsp.positions import Encoding, IndexedText
from tests.support.editor_text import Editor, edits, texts


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
