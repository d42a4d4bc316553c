"""Every Triton kernel in the interpreter against its definition in float64: odd sizes, adversarial
values, memory that is poisoned before they write."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from clover_engine.kernels import reference
from clover_engine.kernels.quantised import Bits, Weight, quantise
from clover_engine.kernels.reference import Gates, History, Prefix, Readout
from tests.support.interpreted import KINDS, assert_close, exact, poisoned, some, twins

EPS = 1e-6

pytestmark = pytest.mark.slow  # half a minute: the interpreter runs one program after the other


def check(operation: str, *inputs: Any, tolerance: float = 1e-5, floor: float = 1e-30) -> None:
    """The twin and the definition agree on what they return and on what they change."""
    ours, theirs = tuple(map(_copied, inputs)), tuple(map(exact, inputs))
    wanted = getattr(reference, operation)(*theirs)
    with poisoned():
        got = getattr(twins, operation)(*ours)
    assert_close(got, wanted, tolerance, floor)
    for mine, moved in zip(ours, theirs, strict=True):
        if isinstance(mine, torch.Tensor) and not torch.equal(mine.to(moved.dtype), moved):
            assert_close(mine, moved, tolerance, floor)


def _copied(value: Any) -> Any:
    return value.clone() if isinstance(value, torch.Tensor) else value


def numbered(*sizes: Any) -> pytest.MarkDecorator:
    """Sizes, each with a number that is its seed and picks its kind of values."""
    return pytest.mark.parametrize(
        ("seed", "size"), list(enumerate(sizes)), ids=[str(size) for size in sizes]
    )


def kind_of(seed: int) -> str:
    return KINDS[seed % len(KINDS)]


matrices = numbered(
    (1, 1), (1, 2), (1, 7), (2, 16), (3, 31), (4, 33), (5, 64), (1, 100), (7, 127), (2, 129),
    (3, 255), (1, 500), (2, 1025), (9, 48), (8, 5),
)  # fmt: skip


@matrices
def test_rms_norm(seed: int, size: tuple[int, int]) -> None:
    kind = kind_of(seed)
    check("rms_norm", some(seed, *size, kind=kind), some(seed + 1, size[1]), EPS)


@matrices
def test_add_rms_norm(seed: int, size: tuple[int, int]) -> None:
    x, residual = some(seed, *size, kind=kind_of(seed)), some(seed + 1, *size)
    check("add_rms_norm", x, residual, some(seed + 2, size[1]), EPS)


@matrices
def test_gated_rms_norm(seed: int, size: tuple[int, int]) -> None:
    x, gate = some(seed, *size, kind=kind_of(seed)), some(seed + 1, *size) * 4
    check("gated_rms_norm", x, gate, some(seed + 2, size[1]), EPS)


def test_norms_read_rows_that_stand_apart() -> None:
    """Queries stand between their gates."""
    heads = some(0, 3, 4, 20)[..., :10]
    check("rms_norm", heads, some(1, 10), EPS)


@numbered(
    (1, 2, 1), (1, 8, 2), (2, 7, 3), (3, 16, 4), (4, 33, 8), (5, 64, 8), (1, 100, 1), (2, 256, 8),
    (3, 255, 7), (9, 5, 5), (6, 128, 2), (17, 20, 6),
)  # fmt: skip
def test_route(seed: int, size: tuple[int, int, int]) -> None:
    rows, experts, top = size
    check("route", some(seed, rows, experts) * 3, top)


@pytest.mark.parametrize("value", [0.0, -1e30, 1e30])
def test_of_equal_chances_the_lower_expert_goes_first(value: float) -> None:
    got = twins.route(torch.full((2, 10), value), 3)
    assert got.experts.tolist() == [[0, 1, 2]] * 2
    assert_close(got.weights, torch.full((2, 3), 1 / 3))


def test_experts_without_a_chance_are_still_distinct() -> None:
    logits = torch.full((1, 9), -1e4)
    logits[0, 5] = 1e4
    assert twins.route(logits, 4).experts.tolist() == [[5, 0, 1, 2]]


@numbered(
    (1, 1, 1), (1, 1, 9), (2, 3, 4), (3, 8, 8), (32, 8, 256), (33, 4, 40), (64, 8, 300), (5, 2, 2),
    (7, 3, 31), (8, 4, 32), (9, 5, 33), (17, 1, 7),
)  # fmt: skip
def test_sort_pairs(seed: int, size: tuple[int, int, int]) -> None:
    rows, top, experts = size
    random = torch.Generator().manual_seed(seed)
    chosen = torch.randint(experts, (rows, top), dtype=torch.int32, generator=random)
    if seed % 3 == 0:
        chosen[:] = experts - 1  # all to one
    check("sort_pairs", chosen, experts)


def some_weight(seed: int, bits: int, *size: int, zeros: bool = False, group: int = 32) -> Weight:
    weight: torch.Tensor = some(seed, *size, kind="uneven" if seed % 2 else "ordinary")
    if bits == 16:
        return weight
    width: Bits = 4 if bits == 4 else 8
    return quantise(weight, width, group=group, zero_points=zeros)


experts_cases = numbered(
    (1, 1, 1, 8, 5, 16), (1, 4, 2, 33, 7, 16), (3, 5, 2, 64, 16, 16), (17, 3, 3, 40, 9, 16),
    (5, 4, 2, 130, 33, 16), (2, 2, 1, 129, 40, 16), (4, 8, 8, 16, 3, 16), (6, 3, 1, 257, 5, 16),
    (33, 2, 1, 20, 8, 16), (1, 6, 3, 31, 65, 16), (2, 5, 4, 128, 1, 16), (7, 2, 2, 100, 32, 16),
    (1, 1, 1, 8, 5, 4), (3, 4, 2, 64, 16, 4), (17, 2, 2, 40, 9, 4), (5, 3, 2, 130, 33, 4),
    (2, 2, 1, 129, 40, 4), (4, 8, 4, 16, 3, 4), (6, 3, 1, 96, 5, 4), (1, 5, 2, 31, 65, 4),
    (1, 2, 1, 8, 5, 8), (3, 4, 2, 64, 16, 8), (18, 2, 2, 40, 9, 8), (5, 3, 2, 130, 33, 8),
)  # fmt: skip


@experts_cases
def test_expert_gate_up(seed: int, size: tuple[int, int, int, int, int, int]) -> None:
    rows, experts, top, columns, width, bits = size
    routing = reference.route(some(seed, rows, experts), top)
    weight = some_weight(seed, bits, experts, 2 * width, columns, zeros=seed % 2 == 0)
    x = some(seed + 1, rows, columns, kind=kind_of(seed))
    check("expert_gate_up", x, weight, reference.sort_pairs(routing.experts, experts))


@experts_cases
def test_expert_down(seed: int, size: tuple[int, int, int, int, int, int]) -> None:
    rows, experts, top, width, columns, bits = size
    routing = reference.route(some(seed, rows, experts), top)
    weight = some_weight(seed, bits, experts, columns, width, zeros=seed % 2 == 0)
    hidden = some(seed + 1, rows * top, width, kind=kind_of(seed))
    order = reference.sort_pairs(routing.experts, experts)
    check("expert_down", hidden, weight, order, routing.weights)


@numbered(
    (1, 8, 5), (1, 32, 1), (3, 64, 16), (17, 40, 9), (5, 130, 33), (2, 129, 40), (16, 16, 64),
    (33, 96, 5), (1, 31, 65), (4, 256, 7), (15, 100, 32), (2, 63, 127),
)  # fmt: skip
@pytest.mark.parametrize("bits", [4, 8])
def test_linear_of_quantised_weights(seed: int, size: tuple[int, int, int], bits: int) -> None:
    rows, columns, width = size
    weight = some_weight(seed, bits, width, columns, zeros=seed % 2 == 0, group=64)
    check("linear", some(seed + 1, rows, columns, kind=kind_of(seed)), weight)


def paged(seed: int, lengths: list[int], page: int, kv_heads: int, width: int) -> Prefix:
    """Prefixes in pages that stand in no order; what lies past a length is poison."""
    held = [-(-length // page) for length in lengths]
    order = torch.randperm(sum(held) + 1, generator=torch.Generator().manual_seed(seed))
    keys, values = some(seed, 2, sum(held) + 1, page, kv_heads, width)
    table = torch.zeros(len(lengths), max(*held, 1), dtype=torch.int32)
    used = 0
    for segment, (length, count) in enumerate(zip(lengths, held, strict=True)):
        table[segment, :count] = order[used : used + count]
        used += count
        if length % page:
            keys[order[used - 1], length % page :] = float("nan")
            values[order[used - 1], length % page :] = float("nan")
    return Prefix(keys, values, table, torch.tensor(lengths, dtype=torch.int32))


@numbered(
    ([1], [0], 4, 1, 1, 2), ([1], [5], 4, 1, 2, 8), ([3], [16], 16, 2, 1, 16),
    ([8], [37], 16, 2, 8, 32), ([2, 5], [7, 0], 4, 2, 4, 20), ([9], [100], 100, 1, 3, 33),
    ([4, 1, 3], [3, 64, 20], 8, 2, 2, 24), ([33], [33], 32, 1, 2, 16), ([5], [1100], 64, 1, 2, 8),
    ([16], [31], 7, 3, 1, 5), ([1, 1], [1, 2], 1, 1, 4, 64), ([40], [0], 16, 1, 4, 16),
    ([7], [600], 600, 2, 2, 16),
)  # fmt: skip
@pytest.mark.parametrize("causal", [False, True])
def test_block_attention(
    seed: int, size: tuple[list[int], list[int], int, int, int, int], causal: bool
) -> None:
    counts, lengths, page, kv_heads, groups, width = size
    rows = sum(counts)
    queries = some(seed, rows, kv_heads * groups, width) * (1 + seed % 3)
    keys, values = some(seed + 1, 2, rows, kv_heads, width)
    starts = torch.tensor([0, *torch.tensor(counts).cumsum(0).tolist()], dtype=torch.int32)
    prefix = paged(seed + 2, lengths, page, kv_heads, width)
    check("block_attention", queries, keys, values, prefix, starts, width**-0.5, causal)


def test_attention_reads_a_cache_that_keeps_heads_apart() -> None:
    """One run of keys a head, [KV, capacity, D], as caches that grow have them."""
    keys, values = some(0, 2, 2, 50, 16)
    lengths, table = torch.tensor([37], dtype=torch.int32), torch.zeros(1, 1, dtype=torch.int32)
    prefix = Prefix(keys.transpose(0, 1)[None], values.transpose(0, 1)[None], table, lengths)
    queries, own, read = some(1, 5, 4, 16), some(2, 5, 2, 16), some(3, 5, 2, 16)
    starts = torch.tensor([0, 5], dtype=torch.int32)
    check("block_attention", queries, own, read, prefix, starts, 0.25)
    unlike = prefix._replace(values=prefix.values.contiguous())
    with pytest.raises(ValueError, match="alike in memory"):
        twins.block_attention(queries, own, read, unlike, starts, 0.25)


channels = numbered(
    (1, 1, 4, 3), (1, 7, 4, 3), (2, 16, 4, 3), (3, 100, 4, 3), (7, 129, 4, 1), (8, 33, 2, 1),
    (9, 300, 4, 3), (17, 5, 3, 2), (31, 64, 4, 3), (32, 8, 5, 4), (4, 257, 4, 3), (5, 40, 4, 0),
)  # fmt: skip


@channels
def test_block_convolution(seed: int, size: tuple[int, int, int, int]) -> None:
    rows, width, taps, reach = size
    u, state = some(seed, rows, width, kind=kind_of(seed)), some(seed + 1, taps - 1, width)
    check("block_convolution", u, state, some(seed + 2, width, taps), some(seed + 3, width, reach))


@channels
def test_causal_convolution(seed: int, size: tuple[int, int, int, int]) -> None:
    rows, width, taps, _ = size
    u, state = some(seed, rows, width, kind=kind_of(seed)), some(seed + 1, taps - 1, width)
    check("causal_convolution", u, state, some(seed + 2, width, taps))


@numbered(
    (1, 1), (1, 4), (2, 3), (3, 32), (5, 7), (8, 64), (9, 31), (300, 1), (33, 8), (1, 257),
    (2, 128), (65, 4),
)  # fmt: skip
def test_gdn_gates(seed: int, size: tuple[int, int]) -> None:
    a, b = some(seed, *size) * 10 ** (seed % 4), some(seed + 1, *size) * 5
    check("gdn_gates", a, b, some(seed + 2, size[1]), some(seed + 3, size[1]))


def test_gates_far_out() -> None:
    a = torch.tensor([[-200.0, -90.0, -20.0, -5.0, 0.0, 5.0, 20.0, 90.0, 1e30]]).T.contiguous()
    check("gdn_gates", a, a, torch.zeros(1), torch.zeros(1))


deltas = numbered(
    (1, 1, 1, 2, 3), (1, 2, 4, 16, 16), (2, 1, 2, 8, 40), (3, 2, 2, 33, 7), (5, 1, 3, 20, 33),
    (16, 2, 4, 16, 16), (17, 1, 1, 64, 8), (15, 1, 2, 5, 5), (31, 2, 2, 12, 31), (33, 1, 2, 24, 16),
    (7, 3, 3, 9, 65), (40, 1, 1, 32, 32),
)  # fmt: skip


def delta_inputs(seed: int, size: tuple[int, int, int, int, int]) -> tuple[Any, ...]:
    """Queries, keys, values, gates and state; every third time keys repeat and nothing decays."""
    rows, key_heads, heads, width, v_width = size
    queries = some(seed, rows, key_heads, width, kind=kind_of(seed))
    keys = some(seed + 1, rows, key_heads, width, kind=kind_of(seed + 1))
    decay, beta = -some(seed + 3, rows, heads).abs(), some(seed + 4, rows, heads).sigmoid()
    if seed % 3 == 0:
        keys, decay, beta = keys[:1].expand_as(keys).contiguous(), decay * 1e-3, beta.sqrt()
    if seed % 4 == 1:
        decay = decay * 40
    values, state = some(seed + 2, rows, heads, v_width), some(seed + 5, heads, width, v_width)
    return queries, keys, values, Gates(decay, beta), state


@deltas
def test_gdn_commit(seed: int, size: tuple[int, int, int, int, int]) -> None:
    check("gdn_commit", *delta_inputs(seed, size), floor=0.1)


@deltas
def test_gdn_prefill(seed: int, size: tuple[int, int, int, int, int]) -> None:
    check("gdn_prefill", *delta_inputs(seed, size), floor=0.1)


@deltas
@pytest.mark.parametrize(
    "readout",
    [
        Readout(),
        Readout(decayed_history=True, content_score=True),
        Readout(beta="score", delta_values=True),
        Readout(beta="value"),
    ],
)
def test_gdn_block(seed: int, size: tuple[int, int, int, int, int], readout: Readout) -> None:
    queries, keys, values, gates, state = delta_inputs(seed, size)
    rows, heads, width = values.shape
    history = History(*some(seed + 6, 3, heads).abs())
    z, norm = some(seed + 7, rows, heads, width), some(seed + 8, width)
    inputs = (queries, keys, values, gates, state, history, z, norm, EPS, readout)
    check("gdn_block", *inputs, floor=0.1)


def test_gdn_reads_columns_of_one_wide_tensor() -> None:
    """Queries, keys and values are parts of the convolution's rows."""
    wide = some(0, 5, 2 * 8 + 2 * 8 + 4 * 6)
    queries, keys = (wide[:, at : at + 16].view(5, 2, 8) for at in (0, 16))
    values = wide[:, 32:].view(5, 4, 6)
    gates = Gates(-some(1, 5, 4).abs(), some(2, 5, 4).sigmoid())
    for operation in ("gdn_commit", "gdn_prefill"):
        check(operation, queries, keys, values, gates, some(3, 4, 8, 6))


