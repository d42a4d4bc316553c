"""Routing of rows to experts, and the order of their pairs. Definitions: `reference.experts`."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from clover_engine.kernels.reference import Routing, Sorted
from clover_engine.kernels.triton.layout import runs

_RANKED = 32  # pairs that a program ranks
_COMPARED = 128  # pairs that it compares them with at a time


def route(logits: torch.Tensor, top: int) -> Routing:
    """As `reference.route`: one program a row."""
    logits, (rows, experts) = runs(logits), logits.shape
    weights = torch.empty(rows, top, dtype=torch.float32, device=logits.device)
    chosen = torch.empty(rows, top, dtype=torch.int32, device=logits.device)
    _route[(rows,)](
        logits,
        weights,
        chosen,
        logits.stride(0),
        experts,
        TOP=top,
        TOP_BLOCK=triton.next_power_of_2(top),
        BLOCK=triton.next_power_of_2(experts),
        num_warps=1,
    )
    return Routing(weights, chosen)


def sort_pairs(experts: torch.Tensor, count: int) -> Sorted:
    """As `reference.sort_pairs`, by ranks: a pair's place is the number of those before it. No
    atomics, so that the order is the same each time, and no second pass."""
    flat = experts.reshape(-1)
    pairs = torch.empty(flat.shape[0], dtype=torch.int32, device=flat.device)
    starts = torch.empty(count + 1, dtype=torch.int32, device=flat.device)
    ranking = triton.cdiv(flat.shape[0], _RANKED)
    counting = triton.cdiv(count + 1, _RANKED)
    _sort_pairs[(ranking + counting,)](
        flat,
        pairs,
        starts,
        flat.shape[0],
        count,
        ranking,
        RANKED=_RANKED,
        COMPARED=_COMPARED,
        num_warps=4,
    )
    return Sorted(pairs, starts)


@triton.jit
def _route(
    logits,
    weights,
    chosen,
    stride,
    experts,
    TOP: tl.constexpr,
    TOP_BLOCK: tl.constexpr,
    BLOCK: tl.constexpr,
):
    row = tl.program_id(0)
    expert = tl.arange(0, BLOCK)
    place = tl.arange(0, TOP_BLOCK)
    inside = expert < experts
    score = tl.load(logits + row * stride + expert, inside, float("-inf")).to(tl.float32)
    chance = tl.exp(score - tl.max(score))
    chance = tl.where(inside, chance / tl.sum(chance), -1.0)
    kept = tl.zeros([TOP_BLOCK], tl.float32)
    for i in tl.static_range(TOP):
        best, index = tl.max(chance, 0, return_indices=True)  # of equals the first
        kept = tl.where(place == i, best, kept)
        tl.store(chosen + row * TOP + i, index)
        chance = tl.where(expert == index, -1.0, chance)
    tl.store(weights + row * TOP + place, kept / tl.sum(kept), place < TOP)


@triton.jit
def _sort_pairs(
    experts, pairs, starts, total, count, ranking, RANKED: tl.constexpr, COMPARED: tl.constexpr
):
    program = tl.program_id(0)
    before = tl.zeros([RANKED], tl.int32)
    other = tl.arange(0, COMPARED)
    if program < ranking:
        pair = program * RANKED + tl.arange(0, RANKED)
        own = tl.load(experts + pair, pair < total, 0)
        for begin in range(0, total, COMPARED):
            number = begin + other
            their = tl.load(experts + number, number < total, count + 1)
            lower = their[None, :] < own[:, None]
            equal = (their[None, :] == own[:, None]) & (number[None, :] < pair[:, None])
            before += tl.sum((lower | equal).to(tl.int32), 1)
        tl.store(pairs + before, pair, pair < total)
    else:
        expert = (program - ranking) * RANKED + tl.arange(0, RANKED)
        for begin in range(0, total, COMPARED):
            number = begin + other
            their = tl.load(experts + number, number < total, count + 1)
            before += tl.sum((their[None, :] < expert[:, None]).to(tl.int32), 1)
        tl.store(starts + expert, before, expert <= count)
