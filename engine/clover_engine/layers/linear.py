"""Linear layers, each with the operation that stands before it: int8 on CPUs, bf16 anywhere."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

import torch
from torch.nn import functional

from clover_engine.kernels.dispatch import Kernels
from clover_engine.kernels.reference import Rows
from clover_engine.layers.packing import Packed


class Linear(Protocol):
    """Everything float32: [M, in] -> [M, out]. A row's result never depends on the other rows."""

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        """x times the weight."""
        ...

    def after_norm(self, x: torch.Tensor, weight: torch.Tensor, eps: float) -> torch.Tensor:
        """The RMSNorm of x times the weight."""
        ...

    def after_swiglu(self, gate_up: torch.Tensor) -> torch.Tensor:
        """silu(gate) * up of [M, 2 * in] times the weight."""
        ...


class Int8Linear:
    """int8 weights [out, in] and activations as rows of bytes, multiplied by oneDNN."""

    def __init__(self, kernels: Kernels, packed: Packed, bias: torch.Tensor | None = None) -> None:
        self._kernels = kernels
        self._packed = replace(packed, scale=packed.scale / 127)
        self._bias = bias

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        return self._multiply(self._kernels.to_rows(x))

    def after_norm(self, x: torch.Tensor, weight: torch.Tensor, eps: float) -> torch.Tensor:
        return self._multiply(self._kernels.norm_to_rows(x, weight, eps))

    def after_swiglu(self, gate_up: torch.Tensor) -> torch.Tensor:
        return self._multiply(self._kernels.swiglu_to_rows(gate_up))

    def _multiply(self, rows: Rows) -> torch.Tensor:
        y = self._packed.multiply(rows[0]).mul_(rows[1])
        return y if self._bias is None else y.add_(self._bias)


class Bf16Linear:
    """bf16 weights [out, in]; x is rounded to bf16, the result comes back as float32."""

    def __init__(self, weight: torch.Tensor, bias: torch.Tensor | None = None) -> None:
        self._weight = weight.to(torch.bfloat16)
        self._bias = bias

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        y = functional.linear(x.to(torch.bfloat16), self._weight).float()
        return y if self._bias is None else y.add_(self._bias)

    def after_norm(self, x: torch.Tensor, weight: torch.Tensor, eps: float) -> torch.Tensor:
        return self(functional.rms_norm(x, weight.shape, weight, eps))

    def after_swiglu(self, gate_up: torch.Tensor) -> torch.Tensor:
        gate, up = gate_up.chunk(2, dim=-1)
        return self(functional.silu(gate).mul_(up))
