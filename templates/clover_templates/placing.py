"""Which portion stands in which place: what headings say first, then one assignment of the rest."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, pstdev

from clover_templates.blocks import Kind
from clover_templates.places import Place, Places
from clover_templates.portions import Portion
from clover_templates.scoring import Scorer, Scores

# in standard deviations of the scores of a document
_NEIGHBOUR = 0.3  # what speaks for the place that the portion before has, or the one behind that
_BACK = 0.2  # what speaks against a place that the template has before that
_MARGIN = 0.1  # by which a place must be better than all others


@dataclass(frozen=True, slots=True)
class Placed:
    """A portion and where it stands; None: nowhere, it is left over."""

    portion: Portion
    place: Place | None


async def place(portions: Sequence[Portion], places: Places, scorer: Scorer) -> tuple[Placed, ...]:
    """Find each portion's place. Raises CloverError where the scorer does."""
    choices = [_choices(portion, places) for portion in portions]
    asked = [number for number, some in enumerate(choices) if len(some) > 1]
    texts = [portions[number].text for number in asked]
    scores = await scorer.scores(places.template, places.all, texts) if asked else []
    table = dict(zip(asked, _standardised(scores), strict=True))
    columns = {each: column for column, each in enumerate(places.all)}
    open_columns = [[columns[each] for each in some] for some in choices]
    best = _best(open_columns, table)
    found: list[Placed] = []
    for number, portion in enumerate(portions):
        column = best[number]
        sure = column is not None and _is_sure(table.get(number), open_columns[number], column)
        found.append(Placed(portion, places.all[column] if column is not None and sure else None))
    return tuple(found)


def _choices(portion: Portion, places: Places) -> Sequence[Place]:
    """The places that may be a portion's: those of the section its heading names, or else all.
    One with a heading of its own would end the text that stands above other sections."""
    some = places.all if portion.home is None else places.of(portion.home)
    if headings := sum(block.kind is Kind.HEADING for block in portion.blocks):
        alone = headings == 1
        return [each for each in some if _ends_with_text(each) or (each.headed and alone)]
    return [each for each in some if not each.headed]


def _ends_with_text(place: Place) -> bool:
    """Whether headings may stand in a place: below its text the template has none of its own."""
    return place.section.level > 0 and not place.section.sections


def _standardised(scores: Scores) -> Scores:
    """Scores as what they are above their row's mean, in standard deviations of all."""
    level = [[score - fmean(row) for score in row] for row in scores]
    size = pstdev([score for row in level for score in row]) if level else 0.0
    return [[score / (size or 1.0) for score in row] for row in level]


def _best(choices: Sequence[Sequence[int]], table: dict[int, list[float]]) -> list[int | None]:
    """The assignment of columns that is best over the whole document (Viterbi): portions that
    follow one another rather stand in one place, or in the template's order."""
    best: list[dict[int, tuple[float, int | None]]] = []
    before: dict[int, tuple[float, int | None]] = {}
    for number, some in enumerate(choices):
        row = table.get(number)
        now: dict[int, tuple[float, int | None]] = {}
        for column in some:
            own = row[column] if row else 0.0
            ways = [(total + _step(last, column), last) for last, (total, _) in before.items()]
            total, last = max(ways, default=(0.0, None), key=lambda way: way[0])
            now[column] = (total + own, last)
        best.append(now)
        before = now or before
    return _traced(best)


def _step(last: int, column: int) -> float:
    if column in (last, last + 1):
        return _NEIGHBOUR
    return -_BACK if column < last else 0.0


def _traced(best: Sequence[dict[int, tuple[float, int | None]]]) -> list[int | None]:
    """The columns on the best way, read from its end."""
    found: list[int | None] = [None] * len(best)
    column: int | None = None
    for number in range(len(best) - 1, -1, -1):
        if not best[number]:
            continue
        if column is None:
            column = max(best[number], key=lambda each: best[number][each][0])
        found[number] = column
        column = best[number][column][1]
    return found


def _is_sure(row: Sequence[float] | None, choices: Sequence[int], column: int) -> bool:
    """Whether a place is not chosen by chance: another one is not about as good."""
    if row is None:
        return True
    others = [row[other] for other in choices if other != column]
    return row[column] - max(others, default=-math.inf) >= _MARGIN