def test_memory_of_any_order_is_read_and_none_is_written_in_vain() -> None:
    turned = some(0, 8, 2, 5).permute(2, 1, 0)  # [5, 2, 8], its rows scattered
    values, z = some(1, 6, 4, 5).permute(2, 1, 0), some(2, 5, 6, 4).transpose(1, 2)
    gates = Gates(-some(3, 4, 5).abs().T, some(4, 4, 5).sigmoid().T)
    state, history = some(5, 4, 6, 8).transpose(1, 2), History(*some(6, 3, 4))
    check("gdn_commit", turned, turned, values, gates, state.contiguous())
    check("gdn_block", turned, turned, values, gates, state, history, z, some(7, 6), EPS, Readout())
    check("confidence", some(8, 9, 3).T, None)
    check("route", some(9, 9, 3).T, 2)
    u, taps, right = some(10, 6, 5).T, some(11, 4, 6).T, some(12, 3, 6).T
    check("block_convolution", u, some(13, 6, 3).T, taps, right)
    with pytest.raises(ValueError, match="contiguous"):
        twins.gdn_commit(turned, turned, values, gates, state)
    with pytest.raises(ValueError, match="contiguous"):
        twins.causal_convolution(u, some(13, 6, 3).T, taps)


vocabularies = numbered(
    (1, 1), (1, 2), (2, 7), (3, 64), (1, 4095), (2, 4096), (1, 4097), (3, 5000), (5, 129), (9, 33),
    (2, 8193), (17, 100),
)  # fmt: skip


