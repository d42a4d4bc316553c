"""The hot path: read the context, then draft, verify and commit until the hole is full.

Every decoding here is a generator of steps: it yields what it needs from the model and is sent the
result, so that whoever drives it can stop between two forwards or let several jobs share one.
Drafts are verified by the causal model in the forward that also brings the next token, so the text
is token for token what the model would write without drafts (Leviathan et al., arXiv 2211.17192).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from clover_engine.api import DeadlinePassed, Finish
from clover_engine.drafting import Drafter
from clover_engine.fitting import compare
from clover_engine.hole_text import HoleText
from clover_engine.kv_cache import KVCache
from clover_engine.prompt import Prompt
from clover_engine.sampler import Sampler
from clover_engine.steps import Forward, HoleSteps, Meter, Seen, read


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
    has the tokens with which a right text begins.

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
            if text.doubts:
                if not text.finish:
                    # the last token is read again behind the test; what masks guess stands too far
                    cache.truncate(len(cache) - 1)
                    guesses = []
                ends = [(end.tokens, follow(end.right)) for end in text.doubts]
                fits = yield from compare(ends, text.tokens, len(prompt.tokens), cache, meter)
                text.settle(fits)
            drafter.learn(accepted, text.tokens[meter.tokens :], guesses)
            meter.tokens = len(text.tokens)
            yield text.draft(number, guesses)
            pending = text.tokens[-1:]
            plan = drafter.next(text.room)
    except DeadlinePassed:
        text.finish = Finish.DEADLINE
    return text.fill(), meter.stats(drafter)


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
