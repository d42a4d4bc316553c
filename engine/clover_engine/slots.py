"""The slots of a hole: masks are settled, settled tokens changed, and the hole grows or shrinks.

The rules are the families': low confidence with a threshold (Fast-dLLM, arXiv 2505.22618), edits of
placed tokens (LLaDA2.1's joint threshold), and lengths that the model changes (DreamOn, arXiv
2602.01326): a mask that becomes the expand token is two masks, one that becomes the delete token is
none, and neither are the masks right of it.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias, TypeVar

import torch

from clover_engine.api import Draft
from clover_engine.family import Edits
from clover_engine.hole_text import HoleText
from clover_engine.mask_sampler import MaskSampler
from clover_engine.models.parts import MASK
from clover_engine.remasking import Remasking
from clover_engine.sampler import Guess
from clover_engine.steps import Forward, Seen

T = TypeVar("T")
Looking: TypeAlias = Generator[Forward | Draft, Seen | None, T]

EMPTY = Guess(MASK, 0.0)


class SlotCanvas(Protocol):
    """Where slots stand: FullCanvas or BlockCanvas."""

    def look(self, slots: Sequence[int]) -> Looking[torch.Tensor]:
        """What the model says of each slot, MASK or not: logits float32 [slots, V]."""
        ...

    def look_at(self, several: Sequence[Sequence[int]]) -> Looking[list[torch.Tensor]]:
        """The same of several contents that the hole may have."""
        ...


@dataclass(frozen=True, slots=True)
class Rules:
    """How the slots of a family are denoised, with its tokens as ids."""

    remasking: Remasking
    edits: Edits
    sub_block: int = 0
    ends_holes: bool = False
    expand: int | None = None
    delete: int | None = None


class Slots:
    """The slots of one hole, or of one block of it, while they are denoised."""

    def __init__(
        self, rules: Rules, sampler: MaskSampler, known: Sequence[Guess], masks: int, most: int
    ) -> None:
        """`known` slots stay as they are before so many masks; the hole has `most` slots at most.
        An expanding one may grow by twice as many in all."""
        self.guesses = [*known, *[EMPTY] * masks]
        self._rules = rules
        self._sampler = sampler
        self._known = len(known)
        self._most = most
        self._budget = 2 * most
        self._edits = rules.edits.steps
        self._rounds = rules.remasking.rounds

    def denoise(
        self, number: int, canvas: SlotCanvas, text: HoleText, offset: int = 0
    ) -> Looking[None]:
        """Settle all slots of hole `number`, which begin `offset` places into a block; those behind
        an end token are taken away."""
        while self._goes_on():
            logits = yield from canvas.look([slot.token for slot in self.guesses])
            if not self._step(logits, offset):
                return
            yield text.draft(number, self.guesses, settled=True)

    def _goes_on(self) -> bool:
        """Whether there are masks, settled tokens to doubt, or steps left in which to edit them."""
        if self._masked():
            return True
        if self._rounds:
            self._rounds -= 1
            confidences = [slot.confidence for slot in self.guesses[self._known :]]
            for place in self._rules.remasking.doubted(confidences):
                self.guesses[self._known + place] = EMPTY
            if self._masked():
                return True
        self._edits -= 1
        return self._edits >= 0 and bool(self.guesses)

    def _step(self, logits: torch.Tensor, offset: int) -> bool:
        """Whether anything changed."""
        rules, masked = self._rules, self._masked()
        if rules.expand is not None and (len(self.guesses) >= self._most or not self._budget):
            logits[:, rules.expand] = float("-inf")
        guesses, sure = self._sampler.draw(logits)
        part = self._first_part(masked, offset)
        settled = rules.remasking.settled([sure[place] for place in part]) if part else []
        changed = {part[mask] for mask in settled} | self._edited(guesses)
        for place in changed:
            self.guesses[place] = guesses[place]
        self._reshape()
        return bool(changed)

    def _masked(self) -> list[int]:
        return [place for place, slot in enumerate(self.guesses) if slot.token == MASK]

    def _first_part(self, masked: Sequence[int], offset: int) -> Sequence[int]:
        """The masks of the first part of the block that has any."""
        size = self._rules.sub_block
        if not size or not masked:
            return masked
        first = (offset + masked[0]) // size
        return [place for place in masked if (offset + place) // size == first]

    def _edited(self, guesses: Sequence[Guess]) -> set[int]:
        """Placed tokens in whose stead another one is likely enough."""
        edits = self._rules.edits
        return {
            place
            for place, (slot, guess) in enumerate(zip(self.guesses, guesses, strict=True))
            if edits.steps
            and place >= self._known
            and slot.token not in (MASK, guess.token)
            and guess.confidence > edits.threshold
        }

    def _reshape(self) -> None:
        """Grow and shrink as the tokens say that were placed."""
        rules, slots = self._rules, self.guesses
        if rules.delete is None:
            ends = (place for place, slot in enumerate(slots) if self._sampler.is_end(slot.token))
            del slots[next(ends, len(slots)) + 1 :]
        else:
            deleted = [slot.token == rules.delete for slot in slots]
            first = deleted.index(True) if any(deleted) else len(slots)
            slots[:] = [
                slot
                for place, slot in enumerate(slots)
                if not deleted[place] and (slot.token != MASK or place < first)
            ]
        for place in reversed(range(len(slots))):
            if rules.expand is not None and slots[place].token == rules.expand:
                grows = len(slots) < self._most and self._budget > 0
                slots[place : place + 1] = [EMPTY, EMPTY] if grows else [EMPTY]
                self._budget -= grows
