"""Gated DeltaNet: commits and prefill. Definitions: `reference.delta`.

A program owns some value columns of one head's state from the first row to the last: committed
rows find it in registers, chunks of a prompt in memory, a few rows of it at a time.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

from clover_engine.kernels.reference import Gates
from clover_engine.kernels.triton.layout import runs, whole

_RECURRENT = {"V": 32, "num_warps": 4, "num_stages": 2}
_CHUNKED = {"V": 32, "C": 16, "STEP": 32, "num_warps": 4, "num_stages": 1}
_GATES = 256  # values a program computes


def gdn_gates(
    a: torch.Tensor, b: torch.Tensor, a_log: torch.Tensor, dt_bias: torch.Tensor
) -> Gates:
    """As `reference.gdn_gates`."""
    a, b = a.contiguous(), b.contiguous()
    decay = torch.empty(a.shape, dtype=torch.float32, device=a.device)
    beta = torch.empty(a.shape, dtype=torch.float32, device=a.device)
    total, heads = a.numel(), a_log.shape[0]
    _gates[(triton.cdiv(total, _GATES),)](
        a, b, a_log, dt_bias, decay, beta, total, heads, BLOCK=_GATES, num_warps=4
    )
    return Gates(decay, beta)


def gdn_commit(
    queries: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    gates: Gates,
    state: torch.Tensor,
) -> torch.Tensor:
    """As `reference.gdn_commit`."""
    return _committed(_commit, _RECURRENT, queries, keys, values, gates, state)


def gdn_prefill(
    queries: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    gates: Gates,
    state: torch.Tensor,
) -> torch.Tensor:
    """As `reference.gdn_prefill`, in chunks of 16 rows, whose deltas are solved row by row: the
    inverse by doubling would be faster, and wrong where keys repeat."""
    return _committed(_prefill, _CHUNKED, queries, keys, values, gates, state)


def _committed(
    kernel: Any,
    tile: dict[str, int],
    queries: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    gates: Gates,
    state: torch.Tensor,
) -> torch.Tensor:
    rows, heads, width = values.shape
    queries, keys, values = runs(queries), runs(keys), runs(values)
    out = torch.empty(values.shape, dtype=torch.float32, device=values.device)
    kernel[(heads, triton.cdiv(width, tile["V"]))](
        queries,
        keys,
        values,
        gates.decay.contiguous(),
        gates.beta.contiguous(),
        whole(state),
        out,
        queries.stride(0),
        keys.stride(0),
        values.stride(0),
        rows,
        heads,
        queries.shape[2],
        width,
        queries.shape[2] ** -0.5,
        GROUPS=heads // keys.shape[1],
        D=triton.next_power_of_2(queries.shape[2]),
        **tile,
    )
    return out


@triton.jit
def _gates(a, b, a_log, dt_bias, decay, beta, total, heads, BLOCK: tl.constexpr):
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = place < total
    head = place % heads
    raw = tl.load(a + place, inside, 0.0).to(tl.float32)
    raw += tl.load(dt_bias + head, inside, 0.0).to(tl.float32)
    rate = tl.exp(tl.load(a_log + head, inside, 0.0).to(tl.float32))
    # log(1 + e^x), which is x beyond what float32 tells apart, and e^x below
    small = tl.exp(-tl.abs(raw))
    series = small * (1 - small * (0.5 - small * (1.0 / 3)))
    soft = tl.maximum(raw, 0.0) + tl.where(small < 0.01, series, tl.log(1 + small))
    tl.store(decay + place, -rate * soft, inside)
    tl.store(beta + place, tl.sigmoid(tl.load(b + place, inside, 0.0).to(tl.float32)), inside)


@triton.jit
def unit(x, axis: tl.constexpr):
    """x divided by its length along an axis."""
    return x * tl.rsqrt(tl.sum(x * x, axis, keep_dims=True) + 1e-6)


@triton.jit
def _commit(
    queries,
    keys,
    values,
    decay,
    beta,
    state,
    out,
    q_stride,
    k_stride,
    v_stride,
    rows,
    heads,
    width,
    v_width,
    scale,
    GROUPS: tl.constexpr,
    D: tl.constexpr,
    V: tl.constexpr,
):
    head = tl.program_id(0)
    d = tl.arange(0, D)
    v = tl.program_id(1) * V + tl.arange(0, V)
    in_d, in_v = d < width, v < v_width
    at = state + (head * width + d[:, None]).to(tl.int64) * v_width + v[None, :]
    held = tl.load(at, in_d[:, None] & in_v[None, :], 0.0)
    key_at = (head // GROUPS) * width + d
    for _ in range(rows):
        q = unit(tl.load(queries + key_at, in_d, 0.0).to(tl.float32), 0) * scale
        k = unit(tl.load(keys + key_at, in_d, 0.0).to(tl.float32), 0)
        value = tl.load(values + head * v_width + v, in_v, 0.0).to(tl.float32)
        held *= tl.exp(tl.load(decay + head))
        known = tl.sum(held * k[:, None], 0)
        delta = tl.load(beta + head) * (value - known)
        held += k[:, None] * delta[None, :]
        tl.store(out + head * v_width + v, tl.sum(held * q[:, None], 0), in_v)
        queries += q_stride
        keys += k_stride
        values += v_stride
        decay += heads
        beta += heads
        out += heads * v_width
    tl.store(at, held, in_d[:, None] & in_v[None, :])


@triton.jit
def _prefill(
    queries,
    keys,
    values,
    decay,
    beta,
    state,
    out,
    q_stride,
    k_stride,
    v_stride,
    rows,
    heads,
    width,
    v_width,
    scale,
    GROUPS: tl.constexpr,
    D: tl.constexpr,
    V: tl.constexpr,
    C: tl.constexpr,
    STEP: tl.constexpr,
):
    head = tl.program_id(0)
    v = tl.program_id(1) * V + tl.arange(0, V)
    c = tl.arange(0, C)
    in_v = v < v_width
    queries += (head // GROUPS) * width
    keys += (head // GROUPS) * width
    state += head.to(tl.int64) * width * v_width
    for first in range(0, rows, C):
        row = (first + c).to(tl.int64)
        inside = first + c < rows
        q_rows, k_rows = queries + row * q_stride, keys + row * k_stride
        seen, mixing, read, known, k_root = products(
            q_rows, k_rows, state, inside, v, in_v, width, v_width, scale, True, C, D, V, STEP
        )
        # rows past the end neither decay nor write
        share = tl.load(beta + row * heads + head, inside, 0.0)
        total = tl.cumsum(tl.load(decay + row * heads + head, inside, 0.0), 0)
        apart = total[:, None] - total[None, :]
        apart = tl.exp(tl.where(c[:, None] >= c[None, :], apart, float("-inf")))
        v_at = values + row[:, None] * v_stride + head * v_width + v[None, :]
        value = tl.load(v_at, inside[:, None] & in_v[None, :], 0.0).to(tl.float32)
        grown = tl.exp(total)[:, None]
        delta = _solved(
            mixing * apart * share[:, None], share[:, None] * (value - grown * known), C
        )
        read = tl.dot(seen * apart, delta, grown * read, input_precision="tf32x3")
        o_at = out + (row[:, None] * heads + head) * v_width + v[None, :]
        tl.store(o_at, read, inside[:, None] & in_v[None, :])
        whole = tl.sum(tl.where(c == C - 1, total, 0.0), 0)
        left = k_root * tl.exp(whole - total)
        tl.debug_barrier()  # all threads have read the state that is moved on
        for begin in range(0, D, STEP):
            d = begin + tl.arange(0, STEP)
            key_at = k_rows[None, :] + d[:, None]
            key = tl.load(key_at, (d < width)[:, None] & inside[None, :], 0.0).to(tl.float32)
            at = state + d[:, None] * v_width + v[None, :]
            mask = (d < width)[:, None] & in_v[None, :]
            held = tl.load(at, mask, 0.0) * tl.exp(whole)
            held = tl.dot(key * left[None, :], delta, held, input_precision="tf32x3")
            tl.store(at, held, mask)
        tl.debug_barrier()


@triton.jit
def _solved(mixing, delta, C: tl.constexpr):
    """x of (1 + the part of mixing [C, C] below its diagonal) x = delta [C, V], row by row."""
    c = tl.arange(0, C)
    for i in range(1, C):
        line = tl.sum(tl.where(c[:, None] == i, mixing, 0.0), 0)
        done = tl.sum(tl.where(c < i, line, 0.0)[:, None] * delta, 0)
        delta -= tl.where(c[:, None] == i, done[None, :], 0.0)
    return delta


@triton.jit
def products(
    q_rows,
    k_rows,
    state,
    inside,
    v,
    in_v,
    width,
    v_width,
    scale,
    KEYS: tl.constexpr,
    L: tl.constexpr,
    D: tl.constexpr,
    V: tl.constexpr,
    STEP: tl.constexpr,
):
    """q k^T, k k^T, q S and k S of unit keys and scaled unit queries, and what k is divided by.
    With KEYS false those of k with k and S stay 0. Some columns at a time: registers are few."""
    seen = tl.zeros([L, L], tl.float32)
    mixing = tl.zeros([L, L], tl.float32)
    read = tl.zeros([L, V], tl.float32)
    known = tl.zeros([L, V], tl.float32)
    q_square = tl.zeros([L], tl.float32)
    k_square = tl.zeros([L], tl.float32)
    for first in range(0, D, STEP):
        d = first + tl.arange(0, STEP)
        mask = inside[:, None] & (d < width)[None, :]
        q = tl.load(q_rows[:, None] + d[None, :], mask, 0.0).to(tl.float32)
        k = tl.load(k_rows[:, None] + d[None, :], mask, 0.0).to(tl.float32)
        held = tl.load(
            state + d[:, None] * v_width + v[None, :], (d < width)[:, None] & in_v[None, :], 0.0
        )
        seen = tl.dot(q, tl.trans(k), seen, input_precision="tf32x3")
        read = tl.dot(q, held, read, input_precision="tf32x3")
        if KEYS:
            mixing = tl.dot(k, tl.trans(k), mixing, input_precision="tf32x3")
            known = tl.dot(k, held, known, input_precision="tf32x3")
        q_square += tl.sum(q * q, 1)
        k_square += tl.sum(k * k, 1)
    q_root = tl.rsqrt(q_square + 1e-6) * scale
    k_root = tl.rsqrt(k_square + 1e-6)
    seen *= q_root[:, None] * k_root[None, :]
    mixing *= k_root[:, None] * k_root[None, :]
    return seen, mixing, read * q_root[:, None], known * k_root[:, None], k_root
