"""RMS norms: a row to a program, read once. Definitions: `reference.norms`."""

from __future__ import annotations

import torch
import triton
import triton.language as tl


def rms_norm(x: torch.Tensor, weight: torch.Tensor, eps: float) -> torch.Tensor:
    """As `reference.rms_norm`."""
    rows = x.reshape(-1, x.shape[-1])
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    _rms_norm[(rows.shape[0],)](
        rows, None, weight, out, None, rows.stride(0), 0, rows.shape[1], eps, **_shape(rows)
    )
    return out


def add_rms_norm(
    x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor, eps: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """As `reference.add_rms_norm`."""
    rows, kept = x.reshape(-1, x.shape[-1]), residual.reshape(-1, x.shape[-1])
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    total = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    _rms_norm[(rows.shape[0],)](
        rows,
        kept,
        weight,
        out,
        total,
        rows.stride(0),
        kept.stride(0),
        rows.shape[1],
        eps,
        **_shape(rows),
    )
    return out, total


def gated_rms_norm(
    x: torch.Tensor, gate: torch.Tensor, weight: torch.Tensor, eps: float
) -> torch.Tensor:
    """As `reference.gated_rms_norm`."""
    rows, gates = x.reshape(-1, x.shape[-1]), gate.reshape(-1, x.shape[-1])
    out = torch.empty(gate.shape, dtype=gate.dtype, device=x.device)
    _gated_rms_norm[(rows.shape[0],)](
        rows,
        gates,
        weight,
        out,
        rows.stride(0),
        gates.stride(0),
        rows.shape[1],
        eps,
        **_shape(rows),
    )
    return out


def _shape(rows: torch.Tensor) -> dict[str, int]:
    block = triton.next_power_of_2(rows.shape[1])
    return {"BLOCK": block, "num_warps": 8 if block > 1024 else 1}


@triton.jit
def _rms_norm(
    x, residual, weight, out, total, x_stride, residual_stride, columns, eps, BLOCK: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64)
    column = tl.arange(0, BLOCK)
    inside = column < columns
    value = tl.load(x + row * x_stride + column, inside, 0.0).to(tl.float32)
    if residual is not None:
        value += tl.load(residual + row * residual_stride + column, inside, 0.0).to(tl.float32)
        value = value.to(out.dtype.element_ty).to(tl.float32)
        tl.store(total + row * columns + column, value, inside)
    root = tl.rsqrt(tl.sum(value * value) / columns + eps)
    scale = 1 + tl.load(weight + column, inside, 0.0).to(tl.float32)
    tl.store(out + row * columns + column, value * root * scale, inside)


@triton.jit
def _gated_rms_norm(x, gate, weight, out, x_stride, gate_stride, columns, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    column = tl.arange(0, BLOCK)
    inside = column < columns
    value = tl.load(x + row * x_stride + column, inside, 0.0).to(tl.float32)
    z = tl.load(gate + row * gate_stride + column, inside, 0.0).to(tl.float32)
    scale = tl.load(weight + column, inside, 0.0).to(tl.float32)
    root = tl.rsqrt(tl.sum(value * value) / columns + eps)
    normed = gated(value * root, scale, z, out.dtype.element_ty)
    tl.store(out + row * columns + column, normed, inside)


@triton.jit
def gated(normal, scale, z, TYPE: tl.constexpr):
    """scale * normal * silu(z), rounded where the definition rounds."""
    rounded = normal.to(TYPE).to(tl.float32)
    normed = (scale * rounded).to(TYPE).to(tl.float32)
    return normed * z * tl.sigmoid(z)
