"""Every operation of one denoise step and of one commit, with its inputs, bytes and operations.

On the `meta` device inputs have shapes and no memory: the roofline counts them there, and the
kernels are compiled for them. On a card the same cases are run and measured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch

from bench.shape import Shape
from clover_engine.kernels import reference
from clover_engine.kernels.dispatch import Kernels
from clover_engine.kernels.quantised import Quantised, Weight
from clover_engine.kernels.reference import Gates, History, Prefix, Readout, Routing

EPS = 1e-6
PAGE = 64  # keys of a page
MASK = 7


@dataclass(frozen=True, slots=True)
class Case:
    """One operation at one shape."""

    name: str
    step: int  # calls in a denoise step
    commit: int  # calls in the pass that commits a finished block
    bytes: float  # read and written at least, weights of untouched experts left out
    operations: float  # multiplications and additions
    run: Callable[[Kernels], object]


@dataclass(frozen=True, slots=True)
class Maker:
    """Makes inputs; `bits` 16 stands for dense weights in `dtype`."""

    device: torch.device
    dtype: torch.dtype
    bits: int

    def rows(self, *size: int, dtype: torch.dtype | None = None) -> torch.Tensor:
        return torch.randn(size, dtype=dtype or self.dtype, device=self.device)

    def wide(self, *size: int) -> torch.Tensor:
        return torch.randn(size, dtype=torch.float32, device=self.device)

    def numbers(self, values: list[int]) -> torch.Tensor:
        return torch.tensor(values, dtype=torch.int32, device=self.device)

    def weight(self, *size: int, group: int) -> Weight:
        """Weights whose products have the size of their input."""
        if self.bits == 16:
            weight = torch.empty(size, dtype=self.dtype, device=self.device)
            return weight.normal_(0, size[-1] ** -0.5)
        groups = -(-size[-1] // group)
        packed = (*size[:-1], groups * group * self.bits // 8)
        values = torch.randint(0, 256, packed, dtype=torch.uint8, device=self.device)
        scales = torch.full(
            (*size[:-1], groups),
            size[-1] ** -0.5 / 2 ** (self.bits - 2),
            dtype=torch.bfloat16,
            device=self.device,
        )
        return Quantised(values, scales, None, 4 if self.bits == 4 else 8, group, size[-1])


def cases(shape: Shape, make: Maker, rows: int, prefix: int) -> list[Case]:
    """All operations of a step over a block of `rows` behind `prefix` committed tokens."""
    parts = (
        _norms,
        _linears,
        _routing,
        _experts,
        _attention,
        _convolutions,
        _gates,
        _delta,
        _head,
    )
    return [case for part in parts for case in part(shape, make, rows, prefix)]


def _norms(shape: Shape, make: Maker, rows: int, prefix: int) -> Iterator[Case]:
    x, kept = make.rows(rows, shape.hidden), make.rows(rows, shape.hidden)
    weight = make.rows(shape.hidden)
    size = 4 * x.nbytes + weight.nbytes
    yield Case(
        "add_rms_norm",
        2 * shape.layers,
        2 * shape.layers,
        size,
        5 * x.numel(),
        lambda k: k.add_rms_norm(x, kept, weight, EPS),
    )
    heads = make.rows(rows, shape.heads + shape.kv_heads, shape.head_width)
    scale = make.rows(shape.head_width)
    yield Case(
        "rms_norm q, k",
        shape.attention_layers,
        shape.attention_layers,
        2 * heads.nbytes,
        4 * heads.numel(),
        lambda k: k.rms_norm(heads, scale, EPS),
    )


def _linears(shape: Shape, make: Maker, rows: int, prefix: int) -> Iterator[Case]:
    value_width = shape.value_heads * shape.delta_width
    head_width = shape.heads * shape.head_width
    # q with its gate, k and v; u, z, b and a: one product each
    inner = 2 * head_width + 2 * shape.kv_heads * shape.head_width
    outer = shape.channels + value_width + 2 * shape.value_heads
    sizes = [
        ("GDN in", outer, shape.hidden, shape.delta_layers),
        ("GDN out", shape.hidden, value_width, shape.delta_layers),
        ("attention in", inner, shape.hidden, shape.attention_layers),
        ("attention out", shape.hidden, head_width, shape.attention_layers),
        ("shared gate, up", 2 * shape.expert_width, shape.hidden, shape.layers),
        ("shared down", shape.hidden, shape.expert_width, shape.layers),
    ]
    for name, outs, ins, count in sizes:
        x, weight = make.rows(rows, ins), make.weight(outs, ins, group=shape.group)
        size = x.nbytes + weight.nbytes + rows * outs * x.itemsize
        yield Case(f"linear {name}", count, count, size, 2 * rows * outs * ins, _linear(x, weight))
    # the router stays dense: what it chooses must not be rounded
    x, router = make.rows(rows, shape.hidden), make.rows(shape.experts + 1, shape.hidden)
    yield Case(
        "linear router",
        shape.layers,
        shape.layers,
        x.nbytes + router.nbytes,
        2 * rows * router.numel(),
        _linear(x, router),
    )


def _linear(x: torch.Tensor, weight: Weight) -> Callable[[Kernels], object]:
    return lambda kernels: kernels.linear(x, weight)


def _routing(shape: Shape, make: Maker, rows: int, prefix: int) -> Iterator[Case]:
    logits, pairs, layers = make.rows(rows, shape.experts), rows * shape.top, shape.layers
    yield Case(
        "route",
        layers,
        layers,
        logits.nbytes + 8 * pairs,
        4 * logits.numel(),
        lambda k: k.route(logits, shape.top),
    )
    experts = reference.route(logits, shape.top).experts
    yield Case(
        "sort_pairs",
        layers,
        layers,
        8 * pairs + 4 * shape.experts,
        pairs * pairs,
        lambda k: k.sort_pairs(experts, shape.experts),
    )


def _experts(shape: Shape, make: Maker, rows: int, prefix: int) -> Iterator[Case]:
    pairs, layers, group = rows * shape.top, shape.layers, shape.group
    routing = reference.route(make.rows(rows, shape.experts), shape.top)
    order = reference.Sorted(make.numbers([0] * pairs), make.numbers([0] * (shape.experts + 1)))
    if make.device.type != "meta":
        order = reference.sort_pairs(routing.experts, shape.experts)
    x, hidden = make.rows(rows, shape.hidden), make.rows(pairs, shape.expert_width)
    up = make.weight(shape.experts, 2 * shape.expert_width, shape.hidden, group=group)
    down = make.weight(shape.experts, shape.hidden, shape.expert_width, group=group)
    share = _touched(shape, make, rows, routing) / shape.experts
    products = 2 * pairs * shape.hidden * shape.expert_width
    yield Case(
        "expert_gate_up",
        layers,
        layers,
        share * up.nbytes + x.nbytes + hidden.nbytes,
        2 * products,
        lambda k: k.expert_gate_up(x, up, order),
    )
    yield Case(
        "expert_down",
        layers,
        layers,
        share * down.nbytes + x.nbytes + hidden.nbytes,
        products,
        lambda k: k.expert_down(hidden, down, order, routing.weights),
    )


def _touched(shape: Shape, make: Maker, rows: int, routing: Routing) -> float:
    """The experts that are read: counted where there is a routing, else expected."""
    if make.device.type == "meta":
        return shape.touched(rows)
    return float(len(set(routing.experts.flatten().tolist())))


def _attention(shape: Shape, make: Maker, rows: int, prefix: int) -> Iterator[Case]:
    queries = make.rows(rows, shape.heads, shape.head_width)
    keys, values = make.rows(2, rows, shape.kv_heads, shape.head_width)
    pages = -(-prefix // PAGE)
    old_keys, old_values = make.rows(2, pages, PAGE, shape.kv_heads, shape.head_width)
    table = make.numbers(list(range(pages))).view(1, -1)
    held = Prefix(old_keys, old_values, table, make.numbers([prefix]))
    starts = make.numbers([0, rows])
    scale = shape.head_width**-0.5
    size = 2 * queries.nbytes + 2 * keys.nbytes
    size += 2 * prefix * shape.kv_heads * shape.head_width * keys.itemsize
    operations = 4 * rows * (prefix + rows) * shape.heads * shape.head_width
    for causal in (False, True):
        yield Case(
            "block_attention, causal" if causal else "block_attention",
            0 if causal else shape.attention_layers,
            shape.attention_layers if causal else 0,
            size,
            operations,
            _attend(queries, keys, values, held, starts, scale, causal),
        )


def _attend(
    queries: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    prefix: Prefix,
    starts: torch.Tensor,
    scale: float,
    causal: bool,
) -> Callable[[Kernels], object]:
    return lambda k: k.block_attention(queries, keys, values, prefix, starts, scale, causal)


def _convolutions(shape: Shape, make: Maker, rows: int, prefix: int) -> Iterator[Case]:
    u, kept = make.rows(rows, shape.channels), make.rows(shape.taps - 1, shape.channels)
    taps = make.rows(shape.channels, shape.taps)
    right = make.rows(shape.channels, shape.taps - 1)
    size = 2 * u.nbytes + kept.nbytes + taps.nbytes
    yield Case(
        "block_convolution",
        shape.delta_layers,
        0,
        size + right.nbytes,
        2 * u.numel() * (2 * shape.taps - 1),
        lambda k: k.block_convolution(u, kept, taps, right),
    )
    yield Case(
        "causal_convolution",
        0,
        shape.delta_layers,
        size + kept.nbytes,
        2 * u.numel() * shape.taps,
        lambda k: k.causal_convolution(u, kept, taps),
    )


def _gates(shape: Shape, make: Maker, rows: int, prefix: int) -> Iterator[Case]:
    a, b = make.rows(2, rows, shape.value_heads)
    a_log, bias = make.wide(2, shape.value_heads)
    yield Case(
        "gdn_gates",
        shape.delta_layers,
        shape.delta_layers,
        2 * a.nbytes + 8 * a.numel(),
        8 * a.numel(),
        lambda k: k.gdn_gates(a, b, a_log, bias),
    )


def _delta(shape: Shape, make: Maker, rows: int, prefix: int) -> Iterator[Case]:
    heads, width, layers = shape.value_heads, shape.delta_width, shape.delta_layers
    gates = Gates(-make.wide(rows, heads).abs(), make.wide(rows, heads).sigmoid())
    queries, keys = make.rows(2, rows, shape.key_heads, width)
    values, z = make.rows(2, rows, heads, width)
    state, norm = make.wide(heads, width, width), make.rows(width)
    history = History(*make.wide(3, heads))
    rows_in = (queries, keys, values, gates, state)
    size = 2 * queries.nbytes + 2 * values.nbytes
    yield Case(
        "gdn_block",
        layers,
        0,
        size + z.nbytes + state.nbytes,
        2 * rows * heads * width * (width + 2 * rows),
        lambda k: k.gdn_block(*rows_in, history, z, norm, EPS, Readout()),
    )
    size += values.numel() * 4 + 2 * state.nbytes
    operations = 8 * rows * heads * width * width
    yield Case("gdn_commit", 0, layers, size, operations, lambda k: k.gdn_commit(*rows_in))
    yield Case("gdn_prefill", 0, 0, size, operations, lambda k: k.gdn_prefill(*rows_in))
    yield Case(
        "gated_rms_norm",
        0,
        layers,
        3 * z.nbytes,
        8 * z.numel(),
        lambda k: k.gated_rms_norm(values, z, norm, EPS),
    )


def _head(shape: Shape, make: Maker, rows: int, prefix: int) -> Iterator[Case]:
    hidden = make.rows(rows, shape.hidden)
    weight = make.weight(shape.vocabulary, shape.hidden, group=shape.group)
    logits = make.rows(rows, shape.vocabulary)
    allowed = torch.ones(shape.vocabulary, dtype=torch.bool, device=make.device)
    operations = 2 * rows * shape.vocabulary * shape.hidden
    yield Case(
        "head_confidence",
        1,
        0,
        hidden.nbytes + weight.nbytes + allowed.nbytes,
        operations,
        lambda k: k.head_confidence(hidden, weight, allowed),
    )
    yield Case(
        "confidence",
        0,
        0,
        logits.nbytes + allowed.nbytes,
        8 * logits.numel(),
        lambda k: k.confidence(logits, allowed),
    )
    found = reference.Confidence(
        torch.zeros(rows, dtype=torch.int64, device=make.device), *make.wide(4, rows)
    )
    tokens = torch.full((rows,), MASK, dtype=torch.int64, device=make.device)
    yield Case(
        "threshold_commit",
        1,
        0,
        3 * tokens.nbytes,
        4 * rows,
        lambda k: k.threshold_commit(tokens, found, MASK, 0.95),
    )
