"""The cache of a model with recurrent layers: states at some places, and rows to reach the others.

A recurrent state cannot be cut back: it stands behind one number of tokens. So states are kept at a
few places, and of the tokens behind the oldest of them what a state is moved on with; a state
between two places is made from the one before it, without the model. At the size of Clover-35B a
state is 63 MB, a row 1 MB.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch

from clover_engine.kernels.reference import Gates
from clover_engine.kv_cache import CacheShape, KVCache

SPACING = 64  # tokens between two places whose states are kept
_PLACES = 4  # the last of them, beside the ends of the last forward


@dataclass(frozen=True, slots=True)
class Memory:
    """What a recurrent layer knows of a text: its state, float32 [H, D, DV], and the last inputs of
    its convolution, [k - 1, C]. Both are moved on in place."""

    state: torch.Tensor
    inputs: torch.Tensor

    def copy(self) -> Memory:
        """The same, apart."""
        return Memory(self.state.clone(), self.inputs.clone())

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self.state.nbytes + self.inputs.nbytes


@dataclass(frozen=True, slots=True)
class Rows:
    """What T tokens move a layer's memory on with: the inputs of its convolution, [T, C], and its
    gates, float32 [T, H]."""

    inputs: torch.Tensor
    gates: Gates

    def __len__(self) -> int:
        return len(self.inputs)

    def cut(self, some: slice) -> Rows:
        """Some of them."""
        return Rows(self.inputs[some], Gates(self.gates.decay[some], self.gates.beta[some]))

    def followed_by(self, more: Rows) -> Rows:
        """These and then more."""
        gates = map(torch.cat, zip(self.gates, more.gates, strict=True))
        return Rows(torch.cat((self.inputs, more.inputs)), Gates(*gates))

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self.inputs.nbytes + self.gates.decay.nbytes + self.gates.beta.nbytes


@dataclass(frozen=True, slots=True)
class MemoryShape:
    """Of each recurrent layer: value heads H, widths D and DV of keys and values, channels C and
    kernel k of its convolution, and the type of its inputs."""

    layers: int
    heads: int
    key_dim: int
    value_dim: int
    channels: int
    kernel: int
    dtype: torch.dtype
    device: torch.device

    def fresh(self) -> Memory:
        """A layer's memory of nothing."""
        state = torch.zeros(self.heads, self.key_dim, self.value_dim, device=self.device)
        inputs = torch.zeros(self.kernel - 1, self.channels, dtype=self.dtype, device=self.device)
        return Memory(state, inputs)

    def no_rows(self) -> Rows:
        """A layer's rows of no tokens."""
        gate = torch.zeros(0, self.heads, device=self.device)
        inputs = torch.zeros(0, self.channels, dtype=self.dtype, device=self.device)
        return Rows(inputs, Gates(gate, gate))


class RecurrentCache(KVCache):
    """One token sequence with keys and values of the attention layers and memories of the others.

    It can be cut to every length behind the oldest place whose memories are kept, which is some
    hundred tokens back, and of course to nothing.
    """

    def __init__(self, shape: CacheShape, memory: MemoryShape, capacity: int = 128) -> None:
        super().__init__(shape, capacity)
        self._memory = memory
        self._places: dict[int, tuple[Memory, ...]] = {}
        self._first = 0  # the token that the rows begin with
        self._rows = [memory.no_rows() for _ in range(memory.layers)]

    @property
    def nbytes(self) -> int:
        """Bytes held, used or not."""
        memories = sum(one.nbytes for place in self._places.values() for one in place)
        return super().nbytes + memories + sum(rows.nbytes for rows in self._rows)

    def restorable(self, length: int) -> int:
        """To how many tokens it can be cut at most, for `length` of them to be kept."""
        reached = self._before(length)
        return length if reached >= self._first else reached

    def resume(self, layer: int, length: int) -> tuple[Memory, Rows]:
        """A layer's memory of the nearest place before so many tokens, apart, and the rows that
        move it on to there. Raises RuntimeError where these are gone."""
        place = self._before(length)
        if place < self._first:
            raise RuntimeError(f"a cache whose rows begin at {self._first} is read at {length}")
        memory = self._places[place][layer].copy() if place else self._memory.fresh()
        return memory, self._rows[layer].cut(slice(place - self._first, length - self._first))

    def keep(
        self, start: int, places: Sequence[Mapping[int, Memory]], rows: Sequence[Rows]
    ) -> None:
        """Note what a forward made of the tokens behind the first `start`, of each layer: memories
        by their places, and rows."""
        self._rows = [
            old.cut(slice(start - self._first)).followed_by(new)
            for old, new in zip(self._rows, rows, strict=True)
        ]
        for place in places[0] if places else ():
            if place:
                self._places[place] = tuple(layer[place] for layer in places)
        regular = sorted(place for place in self._places if place % SPACING == 0)[-_PLACES:]
        first = regular[0] if len(regular) == _PLACES else 0
        ends = {start, start + (len(rows[0]) if rows else 0)}
        kept = {first, *regular, *(end for end in ends if end > first)}
        self._places = {place: self._places[place] for place in kept if place}
        self._drop_rows_before(first)

    def truncate(self, length: int) -> None:
        """Forget everything from token number `length` on; see `restorable`."""
        super().truncate(length)
        self._places = {place: kept for place, kept in self._places.items() if place <= length}
        self._rows = [rows.cut(slice(max(0, length - self._first))) for rows in self._rows]
        if length < self._first:
            self._first = length

    def pretend(self, length: int) -> None:
        """Grow as if so many tokens had been read: for measuring what more of them cost."""
        super().pretend(length)
        self._first = len(self)
        fresh = self._memory.fresh()
        self._places = {self._first: (fresh,) * self._memory.layers}

    def fork(self, length: int) -> RecurrentCache:
        """A copy of the first `length` tokens, which share memories and rows: these are never
        changed in place."""
        copy = RecurrentCache(self._shape, self._memory, capacity=max(128, length * 3 // 2))
        self._copy_into(copy, length)
        copy._places, copy._first, copy._rows = self._places, self._first, self._rows
        copy.truncate(length)
        return copy

    def _before(self, length: int) -> int:
        """The nearest place before so many tokens; 0 where there is none."""
        return max((place for place in self._places if place <= length), default=0)

    def _drop_rows_before(self, place: int) -> None:
        place = max(place, self._first)
        self._rows = [rows.cut(slice(place - self._first, None)) for rows in self._rows]
        self._first = place
