"""int8 activations, and the small operations that stand between the products of the CPU path.

`Rows` are activations as unsigned bytes around 128, with one float32 scale a row: row i of x is
`(bytes[i] - 128) * scale[i] / 127`. One scale for the whole tensor would make a row's result depend
on the rows beside it, and drafted decoding would no longer write what undrafted decoding writes.
"""

from __future__ import annotations

from typing import TypeAlias

import torch
from torch.nn import functional

Rows: TypeAlias = tuple[torch.Tensor, torch.Tensor]  # uint8 [M, K], float32 [M, 1]

_SMALLEST = 1e-12  # a row of zeros has no scale of its own


def to_rows(x: torch.Tensor) -> Rows:
    """x float32 [M, K] -> Rows."""
    limit = torch.linalg.vector_norm(x, float("inf"), dim=-1, keepdim=True).clamp_min_(_SMALLEST)
    # the cast to bytes cuts off, which rounds x + 0.5
    return torch.addcdiv(x.new_tensor(128.5), x, limit, value=127.0).to(torch.uint8), limit


def norm_to_rows(x: torch.Tensor, weight: torch.Tensor, eps: float) -> Rows:
    """RMSNorm of x float32 [M, K] with weight [K], then `to_rows`."""
    return to_rows(functional.rms_norm(x, weight.shape, weight, eps))


def swiglu_to_rows(gate_up: torch.Tensor) -> Rows:
    """silu(gate) * up of gate_up float32 [M, 2F], then `to_rows`: Rows of width F."""
    gate, up = gate_up.chunk(2, dim=-1)
    return to_rows(functional.silu(gate).mul_(up))


def add_low_rank(rows: Rows, down: torch.Tensor, up: torch.Tensor, y: torch.Tensor) -> None:
    """Rows of x through down float32 [rank, K] and up float32 [rank, N], added to y float32
    [M, N] in place."""
    values, limit = rows
    x = (values.float() - 128.0) * (limit / 127.0)
    y.addmm_(x @ down.T, up)


def rotate_and_store(
    qkv: torch.Tensor,
    cos: torch.Tensor,
    sin: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    start: int,
    positions: torch.Tensor,
) -> torch.Tensor:
    """Rotate queries and keys to their positions and write keys and values into the cache.

    qkv float32 [M, (G + 2) * KV * D], heads in the order queries, keys, values; cos and sin float32
    [places, D], sin with the sign of rotate-half; keys and values float32 [KV, capacity, D],
    written at start .. start+M; positions int64 [M], the place that each row is rotated to. Returns
    the queries, float32 [KV, G * M, D]: the G heads that share a key-value head stand one after the
    other.
    """
    kv_heads, _, width = keys.shape
    rows = qkv.shape[0]
    heads = qkv.view(rows, -1, width)
    turned = heads[:, :-kv_heads]
    cos, sin = cos[positions, None], sin[positions, None]
    rotated = torch.addcmul(turned * cos, turned.roll(width // 2, dims=-1), sin)
    keys[:, start : start + rows] = rotated[:, -kv_heads:].transpose(0, 1)
    values[:, start : start + rows] = heads[:, -kv_heads:].transpose(0, 1)
    queries = rotated[:, :-kv_heads].view(rows, kv_heads, -1, width)
    return queries.permute(1, 2, 0, 3).reshape(kv_heads, -1, width)
