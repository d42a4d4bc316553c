"""Blocks of known and masked slots as rows of one forward: where they stand and what they see."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from clover_engine.models.parts import MASK, Layout


@dataclass(frozen=True, slots=True)
class BlockRows:
    """Rows of one forward: pending tokens, then what is known in the blocks, then the masks of all
    blocks in order; `masks` says how many each block has."""

    tokens: tuple[int, ...]
    layout: Layout
    masks: tuple[int, ...]


def rows_of(blocks: Sequence[Sequence[int]], pending: Sequence[int], start: int) -> BlockRows:
    """The rows of blocks that all begin behind the pending tokens, themselves behind `start` cached
    ones. A block's tokens are its slots, MASK where masked, and the right context pinned behind.

    Masks stand at the place before their slot, see all that is read and their whole block. What is
    known stands at its slot and sees what is read and what is known left of it in the block: for
    the causal model it is text like any other. Blocks do not see each other.
    """
    slots = [
        (number, place, token)
        for number, block in enumerate(blocks)
        for place, token in enumerate(block)
    ]
    slots.sort(key=lambda slot: slot[2] == MASK)
    owner, place, token = (torch.tensor(column) for column in zip(*slots, strict=True))
    masked = token == MASK
    rows = len(pending) + len(slots)
    positions = torch.arange(start, start + rows)
    positions[len(pending) :] = start + len(pending) + place - masked.long()
    visible = torch.ones(rows, rows, dtype=torch.bool).tril_()
    leftward = ~masked[None] & (place[None] <= place[:, None])
    beside = (owner[:, None] == owner[None]) & (masked[:, None] | leftward)
    visible[len(pending) :, len(pending) :] = beside
    return BlockRows(
        tokens=(*pending, *token.tolist()),
        layout=Layout(positions, visible),
        masks=tuple(list(block).count(MASK) for block in blocks),
    )
