"""What a forward costs by its number of rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from time import perf_counter

POINTS = (1, 4, 16)  # rows

_LEARNED = 0.4  # share of a new observation in the estimate
_FORGOTTEN = 0.05  # share of an estimate that each observation elsewhere takes away
_SPOILT = 0.3  # a forward that takes so much less than expected says that nothing is known
_ORDINARY_SLOPE = 0.03  # what each further row adds on an ordinary machine, in single rows


class CostCurve:
    """Milliseconds of a forward by rows, straight lines between a few points.

    The points begin with what is ordinary for the cost of one row, and follow every forward since.
    A point that is not observed drifts back to that: else one bad observation, which says that
    drafts do not pay, would never be corrected, because without drafts it is never made again.
    """

    def __init__(self, milliseconds: Mapping[int, float], adapter: float = 0.0) -> None:
        """`adapter`: what it costs that some of a forward's rows are masks."""
        self._points = sorted(milliseconds.items())
        self._adapter = adapter

    def __str__(self) -> str:
        return ", ".join(f"{rows} rows {cost:.0f} ms" for rows, cost in self._points)

    def observe(self, rows: int, milliseconds: float, masks: bool = False) -> None:
        """Learn from a forward; those of more rows than the curve describes tell nothing."""
        if rows > self._points[-1][0]:
            return
        if masks:
            self._adapter += _LEARNED * (max(milliseconds - self(rows), 0.0) - self._adapter)
            return
        surprise = milliseconds / self(rows)
        if surprise < _SPOILT:
            # the machine was busy when the points were measured, all of them
            self._points = [(point, cost * surprise) for point, cost in self._points]
            return
        nearest = min(self._points, key=lambda point: abs(point[0] - rows))[0]
        single = self(1)
        self._points = [
            (point, cost * (1 + _LEARNED * (surprise - 1)))
            if point == nearest
            else (point, cost + _FORGOTTEN * (single * _ordinary(point) - cost))
            for point, cost in self._points
        ]

    def __call__(self, rows: int) -> float:
        """Expected milliseconds of a forward of `rows` rows."""
        (low, low_cost), *rest = self._points
        if rows <= low or not rest:
            return low_cost
        for high, high_cost in rest:
            if rows <= high or high == rest[-1][0]:
                return low_cost + (high_cost - low_cost) * (rows - low) / (high - low)
            low, low_cost = high, high_cost
        return low_cost

    def masked(self, rows: int) -> float:
        """Expected milliseconds of a forward of `rows` rows, some of them masks."""
        return self(rows) + self._adapter


def _ordinary(rows: int) -> float:
    return 1 + _ORDINARY_SLOPE * (rows - 1)


def measure(forward: Callable[[int], None]) -> CostCurve:
    """Time `forward(rows)` at one row, after a warm-up.

    Once is enough, and the other points are what is ordinary: the forwards to come correct them.
    """
    forward(POINTS[-1])
    started = perf_counter()
    forward(1)
    single = (perf_counter() - started) * 1000
    return CostCurve({rows: single * _ordinary(rows) for rows in POINTS})
