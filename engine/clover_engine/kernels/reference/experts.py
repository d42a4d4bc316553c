"""Mixture of experts: routing, sorting, and the products of each expert with its own rows.

A *pair* is a row and one of its experts: pair p is row p // top, choice p % top.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import torch
from torch.nn import functional

from clover_engine.kernels.quantised import Weight, dense
from clover_engine.kernels.reference.width import wide


class Routing(NamedTuple):
    """Which experts a row goes to."""

    weights: torch.Tensor  # float32 [M, top], each row sums to 1
    experts: torch.Tensor  # int32 [M, top], the likeliest first


class Sorted(NamedTuple):
    """The pairs ordered by expert, in order of their numbers within one."""

    pairs: torch.Tensor  # int32 [M * top]: which pair stands at each place
    starts: torch.Tensor  # int32 [E + 1]: expert e has places starts[e] .. starts[e + 1]


def route(logits: torch.Tensor, top: int) -> Routing:
    """Softmax of logits [M, E] in float32, its `top` largest, divided by their sum. Of equal
    chances the lower expert goes first."""
    chances, experts = wide(logits).softmax(-1).sort(stable=True, dim=-1, descending=True)
    chosen = chances[:, :top]
    return Routing(chosen / chosen.sum(-1, keepdim=True), experts[:, :top].to(torch.int32))


def sort_pairs(experts: torch.Tensor, count: int) -> Sorted:
    """experts int32 [M, top], each below `count` -> Sorted."""
    flat = experts.flatten().long()
    starts = torch.zeros(count + 1, dtype=torch.int32, device=experts.device)
    starts[1:] = torch.bincount(flat, minlength=count).cumsum(0)
    return Sorted(flat.argsort(stable=True).to(torch.int32), starts)


def expert_gate_up(x: torch.Tensor, weight: Weight, order: Sorted) -> torch.Tensor:
    """silu(gate) * up of every pair: x [M, K], weight [E, 2F, K] with the rows of gate first.

    Returns [M * top, F] in the order of `order`, summed in float32, in the type of x.
    """
    top = order.pairs.shape[0] // max(x.shape[0], 1)
    rows = wide(x)[order.pairs.long() // max(top, 1)]
    out = x.new_empty(rows.shape[0], weight.shape[1] // 2)
    for expert, some in _runs(order):
        gate, up = (rows[some] @ dense(weight[expert], rows.dtype).T).chunk(2, dim=-1)
        out[some] = (functional.silu(gate) * up).to(x.dtype)
    return out


def expert_down(
    hidden: torch.Tensor, weight: Weight, order: Sorted, weights: torch.Tensor
) -> torch.Tensor:
    """Every pair through its expert, summed by row: hidden [M * top, F] in the order of `order`,
    weight [E, N, F], weights float32 [M, top] of the routing.

    Returns [M, N] in the type of hidden; the products and their weighted sum are in float32.
    """
    pairs = wide(hidden.new_empty(hidden.shape[0], weight.shape[1]))
    for expert, some in _runs(order):
        pairs[order.pairs[some].long()] = wide(hidden[some]) @ dense(weight[expert], pairs.dtype).T
    by_row = pairs.view(*weights.shape, -1) * weights.unsqueeze(-1)
    return by_row.sum(1).to(hidden.dtype)


def linear(x: torch.Tensor, weight: Weight) -> torch.Tensor:
    """x [M, K] times weight [N, K], read in the type of x, summed in float32: [M, N] in it."""
    return functional.linear(x, dense(weight, x.dtype))


def _runs(order: Sorted) -> list[tuple[int, slice]]:
    """The experts that have pairs, with their places."""
    edges = order.starts.tolist()
    runs = itertools.pairwise(edges)
    return [(e, slice(begin, end)) for e, (begin, end) in enumerate(runs) if begin < end]
