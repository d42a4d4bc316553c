"""How long a hole is, asked of the masks themselves: calibrated adaptive length (CAL).

For models that have learned no end: how sure the masks of a block are depends on whether its length
fits between both sides, beside a bias that falls with the length (arXiv 2602.00476).
All lengths are asked in one forward, as blocks that do not see each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp


def best_length(lengths: Sequence[int], sureness: Sequence[Sequence[float]]) -> int:
    """The length whose masks are surest for it: `sureness` holds those of each length's masks."""
    fits = [
        sum(masks) / len(masks) / _bias(length)
        for length, masks in zip(lengths, sureness, strict=True)
    ]
    return lengths[fits.index(max(fits))]


def _bias(length: int) -> float:
    """What sureness is to be expected at a length that tells nothing; constants of the paper."""
    return 1.00 * exp(-1.77 * length) + 0.56 * exp(-0.06 * length) + 0.24
