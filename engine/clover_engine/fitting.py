"""How well the right text follows where a hole may end: what decides which end it is."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from itertools import islice

import torch

from clover_engine.api import Draft
from clover_engine.kv_cache import KVCache
from clover_engine.models.parts import Layout
from clover_engine.steps import Forward, Meter, Seen

Branch = tuple[int, Sequence[int]]  # tokens of the hole, and the right text's tokens behind them


def compare(
    branches: Sequence[Branch],
    written: Sequence[int],
    start: int,
    cache: KVCache,
    meter: Meter,
) -> Generator[Forward | Draft, Seen | None, list[float]]:
    """The log-likelihood of each branch's right tokens, all in one forward.

    The hole's tokens `written` stand behind `start` others; a branch reads the last of its tokens
    again, and sees of the cache what stands before that.
    """
    before = len(cache)
    tokens = [token for count, right in branches for token in (written[count - 1], *right[:-1])]
    layout = _layout([(start + count - 1, len(right)) for count, right in branches])
    seen = meter.received((yield Forward(cache, tokens, len(tokens), layout=layout)))
    cache.truncate(before)
    chances = seen.logits.log_softmax(-1)
    targets = torch.tensor([token for _, right in branches for token in right])
    found = chances[torch.arange(len(targets)), targets.to(chances.device)].tolist()
    taken = iter(found)
    return [sum(islice(taken, len(right))) for _, right in branches]


def _layout(places: Sequence[tuple[int, int]]) -> Layout:
    """Branches, each with its place and rows, that do not see one another."""
    sizes = torch.tensor([size for _, size in places])
    owner = torch.repeat_interleave(torch.arange(len(places)), sizes)
    reach = torch.tensor([place for place, _ in places])[owner]
    row = torch.arange(len(owner))
    first = sizes.cumsum(0) - sizes
    beside = (owner[:, None] == owner[None]) & (row[None] <= row[:, None])
    return Layout(reach + row - first[owner], beside, reach)
