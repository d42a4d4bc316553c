"""Caches: what they hold is what was read, whichever documents come, go and fork."""

from __future__ import annotations

import random
import weakref
from collections.abc import Sequence

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from clover_engine.documents import of_user, owner_of
from clover_engine.kv_cache import KEY_UNIT, SMALL_LOSS, CacheShape, CacheStore, KVCache

SHAPE = CacheShape(layers=2, heads=1, head_dim=1, device=torch.device("cpu"))
FIRST_BYTES = KVCache(SHAPE).nbytes
PLENTY = 100 * FIRST_BYTES


def read(cache: KVCache, tokens: Sequence[int]) -> None:
    """Stands in for a forward: a token's keys are its number, its values the number's negative."""
    start, end = len(cache), len(cache) + len(tokens)
    cache.reserve(len(tokens))
    cache.keys[:, :, start:end, 0] = torch.tensor(tokens, dtype=torch.float32)
    cache.values[:, :, start:end, 0] = -torch.tensor(tokens, dtype=torch.float32)
    cache.append(tokens)


def assert_holds(cache: KVCache, tokens: Sequence[int]) -> None:
    """The cache holds these tokens, and for each of them what `read` wrote."""
    assert cache.tokens == list(tokens)
    wanted = torch.tensor(tokens, dtype=torch.float32).expand(2, 1, -1)
    assert torch.equal(cache.keys[:, :, : len(cache), 0], wanted)
    assert torch.equal(cache.values[:, :, : len(cache), 0], -wanted)


def some_tokens(count: int, seed: int = 0) -> list[int]:
    rng = random.Random(seed)
    return [rng.randrange(1000) for _ in range(count)]


def agreement(left: Sequence[int], right: Sequence[int]) -> int:
    """How many leading tokens are the same, the slow way."""
    return max(n for n in range(len(left) + 1) if list(left[:n]) == list(right[:n]))


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 700)), max_size=6), st.integers(0, 2000))
@settings(max_examples=50, deadline=None)
def test_growing_and_cutting_keep_what_was_read(steps: list[tuple[bool, int]], copied: int) -> None:
    cache, expected = KVCache(SHAPE), list[int]()
    for grows, count in steps:
        if grows:
            new = some_tokens(count, seed=len(expected))
            read(cache, new)
            expected += new
        else:
            cache.truncate(count)
            del expected[count:]
        assert_holds(cache, expected)
    copy = cache.fork(min(copied, len(cache)))
    assert_holds(copy, expected[:copied])
    read(copy, [7, 8, 9])
    assert_holds(cache, expected)
    assert_holds(copy, [*expected[:copied], 7, 8, 9])


def test_bytes_are_those_of_the_tensors() -> None:
    cache = KVCache(SHAPE, capacity=KEY_UNIT)
    assert cache.nbytes == KEY_UNIT * SHAPE.token_bytes
    read(cache, some_tokens(KEY_UNIT + 1))
    assert cache.nbytes == 2 * KEY_UNIT * SHAPE.token_bytes


def test_a_text_is_taken_up_where_it_agrees() -> None:
    store = CacheStore(lambda: KVCache(SHAPE), PLENTY)
    tokens = some_tokens(300)
    first = store.take("file", tokens)
    assert len(first) == 0
    read(first, tokens)
    again = store.take("file", [*tokens[:-3], -1, -2])
    assert again is first
    assert_holds(again, tokens[:-3])


def test_going_back_is_cheap_after_a_jump() -> None:
    store = CacheStore(lambda: KVCache(SHAPE), PLENTY)
    here, there = some_tokens(300), [*some_tokens(10), *some_tokens(300, 1)]
    read(store.take("file", here), here)
    elsewhere = store.take("file", there)  # would lose 290 tokens: copied instead
    assert_holds(elsewhere, here[:10])
    read(elsewhere, there[10:])
    assert_holds(store.take("file", here), here)
    assert_holds(store.take("file", there), there)


