"""What placing by the engine has to beat: the same question answered without a model."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from clover_templates.heading_text import plain_heading
from clover_templates.places import Place, Places
from clover_templates.portions import Portion
from clover_templates.scoring import Scores, described_by, terms
from clover_templates.template import Template

# the usual constants of BM25 (Robertson and Zaragoza 2009)
_K1 = 1.2
_B = 0.75


@dataclass(frozen=True, slots=True)
class BM25Scorer:
    """BM25 of a text's terms in a place's heading, aliases and hint."""

    async def scores(
        self, template: Template, places: Sequence[Place], texts: Sequence[str]
    ) -> Scores:
        described = described_by(places, template)
        spread = Counter(term for words in described for term in words)
        weights = {
            term: math.log(1 + (len(places) - count + 0.5) / (count + 0.5))
            for term, count in spread.items()
        }
        mean = sum(words.total() for words in described) / len(described)
        return [
            [_bm25(Counter(terms(text)), words, weights, mean) for words in described]
            for text in texts
        ]


def _bm25(text: Counter[str], place: Counter[str], weights: dict[str, float], mean: float) -> float:
    length = _K1 * (1 - _B + _B * place.total() / (mean or 1.0))
    return sum(
        text[term] * weights[term] * place[term] * (_K1 + 1) / (place[term] + length)
        for term in text.keys() & place.keys()
    )


async def first_place(portions: Sequence[Portion], places: Places) -> list[Place | None]:
    """Everything under the first heading."""
    first = next(place for place in places.all if not place.headed)
    return [first] * len(portions)


async def named_place(portions: Sequence[Portion], places: Places) -> list[Place | None]:
    """Everything under the heading that it names, by its words or an alias, if only one is."""
    return [_named(plain_heading(portion.text), places) for portion in portions]


def _named(text: str, places: Places) -> Place | None:
    found = [place for place in places.all if not place.headed and _names(place, text)]
    return found[0] if len(found) == 1 else None


def _names(place: Place, text: str) -> bool:
    names = (place.section.label, *place.section.aliases)
    return any(plain and plain in text for plain in map(plain_heading, names))
