"""No cut parts what a reader sees as one character."""

from __future__ import annotations

from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clover_lsp.graphemes import is_boundary, offset_before, without_half

CHARACTERS = ["a", " ", "\n", "\r\n", "é", "e\u0301", "中", "😀", "👩\u200d💻", "👍🏽", "❤\ufe0f"]
FLAGS = ["🇩🇪", "🇫🇷"]


@given(st.lists(st.sampled_from([*CHARACTERS, *FLAGS]), max_size=12))
def test_a_text_may_be_cut_between_its_characters_alone(characters: list[str]) -> None:
    text = "".join(characters)
    boundaries = {0, *accumulate(map(len, characters))}
    for offset in range(len(text) + 1):
        assert is_boundary(text, offset) == (offset in boundaries)
        assert offset_before(text, offset) == max(at for at in boundaries if at <= offset)


def test_long_lines_are_not_read_whole() -> None:
    line = "é\u0301" * 100_000
    assert is_boundary(line, 100_000)
    assert not is_boundary(line, 100_001)


@pytest.mark.parametrize(
    ("cut", "left"),
    [
        ("so 👩\u200d", "so "),
        ("so 🇩", "so "),
        ("so 🇩🇪🇫", "so 🇩🇪"),
        ("so 🇩🇪", "so 🇩🇪"),
        ("so e\u0301", "so e\u0301"),
        ("so", "so"),
        ("", ""),
    ],
)
def test_half_a_character_at_the_end_goes(cut: str, left: str) -> None:
    assert without_half(cut) == left
