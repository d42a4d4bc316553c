"""Whose job begins next: users are served evenly whatever they ask."""

from __future__ import annotations

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from clover_engine.api import Priority, infill_request
from clover_engine.job import Job
from clover_engine.turns import Turns


def job(user: str, priority: Priority = Priority.INTERACTIVE) -> Job:
    request = infill_request("", "", priority=priority)
    return Job(user, request, lambda _: None, lambda _: None, lambda *_: None)


def test_nobody_saves_turns_up_by_waiting() -> None:
    turns = Turns()
    turns.arrived("ann", set())
    turns.served(["ann"] * 100)
    turns.arrived("bob", {"ann"})
    # level with ann: the first to come is the first to begin, then they take turns
    first, second = job("ann"), job("bob")
    assert turns.first([first, second], []) is first
    turns.served(["ann"])
    assert turns.first([first, second], []) is second


def test_who_has_nothing_under_way_begins_before_who_has() -> None:
    turns = Turns()
    turns.served(["bob"] * 3)
    busy, idle = job("ann"), job("bob")
    assert turns.first([busy, idle], [job("ann")]) is idle
    assert turns.first([busy, idle], []) is busy


def test_interactive_work_comes_before_anybodys_background_work() -> None:
    background, interactive = job("ann", Priority.BACKGROUND), job("bob")
    turns = Turns()
    turns.served(["bob"] * 5)
    assert turns.first([background, interactive], []) is interactive
    assert turns.first([], []) is None


@given(st.lists(st.integers(1, 30), min_size=2, max_size=6))
@settings(max_examples=40, deadline=None)
def test_users_who_always_wait_are_served_alike(lengths: list[int]) -> None:
    """Jobs of user n take lengths[n] forwards; one job runs at a time."""
    users = [f"user {number}" for number in range(len(lengths))]
    turns = Turns()
    served: Counter[str] = Counter()
    for number, user in enumerate(users):
        turns.arrived(user, set(users[:number]))
    for _ in range(400):
        begun = turns.first([job(user) for user in users], [])
        assert begun is not None
        cost = lengths[users.index(begun.user)]
        turns.served([begun.user] * cost)
        served[begun.user] += cost
    assert max(served.values()) - min(served[user] for user in users) <= 2 * max(lengths)
