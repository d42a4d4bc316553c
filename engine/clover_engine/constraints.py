"""What the text of a hole may be: asked for the next tokens, told of each one.

Every constraint is over `healed` (the bytes that token healing took back, to be spelled first) and
the text behind it, so that a token may lie across the two and all constraints intersect.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, reduce
from typing import Protocol

import numpy as np
import numpy.typing as npt

from clover_engine.api import Hole
from clover_engine.errors import RequestError
from clover_engine.pattern import Mask, Patterns
from clover_engine.tokenizer import Vocabulary


class Constraint(Protocol):
    """Which tokens may come next in a hole, given those written so far."""

    @property
    def may_end(self) -> bool:
        """Whether the text may end here."""
        ...

    @property
    def must_end(self) -> bool:
        """Whether the text is complete and nothing may follow. Raises RequestError as `allowed`."""
        ...

    def allowed(self) -> Mask | None:
        """bool [V], not to be changed: the tokens that may come next; None for all with bytes.

        A token without bytes is never allowed: whether an end token may come, `may_end` says.
        Raises RequestError at a dead end: when nothing may come next and the text may not end.
        """
        ...

    def advance(self, token: int) -> None:
        """Note that an allowed token was written."""
        ...


class Constraints:
    """Makes constraints over one vocabulary; tables are built when first asked for and kept."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._patterns = Patterns(vocabulary)

    def of(self, hole: Hole, healed: bytes = b"") -> Constraint | None:
        """What `hole` asks for behind `healed`; None when anything may be written.

        Raises RequestError when nothing could be.
        """
        if not hole.max_tokens:
            return None
        asked: list[Constraint] = []
        if hole.pattern is not None:
            asked.append(self._patterns.compile(hole.pattern, hole.max_tokens, healed))
        elif healed:
            asked.append(Spelled(healed, self._vocabulary))
        if hole.max_lines is not None:
            asked.append(self.max_lines(hole.max_lines, healed))
        if hole.unlike:
            asked.append(Unlike(hole.unlike, healed, self._vocabulary))
        if len(asked) > 1:
            return All(asked)
        return asked[0] if asked else None

    def max_lines(self, count: int, healed: bytes = b"") -> MaxLines:
        """At most `count` lines."""
        return MaxLines(count, self._breaks, self._vocabulary, healed)

    @cached_property
    def _breaks(self) -> LineBreaks:
        return LineBreaks(self._vocabulary)


class _Written:
    """The bytes written so far."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._text = b""

    def advance(self, token: int) -> None:
        """Note that an allowed token was written."""
        self._text += self._vocabulary.token_bytes(token)

    def _mask(self, tokens: npt.NDArray[np.integer]) -> Mask:
        mask = np.zeros(len(self._vocabulary), np.bool_)
        mask[tokens] = True
        return mask


class Spelled(_Written):
    """What token healing took back is spelled first; then anything."""

    def __init__(self, healed: bytes, vocabulary: Vocabulary) -> None:
        super().__init__(vocabulary)
        self._healed = healed

    @property
    def may_end(self) -> bool:
        """Whether all is spelled."""
        return len(self._text) >= len(self._healed)

    @property
    def must_end(self) -> bool:
        """Never: anything may follow."""
        return False

    def allowed(self) -> Mask | None:
        """The tokens that agree with what is still to be spelled."""
        wanted = self._healed[len(self._text) :]
        return self._mask(self._vocabulary.compatible(wanted)) if wanted else None


class Unlike(_Written):
    """The first token that brings text is on the way to none of these texts."""

    def __init__(self, texts: Sequence[str], healed: bytes, vocabulary: Vocabulary) -> None:
        super().__init__(vocabulary)
        self._healed = healed
        self._texts = [healed + text.encode("utf-8", "replace") for text in texts if text]

    @property
    def may_end(self) -> bool:
        """Always."""
        return True

    @property
    def must_end(self) -> bool:
        """Never: there is always another token."""
        return False

    def allowed(self) -> Mask | None:
        """All tokens but those that begin a text, or go on where one ends."""
        if len(self._text) > len(self._healed):
            return None
        mask = self._mask(self._vocabulary.with_bytes())
        missing = len(self._healed) - len(self._text)
        for text in self._texts:
            if not text.startswith(self._text):
                continue
            for token in self._vocabulary.compatible(text[len(self._text) :]):
                mask[token] = len(self._vocabulary.token_bytes(int(token))) <= missing
        return mask


class LineBreaks:
    """For every token, how many line breaks (LF, CR LF or CR) it holds."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        tokens = [vocabulary.token_bytes(token) for token in range(len(vocabulary))]
        self.count = np.array([count_breaks(data) for data in tokens], np.int16)
        self.begins_with_lf = np.array([data.startswith(b"\n") for data in tokens], np.bool_)
        self.has_bytes = np.array([bool(data) for data in tokens], np.bool_)


def count_breaks(data: bytes) -> int:
    """How many line breaks there are; CR LF is one."""
    return data.count(b"\n") + data.count(b"\r") - data.count(b"\r\n")


class MaxLines(_Written):
    """No token begins a line too many; the text may end anywhere."""

    def __init__(
        self, count: int, breaks: LineBreaks, vocabulary: Vocabulary, healed: bytes
    ) -> None:
        super().__init__(vocabulary)
        self._most = count - 1 + count_breaks(healed)
        self._breaks = breaks

    @property
    def may_end(self) -> bool:
        """Always."""
        return True

    @property
    def must_end(self) -> bool:
        """Never: the last line may go on."""
        return False

    def allowed(self) -> Mask:
        """The tokens with no more line breaks than are left."""
        added = self._breaks.count
        if self._text.endswith(b"\r"):  # its line feed is no break of its own
            added = added - self._breaks.begins_with_lf
        mask: Mask = (added <= self._most - count_breaks(self._text)) & self._breaks.has_bytes
        return mask


class All:
    """Several constraints at once."""

    def __init__(self, constraints: Sequence[Constraint]) -> None:
        self._constraints = constraints

    @property
    def may_end(self) -> bool:
        """Whether the text may end here for each of them."""
        return all(constraint.may_end for constraint in self._constraints)

    @property
    def must_end(self) -> bool:
        """Whether it may, and nothing may follow."""
        if not self.may_end:
            return False
        allowed = self.allowed()
        return allowed is not None and not allowed.any()

    def allowed(self) -> Mask | None:
        """The tokens that each of them allows."""
        masks = [mask for each in self._constraints if (mask := each.allowed()) is not None]
        if not masks:
            return None
        mask = reduce(np.logical_and, masks)
        if not mask.any() and not self.may_end:
            raise RequestError("what is asked of the hole excludes itself: no token can come next")
        return mask

    def advance(self, token: int) -> None:
        """Note that an allowed token was written."""
        for constraint in self._constraints:
            constraint.advance(token)
