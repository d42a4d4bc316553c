"""Which portion stands in which place: what headings say first, then one assignment of the rest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean, pstdev
from typing import TypeAlias

from clover_templates.blocks import Kind
from clover_templates.cues import cue_counts
from clover_templates.places import Place, Places
from clover_templates.portions import Portion
from clover_templates.scoring import Scorer, Scores

# in standard deviations of the scores of a document
_NEIGHBOUR = 0.3  # what speaks for the place that the portion before has, or the one behind that
_BACK = 0.2  # what speaks against a place that the template has before that
_CUE = 0.8  # what speaks for a place by each word or sign that such texts have
_MARGIN = 0.1  # by which a place must be better than all others


@dataclass(frozen=True, slots=True)
class Placed:
    """A portion and where it stands; None: nowhere, it is left over."""

    portion: Portion
    place: Place | None


Column: TypeAlias = dict[int, float]
"""Scores by the numbers of the places that are open to a portion."""


async def place(portions: Sequence[Portion], places: Places, scorer: Scorer) -> tuple[Placed, ...]:
    """Find each portion's place. Raises CloverError where the scorer does."""
    choices = [_choices(portion, places) for portion in portions]
    asked = [number for number, some in enumerate(choices) if len(some) > 1]
    texts = [portions[number].text for number in asked]
    scores = await scorer.scores(places.template, places.all, texts) if asked else []
    cues = _above_mean(cue_counts(places.all, texts))
    sums = [
        [score + _CUE * cue for score, cue in zip(*rows, strict=True)]
        for rows in zip(_standardised(scores), cues, strict=True)
    ]
    table = dict(zip(asked, sums, strict=True))
    columns = {each: column for column, each in enumerate(places.all)}
    own = [
        {column: table[number][column] if number in table else 0.0 for column in open_columns}
        for number, open_columns in enumerate([columns[each] for each in some] for some in choices)
    ]
    found = map(_surest, own, _totals(own))
    return tuple(
        Placed(portion, None if column is None else places.all[column])
        for portion, column in zip(portions, found, strict=True)
    )


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
    level = _above_mean(scores)
    size = pstdev([score for row in level for score in row]) if level else 0.0
    return [[score / (size or 1.0) for score in row] for row in level]


def _above_mean(rows: Sequence[Sequence[float]]) -> Scores:
    return [[score - fmean(row) for score in row] for row in rows]


def _totals(own: Sequence[Column]) -> list[Column]:
    """For each portion and each of its columns the score of the best assignment of the whole
    document that has the portion there (Viterbi, from both ends): portions that follow one another
    rather stand in one place, or in the template's order."""
    ahead = _passed(own, _step)
    behind = _passed(own[::-1], lambda last, column: _step(column, last))[::-1]
    return [
        {column: before[column] + after[column] - score for column, score in scores.items()}
        for before, after, scores in zip(ahead, behind, own, strict=True)
    ]


def _passed(own: Sequence[Column], step: Callable[[int, int], float]) -> list[Column]:
    """The score of the best assignment of all portions up to one, for each column of that one."""
    best: list[Column] = []
    before: Column = {}
    for scores in own:
        now = {
            column: score
            + max((total + step(last, column) for last, total in before.items()), default=0.0)
            for column, score in scores.items()
        }
        best.append(now)
        before = now or before
    return best


def _step(last: int, column: int) -> float:
    if column in (last, last + 1):
        return _NEIGHBOUR
    return -_BACK if column < last else 0.0


def _surest(own: Column, totals: Column) -> int | None:
    """The best column, where its text speaks for it and another one is not about as good."""
    best = max(totals, key=totals.__getitem__, default=None)
    if best is None or len(totals) == 1:
        return best
    ahead = totals[best] - max(total for column, total in totals.items() if column != best)
    return best if own[best] > 0 and ahead >= _MARGIN else None
