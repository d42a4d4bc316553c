"""Drafts and masks: what is verified, from where, and that nothing is done that does not pay."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clover_engine import lookup
from clover_engine.cost import CostCurve, measure
from clover_engine.drafting import (
    MAX_DRAFT,
    MAX_ROWS,
    SIZES,
    Drafter,
    Experience,
    Kind,
    Plan,
)
from clover_engine.lookup import Lookup
from clover_engine.models.parts import MASK
from clover_engine.sampler import Guess

FLAT = CostCurve({1: 10.0, 16: 10.0})
BY_THE_ROW = CostCurve({1: 10.0, 16: 160.0})

few_tokens = st.lists(st.integers(0, 3), max_size=40)
rates = st.floats(0.05, 0.95)


def looking_up(
    context: Sequence[int],
    answered: Sequence[int] = (),
    curve: CostCurve = FLAT,
    experience: Experience | None = None,
) -> Drafter:
    """A drafter without masks."""
    return Drafter(Lookup(context, answered), False, curve, experience or Experience())


def masking(
    curve: CostCurve = FLAT, experience: Experience | None = None, masks: bool = True
) -> Drafter:
    """A drafter with masks alone."""
    return Drafter(None, masks, curve, experience or Experience())


def test_the_curve_runs_through_its_points_in_straight_lines() -> None:
    curve = CostCurve({1: 10.0, 4: 16.0, 8: 40.0})
    assert [curve(rows) for rows in (1, 2, 4, 6, 8, 10)] == [10.0, 12.0, 16.0, 28.0, 40.0, 52.0]
    assert CostCurve({1: 7.0})(5) == 7.0
    assert CostCurve({1: 7.0}, adapter=2.0).masked(5) == 9.0


def test_one_row_is_timed_after_a_warm_up_and_more_rows_cost_more() -> None:
    rows_seen: list[int] = []
    curve = measure(rows_seen.append)
    assert len(rows_seen) == 2
    assert rows_seen[-1] == 1
    costs = [curve(rows) for rows in range(1, 17)]
    assert costs == sorted(costs)
    assert costs[0] < costs[-1]


def test_a_curve_follows_what_it_observes() -> None:
    curve = CostCurve({1: 10.0, 4: 12.0, 16: 20.0})
    for _ in range(60):
        curve.observe(1, 30.0)
        curve.observe(16, 90.0)
    assert curve(1) == pytest.approx(30.0, rel=0.1)
    assert curve(16) == pytest.approx(90.0, rel=0.1)
    for _ in range(60):
        curve.observe(16, 100.0, masks=True)
    assert curve.masked(16) == pytest.approx(100.0, rel=0.1)
    assert curve(16) == pytest.approx(90.0, rel=0.1)


def test_a_measurement_on_a_busy_machine_is_forgotten_at_once() -> None:
    curve = CostCurve({1: 1800.0, 4: 1800.0, 16: 1900.0})
    curve.observe(1, 30.0)
    assert curve(1) == pytest.approx(30.0)
    assert curve(16) == pytest.approx(30.0 * 19 / 18)


def test_longer_forwards_tell_nothing() -> None:
    curve = CostCurve({1: 10.0, 16: 20.0})
    curve.observe(128, 5000.0)
    assert (curve(1), curve(16)) == (10.0, 20.0)


def longest_match(tokens: Sequence[int]) -> int:
    """Where the text goes on behind the last earlier place that ends like it; -1: nowhere."""
    for n in range(lookup.LONGEST, lookup.SHORTEST - 1, -1):
        for end in range(len(tokens) - 1, n - 1, -1):
            if tokens[end - n : end] == tokens[len(tokens) - n :]:
                return end
    return -1


@given(few_tokens, few_tokens, st.integers(1, 20))
def test_a_draft_is_what_followed_the_last_time(
    context: list[int], written: list[int], room: int
) -> None:
    drafter = looking_up(context)
    drafter.learn(0, written, ())
    text = [*context, *written]
    place = longest_match(text)
    wanted = text[place:][: min(room - 1, MAX_DRAFT)] if place >= 0 else []
    assert list(drafter.next(room).draft) == wanted


def test_the_last_answer_is_a_better_guess_than_the_context() -> None:
    context, answered = [1, 2, 3, 9, 9, 1, 2, 3], [1, 2, 3, 4, 5, 6]
    assert looking_up(context, answered).next(3).draft == (4, 5)
    assert looking_up(context).next(3).draft == (9, 9)


@given(few_tokens)
def test_nothing_is_drafted_where_the_curve_says_it_loses(context: list[int]) -> None:
    plan = looking_up(context, curve=BY_THE_ROW).next(MAX_DRAFT)
    assert plan == Plan()
    assert masking(BY_THE_ROW).next(MAX_DRAFT) == Plan()


def test_what_healing_took_back_is_always_drafted() -> None:
    for curve in (FLAT, BY_THE_ROW):
        assert masking(curve).begin([5, 6, 7], 20).draft == (5, 6, 7)
    assert masking(masks=False).begin([], 20) == Plan()


def test_guesses_become_the_next_draft() -> None:
    drafter = masking()
    assert drafter.begin([], 20).masked == (0,)
    drafter.learn(0, [4], [Guess(5, 0.9), Guess(6, 0.9), Guess(7, 0.9)])
    plan = drafter.next(19)
    assert plan.draft == (5, 6, 7)
    # masks stand behind every length that may be accepted
    assert plan.masked == (0, 1, 2, 3)
    assert plan.masks + 1 + len(plan.draft) <= MAX_ROWS
    # what stands no more is not drafted again
    drafter.learn(1, [5, 9], ())
    assert drafter.next(17).draft == ()


def test_unsure_guesses_are_not_verified_where_rows_cost() -> None:
    drafter = masking(CostCurve({1: 10.0, 16: 70.0}))
    drafter.learn(0, [4], [Guess(5, 0.95), Guess(6, 0.95), Guess(7, 0.05)])
    assert drafter.next(20).draft == (5, 6)


def test_the_better_draft_is_taken() -> None:
    context = [1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4]
    drafter = Drafter(Lookup(context, ()), True, FLAT, Experience())
    drafter.learn(0, (), [Guess(9, 0.1), Guess(9, 0.1), Guess(9, 0.1)])
    assert drafter.next(20).draft[:3] == (5, 6, 7)
    drafter = Drafter(Lookup([1, 2, 3, 4, 8, 4], ()), True, FLAT, Experience())
    drafter.learn(0, (), [Guess(9, 0.99), Guess(9, 0.99), Guess(9, 0.99)])
    assert drafter.next(20).draft == (9, 9, 9)


@given(st.integers(2, 40), st.integers(0, 8), st.lists(rates, min_size=4, max_size=4))
def test_no_mask_stands_where_its_guess_has_no_room(
    room: int, removed: int, sure: list[float]
) -> None:
    drafter = masking()
    removed = min(removed, room)
    for plan in (drafter.begin([1] * removed, room), _after(drafter, sure, room)):
        assert len(plan.draft) <= max(removed, room - 1)
        assert all(room - accepted - 2 >= 1 for accepted in plan.masked)
        assert plan.size in (0, *SIZES)
        assert bool(plan.size) == bool(plan.masked)
        assert 1 + len(plan.draft) + plan.masks <= MAX_ROWS


def _after(drafter: Drafter, sure: Sequence[float], room: int) -> Plan:
    drafter.learn(0, [7], [Guess(8, chance) for chance in sure])
    return drafter.next(room)


@given(
    st.integers(1, 5),
    st.integers(0, 30),
    st.lists(st.integers(0, 9), max_size=5),
    st.sets(st.integers(0, 5), min_size=1),
    st.sampled_from(SIZES),
)
def test_masks_see_what_may_be_accepted_and_each_other(
    pending: int, start: int, draft: list[int], lengths: set[int], size: int
) -> None:
    masked = tuple(sorted(length for length in lengths if length <= len(draft)))
    plan = Plan(tuple(draft), (("healed",),) * len(draft), masked, size if masked else 0)
    tokens = plan.tokens([1] * pending)
    layout = plan.layout(pending, start)
    causal = pending + len(draft)
    assert tokens == [1] * pending + draft + [MASK] * len(masked) * plan.size
    if not masked:
        assert layout is None
        return
    assert layout is not None
    for row in range(causal):
        assert layout.positions[row] == start + row
        assert layout.visible[row].nonzero()[:, 0].tolist() == list(range(row + 1))
    for number, accepted in enumerate(masked):
        group = range(causal + number * size, causal + (number + 1) * size)
        last = pending - 1 + accepted
        for place, row in enumerate(group):
            seen = layout.visible[row].nonzero()[:, 0].tolist()
            assert seen == [*range(last + 1), *group]
            # the causal row itself foretells the next slot: the masks stand for those behind it
            assert layout.positions[row] == start + last + 1 + place
        behind = plan.guesses_behind(accepted)
        assert [causal + row for row in range(behind.start, behind.stop)] == list(group)


def test_refusals_end_the_drafting_and_successes_bring_it_back() -> None:
    # a drafted token costs a third of a forward: it must be right more often than not
    curve = CostCurve({1: 9.0, 16: 9.0 + 15 * 3.0})
    experience = Experience()
    context = [1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4]
    kind: Kind = ("lookup", 4, False)

    def propose() -> Drafter | None:
        drafter = looking_up(context, curve=curve, experience=experience)
        return drafter if drafter.next(MAX_DRAFT).draft else None

    refused = 0
    while drafter := propose():
        drafter.learn(0, (), ())
        refused += 1
        assert refused < 30
    assert refused > 0
    for _ in range(30):
        experience.record([kind] * 3, accepted=3)
    assert propose() is not None


def test_a_bad_measurement_does_not_end_drafting_for_good() -> None:
    curve = CostCurve({1: 50.0, 4: 900.0, 16: 900.0})
    context = [1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4]
    assert not looking_up(context, curve=curve).next(8).draft
    for _ in range(300):
        curve.observe(1, 50.0)
    assert looking_up(context, curve=curve).next(8).draft


def test_experience_is_kept_by_kind() -> None:
    experience = Experience()
    kinds: list[Kind] = [("lookup", 2, False), ("lookup", 4, False)]
    before = [experience.rate(kind) for kind in kinds]
    for _ in range(20):
        experience.record([kinds[1]] * 5, accepted=0)
    assert experience.rate(kinds[0]) == before[0]
    assert experience.rate(kinds[1]) < before[1] / 2


def test_only_tokens_that_were_judged_teach() -> None:
    experience = Experience()
    kinds: list[Kind] = [("guess", number) for number in range(4)]
    before = [experience.rate(kind) for kind in kinds]
    experience.record(kinds, accepted=1)
    after = [experience.rate(kind) for kind in kinds]
    assert after[0] > before[0]
    assert after[1] < before[1]
    assert after[2:] == before[2:]


def test_experience_fades() -> None:
    experience = Experience()
    kind: Kind = ("guess", 2)
    for _ in range(1000):
        experience.fade()
        experience.record([kind], accepted=0)
    for _ in range(300):
        experience.fade()
        experience.record([kind], accepted=1)
    assert experience.rate(kind) > 0.8


def test_what_proved_useless_is_tried_again() -> None:
    experience = Experience()
    drafter = masking(CostCurve({1: 10.0, 16: 25.0}), experience)
    cycles = 0
    while drafter.next(20).masked:
        drafter.learn(0, [4], [Guess(5, 0.5)] * 3)
        cycles += 1
        assert cycles < 100
    # nothing is learned any more of masks that do not stand anywhere
    while not drafter.next(20).masked:
        drafter.learn(0, [4], ())
        cycles += 1
        assert cycles < 1000


def test_masks_are_judged_whether_or_not_their_guesses_were_drafted() -> None:
    experience = Experience()
    kind: Kind = ("mask", 0)
    before = experience.rate(kind)
    drafter = masking(BY_THE_ROW, experience)
    drafter.learn(0, [4], [Guess(5, 0.1), Guess(6, 0.1)])
    assert drafter.next(20).draft == ()
    drafter.learn(0, [5], ())
    assert experience.rate(kind) > before
