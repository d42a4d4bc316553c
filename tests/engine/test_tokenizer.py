"""Text to tokens and back; nothing a user writes is a special token."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clover_engine.errors import ModelError
from clover_engine.tokenizer import TextTokenizer, Vocabulary
from clover_engine.weights import load_vocabulary
from tests.support.tiny_model import SPECIALS, UNUSED, USER_DEFINED

if TYPE_CHECKING:
    from tests.support.tiny_model import TinyModel

NOT_TEXT = (*SPECIALS, *USER_DEFINED, *UNUSED)
SURROGATES = [chr(code) for code in (0xD800, 0xDBFF, 0xDC00, 0xDFFF)]

any_text = st.text(
    st.one_of(
        st.characters(),  # all of Unicode, surrogates too
        st.sampled_from([*SURROGATES, "\0", "\ufeff", "\r", "\n", " ", "中", "的", "é", "🙂"]),
    ),
    max_size=40,
)


@pytest.fixture(scope="module")
def tokenizer(tiny_model: TinyModel) -> TextTokenizer:
    """The tiny model's tokenizer."""
    return TextTokenizer(tiny_model.folder / "tokenizer.json")


@pytest.fixture(scope="module")
def tiny_vocabulary(tiny_model: TinyModel) -> Vocabulary:
    """The tiny model's byte table."""
    return load_vocabulary(tiny_model.folder)


def spelled(tokens: Sequence[int], vocabulary: Vocabulary) -> bytes:
    return b"".join(vocabulary.token_bytes(token) for token in tokens)


def utf8(text: str) -> bytes:
    """The bytes of a text in which surrogate pairs are characters and lone ones are U+FFFD."""
    paired = re.sub(
        "[\ud800-\udbff][\udc00-\udfff]",
        lambda pair: pair[0].encode("utf-16-le", "surrogatepass").decode("utf-16-le"),
        text,
    )
    return re.sub("[\ud800-\udfff]", "\ufffd", paired).encode()


@given(any_text)
@settings(max_examples=300, deadline=None)
def test_tokens_spell_the_text(
    tokenizer: TextTokenizer, tiny_vocabulary: Vocabulary, text: str
) -> None:
    assert spelled(tokenizer.encode(text), tiny_vocabulary) == utf8(text)


@given(st.lists(st.one_of(any_text, st.sampled_from(NOT_TEXT)), max_size=5))
@settings(max_examples=100, deadline=None)
def test_text_that_looks_special_is_plain(
    tokenizer: TextTokenizer, tiny_vocabulary: Vocabulary, pieces: list[str]
) -> None:
    text = "".join(pieces)
    tokens = tokenizer.encode(text)
    assert not set(tokens) & set(tiny_vocabulary.without_bytes().tolist())
    assert spelled(tokens, tiny_vocabulary) == utf8(text)


def test_merges_are_used(tokenizer: TextTokenizer, tiny_vocabulary: Vocabulary) -> None:
    tokens = tokenizer.encode("\n    return self")
    found = [tiny_vocabulary.token_bytes(token) for token in tokens]
    assert found == [b"\n", b"   ", b" return", b" self"]


def test_special_and_unused_tokens_have_no_bytes(
    tokenizer: TextTokenizer, tiny_vocabulary: Vocabulary
) -> None:
    special = {tokenizer.special(name) for name in (*SPECIALS, *USER_DEFINED)}
    silent = set(tiny_vocabulary.without_bytes().tolist())
    assert special < silent
    assert len(silent) == len(NOT_TEXT)


def test_a_missing_special_token_is_told(tokenizer: TextTokenizer) -> None:
    with pytest.raises(ModelError, match="no <\\|fim_hole\\|>"):
        tokenizer.special("<|fim_hole|>")


@pytest.mark.parametrize("content", [b"", b"{", b'{"version": "1.0"}', b"\xff\x00"])
def test_a_damaged_file_is_a_model_error(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_bytes(content)
    with pytest.raises(ModelError, match=r"tokenizer\.json is damaged"):
        TextTokenizer(path)


def vocabulary_of(table: Sequence[bytes]) -> Vocabulary:
    """A vocabulary of these tokens, laid out as the converter does."""
    offsets = np.cumsum([0, *map(len, table)]).astype(np.int32)
    order = np.array(sorted(range(len(table)), key=table.__getitem__), dtype=np.int32)
    return Vocabulary(np.frombuffer(b"".join(table), dtype=np.uint8), offsets, order)


few_bytes = st.binary(min_size=1, max_size=5).map(
    lambda data: bytes(b"\x00ab\xff"[byte % 4] for byte in data)
)


@given(
    table=st.lists(few_bytes, unique=True, max_size=40), empty=st.integers(0, 3), wanted=few_bytes
)
def test_compatible_finds_what_a_search_of_all_tokens_finds(
    table: list[bytes], empty: int, wanted: bytes
) -> None:
    table = [*table, *[b""] * empty]
    found = vocabulary_of(table).compatible(wanted).tolist()
    assert len(found) == len(set(found))
    assert set(found) == {
        number
        for number, token in enumerate(table)
        if token and (token.startswith(wanted) or wanted.startswith(token))
    }


@given(st.binary(min_size=1, max_size=6))
def test_any_bytes_can_be_spelled(tiny_vocabulary: Vocabulary, wanted: bytes) -> None:
    tokens = tiny_vocabulary.compatible(wanted).tolist()
    assert any(tiny_vocabulary.token_bytes(token) == wanted[:1] for token in tokens)