@vocabularies
@pytest.mark.parametrize("limited", [False, True])
def test_confidence(seed: int, size: tuple[int, int], limited: bool) -> None:
    logits = some(seed, *size) * (1, 5, 30)[seed % 3]
    allowed = torch.rand(size[1], generator=torch.Generator().manual_seed(seed)) > 0.3
    allowed[seed % size[1]] = True
    check("confidence", logits, allowed if limited else None, floor=1.0)


def test_of_equal_logits_the_first_is_taken_across_pieces() -> None:
    logits = torch.zeros(2, 9000)
    logits[1, [8999, 4096, 4095, 8000]] = 3.0
    assert twins.confidence(logits).tokens.tolist() == [0, 4095]


def test_logits_that_are_minus_infinity_have_no_part() -> None:
    logits = torch.full((2, 5000), float("-inf"))
    logits[0, 4500], logits[1, :3] = 2.0, -7.0
    check("confidence", logits, None, floor=1.0)


@numbered(
    (1, 8, 5, 16), (2, 31, 64, 16), (3, 64, 65, 16), (33, 40, 130, 16), (5, 130, 300, 16),
    (1, 129, 1, 16), (4, 16, 200, 4), (32, 64, 63, 4), (2, 100, 129, 4), (1, 32, 400, 8),
    (9, 33, 70, 8), (6, 96, 128, 8),
)  # fmt: skip
@pytest.mark.parametrize("limited", [False, True])
def test_head_confidence(seed: int, size: tuple[int, int, int, int], limited: bool) -> None:
    rows, columns, vocabulary, bits = size
    weight = some_weight(2 * seed, bits, vocabulary, columns, zeros=seed % 2 == 0)
    allowed = torch.rand(vocabulary, generator=torch.Generator().manual_seed(seed)) > 0.3
    allowed[seed % vocabulary] = True
    hidden = some(seed, rows, columns) * 0.5
    check("head_confidence", hidden, weight, allowed if limited else None, floor=1.0)


