"""Clover's layers against transformers' Qwen3.5 and a second writing; what blocks may change."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from clover_engine.block_canvas import block_layout
from clover_engine.calibration import ways
from clover_engine.kernels.reference import Gates, History
from clover_engine.layers.gated_delta_net import GatedDeltaNet
from clover_engine.models.clover_config import Mixer, Switches
from clover_engine.models.parts import MASK, Branch, Layout, Part
from clover_engine.recurrent_cache import Rows
from tests.support.clover_torch import causal_logits, clover_logits
from tests.support.tiny_clover import MASK_TOKEN, ODD, TinyClover, tiny_clover

if TYPE_CHECKING:
    from clover_engine.models.clover import Clover
    from clover_engine.recurrent_cache import RecurrentCache

# last bits of float32 sums through five layers
EXACT = 1e-4
DENSE: Mapping[str, Any] = {
    **ODD,
    "num_experts": 0,
    "num_experts_per_tok": 0,
    "intermediate_size": 29,
    "tie_word_embeddings": True,
}


@pytest.fixture(scope="module")
def clover(tmp_path_factory: pytest.TempPathFactory) -> TinyClover:
    """A random Clover with the likeliest switches."""
    return tiny_clover(tmp_path_factory.mktemp("clover"))


@pytest.fixture(scope="module")
def make(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., TinyClover]:
    """Random Clovers with other switches or weights."""
    return lambda *args, **kw: tiny_clover(tmp_path_factory.mktemp("other"), *args, **kw)


def random_tokens(count: int, seed: int = 1) -> list[int]:
    generator = torch.Generator().manual_seed(seed)
    tokens: list[int] = torch.randint(0, 90, (count,), generator=generator).tolist()
    return tokens


def random_block(size: int, seed: int = 5) -> list[int]:
    """Known tokens and masks, the first and last of them masks."""
    block = random_tokens(size, seed)
    return [MASK if place % 3 == 0 or place == size - 1 else t for place, t in enumerate(block)]


def read(
    model: Clover, *chunks: Sequence[int], cache: RecurrentCache | None = None
) -> torch.Tensor:
    """All logits of the chunks, read one after the other."""
    cache = model.new_cache() if cache is None else cache
    outputs = [model.forward([Part(some, cache, len(some))]) for some in chunks if some]
    return torch.cat([output.logits for [output] in outputs])


def denoise(
    model: Clover, cache: RecurrentCache, *blocks: Sequence[int], pending: Sequence[int] = ()
) -> torch.Tensor:
    """The logits of blocks behind what is cached and pending; leaves the pending tokens there."""
    layout = block_layout(pending, list(map(len, blocks)), len(cache), 1)
    before, rows = len(cache) + len(pending), sum(map(len, blocks))
    tokens = [*pending, *(token for block in blocks for token in block)]
    [output] = model.forward([Part(tokens, cache, rows, layout)])
    cache.truncate(before)
    return output.logits


def second_writing(
    clover: TinyClover, text: Sequence[int], block: Sequence[int], switches: Switches | None = None
) -> torch.Tensor:
    """The same by the plain code."""
    shown = torch.tensor([[MASK_TOKEN if token == MASK else token for token in block]])
    both = clover_logits(
        clover.weights,
        clover.config,
        switches or Switches(),
        torch.tensor([list(text)], dtype=torch.long),
        shown,
        len(text),
    )
    return both.block[0]


def error(got: torch.Tensor, wanted: torch.Tensor) -> float:
    """The size of the difference, relative to what is wanted."""
    return float(torch.linalg.norm(got - wanted) / torch.linalg.norm(wanted))


@pytest.mark.slow  # transformers takes its time to be imported
@pytest.mark.parametrize("numbers", [ODD, DENSE], ids=["experts", "dense"])
def test_causal_logits_are_those_of_transformers(
    make: Callable[..., TinyClover], numbers: Mapping[str, Any]
) -> None:
    from transformers import Qwen3_5ForCausalLM, Qwen3_5TextConfig
    from transformers.models.qwen3_5_moe import Qwen3_5MoeForCausalLM, Qwen3_5MoeTextConfig

    asked = {k: v for k, v in numbers.items() if k not in ("architectures", "model_type")}
    clover = make(Switches(mixer=Mixer.CAUSAL), config=numbers)
    oracle: Any
    if numbers["num_experts"]:
        config = Qwen3_5MoeTextConfig(**asked)
        config._experts_implementation = "eager"
        oracle = Qwen3_5MoeForCausalLM(config)
    else:
        oracle = Qwen3_5ForCausalLM(Qwen3_5TextConfig(**asked))
    weights = dict(clover.weights)
    if numbers.get("tie_word_embeddings"):
        weights["lm_head.weight"] = weights["model.embed_tokens.weight"]
    oracle.load_state_dict(weights)
    tokens = random_tokens(151)
    with torch.no_grad():
        wanted = oracle.eval()(torch.tensor([tokens])).logits[0]
    assert error(read(clover.model, tokens), wanted) < EXACT
    assert (
        error(causal_logits(clover.weights, clover.config, torch.tensor([tokens]))[0], wanted)
        < EXACT
    )


@given(cuts=st.lists(st.integers(0, 90), max_size=6))
@settings(max_examples=6, deadline=None)
def test_chunks_read_as_one_text(clover: TinyClover, cuts: list[int]) -> None:
    tokens = random_tokens(90)
    chunks = [tokens[start:end] for start, end in pairwise([0, *sorted(cuts), 90])]
    assert error(read(clover.model, *chunks), read(clover.model, tokens)) < EXACT


def test_chunks_read_as_single_tokens(clover: TinyClover) -> None:
    tokens = random_tokens(70)
    one_by_one = read(clover.model, *([token] for token in tokens))
    assert error(read(clover.model, tokens), one_by_one) < EXACT


@pytest.mark.parametrize("length", [0, 1, 2, 5, 70])
@pytest.mark.parametrize("size", [1, 3, 32])
def test_a_block_is_read_as_written_down(clover: TinyClover, length: int, size: int) -> None:
    text, block = random_tokens(length), random_block(size)
    cache = clover.model.new_cache()
    if text:
        read(clover.model, text, cache=cache)
    got = denoise(clover.model, cache, block)
    assert error(got, second_writing(clover, text, block)) < EXACT


SWITCHES = [way for way in ways() if way.scalars == Switches().scalars]


@pytest.mark.parametrize("switches", SWITCHES, ids=lambda s: "-".join(map(str, s.table().values())))
def test_every_switch_changes_blocks_as_it_says(
    make: Callable[..., TinyClover], switches: Switches
) -> None:
    clover = make(switches)
    text, block = random_tokens(11), random_block(6)
    cache = clover.model.new_cache()
    got = denoise(clover.model, cache, block, pending=text)
    assert error(got, second_writing(clover, text, block, switches)) < EXACT
    usual = second_writing(clover, text, block)
    assert (error(got, usual) > 0.001) == (switches != Switches())


@pytest.mark.parametrize("size", [1, 3, 4, 9])
def test_units_of_attention_beside_a_causal_recurrence(
    make: Callable[..., TinyClover], size: int
) -> None:
    """As arcLM reads: whole units see one another, the recurrence goes left to right."""
    switches, unit = Switches(mixer=Mixer.CAUSAL), 4
    clover = make(switches)
    text, block = random_tokens(12), random_block(size)
    shown = torch.tensor([[MASK_TOKEN if token == MASK else token for token in block]])
    asked = torch.tensor([text]), shown, len(text)
    wanted = clover_logits(clover.weights, clover.config, switches, *asked, unit=unit).block[0]
    cache = clover.model.new_cache()
    first = block_layout(text[:8], [], 0, unit)
    clover.model.forward([Part(text[:8], cache, 0, first)])
    layout = block_layout(text[8:], [size], 8, unit)
    [output] = clover.model.forward([Part([*text[8:], *block], cache, size, layout)])
    assert error(output.logits, wanted) < EXACT


def test_blocks_leave_nothing_behind(clover: TinyClover) -> None:
    text, more = random_tokens(20), random_tokens(9, 2)
    cache = clover.model.new_cache()
    read(clover.model, text, cache=cache)
    for seed in range(3):
        denoise(clover.model, cache, random_block(8, seed))
    assert torch.equal(read(clover.model, more, cache=cache), read(clover.model, text, more)[20:])


def test_committing_a_block_is_reading_on(clover: TinyClover) -> None:
    text, block, more = random_tokens(33), random_tokens(32, 4), random_block(8, 6)
    cache = clover.model.new_cache()
    read(clover.model, text, cache=cache)
    got = denoise(clover.model, cache, more, pending=block)
    whole = clover.model.new_cache()
    read(clover.model, [*text, *block], cache=whole)
    assert error(got, denoise(clover.model, whole, more)) < EXACT
    assert cache.tokens == whole.tokens == [*text, *block]


def test_blocks_of_one_forward_do_not_see_each_other(clover: TinyClover) -> None:
    text = random_tokens(12)
    blocks = [random_block(size, size) for size in (1, 4, 9)]
    together = denoise(clover.model, clover.model.new_cache(), *blocks, pending=text)
    alone = [denoise(clover.model, clover.model.new_cache(), b, pending=text) for b in blocks]
    assert error(together, torch.cat(alone)) < EXACT


def test_branches_read_as_the_texts_they_are(clover: TinyClover) -> None:
    text = random_tokens(30)
    cache = clover.model.new_cache()
    read(clover.model, text[:20], text[20:], cache=cache)
    branches = [(22, random_tokens(3, 7)), (29, random_tokens(2, 8)), (30, random_tokens(4, 9))]
    rows, tokens, positions = 0, list[int](), list[int]()
    named = []
    for behind, branch in branches:
        named.append(Branch(slice(rows, rows + len(branch)), behind))
        rows += len(branch)
        tokens += branch
        positions += range(behind, behind + len(branch))
    layout = Layout(torch.tensor(positions), torch.ones(rows, rows).bool(), branches=tuple(named))
    [output] = clover.model.forward([Part(tokens, cache, rows, layout)])
    wanted = [read(clover.model, [*text[:n], *some])[n:] for n, some in branches]
    assert error(output.logits, torch.cat(wanted)) < EXACT


def test_a_single_slot_may_read_the_history_alone(clover: TinyClover) -> None:
    """All weight on the history, nothing written and nothing faded: what the recurrence reads."""
    net = _with(
        first_layer(clover),
        right=torch.zeros_like,
        history=lambda one: one._replace(bias=one.bias + 1e4),
    )
    rows, z = net.project(torch.randn(1, clover.config.hidden_size))
    nothing = Rows(rows.inputs, Gates(*map(torch.zeros_like, rows.gates)))
    memory, _ = clover.model.new_cache().resume(0, 0)
    memory.state.normal_()
    assert error(net.denoise(nothing, z, memory), net.read(nothing, z, memory.copy())) < EXACT


@given(order=st.permutations(range(7)))
@settings(max_examples=10, deadline=None)
def test_a_block_has_no_order_of_its_own(clover: TinyClover, order: list[int]) -> None:
    """Without convolution and places, permuted slots bring permuted results."""
    net = _with(first_layer(clover), right=torch.zeros_like, taps=_own_only)
    x = torch.randn(7, clover.config.hidden_size, generator=torch.Generator().manual_seed(2))
    memory, _ = clover.model.new_cache().resume(0, 0)
    memory.state.normal_(generator=torch.Generator().manual_seed(3))
    straight = net.denoise(*net.project(x), memory)
    permuted = net.denoise(*net.project(x[order]), memory)
    assert error(permuted, straight[order]) < EXACT


def test_without_right_taps_the_convolution_is_the_causal_one(clover: TinyClover) -> None:
    net = first_layer(clover)
    kernels, weights = net._kernels, net._weights
    assert weights.block
    u = torch.randn(9, clover.config.conv_dim)
    inputs = torch.randn(3, clover.config.conv_dim)
    none = torch.zeros_like(weights.block.right)
    block = kernels.block_convolution(u, inputs, weights.taps, none)
    assert error(block, kernels.causal_convolution(u, inputs.clone(), weights.taps)) < EXACT


def first_layer(clover: TinyClover) -> GatedDeltaNet:
    net = clover.model._layers[0].mixer
    assert isinstance(net, GatedDeltaNet)
    return net


def _own_only(taps: torch.Tensor) -> torch.Tensor:
    own = torch.zeros_like(taps)
    own[:, -1] = taps[:, -1]
    return own


def _with(
    net: GatedDeltaNet,
    taps: Callable[[torch.Tensor], torch.Tensor] = torch.clone,
    right: Callable[[torch.Tensor], torch.Tensor] = torch.clone,
    history: Callable[[History], History] = lambda one: one,
) -> GatedDeltaNet:
    """A layer with some of its weights changed."""
    weights = net._weights
    assert weights.block
    block = replace(
        weights.block, right=right(weights.block.right), history=history(weights.block.history)
    )
    changed = replace(weights, taps=taps(weights.taps), block=block)
    return GatedDeltaNet(net._kernels, net._shape, changed, net._eps)
