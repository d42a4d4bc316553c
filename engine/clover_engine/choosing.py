"""A hole with a closed set of choices: all are scored as branches behind one context."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence

import torch

from clover_engine.api import DeadlinePassed, Draft, Fill, Finish
from clover_engine.kv_cache import KVCache
from clover_engine.models.qwen2 import Layout
from clover_engine.prompt import Prompt
from clover_engine.steps import Forward, HoleSteps, Meter, Seen, read

MOST_ROWS = 128  # of one forward: more choices than fit take several


def choose(
    number: int,
    choices: Sequence[str],
    branches: Sequence[Sequence[int]],
    prompt: Prompt,
    cache: KVCache,
) -> HoleSteps:
    """Take the choice whose branch, which also spells what stands right of the hole, is likeliest.

    The confidence is its share among the choices.
    """
    meter = Meter(len(prompt.tokens), reused=len(cache))
    fill = Fill("", 0.0, Finish.DEADLINE)
    try:
        pending = yield from read(prompt, cache, meter, keep=True)
        scores: list[float] = []
        for some in _portions(branches):
            scores += yield from _score(pending, some, cache, meter)
        shares = torch.tensor(scores).softmax(0)
        best = int(shares.argmax())
        fill = Fill(choices[best], float(shares[best]), Finish.STOP)
        yield Draft(fill.text, number)
    except DeadlinePassed:
        pass
    return fill, meter.stats()


def _portions(branches: Sequence[Sequence[int]]) -> Iterator[Sequence[Sequence[int]]]:
    """Branches in order, as many at a time as one forward takes."""
    first, rows = 0, 0
    for number, branch in enumerate(branches):
        if rows and rows + len(branch) > MOST_ROWS:
            yield branches[first:number]
            first, rows = number, 0
        rows += len(branch)
    yield branches[first:]


def _score(
    pending: Sequence[int], branches: Sequence[Sequence[int]], cache: KVCache, meter: Meter
) -> Generator[Forward | Draft, Seen | None, list[float]]:
    """The log-likelihood of each branch behind the cache and the pending tokens."""
    before = len(cache)
    tokens = [*pending, *(token for branch in branches for token in branch[:-1])]
    layout = _layout(len(pending), [len(branch) - 1 for branch in branches], before)
    seen = meter.received((yield Forward(cache, tokens, len(tokens), layout=layout)))
    cache.truncate(before)
    chances = seen.logits.log_softmax(-1)
    scores = []
    row = len(pending)
    for branch in branches:
        # the first token is foretold by the last pending row, every other one by its neighbour
        rows = [len(pending) - 1, *range(row, row + len(branch) - 1)]
        scores.append(float(chances[rows, list(branch)].sum()))
        row += len(branch) - 1
    return scores


def _layout(pending: int, lengths: Sequence[int], start: int) -> Layout:
    """Branches that stand side by side behind the pending rows and do not see each other."""
    rows = pending + sum(lengths)
    positions = torch.cat(
        [torch.arange(pending), *(torch.arange(pending, pending + n) for n in lengths)]
    )
    visible = torch.zeros(rows, rows, dtype=torch.bool)
    visible[:, :pending] = True
    first = pending
    for length in lengths:
        visible[first : first + length, first : first + length] = True
        first += length
    return Layout(positions + start, visible.tril_())
