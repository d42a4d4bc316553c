"""A hole with a closed set of choices: all are scored as branches behind one context."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch

from clover_engine.api import DeadlinePassed, Draft, Fill, Finish
from clover_engine.fitting import compare
from clover_engine.kv_cache import KVCache
from clover_engine.prompt import Prompt
from clover_engine.steps import HoleSteps, Meter, read

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
    meter, start = Meter(len(prompt.tokens), reused=len(cache)), len(prompt.tokens) - 1
    fill = Fill("", 0.0, Finish.DEADLINE)
    try:
        yield from read(prompt, cache, meter, keep=False)
        scores: list[float] = []
        for some in _portions(branches):
            behind = [(1, branch) for branch in some]
            scores += yield from compare(behind, prompt.tokens[-1:], start, cache, meter)
        shares = torch.tensor(scores).softmax(0)
        best = int(shares.argmax())
        fill = Fill(choices[best], float(shares[best]), Finish.STOP, tuple(scores))
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
