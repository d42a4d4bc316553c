"""Which masks are settled: the orders, the bounds, and how long a hole is."""

from __future__ import annotations

from collections.abc import Callable
from math import exp, log

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from clover_engine.length_probe import FIRST, PATIENCE, best_length, climb
from clover_engine.remasking import Order, Remasking
from clover_engine.sampler import sureness

some = st.lists(st.floats(0.0, 1.0), min_size=1, max_size=16)


@given(some, st.floats(0.0, 1.0), st.none() | st.integers(1, 4), st.none() | st.floats(0.1, 2.0))
def test_the_surest_are_settled_and_at_least_one(
    sure: list[float], threshold: float, most: int | None, safety: float | None
) -> None:
    settled = Remasking(threshold=threshold, most=most, safety=safety).settled(sure)
    assert settled == sorted(set(settled))
    assert 1 <= len(settled) <= (most or len(sure))
    least = min(sure[mask] for mask in settled)
    assert all(sure[mask] <= least for mask in range(len(sure)) if mask not in settled)
    if len(settled) > 1:
        assert least >= threshold
        assert safety is None or (len(settled) + 1) * (1 - least) < safety
    if most is None and safety is None:
        assert len(settled) == max(1, sum(chance >= threshold for chance in sure))


def test_the_safety_rule_takes_as_many_as_it_allows() -> None:
    rule = Remasking(threshold=0.5, safety=1.0)
    assert rule.settled([0.9, 0.9, 0.9, 0.6]) == [0, 1, 2]  # 4 * 0.1 < 1, but 5 * 0.4 is not
    assert rule.settled([0.6, 0.55]) == [0]


@given(some, st.floats(0.0, 1.0))
def test_what_was_unsure_is_doubted(sure: list[float], doubt: float) -> None:
    doubted = Remasking(doubt=doubt).doubted(sure)
    assert doubted == [place for place, chance in enumerate(sure) if chance < doubt]


def test_orders_measure_what_they_say() -> None:
    logits = torch.tensor([[0.5, 0.25, 0.25, 0.0], [0.25] * 4, [1.0, 0.0, 0.0, 0.0]]).log()
    assert sureness(logits, Order.CONFIDENCE) == pytest.approx([0.5, 0.25, 1.0])
    assert sureness(logits, Order.MARGIN) == pytest.approx([0.25, 0.0, 1.0])
    half = 1 - (0.5 * log(2) + 0.5 * log(4)) / log(4)
    assert sureness(logits, Order.ENTROPY) == pytest.approx([half, 0.0, 1.0], abs=1e-6)


def test_a_length_is_found_by_what_exceeds_its_bias() -> None:
    lengths = (1, 2, 4, 8)
    # short blocks are surer at any rate; the one of four is surer than its length explains
    assert best_length(lengths, [[0.7], [0.6] * 2, [0.9] * 4, [0.5] * 8]) == 4
    assert best_length((3,), [[0.1] * 3]) == 3


def climbed(most: int, sure: Callable[[int], float]) -> tuple[int, list[int]]:
    """The best length, and those that were asked for."""
    asked = climb(most)
    length = next(asked)
    seen = [length]
    while True:
        try:
            length = asked.send([sure(length)] * length)
        except StopIteration as end:
            return end.value, seen
        seen.append(length)


@pytest.mark.parametrize("best", [1, 3, 7, 8, 9, 15, 20])
def test_the_climb_finds_a_peak_on_either_side(best: int) -> None:
    def sure(length: int) -> float:
        """Exceeds its bias the less, the further the length is from the best."""
        bias = exp(-1.77 * length) + 0.56 * exp(-0.06 * length) + 0.24
        return bias / (1 + abs(length - best))

    found, seen = climbed(20, sure)
    assert found == best
    assert len(seen) <= abs(best - FIRST) + 1 + 2 * PATIENCE


def test_the_climb_stays_within_the_room() -> None:
    for most in (1, 2, 5):
        _, seen = climbed(most, lambda _: 0.5)
        assert sorted(seen) == list(range(1, most + 1))
