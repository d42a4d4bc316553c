"""The tokenizer of a checkpoint folder, and the bytes of its tokens."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from clover_engine.checkpoint import read_json
from clover_engine.errors import CheckpointError
from clover_engine.tokenizer import (
    BYTE_LETTERS,
    NORMAL,
    SPECIAL,
    UNUSED,
    TextTokenizer,
    Vocabulary,
    build_tokenizer,
)

TOKENIZER = "tokenizer.json"


def read_tokenizer(folder: Path) -> TextTokenizer:
    """Read tokenizer.json or, without one, vocab.json and merges.txt as Qwen2 splits text.

    Raises CheckpointError, ModelError.
    """
    if (folder / TOKENIZER).exists():
        return TextTokenizer(folder / TOKENIZER)
    if (folder / "vocab.json").exists():
        return TextTokenizer(_from_merges(folder))
    raise CheckpointError.of(folder.name, f"neither {TOKENIZER} nor vocab.json is here")


def vocabulary_of(tokenizer: TextTokenizer, size: int, folder: Path) -> Vocabulary:
    """The bytes of the `size` tokens that a model tells apart; it may have more than its tokenizer.

    Raises CheckpointError for a tokenizer that is no byte-level BPE.
    """
    added = tokenizer.added()
    table = [b""] * size
    for name, token in tokenizer.names().items():
        if token not in added and token < size:
            table[token] = _bytes(name, folder)
    return Vocabulary.of(table)


def _bytes(name: str, folder: Path) -> bytes:
    try:
        return bytes(BYTE_LETTERS[letter] for letter in name)
    except KeyError as error:
        raise CheckpointError.of(
            folder.name, f"the tokenizer is no byte-level BPE: its token {name!r} has no bytes"
        ) from error


def _from_merges(folder: Path) -> Tokenizer:
    """The tokenizer of the files that Python tokenizers are saved to."""
    vocabulary = dict(read_json(folder / "vocab.json"))
    added = _added(folder)
    tokens = {token: name for name, token in (vocabulary | added).items()}
    size = max(tokens) + 1
    names = [tokens.get(token, f"[unused {token}]") for token in range(size)]
    types = [
        UNUSED if token not in tokens else SPECIAL if names[token] in added else NORMAL
        for token in range(size)
    ]
    try:
        lines = (folder / "merges.txt").read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise CheckpointError.of(folder.name, f"merges.txt cannot be read: {error}") from error
    merges = [line for line in lines if line and not line.startswith("#version")]
    return build_tokenizer(names, types, merges)


def _added(folder: Path) -> dict[str, int]:
    """The tokens that were added to a vocabulary."""
    if (folder / "added_tokens.json").exists():
        added = read_json(folder / "added_tokens.json")
        return {name: int(token) for name, token in added.items()}
    if not (folder / "tokenizer_config.json").exists():
        return {}
    decoder: dict[str, Any] = read_json(folder / "tokenizer_config.json").get(
        "added_tokens_decoder", {}
    )
    return {str(entry["content"]): int(token) for token, entry in decoder.items()}
