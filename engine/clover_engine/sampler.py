"""Logits to tokens: the most likely token of each row that may be written, and how likely it is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from clover_engine.remasking import Order


class Guess(NamedTuple):
    """A token for a slot, and its probability (0 to 1)."""

    token: int
    confidence: float


class Sampler:
    """Greedy choice over the vocabulary without the forbidden tokens."""

    def __init__(self, forbidden: Iterable[int], end: Iterable[int], device: torch.device) -> None:
        self._forbidden = torch.tensor(sorted(forbidden), device=device)
        self._end = frozenset(end)

    def is_end(self, token: int) -> bool:
        """Whether the token says that the hole is finished."""
        return token in self._end

    def choose(self, logits: torch.Tensor) -> list[Guess]:
        """logits float32 [R, V], changed in place -> token and probability of each row."""
        logits.index_fill_(1, self._forbidden, float("-inf"))
        best, tokens = logits.max(dim=-1)
        chances = (best - logits.logsumexp(dim=-1)).exp()
        return list(map(Guess, tokens.tolist(), chances.tolist()))

    def choose_among(self, row: torch.Tensor, allowed: npt.NDArray[np.bool_]) -> Guess:
        """row float32 [V], allowed bool [V] -> the best allowed token and its probability among
        them."""
        tokens = torch.from_numpy(np.flatnonzero(allowed)).to(row.device)
        chances = row[tokens].softmax(dim=-1)
        best = int(chances.argmax())
        return Guess(int(tokens[best]), float(chances[best]))


def sureness(logits: torch.Tensor, order: Order) -> list[float]:
    """How sure each row is of its best token: logits float32 [R, V]."""
    match order:
        case Order.CONFIDENCE:
            best = logits.max(-1).values
            sure = (best - logits.logsumexp(-1)).exp()
        case Order.MARGIN:
            first, second = logits.softmax(-1).topk(2).values.unbind(-1)
            sure = first - second
        case Order.ENTROPY:
            chances = logits.softmax(-1)
            entropy = torch.special.entr(chances).sum(-1)
            sure = 1 - entropy / torch.tensor(float(logits.shape[-1])).log()
    found: list[float] = sure.tolist()
    return found
