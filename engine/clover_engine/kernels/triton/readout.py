"""The block readout of Gated DeltaNet: rows and history in one softmax, the gated norm fused.
Definition: `reference.gdn_block`.

A program does one value head: its block is a small attention with one column more.
"""

from __future__ import annotations

import math

import torch
import triton
import triton.language as tl

from clover_engine.kernels.reference import Gates, History, Readout
from clover_engine.kernels.triton.delta import products
from clover_engine.kernels.triton.layout import runs
from clover_engine.kernels.triton.norms import gated

_TILE = {"STEP": 32, "num_warps": 4, "num_stages": 1}


def gdn_block(
    queries: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    gates: Gates,
    state: torch.Tensor,
    history: History,
    z: torch.Tensor,
    norm: torch.Tensor,
    eps: float,
    readout: Readout,
) -> torch.Tensor:
    """As `reference.gdn_block`."""
    rows, heads, width = values.shape
    queries, keys, values, z = runs(queries), runs(keys), runs(values), runs(z)
    out = torch.empty(values.shape, dtype=z.dtype, device=z.device)
    _gdn_block[(heads,)](
        queries,
        keys,
        values,
        gates.decay.contiguous(),
        gates.beta.contiguous(),
        state.contiguous(),
        history.temperature,
        history.bias,
        history.growth,
        z,
        norm,
        out,
        queries.stride(0),
        keys.stride(0),
        values.stride(0),
        z.stride(0),
        rows,
        heads,
        queries.shape[2],
        width,
        queries.shape[2] ** -0.5,
        math.log(rows),
        eps,
        GROUPS=heads // keys.shape[1],
        DECAYED=readout.decayed_history,
        CONTENT=readout.content_score,
        BETA_SCORE=readout.beta == "score",
        BETA_VALUE=readout.beta == "value",
        DELTA=readout.delta_values,
        L=max(triton.next_power_of_2(rows), 16),
        D=triton.next_power_of_2(queries.shape[2]),
        V=triton.next_power_of_2(width),
        **_TILE,
    )
    return out


@triton.jit
def _gdn_block(
    queries,
    keys,
    values,
    decay,
    beta,
    state,
    temperature,
    bias,
    growth,
    z,
    norm,
    out,
    q_stride,
    k_stride,
    v_stride,
    z_stride,
    rows,
    heads,
    width,
    v_width,
    scale,
    log_rows,
    eps,
    GROUPS: tl.constexpr,
    DECAYED: tl.constexpr,
    CONTENT: tl.constexpr,
    BETA_SCORE: tl.constexpr,
    BETA_VALUE: tl.constexpr,
    DELTA: tl.constexpr,
    L: tl.constexpr,
    D: tl.constexpr,
    V: tl.constexpr,
    STEP: tl.constexpr,
):
    head = tl.program_id(0)
    row, v = tl.arange(0, L), tl.arange(0, V)
    inside, in_v = row < rows, v < v_width
    q_rows = queries + row * q_stride + (head // GROUPS) * width
    k_rows = keys + row * k_stride + (head // GROUPS) * width
    similar, _, read, said, _ = products(
        q_rows,
        k_rows,
        state + head.to(tl.int64) * width * v_width,
        inside,
        v,
        in_v,
        width,
        v_width,
        scale,
        DELTA,
        L,
        D,
        V,
        STEP,
    )
    tau = tl.load(temperature + head)
    if DECAYED:
        past = tl.cumsum(tl.load(decay + row * heads + head, inside, 0.0), 0)
        read *= tl.exp(past)[:, None]
    own = tl.load(bias + head) + tl.load(growth + head) * log_rows + tl.zeros([L], tl.float32)
    if CONTENT:
        own += tau * tl.sqrt(tl.sum(read * read, 1))
    share = tl.load(beta + row * heads + head, inside, 1.0)
    score = tau * similar
    if BETA_SCORE:
        score += tl.log(share)[None, :]
    score = tl.where(inside[None, :], score, float("-inf"))
    value_at = values + row[:, None] * v_stride + head * v_width + v[None, :]
    value = tl.load(value_at, inside[:, None] & in_v[None, :], 0.0).to(tl.float32)
    if DELTA:
        value -= said
    if BETA_VALUE:
        value *= share[:, None]
    most = tl.maximum(own, tl.max(score, 1))
    chance, history = tl.exp(score - most[:, None]), tl.exp(own - most)
    mixed = tl.dot(chance, value, input_precision="tf32x3") + history[:, None] * read
    mixed /= (tl.sum(chance, 1) + history)[:, None]
    root = tl.rsqrt(tl.sum(mixed * mixed, 1) / v_width + eps)
    z_at = z + row[:, None] * z_stride + head * v_width + v[None, :]
    gate = tl.load(z_at, inside[:, None] & in_v[None, :], 0.0).to(tl.float32)
    scale = tl.load(norm + v, in_v, 0.0).to(tl.float32)
    normed = gated(mixed * root[:, None], scale[None, :], gate, out.dtype.element_ty)
    at = out + (row[:, None] * heads + head) * v_width + v[None, :]
    tl.store(at, normed, inside[:, None] & in_v[None, :])
