"""From the text around a hole to the tokens the model reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from clover_engine.api import Context, Hole
from clover_engine.ending import COMPARED
from clover_engine.errors import RequestError
from clover_engine.family import Family
from clover_engine.healing import heal
from clover_engine.seam import beginning
from clover_engine.tokenizer import TextTokenizer, Vocabulary


@dataclass(frozen=True, slots=True)
class Prompt:
    """What the model reads: `tokens`, then the bytes `healed` that its first tokens must spell.

    `removed` are the tokens that spelled those bytes when the text was cut at the cursor; `right`
    are the first tokens right of the hole, and `follows` is the first of them or an end token.
    """

    tokens: tuple[int, ...]
    removed: tuple[int, ...]
    healed: bytes
    right: tuple[int, ...]
    follows: int


_PLACES = ("{prefix}", "{suffix}", "{hole}")
RIGHT = 8  # tokens right of a hole that masks may see
_FIT = 24  # characters of the suffix by which choices are compared
_FOLLOW = 64  # characters of a right text that tell what follows


class PromptBuilder:
    """Builds prompts of one family with one tokenizer."""

    def __init__(self, family: Family, tokenizer: TextTokenizer, vocabulary: Vocabulary) -> None:
        self._tokenizer = tokenizer
        self._vocabulary = vocabulary
        self._parts = [part if part in _PLACES else self._tokens(part) for part in family.infill]
        self._project = self._tokens(family.project)
        self._file = self._tokens(family.file)
        self._end = tokenizer.special(family.end[0])

    def infill(self, prefix: str, suffix: str, context: Context | None = None) -> Prompt:
        """The prompt of a hole between `prefix` and `suffix`, ready to continue the prefix.

        The word or signs that the suffix begins with are left out: see `seam`.
        """
        kept, removed = heal(self._tokenizer.encode(prefix), self._vocabulary)
        right = self._tokenizer.encode(suffix[len(beginning(suffix)) :])
        texts: dict[str, Sequence[int]] = {"{prefix}": kept, "{suffix}": right}
        tokens = self._before(context) if context else []
        tokens += self._joined(self._parts, texts)
        healed = b"".join(self._vocabulary.token_bytes(token) for token in removed)
        follows = right[0] if right else self._end
        return Prompt(tuple(tokens), tuple(removed), healed, tuple(right[:RIGHT]), follows)

    def around(self, prefix: str, suffix: str) -> tuple[list[int], list[int]]:
        """What stands left and right of a hole in the middle, for families whose masks see both."""
        texts: dict[str, Sequence[int]] = {
            "{prefix}": self._tokenizer.encode(prefix),
            "{suffix}": self._tokenizer.encode(suffix),
        }
        hole = self._parts.index("{hole}")
        return self._joined(self._parts[:hole], texts), self._joined(self._parts[hole + 1 :], texts)

    def _joined(
        self, parts: Sequence[str | Sequence[int]], texts: Mapping[str, Sequence[int]]
    ) -> list[int]:
        tokens: list[int] = []
        for part in parts:
            tokens += texts[part] if isinstance(part, str) else part
        return tokens

    def _tokens(self, part: str) -> list[int]:
        """A part of a prompt that stands as it is: a token by its name, or text."""
        if part.startswith("<") and part.endswith(">"):
            return [self._tokenizer.special(part)]
        return self._tokenizer.encode(part)

    def _before(self, context: Context) -> list[int]:
        """The other files, each under its path, then the path of the file with the hole; nothing
        for families that were not trained on whole projects."""
        if not self._file:
            return []
        tokens = [*self._project, *self._tokenizer.encode(f"{context.project}\n")]
        for snippet in context.snippets:
            text = f"{snippet.path}\n{snippet.text}\n"
            tokens += [*self._file, *self._tokenizer.encode(text)]
        return [*tokens, *self._file, *self._tokenizer.encode(f"{context.path}\n")]

    def follow(self, right: str) -> list[int]:
        """The first tokens of a right text, as many as are compared where a hole may end."""
        return self._tokenizer.encode(right[:_FOLLOW])[:COMPARED]

    def branches(self, prompt: Prompt, hole: Hole, suffix: str) -> list[list[int]]:
        """The tokens of each choice with the beginning of the suffix behind it, so that how well
        both sides fit can be compared. Raises RequestError when a choice is too long for the hole.
        """
        choices = self._choices(hole)
        end = [self._end] if len(suffix) < _FIT else []
        return [self._behind(prompt, choice + suffix[:_FIT]) + end for choice in choices]

    def branches_around(self, hole: Hole, suffix: str) -> tuple[list[list[int]], str]:
        """The same for a hole in the middle, and the suffix that then stands right of it."""
        texts = [choice + suffix[:_FIT] for choice in self._choices(hole)]
        return [self._tokenizer.encode(text) or [self._end] for text in texts], suffix[_FIT:]

    def _choices(self, hole: Hole) -> tuple[str, ...]:
        choices = hole.choices or ()
        longest = max(choices, key=len, default="")
        if len(self._tokenizer.encode(longest)) > hole.max_tokens:
            raise RequestError(f"{hole.max_tokens} tokens are too few for the longest choice")
        return choices

    def _behind(self, prompt: Prompt, text: str) -> list[int]:
        """The tokens of what healing took back and `text`."""
        try:
            return self._tokenizer.encode(prompt.healed.decode() + text)
        except UnicodeDecodeError:  # it begins inside a character
            return [*prompt.removed, *self._tokenizer.encode(text)]
