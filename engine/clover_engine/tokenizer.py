"""Text to token ids and back: a byte-level BPE in which user text never becomes a special token."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers

from clover_engine.errors import ModelError

# the split of Qwen2's tokenizer (Qwen/Qwen2.5-Coder tokenizer.json, pre_tokenizer)
_SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
# types of tokens, as GGUF numbers them
NORMAL, SPECIAL, _USER_DEFINED, UNUSED = 1, 3, 4, 5


class Vocabulary:
    """Every token's bytes, and which tokens may follow when the next bytes are already known."""

    def __init__(
        self,
        data: npt.NDArray[np.uint8],
        offsets: npt.NDArray[np.int32],
        order: npt.NDArray[np.int32],
    ) -> None:
        self._data = data.tobytes()
        self._offsets = offsets
        self._order = order

    @classmethod
    def of(cls, table: Sequence[bytes]) -> Vocabulary:
        """The vocabulary of tokens with these bytes; special and unused ones have none."""
        offsets = np.zeros(len(table) + 1, dtype=np.int32)
        np.cumsum([len(item) for item in table], out=offsets[1:])
        order = sorted(range(len(table)), key=table.__getitem__)
        data = np.frombuffer(b"".join(table), dtype=np.uint8)
        return cls(data, offsets, np.array(order, dtype=np.int32))

    @property
    def arrays(self) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """All tokens' bytes, where each one's start, and the ids in byte order."""
        return np.frombuffer(self._data, dtype=np.uint8), self._offsets, self._order

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def token_bytes(self, token: int) -> bytes:
        """The bytes of one token; empty for special and unused ones."""
        return self._data[self._offsets[token] : self._offsets[token + 1]]

    def without_bytes(self) -> npt.NDArray[np.int64]:
        """The ids of special and unused tokens."""
        return np.flatnonzero(np.diff(self._offsets) == 0)

    def with_bytes(self) -> npt.NDArray[np.int64]:
        """The ids of all others."""
        return np.flatnonzero(np.diff(self._offsets))

    def compatible(self, wanted: bytes) -> npt.NDArray[np.int32]:
        """Ids of the tokens that begin with `wanted`, or are a beginning of it."""
        first = self._rank(wanted)
        after = self._rank(wanted + b"\xff" * 16)
        shorter = [
            self._order[rank]
            for length in range(1, len(wanted))
            if (rank := self._rank(wanted[:length])) < len(self._order)
            and self.token_bytes(int(self._order[rank])) == wanted[:length]
        ]
        return np.concatenate([np.array(shorter, dtype=np.int32), self._order[first:after]])

    def _rank(self, wanted: bytes) -> int:
        """How many tokens sort before `wanted`."""
        low, high = 0, len(self._order)
        while low < high:
            middle = (low + high) // 2
            if self.token_bytes(int(self._order[middle])) < wanted:
                low = middle + 1
            else:
                high = middle
        return low


class TextTokenizer:
    """User text to token ids; what looks like a special token is spelled out as plain text."""

    def __init__(self, source: Path | Tokenizer) -> None:
        """`source` is a tokenizer.json, or what would be read from one. Raises ModelError."""
        try:
            self._tokenizer = (
                Tokenizer.from_file(str(source)) if isinstance(source, Path) else source
            )
        except Exception as error:
            raise ModelError(f"{source} is damaged: {error}") from error
        self._tokenizer.encode_special_tokens = True

    def encode(self, text: str) -> list[int]:
        """Token ids of `text`; lone surrogates, which have no UTF-8 form, read as U+FFFD."""
        ids: list[int] = self._tokenizer.encode(_well_formed(text), add_special_tokens=False).ids
        return ids

    def names(self) -> dict[str, int]:
        """The ids of all tokens by their names."""
        found: dict[str, int] = self._tokenizer.get_vocab(with_added_tokens=True)
        return found

    def added(self) -> frozenset[int]:
        """The tokens that were added to the vocabulary: special ones, which stand for no text."""
        return frozenset(self._tokenizer.get_added_tokens_decoder())

    def special(self, name: str | int) -> int:
        """The id of a special token. Raises ModelError when the model lacks it."""
        token: int | None = name if isinstance(name, int) else self._tokenizer.token_to_id(name)
        if token is None:
            raise ModelError(f"the tokenizer has no {name}: not an infill model")
        return token


def _well_formed(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def build_tokenizer(
    tokens: Sequence[str], types: Sequence[int], merges: Sequence[str]
) -> Tokenizer:
    """A `tokenizers` BPE from a GGUF's vocabulary; token types 3 and 4 become special tokens."""
    normal = {token: i for i, token in enumerate(tokens) if types[i] != UNUSED}
    pairs = [(left, right) for left, _, right in (merge.partition(" ") for merge in merges)]
    tokenizer = Tokenizer(models.BPE(vocab=normal, merges=pairs))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_SPLIT), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(
        [
            AddedToken(token, special=True, normalized=False)
            for token, kind in zip(tokens, types, strict=True)
            if kind in (SPECIAL, _USER_DEFINED)
        ]
    )
    return tokenizer


def _byte_letters() -> dict[str, int]:
    """GPT-2's printable stand-in letter of each byte (openai/gpt-2, encoder.py)."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = (byte for byte in range(256) if byte not in printable)
    letters = {chr(byte): byte for byte in printable}
    return letters | {chr(256 + i): byte for i, byte in enumerate(others)}


BYTE_LETTERS = _byte_letters()


def byte_table(tokens: Sequence[str], types: Sequence[int]) -> list[bytes]:
    """The bytes each token stands for; empty for special and unused tokens."""
    return [
        bytes(BYTE_LETTERS[letter] for letter in token) if kind == NORMAL else b""
        for token, kind in zip(tokens, types, strict=True)
    ]
