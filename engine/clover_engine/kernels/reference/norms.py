"""RMS norms, in float32 whatever the type of their input."""

from __future__ import annotations

import torch
from torch.nn import functional

from clover_engine.kernels.reference.width import wide


def rms_norm(x: torch.Tensor, weight: torch.Tensor, eps: float) -> torch.Tensor:
    """x [..., K] / rms(x) * (1 + weight [K]), in the type of x."""
    return (_normal(x, eps) * (1 + wide(weight))).to(x.dtype)


def add_rms_norm(
    x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor, eps: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """The sum h = residual + x [..., K], rounded to their type, as (rms_norm(h), h)."""
    total = residual + x
    return rms_norm(total, weight, eps), total


def gated_rms_norm(
    x: torch.Tensor, gate: torch.Tensor, weight: torch.Tensor, eps: float
) -> torch.Tensor:
    """weight [K] * (x / rms(x)) * silu(gate), norm before gate: x and gate [..., K].

    The norm is rounded to the type of `gate`, which is the layer's, before it is gated, as in the
    Qwen3.5 layer (x may come from a float32 state)."""
    normed = weight * _normal(x, eps).to(gate.dtype)
    return (normed * functional.silu(wide(gate))).to(gate.dtype)


def _normal(x: torch.Tensor, eps: float) -> torch.Tensor:
    full = wide(x)
    return full * torch.rsqrt(full.square().mean(-1, keepdim=True) + eps)
