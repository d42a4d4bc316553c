"""Token healing: what is taken back before the cursor, and that it is spelled again first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clover_engine.constraints import Spelled
from clover_engine.healing import heal
from clover_engine.tokenizer import TextTokenizer, Vocabulary
from clover_engine.weights import load_vocabulary

if TYPE_CHECKING:
    from tests.support.tiny_model import TinyModel

words = st.lists(
    st.one_of(
        st.text(max_size=6),
        st.sampled_from(["retu", " return", "self", "    ", "\n", "\r\n", "():", "中的", "文字"]),
    ),
    max_size=6,
).map("".join)


@pytest.fixture(scope="module")
def tokenizer(tiny_model: TinyModel) -> TextTokenizer:
    """The tiny model's tokenizer."""
    return TextTokenizer(tiny_model.folder / "tokenizer.json")


@pytest.fixture(scope="module")
def tiny_vocabulary(tiny_model: TinyModel) -> Vocabulary:
    """The tiny model's byte table."""
    return load_vocabulary(tiny_model.folder)


@pytest.fixture(scope="module")
def healed(tokenizer: TextTokenizer, tiny_vocabulary: Vocabulary) -> Healed:
    """Heals a text."""
    return Healed(tokenizer, tiny_vocabulary)


class Healed:
    """Healing with the tokens written as bytes."""

    def __init__(self, tokenizer: TextTokenizer, vocabulary: Vocabulary) -> None:
        self._tokenizer = tokenizer
        self._vocabulary = vocabulary

    def __call__(self, text: str) -> tuple[list[bytes], list[bytes]]:
        """The kept and the removed tokens of a text."""
        kept, removed = heal(self._tokenizer.encode(text), self._vocabulary)
        return [*map(self._vocabulary.token_bytes, kept)], [
            *map(self._vocabulary.token_bytes, removed)
        ]


@given(words)
@settings(max_examples=200, deadline=None)
def test_healing_loses_no_byte(healed: Healed, text: str) -> None:
    kept, removed = healed(text)
    assert b"".join([*kept, *removed]) == text.encode()
    assert len(removed) <= 2


def test_a_word_cut_into_two_tokens_is_taken_back_whole(healed: Healed) -> None:
    assert healed("x = 1\nretu") == ([b"x", b" =", b" ", b"1", b"\n"], [b"ret", b"u"])
    assert healed("\n    retu")[1] == [b" ret", b"u"]


def test_what_was_taken_back_may_become_one_token(
    healed: Healed, tiny_vocabulary: Vocabulary
) -> None:
    allowed = Spelled(b" retu", tiny_vocabulary).allowed()
    assert allowed is not None
    tokens = allowed.nonzero()[0].tolist()
    assert b" return" in {tiny_vocabulary.token_bytes(token) for token in tokens}


@given(words, st.sampled_from(["\n", "\r\n", "\r", "\n\n", "  \n"]))
@settings(max_examples=100, deadline=None)
def test_nothing_is_taken_back_after_a_line_break(healed: Healed, text: str, end: str) -> None:
    # though longer tokens begin so: two line feeds, a carriage return and a line feed
    assert healed(text + end)[1] == []


def test_nothing_is_taken_back_where_no_token_goes_on(healed: Healed) -> None:
    assert healed("f()?")[1] == []  # no token begins with "?" but itself
    assert healed("f ")[1] == [b" "]  # many begin with a space
    assert healed("")[1] == []


def test_a_word_is_not_joined_to_the_sign_before_it(healed: Healed) -> None:
    assert healed("(r")[1] == [b"r"]
    assert healed("a r")[1] == [b"r"]


def test_chinese_is_taken_back_by_characters_or_their_parts(healed: Healed) -> None:
    kept, removed = healed("文字中的")
    assert removed == ["中".encode(), "的".encode()]
    assert kept == ["文字".encode()]


@given(wanted=st.one_of(words.map(str.encode), st.binary()), data=st.data())
@settings(max_examples=150, deadline=None)
def test_allowed_tokens_spell_the_wanted_bytes_first(
    tiny_vocabulary: Vocabulary, wanted: bytes, data: st.DataObject
) -> None:
    constraint = Spelled(wanted, tiny_vocabulary)
    written = b""
    while (allowed := constraint.allowed()) is not None:
        assert not constraint.may_end
        token = data.draw(st.sampled_from(allowed.nonzero()[0].tolist()))
        written += tiny_vocabulary.token_bytes(token)
        constraint.advance(token)
    assert written.startswith(wanted)
    assert constraint.may_end
