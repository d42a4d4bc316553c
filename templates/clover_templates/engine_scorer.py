"""How well texts fit places, asked of the engine: the noisy channel.

A text fits where it is likely under the place's heading, compared with what that heading makes of
every text. A small model that is asked for the label is right half as often.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Protocol

from clover_engine.api import CanvasRequest, Filled, Hole, Literal, Priority
from clover_templates.places import Place, hints
from clover_templates.scoring import Scores
from clover_templates.template import Template

# a text's beginning tells what it is about; about 28 tokens
_HEAD = 28
_MOST_TOKENS = 64
_FEW = 4  # texts
# a budget for large documents: so many tokens are read in all, but never less of a text than this
_BUDGET = 24_000
_LEAST = 12
_PIECE = re.compile(r"[\u3400-\u9fff]|[A-Za-z]{1,6}|\d{1,3}|\s+|.", re.DOTALL)


def _nothing(_: float) -> None:
    """Nobody watches."""


class Filler(Protocol):
    """The part of an engine's client that fills canvases."""

    async def fill(self, request: CanvasRequest) -> Filled:
        """Raises CloverError."""
        ...


@dataclass(frozen=True, slots=True)
class EngineScorer:
    """Asks an engine, one canvas a place; `progress` is told what share is done, 0 to 1."""

    engine: Filler
    progress: Callable[[float], None] = _nothing

    async def scores(
        self, template: Template, places: Sequence[Place], texts: Sequence[str]
    ) -> Scores:
        """Log-likelihoods of the texts' beginnings, less each place's mean. Raises CloverError."""
        lines = hints(places, template)
        head = max(min(_HEAD, _BUDGET // max(len(texts) * len(places), 1)), _LEAST)
        # a mean of a few texts says little: what other headings say stands in for more
        others = map(_said, lines) if len(texts) < _FEW else ()
        compared = tuple(_beginning(text, head) for text in (*texts, *others))
        columns: list[Sequence[float]] = []
        for number, line in enumerate(lines):
            columns.append(await self._column(f"{template.kind_line}\n\n{line}\n\n", compared))
            self.progress((number + 1) / len(lines))
        rows = zip(*(_centred(column) for column in columns), strict=True)
        return [list(row) for row in rows][: len(texts)]

    async def _column(self, left: str, texts: Sequence[str]) -> Sequence[float]:
        hole = Hole(_MOST_TOKENS, choices=tuple(texts))
        request = CanvasRequest((Literal(left), hole), priority=Priority.BACKGROUND)
        return (await self.engine.fill(request)).fills[0].scores


def _centred(column: Sequence[float]) -> list[float]:
    mean = fmean(column)
    return [score - mean for score in column]


def _said(line: str) -> str:
    return line.lstrip("# ")


def _beginning(text: str, tokens: int) -> str:
    """The first words of a text, about so many tokens."""
    end = 0
    for count, piece in enumerate(_PIECE.finditer(text)):
        if count == tokens:
            break
        end = piece.end()
    return text[:end].rstrip() or text[:1]
