"""Drafts from the text itself: how long, from where, and that they stop where they do not pay."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clover_engine import lookup
from clover_engine.cost import MEASURED_ROWS, CostCurve, measure
from clover_engine.lookup import MAX_DRAFT, Acceptance, LookupDrafter

FLAT = CostCurve({1: 10.0, 16: 10.0})
BY_THE_ROW = CostCurve({1: 10.0, 16: 160.0})

# as `measure` makes them: more rows never cost less
curves = st.lists(
    st.floats(0.5, 100.0), min_size=len(MEASURED_ROWS), max_size=len(MEASURED_ROWS)
).map(lambda costs: CostCurve(dict(zip(MEASURED_ROWS, sorted(costs), strict=True))))
rates = st.floats(0.0, 1.0)
few_tokens = st.lists(st.integers(0, 3), max_size=40)


def speed(curve: CostCurve, rate: float, length: int) -> float:
    """Tokens a millisecond with drafts of this length: the sum of rate^i over all i up to it."""
    return sum(rate**i for i in range(length + 1)) / curve(1 + length)


@given(curves, rates, st.integers(0, MAX_DRAFT))
def test_no_other_length_is_faster(curve: CostCurve, rate: float, room: int) -> None:
    best = curve.best_draft(rate, room)
    speeds = [speed(curve, rate, length) for length in range(room + 1)]
    assert 0 <= best <= room
    assert speeds[best] == pytest.approx(max(speeds), rel=1e-9)


@given(curves, rates, st.integers(0, MAX_DRAFT))
def test_nothing_is_drafted_where_it_loses(curve: CostCurve, rate: float, room: int) -> None:
    best = curve.best_draft(rate, room)
    assert best == 0 or speed(curve, rate, best) > speed(curve, rate, 0) * (1 - 1e-9)
    assert curve.best_draft(0.0, room) == 0


def test_the_curve_runs_through_its_points_in_straight_lines() -> None:
    curve = CostCurve({1: 10.0, 4: 16.0, 8: 40.0})
    assert [curve(rows) for rows in (1, 2, 4, 6, 8, 10)] == [10.0, 12.0, 16.0, 28.0, 40.0, 52.0]
    assert CostCurve({1: 7.0})(5) == 7.0


def test_a_measured_curve_never_falls() -> None:
    rows_seen: list[int] = []
    curve = measure(rows_seen.append)
    assert set(rows_seen) == set(MEASURED_ROWS)
    costs = [curve(rows) for rows in range(1, 17)]
    assert costs == sorted(costs)


def longest_match(tokens: Sequence[int]) -> int:
    """Where the text goes on behind the last earlier place that ends like it; -1: nowhere."""
    for n in range(lookup._LONGEST, lookup._SHORTEST - 1, -1):
        for end in range(len(tokens) - 1, n - 1, -1):
            if tokens[end - n : end] == tokens[len(tokens) - n :]:
                return end
    return -1


@given(few_tokens, few_tokens, st.integers(0, 20))
def test_a_draft_is_what_followed_the_last_time(
    context: list[int], written: list[int], room: int
) -> None:
    drafter = LookupDrafter(context, [], FLAT, Acceptance())
    drafter.extend(written)
    text = [*context, *written]
    place = longest_match(text)
    wanted = text[place:][: min(room, MAX_DRAFT)] if place >= 0 else []
    assert drafter.propose(room) == wanted


@given(few_tokens)
def test_nothing_is_proposed_where_the_curve_says_it_loses(context: list[int]) -> None:
    assert LookupDrafter(context, [], BY_THE_ROW, Acceptance()).propose(MAX_DRAFT) == []


def test_refusals_end_the_drafting_and_successes_bring_it_back() -> None:
    # a drafted token costs a third of a forward: it must be right more often than not
    curve = CostCurve({1: 9.0, 16: 9.0 + 15 * 3.0})
    acceptance = Acceptance()
    context = [1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4]

    def propose() -> LookupDrafter | None:
        drafter = LookupDrafter(context, [], curve, acceptance)
        return drafter if drafter.propose(MAX_DRAFT) else None

    refused = 0
    while drafter := propose():
        drafter.record(accepted=0)
        refused += 1
        assert refused < 30
    assert refused > 0
    for _ in range(30):
        acceptance.record(match=4, drafted=3, accepted=3)
    drafter = propose()
    assert drafter is not None


def test_experience_is_kept_by_the_length_of_the_match() -> None:
    acceptance = Acceptance()
    before = acceptance.rate(2), acceptance.rate(4)
    for _ in range(10):
        acceptance.record(match=4, drafted=5, accepted=0)
    assert acceptance.rate(2) == before[0]
    assert acceptance.rate(4) < before[1] / 2


def test_experience_fades() -> None:
    acceptance = Acceptance()
    for _ in range(1000):
        acceptance.record(match=2, drafted=1, accepted=0)
    for _ in range(100):
        acceptance.record(match=2, drafted=1, accepted=1)
    assert acceptance.rate(2) > 0.8


def test_a_proposal_of_nothing_teaches_nothing() -> None:
    acceptance = Acceptance()
    before = acceptance.rate(2)
    drafter = LookupDrafter([1, 2, 3], [], FLAT, acceptance)
    assert drafter.propose(MAX_DRAFT) == []
    drafter.record(accepted=0)
    assert acceptance.rate(2) == before


def test_a_curve_follows_what_it_observes() -> None:
    curve = CostCurve({1: 10.0, 4: 12.0, 16: 20.0})
    for _ in range(60):
        curve.observe(1, 30.0)
        curve.observe(16, 90.0)
    assert curve(1) == pytest.approx(30.0, rel=0.1)
    assert curve(16) == pytest.approx(90.0, rel=0.1)


def test_a_bad_measurement_does_not_end_drafting_for_good() -> None:
    curve = CostCurve({1: 50.0, 4: 900.0, 16: 900.0})
    assert curve.best_draft(0.8, 8) == 0
    for _ in range(300):
        curve.observe(1, 50.0)
    assert curve.best_draft(0.8, 8) > 0


def test_longer_forwards_tell_nothing() -> None:
    curve = CostCurve({1: 10.0, 16: 20.0})
    curve.observe(128, 5000.0)
    assert (curve(1), curve(16)) == (10.0, 20.0)


def test_the_last_answer_is_a_better_guess_than_the_context() -> None:
    context, answered = [1, 2, 3, 9, 9, 1, 2, 3], [1, 2, 3, 4, 5, 6]
    assert LookupDrafter(context, answered, FLAT, Acceptance()).propose(2) == [4, 5]
    assert LookupDrafter(context, [], FLAT, Acceptance()).propose(2) == [9, 9]
