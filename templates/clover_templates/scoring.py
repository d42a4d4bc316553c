"""How well texts fit places: the question that placing asks, and its answer without a model."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from clover_templates.places import Place, hints
from clover_templates.template import Template

Scores: TypeAlias = list[list[float]]
"""One row a text, one number a place; only differences within a row mean anything."""

_HAN = re.compile(r"[\u3400-\u9fff]+")
_WORD = re.compile(r"[^\W\d_]{3,}")


class Scorer(Protocol):
    """Whoever can tell how well texts fit places."""

    async def scores(
        self, template: Template, places: Sequence[Place], texts: Sequence[str]
    ) -> Scores:
        """Raises CloverError where no answer is to be had."""
        ...


@dataclass(frozen=True, slots=True)
class WordScorer:
    """Without a model: the words a text shares with a place's heading, aliases and hint, rare ones
    weighing more (cosine of tf-idf vectors over the places)."""

    async def scores(
        self, template: Template, places: Sequence[Place], texts: Sequence[str]
    ) -> Scores:
        described = described_by(places, template)
        spread = Counter(term for words in described for term in words)
        weights = {term: math.log(1 + len(places) / count) for term, count in spread.items()}
        return [[_cosine(Counter(terms(t)), d, weights) for d in described] for t in texts]


def described_by(places: Sequence[Place], template: Template) -> list[Counter[str]]:
    """For each place the terms of its heading, its aliases and its hint."""
    return [
        Counter(terms(f"{hint} {' '.join(_names(place, template))}"))
        for place, hint in zip(places, hints(places, template), strict=True)
    ]


def _names(place: Place, template: Template) -> tuple[str, ...]:
    settings = template.slots.get(place.slot.name) if place.slot else None
    return (*place.section.aliases, *(settings.aliases if settings else ()))


def terms(text: str) -> list[str]:
    """Latin words without their endings, and pairs of Han characters."""
    words = [word.lower() for word in _WORD.findall(_HAN.sub(" ", text))]
    pairs = [run[at : at + 2] for run in _HAN.findall(text) for at in range(len(run) - 1)]
    return [re.sub(r"(?:ing|ed|es|s)$", "", word) for word in words] + pairs


def _cosine(text: Counter[str], place: Counter[str], weights: dict[str, float]) -> float:
    shared = sum(text[t] * place[t] * weights[t] ** 2 for t in text.keys() & place.keys())
    sizes = [
        math.sqrt(sum((n * weights.get(term, 1.0)) ** 2 for term, n in some.items()))
        for some in (text, place)
    ]
    return shared / (sizes[0] * sizes[1]) if shared else 0.0
