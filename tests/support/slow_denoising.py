"""Decoding rules written a second time, slow and obvious: lists of tokens, one forward a step."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch

# tokens, and which of them each one sees, bool [M, M] -> logits float32 [M, V]
Logits = Callable[[list[int], torch.Tensor], torch.Tensor]
LENGTHS = (1, 2, 3, 4, 6, 8, 10, 12, 16, 20, 24, 32)


@dataclass
class Slow:
    """What a family's rules are made of, and the model."""

    logits: Logits
    mask: int
    ends: set[int]
    forbidden: list[int]
    shift: bool = False
    threshold: float = 0.9
    entropy: bool = False
    temperature: float = 0.0
    top_p: float = 1.0
    steps: list[int] = field(default_factory=list)  # how many slots each step changed

    def rows(self, tokens: list[int], visible: torch.Tensor) -> torch.Tensor:
        """Row i predicts token i."""
        rows = self.logits(tokens, visible).clone()
        if self.shift:
            rows = torch.cat((rows[:1], rows[:-1]))
        rows[:, self.forbidden] = -math.inf
        return rows

    def sure(self, row: torch.Tensor) -> float:
        chances = row.softmax(-1)
        if not self.entropy:
            return float(chances.max())
        shares: list[float] = chances.tolist()
        entropy = -sum(p * math.log(p) for p in shares if p > 0)
        return 1 - entropy / math.log(len(row))

    def settled(self, rows: torch.Tensor, masked: Sequence[int]) -> list[int]:
        """All that are sure enough, at least the surest."""
        sure = {place: self.sure(rows[place]) for place in masked}
        enough = [place for place in masked if sure[place] >= self.threshold]
        return enough or [max(masked, key=lambda place: sure[place])]


def everything(count: int) -> torch.Tensor:
    return torch.ones(count, count, dtype=torch.bool)


def slow_full(model: Slow, left: list[int], right: list[int], room: int) -> list[int]:
    """The slots of a hole in the middle, whose length is asked for first."""

    def slot_rows(slots: list[int]) -> torch.Tensor:
        tokens = [*left, *slots, *right]
        return model.rows(tokens, everything(len(tokens)))[len(left) : len(left) + len(slots)]

    fits: dict[int, float] = {}

    def fit(length: int) -> float:
        if length not in fits:
            sure = slot_rows([model.mask] * length).softmax(-1).max(-1).values.mean()
            fits[length] = float(sure) / (
                math.exp(-1.77 * length) + 0.56 * math.exp(-0.06 * length) + 0.24
            )
        return fits[length]

    best = start = min(8, room)
    fit(start)
    for direction in (1, -1):
        length, worse = start, 0
        while worse < 4 and 1 <= length + direction <= room:
            length += direction
            worse = 0 if fit(length) > fit(best) else worse + 1
            best = max((best, length), key=fit)
    slots = [model.mask] * best
    while model.mask in slots:
        rows = slot_rows(slots)
        masked = [place for place, token in enumerate(slots) if token == model.mask]
        for place in model.settled(rows, masked):
            slots[place] = int(rows[place].argmax())
        ended = [place for place, token in enumerate(slots) if token in model.ends]
        if ended:
            slots = slots[: ended[0] + 1]
    return slots


@dataclass
class Dreamed:
    """What DreamOn wrote, and how often it changed the hole's length."""

    slots: list[int]
    expanded: int = 0
    deleted: int = 0


def slow_dreamon(
    model: Slow, left: list[int], right: list[int], room: int, expand: int, delete: int
) -> Dreamed:
    """The published loop: one token a step, the one of least entropy; expand, broadcast delete."""
    random = torch.Generator().manual_seed(0)
    done = Dreamed([model.mask] * min(16, room))
    budget = 2 * room
    while model.mask in done.slots:
        slots = done.slots
        tokens = [*left, *slots, *right]
        rows = model.rows(tokens, everything(len(tokens)))[len(left) : len(left) + len(slots)]
        if len(slots) == room or budget == 0:
            rows[:, expand] = -math.inf
        if model.temperature:
            rows = rows / model.temperature
            for row in rows:
                ranked = row.sort(descending=True)
                total = 0.0
                for logit, token in zip(ranked.values.softmax(-1), ranked.indices, strict=True):
                    if total > model.top_p:
                        row[token] = -math.inf
                    total += float(logit)
            drawn = torch.multinomial(rows.softmax(-1), 1, generator=random)[:, 0].tolist()
        else:
            drawn = rows.argmax(-1).tolist()
        masked = [place for place, token in enumerate(slots) if token == model.mask]
        place = max(masked, key=lambda place: model.sure(rows[place]))
        slots[place] = drawn[place]
        if slots[place] == delete:
            behind = [other for other in masked if other >= place]
            done.deleted += len(behind)
            done.slots = [token for other, token in enumerate(slots) if other not in behind]
        elif slots[place] == expand:
            done.slots[place : place + 1] = [model.mask, model.mask]
            done.expanded += 1
            budget -= 1
    return done


def block_causal(count: int, block: int) -> torch.Tensor:
    number = torch.arange(count) // block
    return number[None] <= number[:, None]


def slow_blocks(
    model: Slow,
    prompt: list[int],
    pinned: list[int],
    room: int,
    block: int,
    *,
    sub_block: int = 0,
    edit: tuple[float, int] = (0.0, 0),
) -> list[int]:
    """The tokens of a hole behind a prompt, block by block, every forward over all of the text."""

    def rows_at(tokens: list[int], first: int, count: int) -> torch.Tensor:
        return model.rows(tokens, block_causal(len(tokens), block))[first : first + count]

    fits: dict[int, float] = {}
    for length in [length for length in LENGTHS if length <= room]:
        rows = rows_at([*prompt, *[model.mask] * length, *pinned], len(prompt), length)
        sure = float(rows.softmax(-1).max(-1).values.mean())
        fits[length] = sure / (math.exp(-1.77 * length) + 0.56 * math.exp(-0.06 * length) + 0.24)
    left = max(fits, key=lambda length: fits[length])
    written: list[int] = []
    while left:
        begun = len(prompt) + len(written)
        size = min(left, block - begun % block)
        left -= size
        slots = [model.mask] * size
        more = edit[1]
        while True:
            masked = [place for place, token in enumerate(slots) if token == model.mask]
            if not masked:
                more -= 1
                if more < 0:
                    break
            behind = pinned[: block - begun % block - len(slots)]
            rows = rows_at([*prompt, *written, *slots, *behind], begun, len(slots))
            best = rows.argmax(-1).tolist()
            changed = {}
            if masked:
                part = masked
                if sub_block:
                    part = [
                        place
                        for place in masked
                        if (begun % block + place) // sub_block
                        == (begun % block + masked[0]) // sub_block
                    ]
                changed = {place: best[place] for place in model.settled(rows, part)}
            if edit[1]:
                for place, token in enumerate(slots):
                    sure = float(rows[place].softmax(-1).max())
                    if token not in (model.mask, best[place]) and sure > edit[0]:
                        changed[place] = best[place]
            if not changed:
                break
            model.steps.append(len(changed))
            for place, token in changed.items():
                slots[place] = token
            ended = [place for place, token in enumerate(slots) if token in model.ends]
            if ended:
                slots = slots[: ended[0] + 1]
        written += slots
        if any(token in model.ends for token in slots):
            break
    return written
