"""Examples as the engine would read them: prompt and middle as one token sequence."""

from __future__ import annotations

from dataclasses import dataclass

from clover_engine.adapt.examples import Example
from clover_engine.prompt import Family
from clover_engine.tokenizer import TextTokenizer, Vocabulary

RIGHT = 8  # tokens of the right context that are kept for pinning
END_TOKEN = "<|endoftext|>"


@dataclass(frozen=True, slots=True)
class Reading:
    """Token sequence of an example: `tokens` = prompt and middle; `first` is where the prefix
    begins in them, `middle` where the hole does; `right` are the first tokens of the suffix."""

    tokens: tuple[int, ...]
    first: int
    middle: int
    right: tuple[int, ...]
    end_token: int


class Reader:
    """Tokenises examples with the infill prompt of one family."""

    def __init__(self, family: Family, tokenizer: TextTokenizer, vocabulary: Vocabulary) -> None:
        self._tokenizer = tokenizer
        self._vocabulary = vocabulary
        self._end = tokenizer.special(END_TOKEN)
        before, _, _ = "\0".join(family.infill).partition("{prefix}")
        self._parts = [
            part if part == "{suffix}" else tokenizer.special(part)
            for part in before.strip("\0").split("\0")
        ]

    def read(self, example: Example, most: int) -> Reading | None:
        """The reading of an example, its prefix cut to keep `most` tokens; None where that fails.

        Prefix and middle are tokenised as one, as token healing writes them.
        """
        suffix = self._tokenizer.encode(example.suffix)
        head: list[int] = []
        for part in self._parts:
            head.extend(suffix if isinstance(part, str) else (part,))
        text = self._tokenizer.encode(example.prefix + example.middle)
        middle = self._length_within(text, len(example.prefix.encode()))
        spare = most - len(head) - len(text)
        if spare < 0:
            text, middle = text[-spare:], middle + spare
        if middle < 8 or middle >= len(text):
            return None
        return Reading(
            (*head, *text), len(head), len(head) + middle, tuple(suffix[:RIGHT]), self._end
        )

    def _length_within(self, tokens: list[int], size: int) -> int:
        """How many tokens lie within the first `size` bytes."""
        for count, token in enumerate(tokens):
            size -= len(self._vocabulary.token_bytes(token))
            if size < 0:
                return count
        return len(tokens)
