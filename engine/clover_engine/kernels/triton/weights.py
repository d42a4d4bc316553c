"""How a tile of rows is multiplied by a tile of weights, dense or quantised.

Levels less their zero are whole numbers of at most 8 bits and so exact in any float type: a scale
is applied once a group, to the float32 sum.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import triton
import triton.language as tl

from clover_engine.kernels.quantised import Quantised, Weight

_DENSE_COLUMNS = 128  # columns of a step; of quantised weights it is their group


class Stored(NamedTuple):
    """Weights as a kernel's arguments."""

    values: torch.Tensor
    scales: torch.Tensor | None
    zeros: torch.Tensor | None
    layout: dict[str, int]  # BITS and STEP


def stored(weight: Weight) -> Stored:
    """Weights as a kernel's arguments."""
    if isinstance(weight, Quantised):
        layout = {"BITS": weight.bits, "STEP": weight.group}
        zeros = None if weight.zeros is None else weight.zeros.contiguous()
        return Stored(weight.values.contiguous(), weight.scales.contiguous(), zeros, layout)
    return Stored(weight.contiguous(), None, None, {"BITS": 16, "STEP": _DENSE_COLUMNS})


@triton.jit
def rows_times(
    x,
    x_rows,
    x_inside,
    values,
    scales,
    zeros,
    w_rows,
    w_inside,
    columns,
    M: tl.constexpr,
    N: tl.constexpr,
    BITS: tl.constexpr,
    STEP: tl.constexpr,
):
    """float32 [M, N]: x at offsets x_rows [M] times weights of rows w_rows int64 [N]."""
    total = tl.zeros([M, N], tl.float32)
    steps = tl.cdiv(columns, STEP)
    for step in range(steps):
        if BITS == 16:
            column = step * STEP + tl.arange(0, STEP)
            left = _x_tile(x, x_rows, x_inside, column, columns)
            right = tl.load(
                values + w_rows[None, :] * columns + column[:, None],
                w_inside[None, :] & (column < columns)[:, None],
                0.0,
            )
            total = tl.dot(left, right.to(left.dtype), total, input_precision="ieee")
        else:
            total += _group(
                x,
                x_rows,
                x_inside,
                values,
                scales,
                zeros,
                w_rows,
                w_inside,
                step,
                steps,
                columns,
                BITS,
                STEP,
            )
    return total


@triton.jit
def _group(
    x,
    x_rows,
    x_inside,
    values,
    scales,
    zeros,
    w_rows,
    w_inside,
    group,
    groups,
    columns,
    BITS: tl.constexpr,
    STEP: tl.constexpr,
):
    """One group's part of the sum, float32 [M, N]."""
    BYTES: tl.constexpr = STEP * BITS // 8
    byte = tl.arange(0, BYTES)
    level = tl.load(
        values + w_rows[None, :] * (groups * BYTES) + group * BYTES + byte[:, None],
        w_inside[None, :],
        0,
    )
    scale = tl.load(scales + w_rows * groups + group, w_inside, 0.0).to(tl.float32)
    zero = tl.full(w_rows.shape, 1 << (BITS - 1), tl.float32)
    if zeros is not None:
        zero = tl.load(zeros + w_rows * groups + group, w_inside, 0).to(tl.float32)
    left = _x_tile(x, x_rows, x_inside, group * STEP + byte, columns)
    if BITS == 8:
        total = tl.dot(left, _centred(level, zero, left.dtype), input_precision="ieee")
    else:
        total = tl.dot(left, _centred(level & 15, zero, left.dtype), input_precision="ieee")
        high = _x_tile(x, x_rows, x_inside, group * STEP + BYTES + byte, columns)
        right = _centred(level >> 4, zero, left.dtype)
        total = tl.dot(high, right, total, input_precision="ieee")
    return total * scale[None, :]


@triton.jit
def _centred(level, zero, TYPE: tl.constexpr):
    return (level.to(tl.float32) - zero[None, :]).to(TYPE)


@triton.jit
def _x_tile(x, rows, inside, column, columns):
    mask = inside[:, None] & (column < columns)[None, :]
    return tl.load(x + rows[:, None] + column[None, :], mask, 0.0)
