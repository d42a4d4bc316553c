"""The hot path: read the context, then draft, verify and commit until the hole is full.

Every decoding here is a generator of steps: it yields what it needs from the model and is sent the
result, so that whoever drives it can stop between two forwards or let several jobs share one.
Drafts are verified by the causal model in the forward that also brings the next token, so the text
is token for token what the model would write without drafts (Leviathan et al., arXiv 2211.17192).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import TypeAlias

import torch

from clover_engine.api import DeadlinePassed, Draft, Fill, Finish, Stats
from clover_engine.drafting import Drafter
from clover_engine.hole_text import HoleText
from clover_engine.kv_cache import KVCache
from clover_engine.models.qwen2 import Layout
from clover_engine.prompt import Prompt
from clover_engine.sampler import Sampler

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


def fill_hole(
    number: int,
    prompt: Prompt,
    text: HoleText,
    cache: KVCache,
    sampler: Sampler,
    drafter: Drafter,
    follow: Callable[[str], Sequence[int]],
) -> HoleSteps:
    """Write `text` behind `prompt`, of whose tokens `cache` already holds a beginning; `follow`
    has the first tokens of a right text.

    A DeadlinePassed thrown in at any yield ends hole `number` with what is committed.
    """
    meter = Meter(len(prompt.tokens), reused=len(cache))
    try:
        pending = yield from read(prompt, cache, meter, keep=bool(text.room))
        plan = drafter.begin(prompt.removed, text.room)
        while text.room and not text.finish:
            tokens, layout = plan.tokens(pending), plan.layout(len(pending), len(cache))
            rows = len(plan.draft) + 1 + plan.masks
            seen = meter.received((yield Forward(cache, tokens, rows, prompt.follows, layout)))
            accepted = verify(seen, plan.draft, text, sampler)
            cache.truncate(len(cache) - rows + 1 + accepted)
            meter.verified(len(plan.draft), accepted)
            masked = seen.masked[plan.guesses_behind(accepted)]
            guesses = sampler.choose(masked)
            if text.doubt is not None:
                # the last token is read again behind the test, and what masks guess stands too far
                cache.truncate(len(cache) - 1)
                guesses = []
                text.settle((yield from _fit(text, follow(text.doubt), cache, meter)))
            drafter.learn(accepted, text.tokens[meter.tokens :], guesses)
            meter.tokens = len(text.tokens)
            yield text.draft(number, guesses)
            pending = text.tokens[-1:]
            plan = drafter.next(text.room)
    except DeadlinePassed:
        text.finish = Finish.DEADLINE
    return text.fill(), meter.stats(drafter)


def _fit(
    text: HoleText, right: Sequence[int], cache: KVCache, meter: Meter
) -> Generator[Forward | Draft, Seen | None, float]:
    """The mean log-likelihood of the right text's first tokens behind the last one written."""
    before = len(cache)
    tokens = [text.tokens[-1], *right[:-1]]
    seen = meter.received((yield Forward(cache, tokens, len(tokens))))
    cache.truncate(before)
    chances = seen.logits.log_softmax(-1)
    return float(chances[range(len(right)), list(right)].mean())


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


def verify(seen: Seen, draft: Sequence[int], text: HoleText, sampler: Sampler) -> int:
    """Commit the model's own tokens while they are the drafted ones, and the first that is not.

    Row i of what is seen stands behind i drafted tokens. Returns how many of them were right.
    """
    for row, (token, confidence) in enumerate(sampler.choose(seen.logits)):
        if seen.ends and text.end_by_chance(seen.ends[row]):
            return row
        allowed = text.allowed()
        if allowed is None or not allowed[token]:
            if sampler.is_end(token) if allowed is None else text.may_end:
                text.end()
                return row
            if allowed is not None:
                token, confidence = sampler.choose_among(seen.logits[row], allowed)
        text.append(token, confidence)
        if text.finish or row == len(draft) or token != draft[row]:
            return row
    return len(draft)


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
