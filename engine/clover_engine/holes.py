"""The holes of one canvas: which are filled at the same time, and what each one is told."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TypeAlias

from clover_engine.api import (
    CanvasRequest,
    Drafting,
    Fill,
    Filled,
    Finish,
    Hole,
    Stats,
    Steps,
)
from clover_engine.canvas import Canvas
from clover_engine.constraints import Constraints
from clover_engine.errors import RequestError
from clover_engine.side_by_side import together
from clover_engine.steps import HoleSteps

Writer: TypeAlias = Callable[[CanvasRequest, int, Hole, str, str], HoleSteps]
"""Fills hole number n, between a left and a right text."""


def fill_holes(request: CanvasRequest, constraints: Constraints, writer: Writer) -> Steps:
    """The steps of one canvas. Raises RequestError when a hole asks for what cannot be."""
    canvas = Canvas.of(request)
    for number, hole in enumerate(canvas.holes):
        with _naming(number, canvas):
            constraints.of(hole)
    return _fill(request, canvas, writer)


def _fill(request: CanvasRequest, canvas: Canvas, writer: Writer) -> Steps:
    """Fill the holes, those that do not build on one another side by side."""
    fills: dict[int, Fill] = {}
    stats = Stats()
    for some in canvas.side_by_side():
        if any(fill.finish is Finish.DEADLINE for fill in fills.values()):
            fills |= dict.fromkeys(some, Fill("", 0.0, Finish.DEADLINE))
            continue
        asked = _beside_others(request) if len(some) > 1 else request
        steps = [_named_steps(asked, number, canvas, fills, writer) for number in some]
        written, cost = yield from together(steps)
        fills |= zip(some, written, strict=True)
        stats += cost
    return Filled(tuple(fills[number] for number in range(len(fills))), stats)


def _named_steps(
    request: CanvasRequest,
    number: int,
    canvas: Canvas,
    fills: Mapping[int, Fill],
    writer: Writer,
) -> HoleSteps:
    with _naming(number, canvas):
        left, right = canvas.asked_of(number, fills), canvas.right_of(number)
        return (yield from writer(request, number, canvas.holes[number], left, right))


def _beside_others(request: CanvasRequest) -> CanvasRequest:
    """What is asked of a hole that shares its forwards: rows are worth more to the other holes
    than to its drafts, and each hole reads into a cache of its own, which is not kept."""
    return replace(request, drafting=Drafting.NONE, document="")


@contextmanager
def _naming(number: int, canvas: Canvas) -> Iterator[None]:
    """Where there are several holes, an error tells which one it is about."""
    try:
        yield
    except RequestError as error:
        if len(canvas.holes) == 1:
            raise
        raise RequestError(f"hole {number + 1} of {len(canvas.holes)}: {error}") from error