def test_a_small_loss_makes_no_copy() -> None:
    store = CacheStore(lambda: KVCache(SHAPE), PLENTY)
    tokens = some_tokens(300)
    cache = store.take("file", tokens)
    read(cache, tokens)
    assert store.take("file", tokens[:-SMALL_LOSS]) is cache
    read(cache, tokens[-SMALL_LOSS:])
    assert store.take("file", tokens[: -SMALL_LOSS - 1]) is not cache


def test_unnamed_documents_share_nothing_and_take_no_room() -> None:
    store = CacheStore(lambda: KVCache(SHAPE), 2 * FIRST_BYTES)
    tokens = some_tokens(50)
    named = store.take("file", tokens)
    read(named, tokens)
    for _ in range(10):
        unnamed = store.take("", tokens)
        assert len(unnamed) == 0
        read(unnamed, tokens)
    assert store.take("file", tokens) is named


def test_the_least_recently_used_document_goes_first() -> None:
    store = CacheStore(lambda: KVCache(SHAPE), 3 * FIRST_BYTES)
    tokens = some_tokens(50)
    for name in ("a", "b", "c", "a", "d"):
        cache = store.take(name, tokens)
        read(cache, tokens[len(cache) :])
    found = {name: len(store.take(name, tokens)) for name in ("a", "d", "b")}
    assert found == {"a": 50, "d": 50, "b": 0}


def test_one_cache_may_be_larger_than_the_bound() -> None:
    store = CacheStore(lambda: KVCache(SHAPE), 10)
    tokens = some_tokens(50)
    read(store.take("file", tokens), tokens)
    assert len(store.take("file", tokens)) == 50


# few different tokens in long runs, so that texts agree for a while
long_texts = st.lists(
    st.tuples(st.integers(0, 2), st.integers(1, 100)), min_size=1, max_size=8
).map(lambda runs: [token for token, count in runs for _ in range(count)])


@given(st.lists(st.tuples(st.sampled_from(["a", "b", "c", ""]), long_texts), max_size=15))
@settings(max_examples=60, deadline=None)
def test_any_sequence_of_takes(takes: list[tuple[str, list[int]]]) -> None:
    bound = 5 * FIRST_BYTES
    store = CacheStore(lambda: KVCache(SHAPE), bound)
    alive = weakref.WeakKeyDictionary[KVCache, str]()
    for document, tokens in takes:
        known = [cache.tokens[:] for cache, name in alive.items() if name == document != ""]
        cache = store.take(document, tokens)
        assert alive.get(cache, document) == document  # never another document's
        assert len(cache) == max((agreement(old, tokens) for old in known), default=0)
        assert_holds(cache, tokens[: len(cache)])
        alive[cache] = document
        kept = [other.nbytes for other, name in alive.items() if name]
        assert not document or sum(kept) <= bound or len(kept) == 1
        read(cache, tokens[len(cache) :])
        assert_holds(cache, tokens)
        del cache


def test_a_user_with_many_documents_does_not_push_out_those_of_another() -> None:
    store = CacheStore(lambda: KVCache(SHAPE), 4 * FIRST_BYTES)
    tokens = some_tokens(50)
    read(store.take(of_user("ann", "only"), tokens), tokens)
    for number in range(10):
        read(store.take(of_user("bob", str(number)), tokens), tokens)
    assert len(store.take(of_user("ann", "only"), tokens)) == 50
    assert len(store.take(of_user("bob", "9"), tokens)) == 50
    assert len(store.take(of_user("bob", "0"), tokens)) == 0


def test_users_cannot_read_what_others_had_read() -> None:
    store = CacheStore(lambda: KVCache(SHAPE), 100 * FIRST_BYTES)
    tokens = some_tokens(50)
    read(store.take(of_user("ann", "note"), tokens), tokens)
    for name in (of_user("bob", "note"), "note", of_user("bob", "ann\0note")):
        assert len(store.take(name, tokens)) == 0
        assert store.last_tokens(name) == []
    assert owner_of(of_user("ann", "note")) == "ann"
    assert owner_of("note") == ""
