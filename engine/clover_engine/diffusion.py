"""Pure diffusion: a hole is written in blocks of masks that see both sides, without verifying.

In every step one forward looks at all masks of a block, and those that are sure are settled; slots
that the hole does not need say so with the end token. The causal model then reads the block, so
that the cache stays exact, in the forward that looks at the next block for the first time.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence

from clover_engine.api import DeadlinePassed, Draft, Finish
from clover_engine.block_rows import rows_of
from clover_engine.hole_text import HoleText
from clover_engine.kv_cache import KVCache
from clover_engine.length_probe import best_length
from clover_engine.models.parts import MASK
from clover_engine.prompt import Prompt
from clover_engine.remasking import Remasking
from clover_engine.sampler import Guess, Sampler, sureness
from clover_engine.steps import Forward, HoleSteps, Meter, Seen, read

BLOCK = 16  # slots
PINNED = 6  # tokens of the right context
LENGTHS = (1, 2, 3, 4, 6, 8, 10, 12, 16, 20, 24, 32)  # that are asked for where no end is learned


_EMPTY = Guess(MASK, 0.0)


def fill_by_diffusion(
    number: int,
    prompt: Prompt,
    text: HoleText,
    cache: KVCache,
    sampler: Sampler,
    remasking: Remasking,
    known_length: bool,
) -> HoleSteps:
    """Write `text` behind `prompt`, block by block.

    With `known_length` the hole is as long as the length probe finds, else it ends where the masks
    say. A DeadlinePassed thrown in at any yield ends hole `number` with the blocks that are whole.
    """
    meter = Meter(len(prompt.tokens), reused=len(cache))
    pinned = prompt.right[:PINNED]
    try:
        pending: Sequence[int] = yield from read(prompt, cache, meter, keep=bool(text.room))
        slots = [Guess(token, 1.0) for token in prompt.removed]
        size = BLOCK
        if known_length and text.room:
            size = yield from _probe(text.room, pending, pinned, cache, sampler, meter)
        while text.room and not text.finish:
            slots += [_EMPTY] * (min(size, text.room) - len(slots))
            yield from _denoise(
                number, text, slots, pending, pinned, cache, sampler, remasking, meter
            )
            write(slots, text, sampler)
            if known_length and not text.finish:
                text.end()
            meter.tokens = len(text.tokens)
            yield text.draft(number)
            pending, slots = [slot.token for slot in slots], []
    except DeadlinePassed:
        text.finish = Finish.DEADLINE
    return text.fill(), meter.stats()


def write(slots: Sequence[Guess], text: HoleText, sampler: Sampler) -> None:
    """Commit a block up to where the hole ends in it."""
    for slot in slots:
        if text.finish:
            return
        allowed = text.allowed()
        if sampler.is_end(slot.token) or (allowed is not None and not allowed[slot.token]):
            text.end()
        else:
            text.append(*slot)


def _denoise(
    number: int,
    text: HoleText,
    slots: list[Guess],
    pending: Sequence[int],
    pinned: Sequence[int],
    cache: KVCache,
    sampler: Sampler,
    remasking: Remasking,
    meter: Meter,
) -> Generator[Forward | Draft, Seen | None, None]:
    """Settle all slots; those behind an end token are taken away. The pending tokens are read."""
    rounds = remasking.rounds
    while any(slot.token == MASK for slot in slots):
        block = [*(slot.token for slot in slots), *pinned]
        rows = rows_of([block], pending, len(cache))
        masks = rows.masks[0]
        seen = meter.received((yield Forward(cache, rows.tokens, masks, layout=rows.layout)))
        cache.truncate(len(cache) - len(rows.tokens) + len(pending))
        pending = ()
        guesses = sampler.choose(seen.masked)
        sure = sureness(seen.masked, remasking.order)
        empty = [place for place, slot in enumerate(slots) if slot.token == MASK]
        for mask in remasking.settled(sure):
            slots[empty[mask]] = guesses[mask]
        ends = [place for place, slot in enumerate(slots) if sampler.is_end(slot.token)]
        if ends:
            del slots[ends[0] + 1 :]
        if rounds and not any(slot.token == MASK for slot in slots):
            rounds -= 1
            for place in remasking.doubted([slot.confidence for slot in slots]):
                slots[place] = _EMPTY
        yield text.draft(number, slots, settled=True)


def _probe(
    room: int,
    pending: Sequence[int],
    pinned: Sequence[int],
    cache: KVCache,
    sampler: Sampler,
    meter: Meter,
) -> Generator[Forward | Draft, Seen | None, int]:
    """The length at which a block of masks fits best between both sides."""
    lengths = [length for length in LENGTHS if length <= room] or [room]
    blocks = [[*[MASK] * length, *pinned] for length in lengths]
    rows = rows_of(blocks, pending, len(cache))
    masks = sum(rows.masks)
    seen = meter.received((yield Forward(cache, rows.tokens, masks, layout=rows.layout)))
    cache.truncate(len(cache) - len(rows.tokens))
    sure = iter(confidence for _, confidence in sampler.choose(seen.masked))
    return best_length(lengths, [[next(sure) for _ in range(length)] for length in lengths])
