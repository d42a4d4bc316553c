"""Holes of models that only denoise: how long a hole is, and what stands in it."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from clover_engine.api import DeadlinePassed, Draft, Fill, Finish
from clover_engine.block_canvas import BlockCanvas
from clover_engine.denoise import verify
from clover_engine.diffusion import LENGTHS, write
from clover_engine.full_canvas import FullCanvas
from clover_engine.hole_text import HoleText
from clover_engine.length_probe import best_length, climb
from clover_engine.mask_sampler import MaskSampler
from clover_engine.models.parts import MASK
from clover_engine.sampler import Guess
from clover_engine.slots import Looking, Rules, SlotCanvas, Slots
from clover_engine.steps import HoleSteps, Meter, Seen

EXPANDING = 16  # masks that a hole begins with whose model changes its length
LONGEST = 64  # slots of a hole of known length: the length probe's bound


def fill_whole(
    number: int,
    canvas: FullCanvas,
    text: HoleText,
    rules: Rules,
    sampler: MaskSampler,
    meter: Meter,
) -> HoleSteps:
    """Write hole `number` of a full canvas, all of it at once.

    A DeadlinePassed thrown in at any yield leaves it empty: nothing of it is sure before all is.
    """
    try:
        if most := min(text.room, LONGEST):
            length = min(EXPANDING, most)
            if rules.expand is None:
                length = yield from _climbed(canvas, most, sampler)
            slots = Slots(rules, sampler, [], length, most)
            yield from slots.denoise(number, canvas, text)
            _write_last(slots.guesses, text, sampler)
        meter.tokens = len(text.tokens)
        yield text.draft(number)
    except DeadlinePassed:
        text.finish = Finish.DEADLINE
    return text.fill(), meter.stats()


def fill_blocks(
    number: int,
    canvas: BlockCanvas,
    text: HoleText,
    removed: Sequence[int],
    rules: Rules,
    sampler: MaskSampler,
    meter: Meter,
) -> HoleSteps:
    """Write hole `number` block by block; `removed` tokens are its first.

    A DeadlinePassed thrown in at any yield ends it with the blocks that are whole.
    """
    try:
        yield from canvas.read(keep=bool(text.room))
        probed = bool(text.room) and not rules.ends_holes
        left = (yield from _probed(canvas, text.room, sampler)) if probed else text.room
        known = [Guess(token, 1.0) for token in removed]
        while left > 0 and not text.finish:
            size = min(canvas.open_room if rules.ends_holes else canvas.room, left)
            slots = Slots(rules, sampler, known[:size], size - len(known[:size]), size)
            yield from slots.denoise(number, canvas, text, canvas.offset)
            left, known = left - size, known[size:]
            if left > 0:
                write(slots.guesses, text, sampler)
                canvas.commit([slot.token for slot in slots.guesses])
            else:
                _write_last(slots.guesses, text, sampler)
            meter.tokens = len(text.tokens)
            yield text.draft(number)
    except DeadlinePassed:
        text.finish = Finish.DEADLINE
    return text.fill(), meter.stats()


def fill_in_order(
    number: int,
    canvas: FullCanvas | BlockCanvas,
    text: HoleText,
    sampler: MaskSampler,
    meter: Meter,
) -> HoleSteps:
    """Write hole `number` token by token, for what it asks for can only be checked so: masks stand
    for what is still to come."""
    try:
        block = canvas if isinstance(canvas, BlockCanvas) else None
        if block:
            yield from block.read()
        known: list[int] = []
        length = (yield from _probed(canvas, text.room, sampler)) if text.room else 0
        while text.room and not text.finish:
            if block and len(known) == block.room:
                block.commit(known)
                known = []
            ahead = max(1, length - len(text.tokens))
            if block:
                ahead = min(ahead, block.room - len(known))
            logits = yield from canvas.look([*known, *[MASK] * ahead])
            row = logits[len(known) : len(known) + 1]
            verify(Seen(row, row[:0]), (), text, sampler)
            known += text.tokens[meter.tokens :]
            meter.tokens = len(text.tokens)
            yield text.draft(number)
    except DeadlinePassed:
        text.finish = Finish.DEADLINE
    return text.fill(), meter.stats()


def choose_masked(
    number: int,
    choices: Sequence[str],
    branches: Sequence[Sequence[int]],
    canvas: SlotCanvas,
    meter: Meter,
) -> HoleSteps:
    """Take the choice whose branch, which also spells what stands right of the hole, is likeliest
    where all of it is masked. The confidence is its share among the choices."""
    fill = Fill("", 0.0, Finish.DEADLINE)
    try:
        if isinstance(canvas, BlockCanvas):
            yield from canvas.read()
        looked = yield from canvas.look_at([[MASK] * len(branch) for branch in branches])
        scores = list(map(_likelihood, looked, branches))
        shares = torch.tensor(scores).softmax(0)
        best = int(shares.argmax())
        fill = Fill(choices[best], float(shares[best]), Finish.STOP, tuple(scores))
        yield Draft(fill.text, number)
    except DeadlinePassed:
        pass
    return fill, meter.stats()


def _likelihood(logits: torch.Tensor, tokens: Sequence[int]) -> float:
    chances = logits.log_softmax(-1)
    return float(chances[torch.arange(len(tokens)), torch.tensor(tokens, dtype=torch.long)].sum())


def _write_last(slots: Sequence[Guess], text: HoleText, sampler: MaskSampler) -> None:
    """Commit the last slots of a hole, which ends with them."""
    write(slots, text, sampler)
    if not text.finish:
        text.end()


def _climbed(canvas: FullCanvas, most: int, sampler: MaskSampler) -> Looking[int]:
    """The length that fits best between both sides, asked for one after the other."""
    asked = climb(most)
    length = next(asked)
    while True:
        logits = yield from canvas.look([MASK] * length)
        try:
            length = asked.send([chance for _, chance in sampler.choose(logits)])
        except StopIteration as end:
            best: int = end.value
            return best


def _probed(canvas: SlotCanvas, room: int, sampler: MaskSampler) -> Looking[int]:
    """The length of a few that fits best."""
    lengths = [length for length in LENGTHS if length <= room] or [room]
    looked = yield from canvas.look_at([[MASK] * length for length in lengths])
    return best_length(
        lengths, [[chance for _, chance in sampler.choose(logits)] for logits in looked]
    )
