"""Linear layers, each with the operation that stands before it: int8 on CPUs, bf16 anywhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch
from torch.nn import functional

from clover_engine.kernels.dispatch import Kernels
from clover_engine.kernels.reference import Rows
from clover_engine.layers.packing import Packed


class Linear(Protocol):
    """Everything float32: [M, in] -> [M, out]. A row's result never depends on the other rows; the
    rows of `masks` go through the block adapter too, if the layer has one."""

    def __call__(self, x: torch.Tensor, masks: slice | None = None) -> torch.Tensor:
        """x times the weight."""
        ...

    def after_norm(
        self, x: torch.Tensor, weight: torch.Tensor, eps: float, masks: slice | None = None
    ) -> torch.Tensor:
        """The RMSNorm of x times the weight."""
        ...

    def after_swiglu(self, gate_up: torch.Tensor, masks: slice | None = None) -> torch.Tensor:
        """silu(gate) * up of [M, 2 * in] times the weight."""
        ...


@dataclass(frozen=True, slots=True)
class LowRank:
    """What the block adapter adds to a layer: float32 weights [rank, in] and [rank, out]."""

    down: torch.Tensor
    up: torch.Tensor


class Int8Linear:
    """int8 weights [out, in] and activations as rows of bytes, multiplied by oneDNN."""

    def __init__(
        self,
        kernels: Kernels,
        packed: Packed,
        bias: torch.Tensor | None = None,
        adapter: LowRank | None = None,
    ) -> None:
        self._kernels = kernels
        self._packed = packed.divided(127)
        self._bias = bias
        self._adapter = adapter

    def __call__(self, x: torch.Tensor, masks: slice | None = None) -> torch.Tensor:
        return self._multiply(self._kernels.to_rows(x), masks)

    def after_norm(
        self, x: torch.Tensor, weight: torch.Tensor, eps: float, masks: slice | None = None
    ) -> torch.Tensor:
        return self._multiply(self._kernels.norm_to_rows(x, weight, eps), masks)

    def after_swiglu(self, gate_up: torch.Tensor, masks: slice | None = None) -> torch.Tensor:
        return self._multiply(self._kernels.swiglu_to_rows(gate_up), masks)

    def _multiply(self, rows: Rows, masks: slice | None = None) -> torch.Tensor:
        y = self._packed.multiply(rows[0]).mul_(rows[1])
        if self._bias is not None:
            y.add_(self._bias)
        if masks and self._adapter:
            adapter, some = self._adapter, (rows[0][masks], rows[1][masks])
            self._kernels.add_low_rank(some, adapter.down, adapter.up, y[masks])
        return y


class FloatLinear:
    """Float weights [out, in]; x is rounded to their type, the result comes back as float32."""

    def __init__(
        self,
        weight: torch.Tensor,
        bias: torch.Tensor | None = None,
        adapter: LowRank | None = None,
    ) -> None:
        self._weight = weight
        self._bias = bias
        self._adapter = adapter

    def __call__(self, x: torch.Tensor, masks: slice | None = None) -> torch.Tensor:
        y = functional.linear(x.to(self._weight.dtype), self._weight).float()
        if self._bias is not None:
            y.add_(self._bias)
        if masks and self._adapter:
            y[masks].addmm_(x[masks] @ self._adapter.down.T, self._adapter.up)
        return y

    def after_norm(
        self, x: torch.Tensor, weight: torch.Tensor, eps: float, masks: slice | None = None
    ) -> torch.Tensor:
        return self(functional.rms_norm(x, weight.shape, weight, eps), masks)

    def after_swiglu(self, gate_up: torch.Tensor, masks: slice | None = None) -> torch.Tensor:
        gate, up = gate_up.chunk(2, dim=-1)
        return self(functional.silu(gate).mul_(up), masks)
