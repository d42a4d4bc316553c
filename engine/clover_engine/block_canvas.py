"""A hole that is written block by block behind its prompt, for models that denoise blocks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise

import torch

from clover_engine.kv_cache import KVCache
from clover_engine.models.parts import Branch, Layout
from clover_engine.slots import Looking
from clover_engine.steps import PREFILL_ROWS, Forward, Meter


class BlockCanvas:
    """The block that is denoised now, behind text that is read.

    Slots of a block see what is read and their whole block. With `unit` above 1 text is read in
    blocks of so many tokens too, whose tokens see one another, and blocks begin at multiples of it:
    the end of the prompt stands at the beginning of the first one. What is written of a block is
    read in the forward that looks at the next one first.
    """

    def __init__(
        self,
        prompt: Sequence[int],
        pinned: Sequence[int],
        cache: KVCache,
        meter: Meter,
        *,
        length: int,
        unit: int,
        shift: bool,
    ) -> None:
        """`cache` holds a beginning of the prompt, whole units of it; `pinned` tokens stand right
        of the hole."""
        whole = len(prompt) // unit * unit
        self._unread = list(prompt[len(cache) : whole])
        self._begun = list(prompt[whole:])
        self._pinned = pinned
        self._cache, self._meter = cache, meter
        self._length, self._unit, self._shift = length, unit, shift
        self._before: torch.Tensor | None = None

    @property
    def offset(self) -> int:
        """How many tokens of the prompt stand at the beginning of the block."""
        return len(self._begun)

    @property
    def room(self) -> int:
        """How many slots the block has."""
        return self._length - len(self._begun)

    @property
    def open_room(self) -> int:
        """How many slots a block has behind which all that is pinned fits."""
        return max(1, self.room - len(self._pinned))

    def read(self, keep: bool = True) -> Looking[None]:
        """Read the prompt, with `keep` but for what the first look reads with the block."""
        size = max(PREFILL_ROWS // self._unit, 1) * self._unit
        while len(self._unread) > (size if keep else 0):
            chunk, self._unread = self._unread[:size], self._unread[size:]
            layout = block_layout(chunk, [], len(self._cache), self._unit)
            self._meter.received((yield Forward(self._cache, chunk, 0, layout=layout)))

    def look(self, slots: Sequence[int]) -> Looking[torch.Tensor]:
        """Logits float32 [slots, V] of a block; what is pinned stands behind as far as it fits."""
        return (yield from self._ask([[*slots, *self._behind(slots)]], [len(slots)]))[0]

    def look_at(self, several: Sequence[Sequence[int]]) -> Looking[list[torch.Tensor]]:
        """Logits of several contents of the hole in one forward, in as many blocks as they take,
        with what is pinned behind each. They do not see one another."""
        blocks = [[*slots, *self._behind(slots, self._unit > 1)] for slots in several]
        return (yield from self._ask(blocks, [len(slots) for slots in several]))

    def _behind(self, slots: Sequence[int], onwards: bool = False) -> Sequence[int]:
        """What is pinned behind slots: as much as fits into their block, or goes on in the next."""
        return self._pinned if onwards else self._pinned[: max(0, self.room - len(slots))]

    def commit(self, tokens: Sequence[int]) -> None:
        """The block has its tokens, or fewer than it has room for; the next slots stand behind."""
        text = [*self._begun, *tokens]
        whole = len(text) // self._unit * self._unit
        self._unread += text[:whole]
        self._begun = text[whole:]

    def _ask(
        self, blocks: Sequence[Sequence[int]], sizes: Sequence[int]
    ) -> Looking[list[torch.Tensor]]:
        """Logits of the first `sizes` slots of each block."""
        unread, start = self._unread, len(self._cache)
        begun = [[*self._begun, *block] for block in blocks]
        tokens = [*unread, *(token for block in begun for token in block)]
        rows = sum(map(len, begun)) + bool(unread)
        layout = block_layout(unread, [len(block) for block in begun], start, self._unit)
        forward = Forward(self._cache, tokens, rows, layout=layout)
        logits = self._meter.received((yield forward)).logits
        self._cache.truncate(start + len(unread))
        self._unread = []
        if unread:
            self._before, logits = logits[:1], logits[1:]
        found = []
        for block, size in zip(begun, sizes, strict=True):
            own, logits = logits[: len(block)], logits[len(block) :]
            found.append(self._of_slots(own)[self.offset : self.offset + size])
        return found

    def _of_slots(self, logits: torch.Tensor) -> torch.Tensor:
        """Each slot's logits, which with a shift are those of the row before it."""
        if not self._shift:
            return logits
        first = logits[:1] if self._before is None else self._before
        return torch.cat((first, logits[:-1]))


def block_layout(unread: Sequence[int], sizes: Sequence[int], start: int, unit: int) -> Layout:
    """Rows of text to read, then blocks of these sizes that all begin behind it.

    Text is seen in whole units from itself and from behind; a block sees itself, and of what does
    not fit into a unit each unit sees those before it.
    """
    read = len(unread)
    positions = [torch.arange(start, start + read)]
    positions += [torch.arange(start + read, start + read + size) for size in sizes]
    place = torch.cat(positions)
    owner = torch.repeat_interleave(torch.arange(len(sizes) + 1), torch.tensor([read, *sizes]))
    number = place // unit
    earlier = number[None] <= number[:, None]
    if unit == 1:
        earlier |= (owner[:, None] > 0) & (owner[None] > 0)
    beside = (owner[None] == 0) | (owner[None] == owner[:, None])
    ends = list(accumulate(sizes, initial=read))
    blocks = tuple(Branch(slice(*rows), start + read, block=True) for rows in pairwise(ends))
    return Layout(place, earlier & beside, branches=blocks, unit=unit)
