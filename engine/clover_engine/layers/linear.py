"""Linear layers, each with the operation that stands before it: int8 on CPUs, bf16 anywhere."""

from __future__ import annotations

from functools import cache
from typing import Protocol

import torch
from torch.nn import functional

from clover_engine.kernels.dispatch import Kernels
from clover_engine.kernels.reference import Rows


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


def _multiply_bytes(
    rows: torch.Tensor, packed: torch.Tensor, scale: torch.Tensor, zero_points: torch.Tensor
) -> torch.Tensor:
    """(rows - 128) times the packed int8 weight, times scale: float32 [M, out]."""
    y: torch.Tensor = torch.ops.onednn.qlinear_pointwise(
        rows,
        1.0,  # scale of the rows: each has its own, which the caller applies
        128,  # zero point of the rows
        packed,
        scale,
        zero_points,
        None,  # bias
        1.0,  # output scale
        0,  # output zero point
        torch.float32,
        "none",  # what oneDNN does to the result, and its arguments
        [],
        "",
    )
    return y


@cache
def sums_saturate() -> bool:
    """Whether this CPU's int8 products overflow: those without VNNI add two of them in 16 bits.

    Asked of oneDNN itself, whose choice of instructions can be limited by the environment.
    """
    weight = torch.full((16, 64), 127, dtype=torch.int8)
    packed = torch.ops.onednn.qlinear_prepack(weight, None)
    ones, zeros = torch.ones(16), torch.zeros(16, dtype=torch.int32)
    y = _multiply_bytes(torch.full((1, 64), 255, dtype=torch.uint8), packed, ones, zeros)
    return bool((y != 127 * 127 * 64).any())


class Int8Linear:
    """int8 weights [out, in] and activations as rows of bytes, multiplied by oneDNN."""

    def __init__(
        self,
        kernels: Kernels,
        weight: torch.Tensor,
        scale: torch.Tensor,
        bias: torch.Tensor | None = None,
    ) -> None:
        if sums_saturate():
            # half the weights' range keeps the sum of two products within 16 bits
            weight, scale = (weight / 2).round_().to(torch.int8), scale * 2
        self._kernels = kernels
        self._packed = torch.ops.onednn.qlinear_prepack(weight, None)
        self._scale = scale / 127
        self._zero_points = torch.zeros(len(scale), dtype=torch.int32)
        self._bias = bias

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        return self._multiply(self._kernels.to_rows(x))

    def after_norm(self, x: torch.Tensor, weight: torch.Tensor, eps: float) -> torch.Tensor:
        return self._multiply(self._kernels.norm_to_rows(x, weight, eps))

    def after_swiglu(self, gate_up: torch.Tensor) -> torch.Tensor:
        return self._multiply(self._kernels.swiglu_to_rows(gate_up))

    def _multiply(self, rows: Rows) -> torch.Tensor:
        y = _multiply_bytes(rows[0], self._packed, self._scale, self._zero_points)
        y.mul_(rows[1])
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
