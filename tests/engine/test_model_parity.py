"""The model against Qwen2 written a second time; what a cache, chunks and other rows may change."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from clover_engine.kernels import cpu, reference
from clover_engine.kernels.dispatch import Kernels, kernels_for
from clover_engine.kv_cache import KVCache
from clover_engine.layers.linear import Int8Linear
from clover_engine.layers.packing import Packer
from clover_engine.models.parts import Part
from clover_engine.models.qwen2 import Qwen2
from clover_engine.weights import load_folder, load_gguf
from tests.support.float_model import load_float
from tests.support.qwen2_numpy import qwen2_logits
from tests.support.tiny_model import Floats

if TYPE_CHECKING:
    from tests.support.tiny_model import TinyModel

CPU = torch.device("cpu")
# last bits of a float32 sum; anything wrong in the model is a thousand times more
EXACT = 2e-5

Loader = Callable[["TinyModel"], Qwen2]
PRECISIONS: dict[str, tuple[Loader, float]] = {
    "bf16": (lambda tiny: load_gguf(tiny.gguf, CPU), 0.05),
    "int8": (lambda tiny: load_folder(tiny.folder, "int8", CPU)[0], 0.12),
    "bf16 of int8": (lambda tiny: load_folder(tiny.folder, "bf16", CPU)[0], 0.12),
}


@pytest.fixture(scope="module", params=[cpu, reference], ids=["cpu", "reference"])
def float_model(request: pytest.FixtureRequest, tiny_model: TinyModel) -> Qwen2:
    """The engine's model with float32 layers, over each set of kernels."""
    kernels: Kernels = request.param
    return load_float(tiny_model.gguf, kernels)


@pytest.fixture(scope="module")
def int8_model(tiny_model: TinyModel) -> Qwen2:
    """The model as it ships."""
    return load_folder(tiny_model.folder, "int8", CPU)[0]


def random_tokens(count: int, seed: int = 1) -> list[int]:
    tokens: list[int] = np.random.default_rng(seed).integers(0, 300, count).tolist()
    return tokens


def read(model: Qwen2, *chunks: Iterable[int], cache: KVCache | None = None) -> Floats:
    """All logits of the chunks, read one after the other."""
    cache = KVCache(model.cache_shape) if cache is None else cache
    parts = [list(chunk) for chunk in chunks]
    outputs = [model.forward([Part(some, cache, len(some))]) for some in parts if some]
    return np.concatenate([output.logits.numpy() for [output] in outputs])


def error(got: Floats, wanted: Floats) -> float:
    """The size of the difference, relative to what is wanted."""
    return float(np.linalg.norm(got - wanted) / np.linalg.norm(wanted))


@pytest.mark.parametrize("count", [1, 2, 7, 130, 600])
def test_the_model_is_qwen2(float_model: Qwen2, tiny_model: TinyModel, count: int) -> None:
    tokens = random_tokens(count)
    assert error(read(float_model, tokens), qwen2_logits(tiny_model.weights, tokens)) < EXACT


@pytest.mark.parametrize("precision", PRECISIONS)
def test_a_precision_stays_near_float32(tiny_model: TinyModel, precision: str) -> None:
    load, bound = PRECISIONS[precision]
    tokens = random_tokens(200)
    got = read(load(tiny_model), tokens)
    wanted = qwen2_logits(tiny_model.weights, tokens)
    assert error(got, wanted) < bound
    assert (got.argmax(axis=1) == wanted.argmax(axis=1)).mean() > 0.85


@given(cuts=st.lists(st.integers(0, 40), max_size=6))
@settings(max_examples=20, deadline=None)
def test_chunks_read_as_one_text(float_model: Qwen2, cuts: list[int]) -> None:
    tokens = random_tokens(40)
    chunks = [tokens[start:end] for start, end in pairwise([0, *sorted(cuts), 40])]
    assert error(read(float_model, *chunks), read(float_model, tokens)) < EXACT


def test_a_cache_grows_beyond_its_first_size(float_model: Qwen2, tiny_model: TinyModel) -> None:
    tokens = random_tokens(700)
    chunks = [tokens[start : start + 350] for start in range(0, 700, 350)]
    assert error(read(float_model, *chunks), qwen2_logits(tiny_model.weights, tokens)) < EXACT


