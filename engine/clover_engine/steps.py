"""What a job's steps are made of: what it asks of the model, what it is sent, what it cost."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import TypeAlias

import torch

from clover_engine.api import Draft, Fill, Stats
from clover_engine.drafting import Drafter
from clover_engine.kv_cache import KVCache
from clover_engine.models.parts import Layout
from clover_engine.prompt import Prompt

PREFILL_ROWS = 256  # the most rows of one prefill forward: a cancel waits at most for one of them


@dataclass(frozen=True, slots=True)
class Forward:
    """A need: read `tokens` behind those in `cache`, look at the last `rows` rows. With `follows`,
    the first token right of the hole, tell also how likely the hole ends at each of them. Masks
    come last among the tokens; what rows leave behind in the cache that do not simply follow one
    another in a `layout` may not be kept."""

    cache: KVCache
    tokens: Sequence[int]
    rows: int
    follows: int | None = None
    layout: Layout | None = None


@dataclass(frozen=True, slots=True)
class Seen:
    """What a forward brought: logits float32 [rows, V] of its causal rows and [masks, V] of its
    masks, and the chance of an end at each causal row."""

    logits: torch.Tensor
    masked: torch.Tensor
    ends: Sequence[float] = ()


HoleSteps: TypeAlias = Generator[Forward | Draft, Seen | None, tuple[Fill, Stats]]


class Meter:
    """Counts what a job cost while it runs."""

    def __init__(self, prompt_tokens: int, reused: int) -> None:
        self.tokens = 0
        self._prompt_tokens = prompt_tokens
        self._reused = reused
        self._forwards = self._drafted = self._accepted = 0
        self._started = perf_counter()
        self._prefilled: float | None = None

    def received(self, seen: Seen | None) -> Seen:
        """Count a forward; the first one that brings logits ends the prefill."""
        if seen is None:
            raise RuntimeError("a forward was answered with nothing")
        self._forwards += 1
        if self._prefilled is None and (len(seen.logits) or len(seen.masked)):
            self._prefilled = perf_counter()
        return seen

    def verified(self, drafted: int, accepted: int) -> None:
        """Count a verified draft."""
        self._drafted += drafted
        self._accepted += accepted

    def stats(self, drafter: Drafter | None = None) -> Stats:
        """The figures so far, with how right the drafter's masks were."""
        now = perf_counter()
        prefilled = self._prefilled or now
        return Stats(
            forwards=self._forwards,
            tokens=self.tokens,
            drafted=self._drafted,
            accepted=self._accepted,
            prompt_tokens=self._prompt_tokens,
            reused_tokens=self._reused,
            prefill_ms=(prefilled - self._started) * 1000,
            decode_ms=(now - prefilled) * 1000,
            judged=tuple(drafter.judged) if drafter else (),
            guessed=tuple(drafter.guessed) if drafter else (),
        )


def read(
    prompt: Prompt, cache: KVCache, meter: Meter, keep: bool
) -> Generator[Forward | Draft, Seen | None, list[int]]:
    """Read the prompt in even chunks; with `keep`, the last one is left to be verified with."""
    pending = list(prompt.tokens[len(cache) :])
    chunks = -(-len(pending) // PREFILL_ROWS)
    size = -(-len(pending) // max(chunks, 1))
    for _ in range(chunks - 1 if keep else chunks):
        chunk, pending = pending[:size], pending[size:]
        meter.received((yield Forward(cache, chunk, 0)))
    return pending
