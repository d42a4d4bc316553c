"""Masked blocks behind one context: what their rows are, where they stand and what they see.

A block covers slots i+1 .. i+n of a text whose tokens up to i are the context. A masked slot s is a
row at the rotary position s-1: there the base's rows predict slot s, so the adapter need not learn
to. Mask rows see the context, and every row of their block, left and right. Literal rows (slots
that are revealed, and the right context pinned behind the block) keep the base's own weights, stand
at their own position and see the context and the literals left of them. The right context is pinned
directly behind the block's last slot, however much of the block the hole will need: slots that it
does not need predict the end token.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import torch

from clover_engine.adapt.reading import Reading
from clover_engine.models.parts import MASK

DRAFTS = 0.75  # of the blocks; the others are longer


@dataclass(frozen=True, slots=True)
class Block:
    """One block: `tokens` of its slots and of the pinned right context (MASK where masked), first
    slot number `start`, context tokens 0 .. `seen` (exclusive), `targets` of the masks in order.

    A target is a token, or -1 - p where the base's prediction at context position p is learned.
    """

    start: int
    seen: int
    tokens: tuple[int, ...]
    targets: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Blocks:
    """Blocks packed behind one context of L tokens, R rows: tokens, positions int64 [R]; masks bool
    [R]; visible bool [R, L + R]; targets int64 [masks]."""

    tokens: torch.Tensor
    positions: torch.Tensor
    masks: torch.Tensor
    visible: torch.Tensor
    targets: torch.Tensor


def pack(blocks: Sequence[Block], context: int) -> Blocks:
    """Rows of all blocks; none sees another block's."""
    tokens = torch.tensor([token for block in blocks for token in block.tokens])
    masks = tokens == MASK
    slots = torch.cat([torch.arange(len(b.tokens)) + b.start for b in blocks])
    owner = torch.repeat_interleave(
        torch.arange(len(blocks)), torch.tensor([len(b.tokens) for b in blocks])
    )
    seen = torch.tensor([b.seen for b in blocks])[owner]
    of_context = torch.arange(context)[None] < seen[:, None]
    row = torch.arange(len(tokens))
    leftward = ~masks[None] & (row[None] <= row[:, None])
    of_block = (owner[:, None] == owner[None]) & (masks[:, None] | leftward)
    return Blocks(
        tokens=tokens,
        positions=slots - masks.long(),
        masks=masks,
        visible=torch.cat((of_context, of_block), 1),
        targets=torch.tensor([target for b in blocks for target in b.targets]),
    )


def draft_block(text: Reading, anchor: int, size: int) -> Block:
    """All masked; each learns what the base predicts there (self-speculation).

    Slot anchor+1 has no row: the base itself predicts it while it verifies.
    """
    start = anchor + 2
    size = min(size, len(text.tokens) - start + 1)
    targets = tuple(-1 - (slot - 1) for slot in range(start, start + size))
    return Block(start, anchor + 1, (MASK,) * size, targets)


def infill_block(text: Reading, anchor: int, size: int, random: Random) -> Block:
    """Some slots revealed, the right context pinned: learns the true text from both sides."""
    start = anchor + 1
    truth = list(text.tokens[start : start + size])
    known = len(truth)
    truth += [text.end_token] * (size - known)
    share = random.random()
    revealed = [slot < known and random.random() < share * share for slot in range(size)]
    if all(revealed):
        revealed[random.randrange(size)] = False
    pinned = text.right[: random.choice((0, 2, 4, 6))]
    tokens = [token if shown else MASK for token, shown in zip(truth, revealed, strict=True)]
    targets = [token for token, shown in zip(truth, revealed, strict=True) if not shown]
    return Block(start, start, (*tokens, *pinned), tuple(targets))


def sample_blocks(text: Reading, rows: int, random: Random) -> list[Block]:
    """Blocks of both kinds, at most about `rows` rows of them."""
    blocks: list[Block] = []
    used = 0
    while used < rows:
        kind = random.random()
        if kind < DRAFTS:
            anchor = random.randrange(text.first, len(text.tokens) - 1)
            block = draft_block(text, anchor, random.choice((2, 3, 3, 4, 4, 6)))
        else:
            size = random.choice((4, 8, 12, 16))
            low = text.middle - 1
            if random.random() < 0.5:  # the hole ends within the block
                low = max(low, len(text.tokens) - size)
            anchor = random.randrange(min(low, len(text.tokens) - 1), len(text.tokens))
            block = infill_block(text, anchor, size, random)
        blocks.append(block)
        used += len(block.tokens)
    return blocks
