"""The fused operations for CPUs, compiled by numba: one pass over memory and one call each.

At one row a forward is some five hundred small torch operations whose call overhead is a third of
its time; these take their place. Semantics: `reference.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

import numba
import numpy as np
import numpy.typing as npt
import torch

from clover_engine.kernels.reference import Rows

Floats = npt.NDArray[np.float32]
Bytes = npt.NDArray[np.uint8]

_Function = TypeVar("_Function", bound=Callable[..., None])
_MATRIX, _BYTE_MATRIX = "f4[:, ::1]", "u1[:, ::1]"


def _compiled(signature: str) -> Callable[[_Function], _Function]:
    """Compile when this module is first imported on a machine (seconds), later read from disk."""
    compiler = numba.njit(signature, cache=True, fastmath=True, nogil=True)
    return cast(Callable[[_Function], _Function], compiler)


def to_rows(x: torch.Tensor) -> Rows:
    """As `reference.to_rows`."""
    rows, scale = _empty_rows(x.shape[0], x.shape[1])
    _to_rows(x.numpy(), rows.numpy(), scale.numpy())
    return rows, scale


def norm_to_rows(x: torch.Tensor, weight: torch.Tensor, eps: float) -> Rows:
    """As `reference.norm_to_rows`."""
    rows, scale = _empty_rows(x.shape[0], x.shape[1])
    _norm_to_rows(x.numpy(), weight.numpy(), np.float32(eps), rows.numpy(), scale.numpy())
    return rows, scale


def swiglu_to_rows(gate_up: torch.Tensor) -> Rows:
    """As `reference.swiglu_to_rows`."""
    width = gate_up.shape[1] // 2
    rows, scale = _empty_rows(gate_up.shape[0], width)
    power = np.empty(width, np.float32)
    exponent = np.empty(width, np.int32)
    _swiglu_to_rows(
        gate_up.numpy(), rows.numpy(), scale.numpy(), power, power.view(np.int32), exponent
    )
    return rows, scale


def add_low_rank(rows: Rows, down: torch.Tensor, up: torch.Tensor, y: torch.Tensor) -> None:
    """As `reference.add_low_rank`."""
    x = np.empty(down.shape[1], np.float32)
    _add_low_rank(rows[0].numpy(), rows[1].numpy(), down.numpy(), up.numpy(), x, y.numpy())


def rotate_and_store(
    qkv: torch.Tensor,
    cos: torch.Tensor,
    sin: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    start: int,
    positions: torch.Tensor,
) -> torch.Tensor:
    """As `reference.rotate_and_store`."""
    kv_heads, _, width = keys.shape
    groups = qkv.shape[1] // (kv_heads * width) - 2
    queries = torch.empty(kv_heads, groups * qkv.shape[0], width)
    _rotate_and_store(
        qkv.numpy(),
        cos.numpy(),
        sin.numpy(),
        keys.numpy(),
        values.numpy(),
        start,
        positions.numpy(),
        queries.numpy(),
    )
    return queries


def _empty_rows(count: int, width: int) -> Rows:
    return torch.empty(count, width, dtype=torch.uint8), torch.empty(count, 1)


@_compiled(f"void({_MATRIX}, {_BYTE_MATRIX}, {_MATRIX})")
def _to_rows(x: Floats, rows: Bytes, scale: Floats) -> None:
    for i in range(x.shape[0]):
        limit = np.float32(1e-12)
        for j in range(x.shape[1]):
            limit = max(limit, abs(x[i, j]))
        factor = np.float32(127) / limit
        for j in range(x.shape[1]):
            rows[i, j] = np.uint8(x[i, j] * factor + np.float32(128.5))
        scale[i, 0] = limit


@_compiled(f"void({_BYTE_MATRIX}, {_MATRIX}, {_MATRIX}, {_MATRIX}, f4[::1], {_MATRIX})")
def _add_low_rank(
    rows: Bytes, scale: Floats, down: Floats, up: Floats, x: Floats, y: Floats
) -> None:
    # so few operations that the calls of a library would take several times as long
    for i in range(rows.shape[0]):
        for j in range(x.shape[0]):
            x[j] = np.float32(rows[i, j]) - np.float32(128)
        factor = scale[i, 0] / np.float32(127)
        for r in range(down.shape[0]):
            narrow = np.float32(0)
            for j in range(x.shape[0]):
                narrow += x[j] * down[r, j]
            narrow *= factor
            for j in range(y.shape[1]):
                y[i, j] += narrow * up[r, j]


@_compiled(f"void({_MATRIX}, f4[::1], f4, {_BYTE_MATRIX}, {_MATRIX})")
def _norm_to_rows(x: Floats, weight: Floats, eps: np.float32, rows: Bytes, scale: Floats) -> None:
    # the norm's own factor cancels out of the bytes: it goes into the scale
    for i in range(x.shape[0]):
        limit, square = np.float32(1e-12), np.float32(0)
        for j in range(x.shape[1]):
            square += x[i, j] * x[i, j]
            limit = max(limit, abs(x[i, j] * weight[j]))
        factor = np.float32(127) / limit
        for j in range(x.shape[1]):
            rows[i, j] = np.uint8(x[i, j] * weight[j] * factor + np.float32(128.5))
        scale[i, 0] = limit / np.sqrt(square / np.float32(x.shape[1]) + eps)


@_compiled(f"void({_MATRIX}, {_BYTE_MATRIX}, {_MATRIX}, f4[::1], i4[::1], i4[::1])")
def _swiglu_to_rows(
    gate_up: Floats,
    rows: Bytes,
    scale: Floats,
    power: Floats,
    bits: npt.NDArray[np.int32],
    exponent: npt.NDArray[np.int32],
) -> None:
    # exp(-gate) = 2^t in three loops without calls, which the compiler turns into vectors: a Taylor
    # series of 2^fraction in `power`, whose `bits` the whole part of t is added to
    width = power.shape[0]
    for i in range(gate_up.shape[0]):
        for j in range(width):
            t = min(
                max(gate_up[i, j] * np.float32(-1.4426950408889634), np.float32(-120)),
                np.float32(120),
            )
            whole = np.int32(t + np.float32(120.5)) - np.int32(120)
            f = (t - np.float32(whole)) * np.float32(0.6931471805599453)
            exponent[j] = whole
            power[j] = np.float32(1) + f * (
                np.float32(1)
                + f
                * (
                    np.float32(0.5)
                    + f
                    * (
                        np.float32(1 / 6)
                        + f
                        * (np.float32(1 / 24) + f * (np.float32(1 / 120) + f * np.float32(1 / 720)))
                    )
                )
            )
        for j in range(width):
            bits[j] += exponent[j] << 23
        limit = np.float32(1e-12)
        for j in range(width):
            power[j] = gate_up[i, j] / (np.float32(1) + power[j]) * gate_up[i, width + j]
            limit = max(limit, abs(power[j]))
        factor = np.float32(127) / limit
        for j in range(width):
            rows[i, j] = np.uint8(power[j] * factor + np.float32(128.5))
        scale[i, 0] = limit


@_compiled(
    f"void({_MATRIX}, {_MATRIX}, {_MATRIX}, f4[:, :, ::1], f4[:, :, ::1], i8, i8[::1],"
    " f4[:, :, ::1])",
)
def _rotate_and_store(
    qkv: Floats,
    cos: Floats,
    sin: Floats,
    keys: Floats,
    values: Floats,
    start: int,
    positions: npt.NDArray[np.int64],
    queries: Floats,
) -> None:
    count, kv_heads, width = qkv.shape[0], keys.shape[0], keys.shape[2]
    half = width // 2
    groups = qkv.shape[1] // (kv_heads * width) - 2
    for i in range(count):
        place, slot = positions[i], start + i
        for head in range(groups * kv_heads):
            base = head * width
            row = (head % groups) * count + i
            for d in range(width):
                queries[head // groups, row, d] = (
                    qkv[i, base + d] * cos[place, d]
                    + qkv[i, base + (d + half) % width] * sin[place, d]
                )
        for head in range(kv_heads):
            base = (groups * kv_heads + head) * width
            for d in range(width):
                keys[head, slot, d] = (
                    qkv[i, base + d] * cos[place, d]
                    + qkv[i, base + (d + half) % width] * sin[place, d]
                )
                values[head, slot, d] = qkv[i, base + kv_heads * width + d]
