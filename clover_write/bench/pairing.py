"""Whether one row is better than another on the same documents, or only by chance."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from math import comb
from statistics import fmean

RESAMPLES = 2000


@dataclass(frozen=True, slots=True)
class Paired:
    """The mean difference with the bounds of its 95 % interval (bootstrap over documents), how many
    documents are better and worse, and how likely chance makes them differ as much (sign test)."""

    mean: float
    low: float
    high: float
    better: int
    worse: int
    p: float


def paired(first: Sequence[float], second: Sequence[float]) -> Paired:
    """Compare two rows document by document."""
    each = [one - other for one, other in zip(first, second, strict=True)]
    chance = random.Random(0)
    means = sorted(fmean(chance.choices(each, k=len(each))) for _ in range(RESAMPLES))
    better, worse = sum(one > 0 for one in each), sum(one < 0 for one in each)
    low, high = means[RESAMPLES * 25 // 1000], means[RESAMPLES * 975 // 1000]
    return Paired(fmean(each), low, high, better, worse, sign_test(better, worse))


def sign_test(better: int, worse: int) -> float:
    """The two-sided probability that a fair coin is as far from even; ties are left out."""
    n = better + worse
    tail = sum(comb(n, k) for k in range(max(better, worse), n + 1))
    return min(1.0, 2 * tail / (1 << n))
