"""Gated DeltaNet (Yang et al., arXiv 2412.06464) as in Qwen3.5, and Clover's readout of it.

A text moves a recurrent state on, token by token. A block that is denoised reads the state as one
more key beside its own, from both sides, and leaves it as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch

from clover_engine.kernels.dispatch import Kernels
from clover_engine.kernels.quantised import Weight
from clover_engine.kernels.reference import History, Readout
from clover_engine.recurrent_cache import Memory, Rows

_FEW = 32  # rows up to which one after the other is faster than in chunks


@dataclass(frozen=True, slots=True)
class DeltaShape:
    """Heads and widths of a layer's keys and values."""

    key_heads: int
    value_heads: int
    key_dim: int
    value_dim: int

    @property
    def splits(self) -> list[int]:
        """Channels of queries, keys and values."""
        keys = self.key_heads * self.key_dim
        return [keys, keys, self.value_heads * self.value_dim]


@dataclass(frozen=True, slots=True)
class BlockWeights:
    """What Clover adds: taps of right neighbours [C, R], the scalars of the choice between history
    and block, and how that choice is made."""

    right: torch.Tensor
    history: History
    readout: Readout


@dataclass(frozen=True, slots=True)
class DeltaWeights:
    """Projections [out, in]; taps [C, k], the row's own last; a_log, dt_bias float32 [H]; norm
    [DV]. Without `block` a block is read as any text is."""

    qkv: Weight
    z: Weight
    b: Weight
    a: Weight
    out: Weight
    taps: torch.Tensor
    a_log: torch.Tensor
    dt_bias: torch.Tensor
    norm: torch.Tensor
    block: BlockWeights | None


class GatedDeltaNet:
    """One layer. What it is given to read has passed the norm before it."""

    def __init__(
        self, kernels: Kernels, shape: DeltaShape, weights: DeltaWeights, eps: float
    ) -> None:
        self._kernels = kernels
        self._shape = shape
        self._weights = weights
        self._eps = eps

    def reading(self, scalars: Sequence[str], readout: Readout) -> GatedDeltaNet:
        """The same layer, whose block's scalars are called so, and chosen so."""
        block = self._weights.block
        if block is None:
            return self
        history = History(**dict(zip(scalars, block.history, strict=True)))
        weights = replace(self._weights, block=BlockWeights(block.right, history, readout))
        return GatedDeltaNet(self._kernels, self._shape, weights, self._eps)

    def project(self, x: torch.Tensor) -> tuple[Rows, torch.Tensor]:
        """x [M, hidden] -> what the memory is moved on with, and the output's gate [M, H * DV]."""
        kernels, weights = self._kernels, self._weights
        a, b = kernels.linear(x, weights.a), kernels.linear(x, weights.b)
        gates = kernels.gdn_gates(a, b, weights.a_log, weights.dt_bias)
        return Rows(kernels.linear(x, weights.qkv), gates), kernels.linear(x, weights.z)

    def read(self, rows: Rows, z: torch.Tensor, memory: Memory) -> torch.Tensor:
        """Read a text behind what is in memory, which moves on: [M, H * DV]."""
        found = self._move(rows, memory)
        normed = self._kernels.gated_rms_norm(
            found, self._by_head(z), self._weights.norm, self._eps
        )
        return normed.flatten(1)

    def replay(self, rows: Rows, memory: Memory) -> None:
        """Move the memory on only."""
        if len(rows):
            self._move(rows, memory)

    def denoise(self, rows: Rows, z: torch.Tensor, memory: Memory) -> torch.Tensor:
        """Read a block behind what is in memory, which stays: [L, H * DV]."""
        block = self._weights.block
        if block is None:
            return self.read(rows, z, memory.copy())
        taps = self._weights.taps
        mixed = self._kernels.block_convolution(rows.inputs, memory.inputs, taps, block.right)
        return self._kernels.gdn_block(
            *self._heads(mixed),
            rows.gates,
            memory.state,
            block.history,
            self._by_head(z),
            self._weights.norm,
            self._eps,
            block.readout,
        ).flatten(1)

    def out(self, found: torch.Tensor) -> torch.Tensor:
        """The output projection: [M, H * DV] -> [M, hidden]."""
        return self._kernels.linear(found, self._weights.out)

    def _move(self, rows: Rows, memory: Memory) -> torch.Tensor:
        mixed = self._kernels.causal_convolution(rows.inputs, memory.inputs, self._weights.taps)
        rule = self._kernels.gdn_commit if len(rows) <= _FEW else self._kernels.gdn_prefill
        return rule(*self._heads(mixed), rows.gates, memory.state)

    def _heads(self, mixed: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Queries, keys [M, HK, D] and values [M, H, DV]."""
        shape = self._shape
        q, k, v = torch.split(mixed, shape.splits, -1)
        keys = (len(mixed), shape.key_heads, shape.key_dim)
        return q.reshape(keys), k.reshape(keys), self._by_head(v)

    def _by_head(self, x: torch.Tensor) -> torch.Tensor:
        return x.reshape(len(x), self._shape.value_heads, self._shape.value_dim)
