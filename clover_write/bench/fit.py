"""How near what was written into a gap comes to what stood there."""

from __future__ import annotations

import random
import re
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

_LAST = re.compile(r"[A-Za-z0-9]+\W*$|\S\W*$")
RESAMPLES = 2000


@dataclass(frozen=True, slots=True)
class Fit:
    """`chrf` from 0 to 100 (Popović 2015); `length_error` in characters, relative to the truth."""

    exact: bool
    chrf: float
    length_error: float
    ends_right: bool


def fit(answer: str, truth: str) -> Fit:
    """Compare an answer with the truth, blanks at both ends apart."""
    # imported here: only this benchmark needs it
    from sacrebleu.metrics.chrf import CHRF

    answer, truth = answer.strip(), truth.strip()
    return Fit(
        exact=answer == truth,
        chrf=CHRF().sentence_score(answer, [truth]).score,
        length_error=abs(len(answer) - len(truth)) / len(truth),
        ends_right=_last(answer) == _last(truth),
    )


def _last(text: str) -> str:
    """The last word, or the last sign of a script without blanks, with the signs behind it."""
    found = _LAST.search(text)
    return found.group() if found else ""


def summary(fits: Sequence[Fit]) -> dict[str, float]:
    """Means under the names of the table."""
    return {
        "n": len(fits),
        "exact match": statistics.fmean(fit.exact for fit in fits),
        "chrF": statistics.fmean(fit.chrf for fit in fits),
        "length error": statistics.fmean(fit.length_error for fit in fits),
        "ends right": statistics.fmean(fit.ends_right for fit in fits),
    }


def difference(first: Sequence[Fit], second: Sequence[Fit]) -> dict[str, list[float]]:
    """First minus second, gap by gap: the mean, and the bounds of its 95 % interval (bootstrap)."""
    chance = random.Random(0)
    result = {}
    for name, scale in (("exact match", 100.0), ("chrF", 1.0)):
        field = "exact" if name == "exact match" else "chrf"
        each = [
            scale * (getattr(one, field) - getattr(other, field))
            for one, other in zip(first, second, strict=True)
        ]
        means = sorted(
            statistics.fmean(chance.choices(each, k=len(each))) for _ in range(RESAMPLES)
        )
        low, high = means[RESAMPLES * 25 // 1000], means[RESAMPLES * 975 // 1000]
        result[name] = [statistics.fmean(each), low, high]
    return result
