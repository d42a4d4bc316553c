"""Placing, measured: blocks without headings find the sections they stood in."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import TypeAlias

from clover_engine.api import EngineClient, Stats
from clover_templates.engine_scorer import EngineScorer
from clover_templates.places import Place, Places
from clover_templates.placing import place
from clover_templates.portions import Portion
from clover_templates.scoring import Scorer, Scores, WordScorer
from clover_templates.template import Template
from clover_write.bench.baselines import BM25Scorer, first_place, named_place
from clover_write.bench.journal import Journal, Outcome
from clover_write.bench.label_scorer import LabelScorer
from clover_write.bench.labelled import Labelled

SHUFFLED = "shuffled"
KEPT = "in order"
ORDERS = (SHUFFLED, KEPT)
ENGINE = "engine"

Placer: TypeAlias = Callable[[Sequence[Portion], Places], Awaitable[list[Place | None]]]


@dataclass(slots=True)
class Once:
    """Asks a scorer once about a document: in another order its texts fit the same places."""

    scorer: Scorer
    _known: dict[str, list[float]] = field(default_factory=dict)
    _template: str = ""

    async def scores(
        self, template: Template, places: Sequence[Place], texts: Sequence[str]
    ) -> Scores:
        if template.name != self._template or not self._known.keys() >= set(texts):
            rows = await self.scorer.scores(template, places, texts)
            self._known = dict(zip(texts, rows, strict=True))
            self._template = template.name
        return [self._known[text] for text in texts]


def placers(names: Iterable[str], engine: EngineClient) -> dict[str, Placer]:
    """The rows of the table: how each of these finds the places of portions."""
    every = {
        ENGINE: _by(EngineScorer(engine)),
        "labels": _by(LabelScorer(engine)),
        "first": first_place,
        "alias": named_place,
        "bm25": _by(BM25Scorer()),
        "words": _by(WordScorer()),
    }
    return {name: every[name] for name in names}


def _by(scorer: Scorer) -> Placer:
    once = Once(scorer)

    async def find(portions: Sequence[Portion], places: Places) -> list[Place | None]:
        return [one.place for one in await place(portions, places, once)]

    return find


async def run(
    documents: Sequence[Labelled],
    rows: dict[str, Placer],
    journal: Journal,
    progress: Callable[[int, int], None],
) -> list[Outcome]:
    """Every outcome, one a block, also those that the journal holds already. Raises CloverError."""
    for number, document in enumerate(documents):
        task = task_id(document)
        if task not in journal.done:
            outcomes = [
                outcome
                for name, placer in rows.items()
                for order in ORDERS
                for outcome in await _outcomes(document, name, placer, order)
            ]
            journal.add(task, outcomes)
        progress(number + 1, len(documents))
    return [outcome for document in documents for outcome in journal.done[task_id(document)]]


def task_id(document: Labelled) -> str:
    """What a document is called in a journal."""
    return f"{document.language}/{document.name}"


async def _outcomes(document: Labelled, row: str, placer: Placer, order: str) -> list[Outcome]:
    """What becomes of each block; its text is the section that was found, empty for none."""
    numbers = document.shuffled() if order == SHUFFLED else range(len(document.portions))
    started = perf_counter()
    found = await placer([document.portions[n] for n in numbers], document.places)
    ms = (perf_counter() - started) * 1000 / len(document.portions)
    return [
        Outcome(
            task_id=task_id(document),
            row=row,
            case=order,
            text=_name(where) if where else "",
            ms=ms,
            stats=Stats(),
            passed=where is not None and where in document.places.of(document.sections[number]),
        )
        for number, where in zip(numbers, found, strict=True)
    ]


def _name(where: Place) -> str:
    slot = where.slot.name if where.slot else "text"
    return where.section.label or slot
