"""What the definitions of the hybrid model's operations promise, by slow and obvious means."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional

from clover_engine.kernels import reference
from clover_engine.kernels.quantised import quantise
from clover_engine.kernels.reference import Gates, History, Prefix, Readout

EPS = 1e-6
seeds = st.integers(0, 2**32 - 1)
few = settings(max_examples=25, deadline=None)


def values(seed: int, *size: int) -> torch.Tensor:
    random = torch.Generator().manual_seed(seed)
    return torch.randn(size, generator=random, dtype=torch.float64)


def close(got: Any, wanted: Any) -> None:
    torch.testing.assert_close(got, wanted, rtol=1e-9, atol=1e-9)


@given(seeds, st.integers(1, 4), st.integers(1, 20))
@few
def test_norms(seed: int, rows: int, width: int) -> None:
    x, other, weight = values(seed, rows, width), values(seed + 1, rows, width), values(2, width)
    normed = functional.rms_norm(x, (width,), None, EPS)
    close(reference.rms_norm(x, weight, EPS), normed * (1 + weight))
    close(reference.gated_rms_norm(x, other, weight, EPS), normed * weight * functional.silu(other))
    got, total = reference.add_rms_norm(x, other, weight, EPS)
    close(total, x + other)
    close(got, reference.rms_norm(x + other, weight, EPS))


def test_norms_are_computed_wider_than_they_are_stored() -> None:
    x = torch.full((1, 64), 300.0, dtype=torch.float16)  # whose squares float16 does not hold
    assert reference.rms_norm(x, torch.zeros(64), EPS).dtype == torch.float16
    assert (reference.rms_norm(x, torch.zeros(64), EPS) == 1).all()


@given(seeds, st.integers(1, 5), st.integers(1, 9), st.integers(1, 9))
@few
def test_routing_gives_shares_of_the_likeliest(
    seed: int, rows: int, experts: int, top: int
) -> None:
    top, logits = min(top, experts), values(seed, rows, experts)
    routing = reference.route(logits, top)
    close(routing.weights.sum(-1), torch.ones(rows, dtype=torch.float64))
    best = logits.topk(top).indices
    assert torch.equal(routing.experts.long(), best)
    close(routing.weights, logits.gather(1, best).softmax(-1))


@given(seeds, st.integers(1, 9), st.integers(1, 4), st.integers(1, 7))
@few
def test_pairs_stand_by_expert_and_then_by_number(
    seed: int, rows: int, top: int, experts: int
) -> None:
    random = torch.Generator().manual_seed(seed)
    chosen = torch.randint(experts, (rows, top), generator=random, dtype=torch.int32)
    order = reference.sort_pairs(chosen, experts)
    flat = chosen.flatten().tolist()
    assert order.pairs.tolist() == sorted(range(len(flat)), key=lambda pair: (flat[pair], pair))
    ends = [sum(expert < edge for expert in flat) for edge in range(experts + 1)]
    assert order.starts.tolist() == ends


@pytest.mark.parametrize("bits", [16, 8, 4])
def test_experts_are_a_weighted_sum_of_small_networks(bits: int) -> None:
    rows, count, top, width, inner = 5, 6, 2, 20, 7
    x, logits = values(0, rows, width), values(1, rows, count)
    up, down = values(2, count, 2 * inner, width), values(3, count, width, inner)
    held: Any = (up, down)
    if bits != 16:
        held = tuple(quantise(w, 4 if bits == 4 else 8, group=8) for w in held)
        up, down = (part.dequantised(torch.float64) for part in held)
    routing = reference.route(logits, top)
    order = reference.sort_pairs(routing.experts, count)
    hidden = reference.expert_gate_up(x, held[0], order)
    got = reference.expert_down(hidden, held[1], order, routing.weights)
    for row in range(rows):
        wanted = torch.zeros(width, dtype=torch.float64)
        for weight, expert in zip(routing.weights[row], routing.experts[row], strict=True):
            gate, rise = (up[expert] @ x[row]).chunk(2)
            wanted += weight * (down[expert] @ (functional.silu(gate) * rise))
        close(got[row], wanted)


@pytest.mark.parametrize("causal", [False, True])
def test_attention_reads_pages_and_its_own_segment(causal: bool) -> None:
    """Each segment alone, from one run of keys, gives what all give together from pages."""
    kv_heads, groups, width, page = 2, 3, 8, 4
    lengths, counts = [7, 0, 12], [2, 3, 1]
    queries, keys, read = (
        values(seed, 6, heads, width)
        for seed, heads in ((0, kv_heads * groups), (1, kv_heads), (2, kv_heads))
    )
    pool = values(3, 2, 9, page, kv_heads, width)
    table = torch.tensor([[8, 3, 0], [1, 1, 1], [2, 7, 5]], dtype=torch.int32)
    prefix = Prefix(pool[0], pool[1], table, torch.tensor(lengths, dtype=torch.int32))
    starts = torch.tensor([0, 2, 5, 6], dtype=torch.int32)
    got = reference.block_attention(queries, keys, read, prefix, starts, 0.3, causal)
    begin = 0
    for segment, (length, count) in enumerate(zip(lengths, counts, strict=True)):
        own = slice(begin, begin + count)
        begin += count
        old = pool[:, table[segment].long()].flatten(1, 2)[:, :length]
        k, v = torch.cat((old[0], keys[own])), torch.cat((old[1], read[own]))
        for row in range(count):
            seen = length + (row + 1 if causal else count)
            for head in range(kv_heads * groups):
                ks, vs = k[:seen, head // groups], v[:seen, head // groups]
                share = (0.3 * ks @ queries[own][row, head]).softmax(0)
                close(got[own][row, head], share @ vs)


@given(seeds, st.integers(1, 9), st.integers(2, 5))
@few
def test_without_right_taps_the_block_convolution_is_the_causal_one(
    seed: int, rows: int, taps: int
) -> None:
    u, state, left = values(seed, rows, 6), values(1, taps - 1, 6), values(2, 6, taps)
    moved = state.clone()
    causal = reference.causal_convolution(u, moved, left)
    close(reference.block_convolution(u, state, left, torch.zeros(6, taps - 1)), causal)
    whole = torch.cat((state, u))
    wanted = functional.conv1d(whole.T[None], left[:, None], groups=6)[0].T
    close(causal, functional.silu(wanted))
    assert torch.equal(moved, whole[-(taps - 1) :])


def test_right_taps_reach_to_the_end_of_the_block_and_no_further() -> None:
    u, state, left, right = values(0, 5, 3), values(1, 3, 3), values(2, 3, 4), values(3, 3, 3)
    plain = reference.block_convolution(u, state, left, torch.zeros_like(right))
    got = reference.block_convolution(u, state, left, right)
    close(got[-1], plain[-1])
    around = torch.cat((state, u, torch.zeros(3, 3, dtype=torch.float64)))
    both = torch.cat((left, right), dim=1)
    for row in range(5):
        close(got[row], functional.silu((around[row : row + 7] * both.T).sum(0)))


def delta_inputs(seed: int, rows: int) -> Any:
    """Queries, keys, values, gates and state: 2 key heads of 5, 4 value heads of 3."""
    gates = Gates(-values(seed, rows, 4).abs(), values(seed + 1, rows, 4).sigmoid())
    q, k = values(seed + 2, rows, 2, 5), values(seed + 3, rows, 2, 5)
    return q, k, values(seed + 4, rows, 4, 3), gates, values(seed + 5, 4, 5, 3)


@given(seeds, st.integers(1, 150))
@few
def test_chunks_give_what_the_recurrence_gives(seed: int, rows: int) -> None:
    q, k, v, gates, state = delta_inputs(seed, rows)
    other = state.clone()
    wanted = reference.gdn_commit(q, k, v, gates, state)
    close(reference.gdn_prefill(q, k, v, gates, other), wanted)
    close(other, state)


@given(seeds, st.integers(1, 20), st.integers(1, 20))
@few
def test_committing_in_two_parts_is_committing_at_once(seed: int, first: int, rest: int) -> None:
    q, k, v, gates, state = delta_inputs(seed, first + rest)
    whole, moved = state.clone(), state.clone()
    at_once = reference.gdn_commit(q, k, v, gates, whole)
    parts = [
        reference.gdn_commit(q[cut], k[cut], v[cut], Gates(*(g[cut] for g in gates)), moved)
        for cut in (slice(first), slice(first, None))
    ]
    close(torch.cat(parts), at_once)
    close(moved, whole)


def test_the_recurrence_is_the_delta_rule() -> None:
    q, k, v, gates, state = delta_inputs(0, 3)
    got = reference.gdn_commit(q, k, v, gates, moved := state.clone())
    for head in range(4):
        S = state[head]
        for row in range(3):
            key = k[row, head // 2] / (k[row, head // 2].square().sum() + 1e-6).sqrt()
            query = q[row, head // 2] / (q[row, head // 2].square().sum() + 1e-6).sqrt() / 5**0.5
            S = S * gates.decay[row, head].exp()
            S = S + torch.outer(key, gates.beta[row, head] * (v[row, head] - S.T @ key))
            close(got[row, head], S.T @ query)
        close(moved[head], S)


@given(seeds)
@few
def test_gates(seed: int) -> None:
    a, b, a_log, bias = values(seed, 3, 4), values(1, 3, 4), values(2, 4), values(3, 4)
    gates = reference.gdn_gates(a, b, a_log, bias)
    close(gates.decay, -(a_log.exp()) * (1 + (a + bias).exp()).log())
    close(gates.beta, 1 / (1 + (-b).exp()))
    assert (gates.decay <= 0).all()


HISTORY = History(*values(9, 3, 4))
EVERY = [
    Readout(decayed, content, beta, delta)
    for decayed in (False, True)
    for content in (False, True)
    for beta in ("unused", "score", "value")
    for delta in (False, True)
]


@pytest.mark.parametrize("readout", EVERY, ids=str)
def test_block_readout_is_one_softmax_over_rows_and_history(readout: Readout) -> None:
    q, k, v, gates, state = delta_inputs(1, 4)
    z, norm = values(7, 4, 4, 3), values(8, 3)
    got = reference.gdn_block(q, k, v, gates, state, HISTORY, z, norm, EPS, readout)
    before = state.clone()
    for head in range(4):
        keys = [key / (key.square().sum() + 1e-6).sqrt() for key in k[:, head // 2]]
        for row in range(4):
            query = q[row, head // 2] / (q[row, head // 2].square().sum() + 1e-6).sqrt() / 5**0.5
            read = state[head].T @ query
            if readout.decayed_history:
                read = read * gates.decay[: row + 1, head].sum().exp()
            tau, bias, growth = (part[head] for part in HISTORY)
            own = bias + growth * torch.tensor(4.0, dtype=torch.float64).log()
            own = own + (tau * read.norm() if readout.content_score else 0)
            scores, written = [own], [read]
            for other, key in enumerate(keys):
                score, value, beta = tau * query @ key, v[other, head], gates.beta[other, head]
                score = score + beta.log() if readout.beta == "score" else score
                value = value - state[head].T @ key if readout.delta_values else value
                scores.append(score)
                written.append(value * beta if readout.beta == "value" else value)
            out = torch.stack(scores).softmax(0) @ torch.stack(written)
            close(got[row, head], reference.gated_rms_norm(out, z[row, head], norm, EPS))
    assert torch.equal(state, before)


def test_a_history_that_outweighs_one_row_is_the_state_alone() -> None:
    q, k, v, gates, state = delta_inputs(2, 1)
    sure = HISTORY._replace(bias=torch.full((4,), 1e3, dtype=torch.float64))
    query = q[0].repeat_interleave(2, 0)
    query = query / (query.square().sum(-1, keepdim=True) + 1e-6).sqrt() / 5**0.5
    wanted = torch.einsum("hkv,hk->hv", state, query)
    z, norm = values(7, 1, 4, 3), torch.ones(3, dtype=torch.float64)
    got = reference.gdn_block(q, k, v, gates, state, sure, z, norm, EPS, Readout())
    close(got[0], reference.gated_rms_norm(wanted, z[0], norm, EPS))


@given(seeds)
@few
def test_rows_of_a_block_have_no_order(seed: int) -> None:
    """Without the decay, which counts rows, permuted rows give permuted results."""
    q, k, v, gates, state = delta_inputs(seed, 6)
    turn = torch.randperm(6, generator=torch.Generator().manual_seed(seed))
    z, norm = values(7, 6, 4, 3), values(8, 3)
    for readout in EVERY[:12]:
        straight = reference.gdn_block(q, k, v, gates, state, HISTORY, z, norm, EPS, readout)
        turned = (q[turn], k[turn], v[turn], Gates(*(g[turn] for g in gates)))
        got = reference.gdn_block(*turned, state, HISTORY, z[turn], norm, EPS, readout)
        close(got, straight[turn])


def test_the_share_of_history_does_not_fall_as_blocks_grow() -> None:
    """With growth 1 and rows that say the same, it is that of one row against one."""
    one = torch.ones(4, dtype=torch.float64)
    flat = History(0 * one, 0 * one, one)
    for rows in (1, 8, 32):
        q, k, v, gates, state = delta_inputs(3, rows)
        v = torch.zeros_like(v)
        z, norm = torch.ones(rows, 4, 3, dtype=torch.float64), one[:3]
        got = reference.gdn_block(q, k, v, gates, state, flat, z, norm, 1e6, Readout())
        q_unit = q / (q.square().sum(-1, keepdim=True) + 1e-6).sqrt() / 5**0.5
        read = torch.einsum("hkv,thk->thv", state, q_unit.repeat_interleave(2, 1))
        close(got, reference.gated_rms_norm(read / 2, z, norm, 1e6))


@given(seeds, st.integers(1, 4), st.integers(1, 40), st.booleans())
@few
def test_confidence(seed: int, rows: int, vocabulary: int, limited: bool) -> None:
    logits = values(seed, rows, vocabulary) * 5
    allowed = torch.ones(vocabulary, dtype=torch.bool)
    if limited:
        allowed[values(seed + 1, vocabulary) > 0.5] = False
        allowed[seed % vocabulary] = True
    found = reference.confidence(logits, allowed if limited else None)
    chances = logits[:, allowed].softmax(-1)
    ids = torch.arange(vocabulary)[allowed]
    assert torch.equal(found.tokens, ids[chances.argmax(-1)])
    close(found.probabilities, chances.amax(-1))
    close(found.logsumexp, logits[:, allowed].logsumexp(-1))
    close(found.entropies, torch.special.entr(chances).sum(-1))
    close(found.logits, logits[:, allowed].amax(-1))
    head = values(seed + 2, vocabulary, 3)
    hidden = values(seed + 3, rows, 3)
    close(
        tuple(reference.head_confidence(hidden, head, allowed)),
        tuple(reference.confidence(hidden @ head.T, allowed)),
    )


MASK = 9


@pytest.mark.parametrize(
    ("tokens", "sure", "threshold", "settled"),
    [
        ([9, 9, 9], [0.2, 0.96, 0.95], 0.95, [9, 101, 102]),
        ([9, 9, 9], [0.2, 0.5, 0.4], 0.95, [9, 101, 9]),  # at least one
        ([9, 9, 9], [0.5, 0.5, 0.4], 0.95, [100, 9, 9]),  # the first of equals
        ([4, 9, 9], [0.99, 0.5, 0.4], 0.95, [4, 101, 9]),  # pinned tokens stay and do not count
        ([4, 4, 4], [0.99, 0.5, 0.4], 0.95, [4, 4, 4]),
        ([9, 4, 9], [0.0, 0.0, 0.0], 0.95, [100, 4, 9]),
    ],
)
def test_threshold_commit(
    tokens: list[int], sure: list[float], threshold: float, settled: list[int]
) -> None:
    written = torch.tensor(tokens)
    chances = torch.tensor(sure)
    found = reference.Confidence(torch.arange(100, 103), chances, chances, chances, chances)
    left = reference.threshold_commit(written, found, MASK, threshold)
    assert written.tolist() == settled
    assert left.dtype == torch.int32
    assert left.tolist() == [settled.count(MASK)]
