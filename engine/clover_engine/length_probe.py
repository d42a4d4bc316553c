"""How long a hole is, asked of the masks themselves: calibrated adaptive length (CAL).

For models that have learned no end: how sure the masks of a block are depends on whether its length
fits between both sides, beside a bias that falls with the length (arXiv 2602.00476).
Where blocks can stand side by side that do not see each other, a few lengths are asked for in one
forward; else the paper's climb takes one forward for each length.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from math import exp

FIRST = 8  # slots that the climb begins with
PATIENCE = 4  # lengths that may be worse, one after the other, before it turns


def climb(most: int) -> Generator[int, Sequence[float], int]:
    """Asks for the sureness of the masks of one length after the other, at most `most`, upwards
    from the first while that gets better, then downwards; returns the best."""
    first = min(FIRST, most)
    fits: dict[int, float] = {first: _fit(first, (yield first))}
    for lengths in (range(first + 1, most + 1), range(first - 1, 0, -1)):
        worse = 0
        for length in lengths:
            best = max(fits.values())
            fits[length] = _fit(length, (yield length))
            worse = 0 if fits[length] > best else worse + 1
            if worse == PATIENCE:
                break
    return max(fits, key=lambda length: fits[length])


def best_length(lengths: Sequence[int], sureness: Sequence[Sequence[float]]) -> int:
    """The length whose masks are surest for it: `sureness` holds those of each length's masks."""
    fits = list(map(_fit, lengths, sureness))
    return lengths[fits.index(max(fits))]


def _fit(length: int, sureness: Sequence[float]) -> float:
    """How sure masks are beside what is to be expected."""
    return sum(sureness) / len(sureness) / _bias(length)


def _bias(length: int) -> float:
    """What sureness is to be expected at a length that tells nothing; constants of the paper."""
    return 1.00 * exp(-1.77 * length) + 0.56 * exp(-0.06 * length) + 0.24
