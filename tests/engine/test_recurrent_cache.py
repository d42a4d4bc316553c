"""The cache of recurrent layers: however it is read, cut and copied, states are the text's."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from clover_engine.kernels.reference import Gates
from clover_engine.kv_cache import CacheShape, CacheStore
from clover_engine.recurrent_cache import SPACING, Memory, MemoryShape, RecurrentCache, Rows

CPU = torch.device("cpu")
LAYERS = 2
SHAPE = CacheShape(layers=1, heads=1, head_dim=1, device=CPU)
MEMORY = MemoryShape(
    LAYERS, heads=1, key_dim=1, value_dim=1, channels=1, kernel=2, dtype=torch.float32, device=CPU
)


def new_cache() -> RecurrentCache:
    return RecurrentCache(SHAPE, MEMORY)


def moved(memory: Memory, rows: Rows) -> Memory:
    """Stands in for a layer: the state counts the tokens, the last input is the last token."""
    inputs = rows.inputs[-1:] if len(rows) else memory.inputs
    return Memory(memory.state + rows.inputs.sum(), inputs.clone())


def rows_of(tokens: Sequence[int], layer: int) -> Rows:
    values = torch.tensor(tokens, dtype=torch.float32)[:, None] + layer
    return Rows(values, Gates(torch.zeros_like(values), torch.zeros_like(values)))


def read(cache: RecurrentCache, tokens: Sequence[int]) -> None:
    """Stands in for a forward, which leaves memories at all regular places and at its ends."""
    start = len(cache)
    cache.reserve(len(tokens))
    places: list[dict[int, Memory]] = []
    for layer in range(LAYERS):
        memory, missing = cache.resume(layer, start)
        memory = moved(memory, missing)
        found = {start: memory}
        for number in range(len(tokens)):
            memory = moved(memory, rows_of(tokens[number : number + 1], layer))
            end = start + number + 1
            if end % SPACING == 0 or number + 1 == len(tokens):
                found[end] = memory
        places.append(found)
    cache.keep(start, places, [rows_of(tokens, layer) for layer in range(LAYERS)])
    cache.append(tokens)


def assert_holds(cache: RecurrentCache, tokens: Sequence[int]) -> None:
    """The state behind all that is cached is that of the tokens."""
    assert cache.tokens == list(tokens)
    for layer in range(LAYERS):
        memory = moved(*cache.resume(layer, len(tokens)))
        assert float(memory.state) == sum(tokens) + layer * len(tokens)
        assert float(memory.inputs) == (tokens[-1] + layer if tokens else 0)


def some_tokens(count: int, seed: int = 0) -> list[int]:
    rng = random.Random(seed)
    return [rng.randrange(1000) for _ in range(count)]


@given(
    st.lists(st.tuples(st.sampled_from(["read", "cut", "fork"]), st.integers(0, 300)), max_size=8)
)
@settings(max_examples=40, deadline=None)
def test_whatever_is_read_cut_and_copied(steps: list[tuple[str, int]]) -> None:
    cache, expected = new_cache(), list[int]()
    for step, count in steps:
        if step == "read":
            new = some_tokens(count + 1, seed=len(expected))
            read(cache, new)
            expected += new
        else:
            length = cache.restorable(max(0, len(cache) - count))
            del expected[length:]
            if step == "cut":
                cache.truncate(length)
            else:
                whole, cache = cache, cache.fork(length)
                read(whole, [7])  # what becomes of the original changes nothing
        assert_holds(cache, expected)


def test_the_last_tokens_can_be_taken_back_one_by_one() -> None:
    tokens = some_tokens(500)
    cache = new_cache()
    read(cache, tokens)
    for length in range(499, 320, -1):
        assert cache.restorable(length) == length
        cache.truncate(length)
        assert_holds(cache, tokens[:length])


def test_what_is_kept_is_bounded() -> None:
    cache = new_cache()
    read(cache, some_tokens(200))
    sizes = []
    for _ in range(20):
        read(cache, some_tokens(100))
        sizes.append(cache.nbytes - cache.keys.nbytes - cache.values.nbytes)
    assert max(sizes[10:]) <= max(sizes[:10])


def test_far_back_only_the_beginning_is_left() -> None:
    cache = new_cache()
    read(cache, some_tokens(1000))
    assert cache.restorable(100) == 0
    with pytest.raises(RuntimeError, match="rows begin at"):
        cache.resume(0, 100)
    cache.truncate(0)
    assert_holds(cache, [])


def test_a_store_takes_up_what_can_be_restored() -> None:
    store = CacheStore(new_cache, 1 << 30)

    def take(tokens: Sequence[int]) -> RecurrentCache:
        cache = store.take("file", tokens)
        assert isinstance(cache, RecurrentCache)
        return cache

    tokens = some_tokens(600)
    read(take(tokens), tokens)
    assert_holds(take([*tokens[:-2], 1, 2, 3]), tokens[:-2])
    assert_holds(take([*tokens[:50], 1, 2, 3]), [])


def test_what_is_measured_behind_pretended_tokens_leaves_them_there() -> None:
    cache = new_cache()
    cache.pretend(256)
    read(cache, some_tokens(16))
    cache.truncate(256)
    assert len(cache) == cache.restorable(256) == 256
