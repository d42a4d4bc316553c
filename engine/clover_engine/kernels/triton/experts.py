"""The products of experts with their rows. Definitions: `reference.experts`.

At one block of at most 32 rows an expert has few rows, and reading its weights is all that costs:
a program owns some output columns of one expert, reads their weights once for 16 rows at a time,
and leaves at once where no row goes to its expert. The grid is the same for any routing, as a CUDA
graph wants it, and so are the tiles: another shape would round otherwise and could turn a token.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from clover_engine.kernels import reference
from clover_engine.kernels.quantised import Quantised, Weight
from clover_engine.kernels.reference import Sorted
from clover_engine.kernels.triton.weights import rows_times, stored

_ROWS = 16
_GATE_UP = {"M": _ROWS, "N": 32, "num_warps": 4, "num_stages": 3}
_DOWN = {"M": _ROWS, "N": 64, "num_warps": 4, "num_stages": 3}
_LINEAR = {"M": _ROWS, "N": 32, "num_warps": 4, "num_stages": 3}
_SUMMED = 256  # columns a program sums over a row's experts


def expert_gate_up(x: torch.Tensor, weight: Weight, order: Sorted) -> torch.Tensor:
    """As `reference.expert_gate_up`."""
    x = x.contiguous()
    pairs, width = order.pairs.shape[0], weight.shape[1] // 2
    out = torch.empty(pairs, width, dtype=x.dtype, device=x.device)
    held = stored(weight)
    _gate_up[(triton.cdiv(width, _GATE_UP["N"]), weight.shape[0])](
        x,
        held.values,
        held.scales,
        held.zeros,
        order.pairs,
        order.starts,
        out,
        pairs // x.shape[0],
        x.shape[1],
        width,
        **held.layout,
        **_GATE_UP,
    )
    return out


def expert_down(
    hidden: torch.Tensor, weight: Weight, order: Sorted, weights: torch.Tensor
) -> torch.Tensor:
    """As `reference.expert_down`: weighted products by pair, then their sum in the order of the
    row's choices, so that no atomic decides what is added first."""
    (rows, top), columns = weights.shape, weight.shape[1]
    parts = torch.empty(rows * top, columns, dtype=torch.float32, device=hidden.device)
    out = torch.empty(rows, columns, dtype=hidden.dtype, device=hidden.device)
    hidden, held = hidden.contiguous(), stored(weight)
    _down[(triton.cdiv(columns, _DOWN["N"]), weight.shape[0])](
        hidden,
        held.values,
        held.scales,
        held.zeros,
        order.pairs,
        order.starts,
        weights,
        parts,
        hidden.shape[1],
        columns,
        **held.layout,
        **_DOWN,
    )
    grid = (rows, triton.cdiv(columns, _SUMMED))
    _sum_pairs[grid](parts, out, columns, TOP=top, BLOCK=_SUMMED, num_warps=1)
    return out


def linear(x: torch.Tensor, weight: Weight) -> torch.Tensor:
    """As `reference.linear`; dense weights are the vendor library's work."""
    if not isinstance(weight, Quantised):
        return reference.linear(x, weight)
    x = x.contiguous()
    rows, columns = x.shape[0], weight.shape[0]
    out = torch.empty(rows, columns, dtype=x.dtype, device=x.device)
    held = stored(weight)
    _linear[(triton.cdiv(columns, _LINEAR["N"]), triton.cdiv(rows, _ROWS))](
        x,
        held.values,
        held.scales,
        held.zeros,
        out,
        rows,
        x.shape[1],
        columns,
        **held.layout,
        **_LINEAR,
    )
    return out


@triton.jit
def _gate_up(
    x,
    values,
    scales,
    zeros,
    pairs,
    starts,
    out,
    top,
    columns,
    width,
    M: tl.constexpr,
    N: tl.constexpr,
    BITS: tl.constexpr,
    STEP: tl.constexpr,
):
    expert = tl.program_id(1)
    begin, end = tl.load(starts + expert), tl.load(starts + expert + 1)
    # gate and up in turns, so that one product gives both and `split` takes them apart
    place = tl.arange(0, 2 * N)
    unit = tl.program_id(0) * N + place // 2
    w_rows = expert.to(tl.int64) * (2 * width) + (place % 2) * width + unit
    w_inside = unit < width
    own = tl.program_id(0) * N + tl.arange(0, N)
    for first in range(begin, end, M):
        at = first + tl.arange(0, M)
        inside = at < end
        row = tl.load(pairs + at, inside, 0) // top
        both = rows_times(
            x,
            row.to(tl.int64) * columns,
            inside,
            values,
            scales,
            zeros,
            w_rows,
            w_inside,
            columns,
            M,
            2 * N,
            BITS,
            STEP,
        )
        gate, up = tl.split(tl.reshape(both, [M, N, 2]))
        tl.store(
            out + at.to(tl.int64)[:, None] * width + own[None, :],
            gate * tl.sigmoid(gate) * up,
            inside[:, None] & (own < width)[None, :],
        )


@triton.jit
def _down(
    hidden,
    values,
    scales,
    zeros,
    pairs,
    starts,
    weights,
    out,
    columns,
    width,
    M: tl.constexpr,
    N: tl.constexpr,
    BITS: tl.constexpr,
    STEP: tl.constexpr,
):
    expert = tl.program_id(1)
    begin, end = tl.load(starts + expert), tl.load(starts + expert + 1)
    unit = tl.program_id(0) * N + tl.arange(0, N)
    w_rows = expert.to(tl.int64) * width + unit
    for first in range(begin, end, M):
        at = first + tl.arange(0, M)
        inside = at < end
        pair = tl.load(pairs + at, inside, 0)
        share = tl.load(weights + pair, inside, 0.0)
        product = rows_times(
            hidden,
            at.to(tl.int64) * columns,
            inside,
            values,
            scales,
            zeros,
            w_rows,
            unit < width,
            columns,
            M,
            N,
            BITS,
            STEP,
        )
        tl.store(
            out + pair.to(tl.int64)[:, None] * width + unit[None, :],
            product * share[:, None],
            inside[:, None] & (unit < width)[None, :],
        )


@triton.jit
def _sum_pairs(parts, out, width, TOP: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    for choice in tl.static_range(TOP):
        total += tl.load(parts + (row * TOP + choice) * width + column, column < width, 0.0)
    tl.store(out + row * width + column, total, column < width)


@triton.jit
def _linear(
    x,
    values,
    scales,
    zeros,
    out,
    rows,
    columns,
    width,
    M: tl.constexpr,
    N: tl.constexpr,
    BITS: tl.constexpr,
    STEP: tl.constexpr,
):
    unit = tl.program_id(0) * N + tl.arange(0, N)
    row = tl.program_id(1) * M + tl.arange(0, M)
    product = rows_times(
        x,
        row.to(tl.int64) * columns,
        row < rows,
        values,
        scales,
        zeros,
        unit.to(tl.int64),
        unit < width,
        columns,
        M,
        N,
        BITS,
        STEP,
    )
    tl.store(
        out + row.to(tl.int64)[:, None] * width + unit[None, :],
        product,
        (row < rows)[:, None] & (unit < width)[None, :],
    )
