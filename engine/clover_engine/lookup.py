"""Prompt lookup: what followed the last few tokens the last time they occurred is a free draft."""

from __future__ import annotations

from collections.abc import Sequence

# Saxena 2023, prompt lookup decoding: match the longest n-gram first
LONGEST, SHORTEST = 4, 1


class Lookup:
    """The n-grams of one job's context, of its document's last answer and of what it has written.

    The answer is the best guess while the user types along, so later occurrences win: it stands
    behind the context, whose own end, where writing goes on, stands behind both.
    """

    def __init__(self, context: Sequence[int], answered: Sequence[int]) -> None:
        self._tokens: list[int] = []
        self._ends: dict[tuple[int, ...], int] = {}
        self._seam = 0
        self.extend(context)
        if answered:
            for part in (answered, context[-LONGEST:]):
                self._seam = len(self._tokens)
                self.extend(part)

    def extend(self, tokens: Sequence[int]) -> None:
        """Read on: n-grams that end before the last token, on this side of a seam, are findable."""
        for token in tokens:
            end = len(self._tokens)
            for n in range(SHORTEST, LONGEST + 1):
                if end - n >= self._seam:
                    self._ends[tuple(self._tokens[end - n : end])] = end
            self._tokens.append(token)

    def find(self, most: int) -> tuple[int, list[int]]:
        """The length of the longest n-gram at the end that occurred before, and at most `most`
        tokens that followed it; 0 and none where there is no such n-gram."""
        for n in range(min(LONGEST, len(self._tokens)), SHORTEST - 1, -1):
            end = self._ends.get(tuple(self._tokens[-n:]))
            if end is not None:
                return n, self._tokens[end : end + most]
        return 0, []
