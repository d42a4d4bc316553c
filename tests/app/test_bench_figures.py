"""The figures of given results, and how they are printed."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from clover_engine.api import Stats
from clover_write.bench.cases import COLD, NEXT
from clover_write.bench.figures import figures, percentile
from clover_write.bench.journal import Outcome
from clover_write.bench.table import show


def _outcome(
    task: str, row: str, ms: float, text: str = "x", passed: bool = True, case: str = COLD
) -> Outcome:
    stats = Stats(forwards=2, tokens=5, prefill_ms=ms / 2, decode_ms=ms / 4)
    return Outcome(task, row, case, text, ms, stats, passed, exact=text == "x")


OUTCOMES = [
    _outcome("1", "ours", 10),
    _outcome("2", "ours", 20, "y", passed=False),
    _outcome("3", "ours", 30),
    _outcome("1", "other", 10),
    _outcome("2", "other", 10),
    _outcome("3", "other", 10, "z"),
    _outcome("1", "peer", 20),
    _outcome("2", "peer", 40),
    _outcome("3", "peer", 60),
    _outcome("1", "ours", 5, case=NEXT),
    _outcome("2", "ours", 50, case=NEXT),
    _outcome("1", "peer", 10, case=NEXT),
]


def test_quality() -> None:
    quality = figures(OUTCOMES, ["ours", "other"], ["peer"])["quality"]
    assert quality["ours"] == {
        "n": 3,
        "pass@1": pytest.approx(2 / 3),
        "exact match": pytest.approx(2 / 3),
    }
    assert quality["peer"]["pass@1"] == 1.0


def test_latency_and_work() -> None:
    made = figures(OUTCOMES, ["ours"], ["peer"])
    assert made["latency"]["ours"][COLD] == {"n": 3, "p50 ms": 20, "p95 ms": pytest.approx(29)}
    work = made["work"]["ours"][COLD]
    assert (work["forwards"], work["tokens per forward"]) == (2, 2.5)
    assert (work["prefill ms"], work["decode ms"]) == (10, 5)


def test_ratios_compare_the_same_problems() -> None:
    ratio = figures(OUTCOMES, ["ours"], ["peer"])["ratio"]["ours"]["peer"]
    # the peer has no second problem in this case: ours does not count it either
    assert ratio == {COLD: 0.5, NEXT: 0.5}


def test_our_rows_are_compared_in_pairs() -> None:
    (pair,) = figures(OUTCOMES, ["ours", "other"], ["peer"])["paired"]
    assert pair["texts differ"] == ["2", "3"]
    assert pair["same text"] == pytest.approx(1 / 3)
    assert pair["pass@1 difference"] == pytest.approx(-1 / 3)
    assert (pair["passes only in first"], pair["passes only in second"]) == ([], ["2"])


def test_the_table_prints_every_figure() -> None:
    report = {"run": {}, "machine": {}, "rows": {"ours": "an engine"}}
    report |= figures(OUTCOMES, ["ours", "other"], ["peer"])
    printed = io.StringIO()
    show(report, Console(file=printed))
    for text in ("66.7%", "20 / 29 (3)", "0.50x", "ours against other", "texts differ: 2, 3"):
        assert text in printed.getvalue()


def test_a_run_of_one_problem_has_figures() -> None:
    made = figures([_outcome("1", "ours", 7)], ["ours"], [])
    assert made["latency"]["ours"][COLD] == {"n": 1, "p50 ms": 7, "p95 ms": 7}
    assert made["ratio"] == {}


@given(st.lists(st.floats(0, 1e6), min_size=1), st.floats(0, 1))
def test_a_percentile_lies_among_the_values(values: list[float], share: float) -> None:
    ordered = sorted(values)
    assert ordered[0] <= percentile(ordered, share) * (1 + 1e-9)
    assert percentile(ordered, share) <= ordered[-1] * (1 + 1e-9)
