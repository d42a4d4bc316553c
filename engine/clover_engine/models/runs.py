"""How a model with recurrent layers reads the rows of a forward: texts, and what stands beside."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import torch

from clover_engine.models.parts import MASK, Branch, Layout, Part
from clover_engine.recurrent_cache import SPACING, Memory, RecurrentCache, Rows


@dataclass(frozen=True, slots=True)
class Run:
    """Rows of a batch that are read together behind the first `behind` tokens of a text: its next
    ones, a branch of it, or a block."""

    rows: slice
    behind: int
    block: bool = False

    def __len__(self) -> int:
        count: int = self.rows.stop - self.rows.start
        return count

    @property
    def end(self) -> int:
        """Behind how many tokens the text stands then."""
        return self.behind + len(self)

    def units(self, unit: int) -> Iterator[Run]:
        """What is seen together: all of it, or blocks that end at multiples of `unit`."""
        place = self.behind
        while place < self.end:
            end = self.end if unit == 1 else min(self.end, place - place % unit + unit)
            first = self.rows.start + place - self.behind
            yield Run(slice(first, first + end - place), place, self.block)
            place = end


@dataclass(frozen=True, slots=True)
class Share:
    """A part in a batch: its text, the runs that this is cut into where others begin and where
    memories are kept, and the runs beside it. What layers make of the text is noted layer by layer.
    """

    cache: RecurrentCache
    text: Run
    pieces: tuple[Run, ...]
    beside: tuple[Run, ...]
    unit: int
    positions: torch.Tensor
    looked: range
    places: list[Mapping[int, Memory]] = field(default_factory=list)
    rows: list[Rows] = field(default_factory=list)

    def leave(self, tokens: Sequence[int]) -> None:
        """Leave in the cache what was noted; tokens beside the text agree with nothing."""
        self.cache.keep(self.text.behind, self.places, self.rows)
        following = len(self.text)
        self.cache.append([*tokens[:following], *[MASK] * (len(tokens) - following)])


def shares_of(parts: Sequence[Part], device: torch.device) -> list[Share]:
    """Where in the batch each part's rows stand, and how they are read."""
    shares, begin = list[Share](), 0
    for part in parts:
        shares.append(_share(part, begin, device))
        begin += len(part.tokens)
    return shares


def _share(part: Part, begin: int, device: torch.device) -> Share:
    if not isinstance(part.cache, RecurrentCache):
        raise TypeError("a model with recurrent layers reads behind caches of its own")
    rows, start = len(part.tokens), len(part.cache)
    part.cache.reserve(rows)
    layout = part.layout or Layout(torch.arange(start, start + rows), torch.empty(0))
    branches = layout.branches
    following = branches[0].rows.start if branches else rows
    text = Run(slice(begin, begin + following), start)
    beside = (
        Run(slice(begin + one.rows.start, begin + one.rows.stop), one.behind, one.block)
        for one in branches
    )
    return Share(
        part.cache,
        text,
        tuple(_pieces(text, branches)),
        tuple(beside),
        layout.unit,
        layout.positions.to(device),
        range(begin + rows - part.logits, begin + rows),
    )


def _pieces(text: Run, branches: Sequence[Branch]) -> Iterator[Run]:
    start, end = text.behind, text.end
    regular = range(start - start % SPACING + SPACING, end, SPACING)
    begun = (branch.behind for branch in branches if start < branch.behind < end)
    place = start
    for cut in sorted({*regular, *begun, end}):
        if cut > place:
            first = text.rows.start + place - start
            yield Run(slice(first, first + cut - place), place)
        place = cut
