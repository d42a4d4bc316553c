"""Examples as the engine would read them: prompt and middle as one token sequence."""

from __future__ import annotations

from dataclasses import dataclass

from clover_engine.adapt.examples import Example
from clover_engine.family import Family
from clover_engine.prompt import RIGHT
from clover_engine.seam import beginning
from clover_engine.tokenizer import TextTokenizer, Vocabulary

END_TOKEN = "<|endoftext|>"


@dataclass(frozen=True, slots=True)
class Reading:
    """Token sequence of an example: `tokens` = prompt and middle; `first` is where the prefix
    begins in them, `middle` where the hole does; `right` are the first tokens behind the hole, and
    `follows` is the first token of the suffix as it stands in the prompt."""

    tokens: tuple[int, ...]
    first: int
    middle: int
    right: tuple[int, ...]
    follows: int
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

        The text is tokenised as one, and the hole ends with the token that its last character and
        the beginning of the right text fall into: so does the text that the engine lets be written.
        """
        again = beginning(example.suffix)
        suffix = self._tokenizer.encode(example.suffix[len(again) :])
        head: list[int] = []
        for part in self._parts:
            head.extend(suffix if isinstance(part, str) else (part,))
        text = self._tokenizer.encode(example.prefix + example.middle + example.suffix)
        middle, _ = self._within(text, len(example.prefix.encode()))
        size = len((example.prefix + example.middle + again).encode())
        end, inside = self._within(text, size)
        end += inside
        right, text = text[end : end + RIGHT], text[:end]
        spare = most - len(head) - len(text)
        if spare < 0:
            text, middle = text[-spare:], middle + spare
        if middle < 8 or middle >= len(text):
            return None
        return Reading(
            tokens=(*head, *text),
            first=len(head),
            middle=len(head) + middle,
            right=tuple(right),
            follows=suffix[0] if suffix else self._end,
            end_token=self._end,
        )

    def _within(self, tokens: list[int], size: int) -> tuple[int, bool]:
        """How many whole tokens lie within the first `size` bytes, and whether more bytes do."""
        for count, token in enumerate(tokens):
            if size <= 0:
                return count, False
            size -= len(self._vocabulary.token_bytes(token))
            if size < 0:
                return count, True
        return len(tokens), False
