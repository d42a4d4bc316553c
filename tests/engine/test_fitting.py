"""How well the right text follows: many places at once as one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clover_engine.fitting import Branch, compare
from clover_engine.kv_cache import KVCache
from clover_engine.models.parts import MASK, Part
from clover_engine.steps import Meter

if TYPE_CHECKING:
    from clover_engine.engine import LocalEngine

tokens = st.integers(10, 200)


@given(
    context=st.lists(tokens, min_size=1, max_size=8),
    written=st.lists(tokens, min_size=1, max_size=6),
    rights=st.lists(st.lists(tokens, min_size=1, max_size=4), min_size=1, max_size=4),
    data=st.data(),
)
@settings(max_examples=40, deadline=None)
def test_branches_do_not_disturb_each_other(
    float_engine: LocalEngine,
    context: list[int],
    written: list[int],
    rights: list[list[int]],
    data: st.DataObject,
) -> None:
    model = float_engine._model
    branches: list[Branch] = [(data.draw(st.integers(1, len(written))), right) for right in rights]
    together = fits(float_engine, context, written, branches)
    for branch, fit in zip(branches, together, strict=True):
        count, right = branch
        cache = KVCache(model.cache_shape)
        text = [*context, *written[:count], *right]
        [output] = model.forward([Part(text[:-1], cache, len(right))])
        logits = output.logits.log_softmax(-1)
        alone = sum(float(logits[row, token]) for row, token in enumerate(right))
        assert fit == pytest.approx(alone, abs=1e-3)


def fits(
    engine: LocalEngine, context: list[int], written: list[int], branches: list[Branch]
) -> list[float]:
    """What `compare` finds behind a cache that holds all but the last written token."""
    cache = KVCache(engine._model.cache_shape)
    engine._model.forward([Part([*context, *written[:-1]], cache, 0)])
    before = list(cache.tokens)
    steps = compare(branches, written, len(context), cache, Meter(len(context), 0))
    need = next(steps)
    with pytest.raises(StopIteration) as end:
        steps.send(engine.forward([(need,)])[0][0])
    assert cache.tokens == before
    found: list[float] = end.value.value
    return found


def test_a_job_that_ends_amid_a_test_leaves_nothing_false_behind(float_engine: LocalEngine) -> None:
    context, written = [20, 21, 22], [30, 31, 32, 33]
    cache = KVCache(float_engine._model.cache_shape)
    float_engine._model.forward([Part([*context, *written[:-1]], cache, 0)])
    before = list(cache.tokens)
    branches: list[Branch] = [(2, [40, 41]), (4, [42, 43])]
    steps = compare(branches, written, len(context), cache, Meter(len(context), 0))
    # it is computed, but nobody is there any more to take its rows back
    float_engine.forward([(next(steps),)])
    steps.close()
    assert cache.tokens == [*before, *[MASK] * 4]
    # what follows the text as text does is no falsehood
    cache.truncate(len(before))
    steps = compare([(4, [42, 43])], written, len(context), cache, Meter(len(context), 0))
    float_engine.forward([(next(steps),)])
    assert cache.tokens == [*before, 33, 42]
