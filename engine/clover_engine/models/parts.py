"""What models are asked in one forward, and what they answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch

from clover_engine.kv_cache import KVCache

MASK = -1  # stands among tokens for a slot that is not written yet


@dataclass(frozen=True, slots=True)
class Branch:
    """Rows of a part that stand behind the first `behind` tokens of the text, which are cached or
    among the part's leading rows. They are read one after the other, or, as a block that is
    denoised, each with all others in view."""

    rows: slice
    behind: int
    block: bool = False


@dataclass(frozen=True, slots=True)
class Layout:
    """M rows that do not simply follow one another: the place that each is rotated to, int64 [M],
    which of the rows it sees, bool [M, M], and how much of the cache, int64 [M]; None: all of it.

    `branches` say the same of rows that stand beside the text, for models with recurrent layers:
    every row that does not follow the text is in one. With `unit` above 1 text and branches are
    seen in blocks of so many tokens, whose tokens see one another.
    """

    positions: torch.Tensor
    visible: torch.Tensor
    reach: torch.Tensor | None = None
    branches: tuple[Branch, ...] = ()
    unit: int = 1


@dataclass(frozen=True, slots=True)
class Part:
    """A job's share of a forward: M tokens to read behind those in `cache`, one after the other or
    as `layout` says, of which the last `logits` are looked at."""

    tokens: Sequence[int]
    cache: KVCache
    logits: int
    layout: Layout | None = None


@dataclass(frozen=True, slots=True)
class Output:
    """Of the last R rows of a part: logits float32 [R, V], and the normed results of the tapped
    layers side by side, float32 [R, taps * H]."""

    logits: torch.Tensor
    states: torch.Tensor


class Model(Protocol):
    """A model that denoises: tokens may be MASK."""

    device: torch.device

    @property
    def vocabulary(self) -> int:
        """How many tokens it tells apart."""
        ...

    def new_cache(self) -> KVCache:
        """A cache for one text."""
        ...

    def forward(self, parts: Sequence[Part]) -> list[Output]:
        """Read the tokens of one or more jobs, each behind its own cache; no row's result depends
        on rows of other parts."""
        ...


def noted(
    tokens: Sequence[int], layout: Layout | None, start: int, block: int = 1
) -> Sequence[int]:
    """What the cache notes of rows behind `start` tokens: the first ones that follow one another as
    text does, of which only whole blocks are to be trusted where a model reads text in `block`s;
    the others as masks, which agree with no prompt, so that whoever ends a job before it takes them
    back leaves nothing false behind."""
    if layout is None:
        return tokens
    rows = len(tokens)
    numbers = torch.arange(start, start + rows) // block
    plain = numbers[None] <= numbers[:, None]
    follows = (layout.visible == plain).all(1) & (
        layout.positions == torch.arange(start, start + rows)
    )
    if layout.reach is not None:
        follows &= layout.reach >= start
    kept = int(follows.long().cumprod(0).sum())
    return [*tokens[:kept], *[MASK] * (rows - kept)]
