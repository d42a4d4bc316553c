"""A Clover with random weights: the whole denoise step, for its time alone."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch.nn import functional

from bench.cases import EPS, MASK, PAGE, Maker
from bench.shape import Shape
from clover_engine.kernels.dispatch import Kernels
from clover_engine.kernels.quantised import Weight
from clover_engine.kernels.reference import History, Prefix, Readout

THRESHOLD = 0.95


@dataclass(frozen=True, slots=True)
class Experts:
    """Weights of one mixture layer; the last row of the router is the shared expert's gate."""

    norm: torch.Tensor
    router: torch.Tensor
    up: Weight
    down: Weight
    shared_up: Weight
    shared_down: Weight


@dataclass(frozen=True, slots=True)
class Delta:
    """Weights and states of one Gated DeltaNet layer."""

    norm: torch.Tensor
    inner: Weight  # u, z, b, a
    outer: Weight
    taps: torch.Tensor
    right: torch.Tensor
    a_log: torch.Tensor
    dt_bias: torch.Tensor
    history: History
    gate_norm: torch.Tensor
    kept: torch.Tensor
    state: torch.Tensor


@dataclass(frozen=True, slots=True)
class Attention:
    """Weights and committed keys of one attention layer."""

    norm: torch.Tensor
    inner: Weight  # queries with their gates, keys, values
    outer: Weight
    query_norm: torch.Tensor
    key_norm: torch.Tensor
    prefix: Prefix


