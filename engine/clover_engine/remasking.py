"""Which masks of a block are settled in a step, and which settled tokens are doubted again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class Order(StrEnum):
    """How sure a mask is of its token, from 0 to 1."""

    CONFIDENCE = "confidence"  # the token's probability
    MARGIN = "margin"  # how far the second token is behind
    ENTROPY = "entropy"  # one less the entropy, in shares of the largest there can be


@dataclass(frozen=True, slots=True)
class Remasking:
    """Masks as sure as `threshold` are settled, the surest first, at least one and at most `most`.

    With `safety` f only the surest n for which (n + 1)(1 - confidence of the n-th) < f are: with
    f = 1 they are, under its assumptions, what settling one a step would give (Fast-dLLM, arXiv
    2505.22618). When a block is full, tokens that were settled with less than `doubt`
    are masked and denoised again, for at most `rounds` rounds.
    """

    order: Order = Order.CONFIDENCE
    threshold: float = 0.9
    most: int | None = None
    safety: float | None = None
    doubt: float = 0.0
    rounds: int = 0

    def settled(self, sureness: Sequence[float]) -> list[int]:
        """Which of the masks are settled: their numbers in `sureness`, ascending."""
        surest = sorted(range(len(sureness)), key=lambda mask: -sureness[mask])
        count = sum(sureness[mask] >= self.threshold for mask in surest)
        if self.safety is not None:
            safe = (
                n
                for n in range(len(surest), 0, -1)
                if (n + 1) * (1 - sureness[surest[n - 1]]) < self.safety
            )
            count = min(count, next(safe, 1))
        if self.most is not None:
            count = min(count, self.most)
        return sorted(surest[: max(count, 1)])

    def doubted(self, sureness: Sequence[float]) -> list[int]:
        """Which settled tokens are masked again."""
        return [number for number, sure in enumerate(sureness) if sure < self.doubt]
