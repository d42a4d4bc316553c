"""Attention of a block to committed keys and to itself. Definition: `reference.attention`.

The heads that share a key-value head stand under one another with their rows, which fills the
tensor cores from few rows. The prefix is split over programs, a share to each, so that a long one
keeps the whole card busy; the block's own rows are one share more; a second kernel merges.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from clover_engine.kernels.reference import Prefix

_TILE = {"M": 64, "N": 32, "num_warps": 8, "num_stages": 2}
_SHARE = 512  # keys of a share, at least
_SHARES = 32  # of a prefix, at most


def block_attention(
    queries: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    prefix: Prefix,
    starts: torch.Tensor,
    scale: float,
    causal: bool = False,
) -> torch.Tensor:
    """As `reference.block_attention`."""
    rows, heads, width = queries.shape
    page, segments = prefix.keys.shape[1], starts.shape[0] - 1
    # by what the table can hold, not by what it holds: the lengths are on the device
    shares = min(max(prefix.table.shape[1] * page // _SHARE, 1), _SHARES)
    device = queries.device
    out = torch.empty(queries.shape, dtype=queries.dtype, device=device)
    parts = torch.empty(shares + 1, rows, heads, width, dtype=torch.float32, device=device)
    largest = torch.empty(shares + 1, rows, heads, dtype=torch.float32, device=device)
    weights = torch.empty(shares + 1, rows, heads, dtype=torch.float32, device=device)
    groups = heads // keys.shape[1]
    tiles = triton.cdiv(rows * groups, _TILE["M"])
    queries, keys, values = queries.contiguous(), keys.contiguous(), values.contiguous()
    _attend[(segments * tiles, keys.shape[1], shares + 1)](
        queries,
        keys,
        values,
        prefix.keys,
        prefix.values,
        prefix.table.contiguous(),
        prefix.lengths,
        starts,
        parts,
        largest,
        weights,
        rows,
        keys.shape[1],
        width,
        page,
        *_strides(prefix),
        prefix.table.shape[1],
        scale,
        tiles,
        shares,
        GROUPS=groups,
        CAUSAL=causal,
        D=triton.next_power_of_2(width),
        **_TILE,
    )
    _merge_shares[(rows * heads,)](
        parts,
        largest,
        weights,
        out,
        rows * heads,
        width,
        shares + 1,
        SHARES=triton.next_power_of_2(shares + 1),
        D=triton.next_power_of_2(width),
        num_warps=4,
    )
    return out


def _strides(prefix: Prefix) -> tuple[int, int, int]:
    """From page to page, key to key and head to head: a cache may keep heads apart."""
    strides = prefix.keys.stride()
    if strides[3] != 1 or prefix.values.stride() != strides:
        raise ValueError("keys and values stand alike in memory, each head's as one run")
    return strides[0], strides[1], strides[2]


@triton.jit
def _attend(
    queries,
    keys,
    values,
    old_keys,
    old_values,
    table,
    lengths,
    starts,
    parts,
    largest,
    weights,
    rows,
    kv_heads,
    width,
    page,
    page_stride,
    slot_stride,
    head_stride,
    table_width,
    scale,
    tiles,
    shares,
    GROUPS: tl.constexpr,
    CAUSAL: tl.constexpr,
    M: tl.constexpr,
    N: tl.constexpr,
    D: tl.constexpr,
):
    segment, tile = tl.program_id(0) // tiles, tl.program_id(0) % tiles
    kv_head, share = tl.program_id(1), tl.program_id(2)
    begin, end = tl.load(starts + segment), tl.load(starts + segment + 1)
    if tile * M >= (end - begin) * GROUPS:
        return
    stacked = tile * M + tl.arange(0, M)
    row = begin + stacked // GROUPS
    column = tl.arange(0, D)
    inside = (row < end)[:, None] & (column < width)[None, :]
    head = kv_head * GROUPS + stacked % GROUPS
    line = row.to(tl.int64) * (kv_heads * GROUPS) + head
    query = tl.load(queries + line[:, None] * width + column[None, :], inside, 0.0)
    most = tl.full([M], float("-inf"), tl.float32)
    weight = tl.zeros([M], tl.float32)
    total = tl.zeros([M, D], tl.float32)
    scale *= 1.4426950408889634  # powers of two from here on
    if share < shares:
        length = tl.load(lengths + segment)
        held = tl.cdiv(tl.cdiv(length, shares), N) * N
        last = tl.minimum(length, (share + 1) * held)
        for first in range(share * held, last, N):
            key = first + tl.arange(0, N)
            known = key < last
            slot = tl.load(table + segment * table_width + key // page, known, 0)
            place = slot.to(tl.int64) * page_stride + kv_head * head_stride
            place += (key % page).to(tl.int64) * slot_stride
            most, weight, total = _seen(
                query,
                old_keys,
                old_values,
                place,
                known[None, :] & (row < end)[:, None],
                known,
                column,
                width,
                scale,
                most,
                weight,
                total,
            )
    else:
        for first in range(begin, end, N):
            key = first + tl.arange(0, N)
            known = key < end
            visible = known[None, :] & (row < end)[:, None]
            if CAUSAL:
                visible = visible & (key[None, :] <= row[:, None])
            place = key.to(tl.int64) * kv_heads + kv_head
            most, weight, total = _seen(
                query,
                keys,
                values,
                place * width,
                visible,
                known,
                column,
                width,
                scale,
                most,
                weight,
                total,
            )
    lines = rows * kv_heads * GROUPS
    into = share.to(tl.int64) * lines + line
    tl.store(parts + into[:, None] * width + column[None, :], total, inside)
    tl.store(largest + into, most, row < end)
    tl.store(weights + into, weight, row < end)


@triton.jit
def _seen(
    query,
    keys,
    values,
    place,
    visible,
    known,
    column,
    width,
    scale,
    most,
    weight,
    total,
):
    """Take N more keys into the running softmax."""
    mask = known[:, None] & (column < width)[None, :]
    key = tl.load(keys + place[:, None] + column[None, :], mask, 0.0)
    score = tl.dot(query, tl.trans(key).to(query.dtype), input_precision="ieee") * scale
    score = tl.where(visible, score, float("-inf"))
    higher = tl.maximum(most, tl.max(score, 1))
    # a row that has seen nothing yet has no maximum to subtract
    base = tl.where(higher == float("-inf"), 0.0, higher)
    chance = tl.exp2(score - base[:, None])
    kept = tl.exp2(most - base)
    value = tl.load(values + place[:, None] + column[None, :], mask, 0.0).to(query.dtype)
    total = tl.dot(chance.to(value.dtype), value, total * kept[:, None], input_precision="ieee")
    return higher, weight * kept + tl.sum(chance, 1), total


@triton.jit
def _merge_shares(
    parts, largest, weights, out, lines, width, shares, SHARES: tl.constexpr, D: tl.constexpr
):
    line = tl.program_id(0).to(tl.int64)
    share = tl.arange(0, SHARES)
    column = tl.arange(0, D)
    used = share < shares
    most = tl.load(largest + share * lines + line, used, float("-inf"))
    weight = tl.load(weights + share * lines + line, used, 0.0)
    top = tl.max(most)
    whole = tl.sum(weight * tl.exp2(most - top))
    total = tl.zeros([D], tl.float32)
    for number in range(shares):
        part = tl.load(parts + (number * lines + line) * width + column, column < width, 0.0)
        total += part * tl.exp2(tl.load(largest + number * lines + line) - top)
    tl.store(out + line * width + column, total / whole, column < width)