@pytest.mark.parametrize("threshold", [0.0, 0.5, 0.95, 1.0, 1.1])
@pytest.mark.parametrize("rows", [1, 2, 5, 8, 31, 32])
def test_threshold_commit(rows: int, threshold: float) -> None:
    random = torch.Generator().manual_seed(rows)
    tokens = torch.randint(3, (rows,), generator=random)  # 1 is the mask
    found = reference.confidence(some(rows, rows, 20) * 8)
    check("threshold_commit", tokens, found, 1, threshold)


@pytest.mark.parametrize("tokens", [[1, 1, 1], [2, 1, 1], [2, 2, 2]])
def test_of_equally_sure_masks_the_first_is_settled(tokens: list[int]) -> None:
    found = reference.confidence(torch.zeros(3, 10))
    check("threshold_commit", torch.tensor(tokens), found, 1, 0.9)


def test_half_precision_in_and_out() -> None:
    """float16 takes the same way as bfloat16, which the interpreter cannot do."""
    x, weight = some(0, 5, 70, dtype=torch.float16), some(1, 3, 18, 70, dtype=torch.float16)
    routing = reference.route(some(2, 5, 3), 2)
    order = reference.sort_pairs(routing.experts, 3)
    check("expert_gate_up", x, weight, order, tolerance=2e-3)
    check("rms_norm", x, weight[0, 0], EPS, tolerance=2e-3)
    check("head_confidence", x * 0.1, weight[0], None, tolerance=2e-3, floor=1.0)
    queries, keys, values = some(3, 3, 6, 4, 16, dtype=torch.float16)
    prefix = paged(4, [9], 4, 4, 16)._replace(
        keys=some(5, 4, 4, 4, 16, dtype=torch.float16),
        values=some(6, 4, 4, 4, 16, dtype=torch.float16),
    )
    starts = torch.tensor([0, 6], dtype=torch.int32)
    check("block_attention", queries, keys, values, prefix, starts, 0.25, False, tolerance=2e-3)
