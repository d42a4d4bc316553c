"""Draws a token for every slot of a canvas of masks, and says how sure that is."""

from __future__ import annotations

from collections.abc import Iterable

import torch

from clover_engine.family import Sampling
from clover_engine.remasking import Order
from clover_engine.sampler import Guess, Sampler, sureness

SEED = 0  # the same request gets the same answer


class MaskSampler(Sampler):
    """The likeliest tokens, or seeded draws among the likely; use a fresh one for each hole."""

    def __init__(
        self,
        forbidden: Iterable[int],
        end: Iterable[int],
        device: torch.device,
        sampling: Sampling,
        order: Order,
    ) -> None:
        super().__init__(forbidden, end, device)
        self._sampling = sampling
        self._order = order
        self._random = torch.Generator(device).manual_seed(SEED)

    def draw(self, logits: torch.Tensor) -> tuple[list[Guess], list[float]]:
        """logits float32 [R, V], changed in place -> a token for each row with its probability, and
        how sure the row is of it in the family's order."""
        temperature = self._sampling.temperature
        if not temperature:
            guesses = self.choose(logits)
            return guesses, sureness(logits, self._order)
        logits.index_fill_(1, self._forbidden, float("-inf"))
        scaled = likely(logits / temperature, self._sampling.top_p)
        chances = scaled.softmax(-1)
        tokens = torch.multinomial(chances, 1, generator=self._random)
        drawn = chances.gather(1, tokens)[:, 0].tolist()
        guesses = list(map(Guess, tokens[:, 0].tolist(), drawn))
        return guesses, drawn if self._order is Order.CONFIDENCE else sureness(scaled, self._order)


def likely(logits: torch.Tensor, top_p: float) -> torch.Tensor:
    """Logits [R, V], at -inf for all but the likeliest tokens, which reach `top_p` together."""
    if top_p >= 1.0:
        return logits
    ranked, order = logits.sort(-1, descending=True)
    chances = ranked.softmax(-1)
    beyond = chances.cumsum(-1) - chances > top_p
    return logits.masked_fill(beyond.scatter(-1, order, beyond), float("-inf"))