@given(kept=st.integers(0, 30), dropped=st.integers(0, 30), seed=st.integers(0, 5))
@settings(max_examples=20, deadline=None)
def test_what_was_rolled_back_leaves_no_trace(
    float_model: Qwen2, kept: int, dropped: int, seed: int
) -> None:
    start, wrong, right = random_tokens(kept), random_tokens(dropped, 50), random_tokens(9, seed)
    cache = KVCache(float_model.cache_shape)
    if start or wrong:
        read(float_model, start, wrong, cache=cache)
    cache.truncate(kept)
    fresh = read(float_model, [*start, *right])
    assert error(read(float_model, right, cache=cache), fresh[kept:]) < EXACT
    assert cache.tokens == [*start, *right]


def test_a_copy_reads_on_as_its_original(float_model: Qwen2) -> None:
    start, end = random_tokens(30), random_tokens(9, 2)
    cache = KVCache(float_model.cache_shape)
    read(float_model, start, random_tokens(5, 3), cache=cache)
    copy = cache.fork(30)
    fresh = read(float_model, [*start, *end])
    assert error(read(float_model, end, cache=copy), fresh[30:]) < EXACT
    assert len(cache) == 35


def test_only_the_last_logits_are_computed(float_model: Qwen2) -> None:
    tokens = random_tokens(20)
    wanted = read(float_model, tokens)
    for count in (0, 1, 5, 20):
        part = Part(tokens, KVCache(float_model.cache_shape), count)
        got = float_model.forward([part])[0].logits
        assert len(got) == count
        if count:
            assert error(got.numpy(), wanted[-count:]) < EXACT


@given(
    rows=st.integers(1, 17),
    into=st.sampled_from([1, 3, 33, 64, 129]),
    out=st.sampled_from([1, 5, 65, 128]),
    seed=st.integers(0, 1000),
)
@settings(max_examples=40, deadline=None)
def test_an_int8_row_is_the_same_beside_any_others(
    rows: int, into: int, out: int, seed: int
) -> None:
    random = torch.Generator().manual_seed(seed)
    weight = torch.randint(-127, 128, (out, into), generator=random, dtype=torch.int8)
    linear = Int8Linear(kernels_for(CPU), Packer().pack(weight, torch.rand(out, generator=random)))
    # rows of very different sizes: one scale for all of them would drown the small ones
    x = torch.randn(rows, into, generator=random) * 10.0 ** torch.arange(rows)[:, None]
    together = linear(x)
    for row in range(rows):
        assert torch.equal(linear(x[row : row + 1])[0], together[row])


@pytest.mark.parametrize("width", [2, 5, 7, 16, 40, 96])
def test_the_rows_of_a_forward_do_not_depend_on_their_number(
    int8_model: Qwen2, exact_rows: bool, width: int
) -> None:
    tokens = random_tokens(96)
    one_by_one = read(int8_model, *[[token] for token in tokens])
    chunks = [tokens[start : start + width] for start in range(0, 96, width)]
    together = read(int8_model, *chunks)
    if exact_rows:
        assert np.array_equal(together, one_by_one)
    else:
        errors = [error(*rows) for rows in zip(together, one_by_one, strict=True)]
        assert np.median(errors) < EXACT
        assert max(errors) < 0.03


@pytest.mark.parametrize("sizes", [(1, 1), (1, 5, 1), (3, 40), (17, 13, 2), (1,) * 13])
def test_jobs_that_share_a_forward_do_not_change_one_another(
    int8_model: Qwen2, exact_rows: bool, sizes: tuple[int, ...]
) -> None:
    contexts = [random_tokens(20 + 7 * job, job) for job in range(len(sizes))]
    asked = [random_tokens(size, 50 + size) for size in sizes]
    alone = [read(int8_model, *both)[len(both[0]) :] for both in zip(contexts, asked, strict=True)]
    caches = [KVCache(int8_model.cache_shape) for _ in sizes]
    for context, cache in zip(contexts, caches, strict=True):
        read(int8_model, context, cache=cache)
    parts = [Part(some, cache, len(some)) for some, cache in zip(asked, caches, strict=True)]
    outputs = int8_model.forward(parts)
    for output, wanted in zip(outputs, alone, strict=True):
        got = output.logits.numpy()
        assert np.array_equal(got, wanted) if exact_rows else error(got, wanted) < 0.03
    assert [len(cache) for cache in caches] == [20 + 7 * j + n for j, n in enumerate(sizes)]


def test_memory_that_was_never_written_is_not_read(int8_model: Qwen2) -> None:
    tokens = random_tokens(20)
    wanted = read(int8_model, tokens)
    cache = KVCache(int8_model.cache_shape)
    read(int8_model, random_tokens(300, 9), cache=cache)
    cache.truncate(0)
    assert np.array_equal(read(int8_model, tokens, cache=cache), wanted)