class SyntheticModel:
    """Every fourth layer attends, the others are Gated DeltaNet; experts follow each."""

    def __init__(self, shape: Shape, make: Maker, prefix: int) -> None:
        self._shape = shape
        self._dtype = make.dtype
        pages = torch.arange(-(-prefix // PAGE), dtype=torch.int32, device=make.device)
        self._table = pages.view(1, -1)
        self._lengths = make.numbers([prefix])
        every = shape.layers // shape.attention_layers
        self._layers = [
            (
                _attention(shape, make, prefix, self._table, self._lengths)
                if number % every == every - 1
                else _delta(shape, make),
                _experts(shape, make),
            )
            for number in range(shape.layers)
        ]
        self._embedding = make.rows(shape.vocabulary, shape.hidden)
        self._head = make.weight(shape.vocabulary, shape.hidden, group=shape.group)
        self._norm = make.rows(shape.hidden) * 0.1
        self._allowed = torch.ones(shape.vocabulary, dtype=torch.bool, device=make.device)
        self._allowed[MASK] = False
        self._starts = {rows: make.numbers([0, rows]) for rows in (8, 16, 32)}
        width, place = shape.rotary_width, torch.arange(32, device=make.device) + prefix
        speeds = 1e7 ** -(torch.arange(0, width, 2, device=make.device) / width)
        angles = (place[:, None] * speeds).repeat(1, 2)[:, None]
        self._cos, self._sin = angles.cos().to(make.dtype), angles.sin().to(make.dtype)

    def put_prefix(self, length: int) -> None:
        """See only so many of the committed tokens from now on."""
        self._lengths.fill_(length)

    def compile_layers(self, backend: str) -> None:
        """Have torch compile each kind of layer, once for all layers of the kind."""
        self._read = torch.compile(self._read, backend=backend, dynamic=False)  # type: ignore[method-assign]
        self._attend = torch.compile(self._attend, backend=backend, dynamic=False)  # type: ignore[method-assign]
        self._mix = torch.compile(self._mix, backend=backend, dynamic=False)  # type: ignore[method-assign]

    def step(self, kernels: Kernels, tokens: torch.Tensor) -> torch.Tensor:
        """One denoise step of a block, tokens int64 [L] settled in place -> masks left."""
        states = self._states(kernels, tokens, commits=False)
        found = kernels.head_confidence(states, self._head, self._allowed)
        return kernels.threshold_commit(tokens, found, MASK, THRESHOLD)

    def commit(self, kernels: Kernels, tokens: torch.Tensor) -> torch.Tensor:
        """The causal pass over a finished block; recurrent states move on."""
        return self._states(kernels, tokens, commits=True)

    def _states(self, kernels: Kernels, tokens: torch.Tensor, commits: bool) -> torch.Tensor:
        total = self._embedding[tokens]
        out = torch.zeros_like(total)
        for mixer, experts in self._layers:
            normed, total = kernels.add_rms_norm(out, total, mixer.norm, EPS)
            if isinstance(mixer, Delta):
                out = self._read(kernels, mixer, normed, commits)
            else:
                out = self._attend(kernels, mixer, normed, commits)
            normed, total = kernels.add_rms_norm(out, total, experts.norm, EPS)
            out = self._mix(kernels, experts, normed)
        return kernels.add_rms_norm(out, total, self._norm, EPS)[0]

    def _read(self, kernels: Kernels, layer: Delta, x: torch.Tensor, commits: bool) -> torch.Tensor:
        shape, heads, width = self._shape, self._shape.value_heads, self._shape.delta_width
        sizes = [shape.channels, heads * width, heads, heads]
        u, z, b, a = torch.split(kernels.linear(x, layer.inner), sizes, dim=1)
        if commits:
            mixed = kernels.causal_convolution(u, layer.kept, layer.taps)
        else:
            mixed = kernels.block_convolution(u, layer.kept, layer.taps, layer.right)
        keys = shape.key_heads * width
        parts = torch.split(mixed, [keys, keys, heads * width], dim=1)
        q, k, v = (part.view(x.shape[0], -1, width) for part in parts)
        z = z.view(x.shape[0], -1, width)
        gates = kernels.gdn_gates(a, b, layer.a_log, layer.dt_bias)
        if commits:
            out = kernels.gdn_commit(q, k, v, gates, layer.state)
            out = kernels.gated_rms_norm(out, z, layer.gate_norm, EPS)
        else:
            last = (layer.history, z, layer.gate_norm, EPS, Readout())
            out = kernels.gdn_block(q, k, v, gates, layer.state, *last)
        return kernels.linear(out.reshape(x.shape[0], -1), layer.outer)

    def _attend(
        self, kernels: Kernels, layer: Attention, x: torch.Tensor, commits: bool
    ) -> torch.Tensor:
        shape, rows = self._shape, x.shape[0]
        width, kv = shape.head_width, shape.kv_heads * shape.head_width
        wide = 2 * shape.heads * width
        both, k, v = torch.split(kernels.linear(x, layer.inner), [wide, kv, kv], dim=1)
        q, gate = both.view(rows, shape.heads, 2 * width).chunk(2, dim=2)
        q = self._turned(kernels.rms_norm(q, layer.query_norm, EPS))
        k = self._turned(kernels.rms_norm(k.view(rows, -1, width), layer.key_norm, EPS))
        v = v.view(rows, -1, width)
        starts = self._starts[rows]
        out = kernels.block_attention(q, k, v, layer.prefix, starts, width**-0.5, commits)
        return kernels.linear((out * gate.sigmoid()).reshape(rows, -1), layer.outer)

    def _turned(self, heads: torch.Tensor) -> torch.Tensor:
        """Heads [L, H, D] turned to their places in their first columns."""
        width, rows = self._shape.rotary_width, heads.shape[0]
        part, rest = torch.split(heads, [width, heads.shape[2] - width], dim=2)
        first, second = part.chunk(2, dim=2)
        across = torch.cat((-second, first), dim=2)
        return torch.cat((part * self._cos[:rows] + across * self._sin[:rows], rest), dim=2)

    def _mix(self, kernels: Kernels, layer: Experts, x: torch.Tensor) -> torch.Tensor:
        count = self._shape.experts
        logits = kernels.linear(x, layer.router)
        routing = kernels.route(logits[:, :count], self._shape.top)
        order = kernels.sort_pairs(routing.experts, count)
        hidden = kernels.expert_gate_up(x, layer.up, order)
        out = kernels.expert_down(hidden, layer.down, order, routing.weights)
        gate, up = kernels.linear(x, layer.shared_up).chunk(2, dim=1)
        shared = kernels.linear(functional.silu(gate) * up, layer.shared_down)
        return out + logits[:, count:].sigmoid() * shared


def _experts(shape: Shape, make: Maker) -> Experts:
    hidden, width, group = shape.hidden, shape.expert_width, shape.group
    return Experts(
        make.rows(hidden) * 0.1,
        make.rows(shape.experts + 1, hidden) * hidden**-0.5,
        make.weight(shape.experts, 2 * width, hidden, group=group),
        make.weight(shape.experts, hidden, width, group=group),
        make.weight(2 * width, hidden, group=group),
        make.weight(hidden, width, group=group),
    )


def _delta(shape: Shape, make: Maker) -> Delta:
    heads, width = shape.value_heads, shape.delta_width
    outs = shape.channels + heads * width + 2 * heads
    return Delta(
        make.rows(shape.hidden) * 0.1,
        make.weight(outs, shape.hidden, group=shape.group),
        make.weight(shape.hidden, heads * width, group=shape.group),
        make.rows(shape.channels, shape.taps) * 0.5,
        make.rows(shape.channels, shape.taps - 1) * 0.5,
        make.wide(heads),
        make.wide(heads),
        History(*make.wide(3, heads)),
        make.rows(width),
        make.rows(shape.taps - 1, shape.channels),
        make.wide(heads, width, width) * 0.1,
    )


def _attention(
    shape: Shape, make: Maker, prefix: int, table: torch.Tensor, lengths: torch.Tensor
) -> Attention:
    width, kv = shape.head_width, shape.kv_heads * shape.head_width
    outs = 2 * shape.heads * width + 2 * kv
    keys, values = make.rows(2, table.shape[1], PAGE, shape.kv_heads, width)
    return Attention(
        make.rows(shape.hidden) * 0.1,
        make.weight(outs, shape.hidden, group=shape.group),
        make.weight(shape.hidden, shape.heads * width, group=shape.group),
        make.rows(width) * 0.1,
        make.rows(width) * 0.1,
        Prefix(keys, values, table, lengths),
    )
