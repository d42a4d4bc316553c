"""Holes of one canvas written at the same time: each round is one forward for all of them."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, takewhile
from time import perf_counter
from typing import TypeAlias

from clover_engine.api import DeadlinePassed, Draft, Fill, Finish, Stats
from clover_engine.steps import PREFILL_ROWS, Forward, HoleSteps, Seen

Written: TypeAlias = tuple[Fill, Stats]


def together(
    holes: Sequence[HoleSteps],
) -> Generator[tuple[Forward, ...] | Draft, Sequence[Seen] | None, tuple[list[Fill], Stats]]:
    """The fills of all holes, in their order, and what they cost.

    A round takes as many forwards as are not too long together, those that have waited longest
    first. A DeadlinePassed thrown in at any yield ends every hole with what is committed.
    """
    started, rounds = perf_counter(), 0
    asked: dict[int, Forward] = {}
    written: dict[int, Written] = {}
    answers: Mapping[int, Seen | None] = dict.fromkeys(range(len(holes)))
    try:
        while answers:
            for hole, seen in answers.items():
                try:
                    event = holes[hole].send(seen)
                    while isinstance(event, Draft):
                        yield event
                        event = next(holes[hole])
                    asked[hole] = event
                except StopIteration as end:
                    written[hole] = end.value
            answers = {}
            if some := tuple(_first(asked)):
                results = yield tuple(asked.pop(hole) for hole in some)
                rounds += 1
                answers = dict(zip(some, results or (), strict=True))
    except DeadlinePassed:
        for hole, steps in enumerate(holes):
            if hole not in written:
                written[hole] = _out_of_time(steps)
    fills, costs = zip(*(written[hole] for hole in range(len(holes))), strict=True)
    return list(fills), _shared(costs, rounds, (perf_counter() - started) * 1000)


def _first(asked: Mapping[int, Forward]) -> Iterator[int]:
    """The holes that have waited longest, as many as one forward takes; at least one."""
    rows = accumulate(len(forward.tokens) for forward in asked.values())
    fitting = takewhile(lambda each: each[1] <= PREFILL_ROWS, zip(asked, rows, strict=True))
    return iter([hole for hole, _ in fitting] or list(asked)[:1])


def _out_of_time(steps: HoleSteps) -> Written:
    """What a hole has when its time is up."""
    try:
        steps.throw(DeadlinePassed())
    except StopIteration as end:
        written: Written = end.value
        return written
    except DeadlinePassed:  # it was not begun
        return Fill("", 0.0, Finish.DEADLINE), Stats()
    raise RuntimeError("a hole goes on when its time is up")


def _shared(costs: Sequence[Stats], forwards: int, milliseconds: float) -> Stats:
    """What the holes cost together: they shared forwards, and the time that these took."""
    prefill = min(max(cost.prefill_ms for cost in costs), milliseconds)
    total = sum(costs, Stats())
    return replace(total, forwards=forwards, prefill_ms=prefill, decode_ms=milliseconds - prefill)
