"""Slots that grow and shrink without end, but for their budget."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch

from clover_engine.api import Ends, Hole
from clover_engine.ending import Ending
from clover_engine.family import Edits, Sampling
from clover_engine.hole_text import HoleText
from clover_engine.mask_sampler import MaskSampler
from clover_engine.remasking import Order, Remasking
from clover_engine.slots import Looking, Rules, Slots
from clover_engine.tokenizer import Vocabulary

EXPAND, DELETE, LETTER = 0, 1, 2
MOST = 6


class Restless:
    """Wants a longer hole while there is room, and a shorter one when there is none."""

    def __init__(self) -> None:
        self.looks: list[int] = []

    def look(self, slots: Sequence[int]) -> Looking[torch.Tensor]:
        self.looks.append(len(slots))
        if len(self.looks) > 100:
            pytest.fail("there is no end to it")
        logits = torch.zeros(len(slots), 4)
        logits[:, EXPAND] = 4.0
        logits[-1, DELETE] = 3.0 if len(slots) < MOST else 9.0
        return logits
        yield

    def look_at(self, several: Sequence[Sequence[int]]) -> Looking[list[torch.Tensor]]:
        found = []
        for slots in several:
            found.append((yield from self.look(slots)))
        return found


def test_growth_has_a_budget() -> None:
    rules = Rules(Remasking(most=1), Edits(), expand=EXPAND, delete=DELETE)
    sampler = MaskSampler([3], [], torch.device("cpu"), Sampling(), Order.CONFIDENCE)
    slots, canvas = Slots(rules, sampler, [], MOST - 1, MOST), Restless()
    text = HoleText(
        Hole(), b"", Ending("", "", Ends.NONE), None, Vocabulary.of([b"", b"", b"a", b""])
    )
    drafts = list(slots.denoise(0, canvas, text))
    assert max(canvas.looks) == MOST
    assert len(drafts) == len(canvas.looks)
    assert all(slot.token == LETTER for slot in slots.guesses)
