"""How well texts fit places, asked of the engine: the noisy channel.

A text fits where it is likely under the place's heading, compared with what that heading makes of
every text. A small model that is asked for the label is right half as often.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Protocol

from clover_engine.api import CanvasRequest, Filled, Hole, Literal, Priority
from clover_templates.places import Place, hints
from clover_templates.scoring import Scores
from clover_templates.template import Template

# a text's beginning tells what it is about: 6, 8, 12, 20 and 24 of its tokens find the section of
# 47, 50, 56, 59 and 57 of 100 blocks (138 blocks of the labelled documents for tuning)
_HEAD = 20
_LEAST = 6
# how much of a place's mean is taken off: all or half of it finds fewer
_CENTRED = 0.7
_MOST_TOKENS = 512  # of a beginning, whatever signs it is made of
_FEW = 4  # texts
# tokens that are read of a document of no size, and more for each KB: two cores read 400 a second
_BUDGET = 2700
_BUDGET_PER_KB = 40
_BESIDES = 2  # read with each text: its end, and what was taken back of the heading
# about a token
_PIECE = re.compile(r"\s{0,8}(?:[\u3400-\u9fff]{1,2}|[A-Za-z]{1,8}|\d|.)", re.DOTALL)


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
        """Log-likelihoods of the texts' beginnings, less most of each place's mean.

        Of a large document less is read; in the end neighbours share what one of them says.
        Raises CloverError.
        """
        lines = hints(places, template)
        tokens = max(_budget(texts) // len(places), 1)
        shared = max(1, math.ceil(len(texts) * (_LEAST + _BESIDES) / tokens))
        read = texts[::shared]
        head = max(_LEAST, min(_HEAD, tokens // max(len(read), 1) - _BESIDES))
        # a mean of a few texts says little: what other headings say stands in for more
        others = map(_said, lines) if len(read) < _FEW else ()
        compared = tuple(beginning(text, head) for text in (*read, *others))
        columns: list[Sequence[float]] = []
        for number, line in enumerate(lines):
            column = await self._column(f"{template.kind_line}\n\n{line}\n\n", compared)
            columns.append(_centred(column))
            self.progress((number + 1) / len(lines))
        rows = [list(row) for row in zip(*columns, strict=True)]
        return [rows[number // shared] for number in range(len(texts))]

    async def _column(self, left: str, texts: Sequence[str]) -> Sequence[float]:
        hole = Hole(_MOST_TOKENS, choices=tuple(texts), scored=True)
        request = CanvasRequest((Literal(left), hole), priority=Priority.BACKGROUND)
        return (await self.engine.fill(request)).fills[0].scores


def _centred(column: Sequence[float]) -> list[float]:
    mean = _CENTRED * fmean(column)
    return [score - mean for score in column]


def _budget(texts: Sequence[str]) -> int:
    """How many tokens of all texts and places together are read."""
    size = sum(len(text.encode("utf-8", "surrogatepass")) for text in texts)
    return _BUDGET + size * _BUDGET_PER_KB // 1024


def _said(line: str) -> str:
    return line.lstrip("# ")


def beginning(text: str, tokens: int) -> str:
    """The first words of a text, about so many tokens."""
    end = 0
    for count, piece in enumerate(_PIECE.finditer(text)):
        if count == tokens:
            break
        end = piece.end()
    return text[:end].rstrip() or text[:1]
