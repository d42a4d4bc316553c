"""A hole in the middle of its text, for models whose every token sees every other one."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from clover_engine.kv_cache import KVCache
from clover_engine.models.parts import Layout
from clover_engine.slots import Looking
from clover_engine.steps import Forward, Meter

VICINITY = 16  # tokens on either side of the hole that are read anew with every step (dInfer)


class FullCanvas:
    """Text left and right of one hole.

    Strictly, every step would read all of the text anew, whose keys and values depend on what
    stands in the hole. With `refresh` above 1 only one step in so many does; in those between, the
    text beyond the vicinity of the hole keeps its keys and values (arXiv 2505.22618, 2510.08666).
    """

    def __init__(
        self,
        left: Sequence[int],
        right: Sequence[int],
        cache: KVCache,
        meter: Meter,
        *,
        shift: bool,
        refresh: int,
    ) -> None:
        """`cache` is this canvas' own: what it holds is of no use to others."""
        self._left, self._right = left, right
        self._cache, self._meter = cache, meter
        self._shift = shift
        self._refresh = refresh
        self._steps = 0
        self._length = -1
        far = max(0, len(left) - VICINITY)
        places = list(range(len(left)))
        # what keeps its keys stands first in the cache; the token left of the hole stands last
        self._far_left, self._near_left = places[:far], places[far:]
        behind = list(range(len(right)))
        self._near_right, self._far_right = behind[:VICINITY], behind[VICINITY:]

    def look(self, slots: Sequence[int]) -> Looking[torch.Tensor]:
        """Logits float32 [slots, V]; a hole of another length than before is read with all text."""
        kept = len(self._far_left) + len(self._far_right)
        if len(slots) != self._length or self._steps % self._refresh == 0:
            self._length, self._steps, kept = len(slots), 0, 0
        self._steps += 1
        self._cache.truncate(kept)
        tokens, positions = self._rows(slots)
        rows = len(tokens) - kept
        layout = Layout(torch.tensor(positions[kept:]), torch.ones(rows, rows, dtype=torch.bool))
        before = bool(self._near_left) and self._shift
        asked = len(slots) + before
        forward = Forward(self._cache, tokens[kept:], asked, layout=layout)
        logits = self._meter.received((yield forward)).logits
        if not self._shift:
            return logits
        # the first token of a text, which has none before it, is told by its own row
        return logits[:-1] if before else torch.cat((logits[:1], logits[:-1]))

    def look_at(self, several: Sequence[Sequence[int]]) -> Looking[list[torch.Tensor]]:
        """One forward each: where the right text stands depends on the hole's length."""
        found = []
        for slots in several:
            self._length = -1
            found.append((yield from self.look(slots)))
        return found

    def _rows(self, slots: Sequence[int]) -> tuple[list[int], list[int]]:
        """Tokens and their places: what is far, what is near, the hole."""
        left, right = self._left, self._right
        behind = len(left) + len(slots)
        before = [(left[place], place) for place in self._far_left]
        before += [(right[place], behind + place) for place in self._far_right]
        before += [(right[place], behind + place) for place in self._near_right]
        before += [(left[place], place) for place in self._near_left]
        before += [(token, len(left) + place) for place, token in enumerate(slots)]
        tokens, positions = zip(*before, strict=True)
        return list(tokens), list(positions)
