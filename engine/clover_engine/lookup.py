"""Prompt lookup: what followed the last few tokens the last time they occurred is a free draft."""

from __future__ import annotations

from collections.abc import Sequence

from clover_engine.cost import CostCurve

# Saxena 2023, prompt lookup decoding: match the longest n-gram first
_LONGEST, _SHORTEST = 4, 1
MAX_DRAFT = 15


class Acceptance:
    """How often a drafted token was accepted, by the length of the match it came from."""

    def __init__(self) -> None:
        # before anything was measured, longer matches deserve more trust
        self._accepted = {1: 2.0, 2: 4.0, 3: 5.0, 4: 7.0}
        self._refused = {1: 6.0, 2: 4.0, 3: 3.0, 4: 2.0}

    def rate(self, match: int) -> float:
        """The chance that the next drafted token is right, given that those before it were."""
        return self._accepted[match] / (self._accepted[match] + self._refused[match])

    def record(self, match: int, drafted: int, accepted: int) -> None:
        """Learn from one verified draft; old experience fades so that a change of text shows."""
        self._accepted[match] = self._accepted[match] * 0.98 + accepted
        self._refused[match] = self._refused[match] * 0.98 + (accepted < drafted)


class LookupDrafter:
    """Drafts for one job, looked up in its context and in the last answer, while they pay."""

    def __init__(
        self,
        context: Sequence[int],
        answered: Sequence[int],
        curve: CostCurve,
        acceptance: Acceptance,
    ) -> None:
        self._tokens: list[int] = []
        self._ends: dict[tuple[int, ...], int] = {}
        self._curve = curve
        self._acceptance = acceptance
        self._match = 0
        self._drafted = 0
        self._seam = 0
        self.extend(context)
        if answered:
            # later occurrences win: the answer stands behind the context, whose own end, where
            # writing goes on, stands behind both
            for part in (answered, context[-_LONGEST:]):
                self._seam = len(self._tokens)
                self.extend(part)

    def extend(self, tokens: Sequence[int]) -> None:
        """Read on: n-grams that end before the last token, on this side of a seam, are findable."""
        for token in tokens:
            end = len(self._tokens)
            for n in range(_SHORTEST, _LONGEST + 1):
                if end - n >= self._seam:
                    self._ends[tuple(self._tokens[end - n : end])] = end
            self._tokens.append(token)

    def propose(self, room: int) -> list[int]:
        """The tokens worth verifying next, at most `room`; often none."""
        draft: list[int] = []
        for n in range(min(_LONGEST, len(self._tokens)), _SHORTEST - 1, -1):
            end = self._ends.get(tuple(self._tokens[-n:]))
            if end is not None:
                length = self._curve.best_draft(self._acceptance.rate(n), min(room, MAX_DRAFT))
                self._match, draft = n, self._tokens[end : end + length]
                break
        self._drafted = len(draft)
        return draft

    def record(self, accepted: int) -> None:
        """Learn how many tokens of the last proposal were right."""
        if self._drafted:
            self._acceptance.record(self._match, self._drafted, accepted)
