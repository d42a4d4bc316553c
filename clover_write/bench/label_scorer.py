"""The other way to ask a model for places: a canvas with a hole for each text's label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from clover_engine.api import CanvasRequest, Hole, Literal, Priority, Segment
from clover_templates.engine_scorer import Filler, beginning
from clover_templates.places import Place, hints
from clover_templates.scoring import Scores
from clover_templates.template import Template

_HEAD = 20  # tokens of a text, as many as the engine's scorer reads
_LABEL_TOKENS = 64
_NOTHING = "…"


@dataclass(frozen=True, slots=True)
class LabelScorer:
    """The likelihood of each place's name behind a text, less that behind no text at all. One
    canvas a document: its holes are filled in order, each sees the labels before it."""

    engine: Filler

    async def scores(
        self, template: Template, places: Sequence[Place], texts: Sequence[str]
    ) -> Scores:
        """Raises CloverError."""
        lines = [hint.removeprefix("## ") for hint in hints(places, template)]
        labels = tuple(line.split(" (")[0] for line in lines)
        if len(set(labels)) < len(labels):
            labels = tuple(f"{number} {label}" for number, label in enumerate(labels, start=1))
        told = "\n".join(f"- {label}: {line}" for label, line in zip(labels, lines, strict=True))
        hole = Hole(_LABEL_TOKENS, choices=labels)
        segments: list[Segment] = [Literal(f"{template.kind_line}\n\n{told}\n")]
        for text in (_NOTHING, *texts):
            said = " ".join(beginning(text, _HEAD).split())
            segments += [Literal(f"\nText: {said}\nSection: "), hole]
        request = CanvasRequest((*segments, Literal("\n")), priority=Priority.BACKGROUND)
        prior, *rows = [fill.scores for fill in (await self.engine.fill(request)).fills]
        return [[score - base for score, base in zip(row, prior, strict=True)] for row in rows]
