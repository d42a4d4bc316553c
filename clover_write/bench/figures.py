"""The figures of a benchmark, computed from its outcomes under the names the table prints."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from itertools import combinations
from typing import Any

from clover_engine.api import Stats
from clover_write.bench.cases import CASES, COLD
from clover_write.bench.journal import Outcome

CASE_ORDER = [case for cases in CASES.values() for case in cases]

Figures = dict[str, Any]
ByTask = dict[str, Outcome]


def figures(outcomes: Iterable[Outcome], ours: Sequence[str], peers: Sequence[str]) -> Figures:
    """Every figure of the rows `ours` and `peers`; times in milliseconds, shares from 0 to 1."""
    table = _by_row_and_case(outcomes)
    rows = [*ours, *peers]
    return {
        "quality": {row: _quality(table[row, COLD]) for row in rows if (row, COLD) in table},
        "latency": _per_case(table, rows, _latency),
        "work": _per_case(table, rows, _work),
        "ratio": {
            row: {peer: _ratios(table, row, peer) for peer in peers} for row in ours if peers
        },
        "paired": [
            _paired(first, second, table[first, COLD], table[second, COLD])
            for first, second in combinations(ours, 2)
            if (first, COLD) in table and (second, COLD) in table
        ],
    }


def _by_row_and_case(outcomes: Iterable[Outcome]) -> dict[tuple[str, str], ByTask]:
    table: dict[tuple[str, str], ByTask] = {}
    for outcome in outcomes:
        table.setdefault((outcome.row, outcome.case), {})[outcome.task_id] = outcome
    return table


def _per_case(
    table: dict[tuple[str, str], ByTask],
    rows: Sequence[str],
    measure: Callable[[ByTask], Figures],
) -> Figures:
    return {
        row: {case: measure(table[row, case]) for case in CASE_ORDER if (row, case) in table}
        for row in rows
    }


def _quality(by_task: ByTask) -> Figures:
    outcomes = list(by_task.values())
    return {
        "n": len(outcomes),
        "pass@1": statistics.fmean(bool(outcome.passed) for outcome in outcomes),
        "exact match": statistics.fmean(bool(outcome.exact) for outcome in outcomes),
    }


def _latency(by_task: ByTask) -> Figures:
    times = sorted(outcome.ms for outcome in by_task.values())
    return {"n": len(times), "p50 ms": statistics.median(times), "p95 ms": percentile(times, 0.95)}


def _work(by_task: ByTask) -> Figures:
    """Means of one request; tokens per forward, milliseconds a token and the share of masks that
    were right, by their place and given that those before were, over all of them."""
    stats = [outcome.stats for outcome in by_task.values()]
    forwards = sum(each.forwards for each in stats)
    tokens = sum(each.tokens for each in stats)
    together = sum(stats, Stats())
    masks = zip(together.judged, together.guessed, strict=True)
    return {
        "forwards": forwards / len(stats),
        "tokens": statistics.fmean(each.tokens for each in stats),
        "tokens per forward": tokens / max(forwards, 1),
        "drafted": statistics.fmean(each.drafted for each in stats),
        "accepted": statistics.fmean(each.accepted for each in stats),
        "prompt tokens": statistics.fmean(each.prompt_tokens for each in stats),
        "reused tokens": statistics.fmean(each.reused_tokens for each in stats),
        "queue ms": statistics.fmean(each.queue_ms for each in stats),
        "prefill ms": statistics.fmean(each.prefill_ms for each in stats),
        "decode ms": statistics.fmean(each.decode_ms for each in stats),
        "decode ms a token": sum(each.decode_ms for each in stats) / max(tokens, 1),
        "masks right": [guessed / judged for judged, guessed in masks if judged],
    }


def _ratios(table: dict[tuple[str, str], ByTask], row: str, peer: str) -> Figures:
    """Our p50 over the peer's on the same problems: below 1, ours is faster."""
    ratios: Figures = {}
    for case in CASE_ORDER:
        ours, theirs = table.get((row, case), {}), table.get((peer, case), {})
        if both := ours.keys() & theirs.keys():
            ratios[case] = _median_ms(ours, both) / _median_ms(theirs, both)
    return ratios


def _median_ms(by_task: ByTask, tasks: Iterable[str]) -> float:
    return statistics.median(by_task[task].ms for task in tasks)


def _paired(first: str, second: str, one: ByTask, other: ByTask) -> Figures:
    """Two of our rows on the same problems: where texts differ, and what that does to passing."""
    both = [task for task in one if task in other]
    differ = [task for task in both if one[task].text != other[task].text]
    won = [task for task in both if one[task].passed and not other[task].passed]
    lost = [task for task in both if other[task].passed and not one[task].passed]
    return {
        "first": first,
        "second": second,
        "n": len(both),
        "same text": 1 - len(differ) / len(both) if both else 1.0,
        "pass@1 difference": (len(won) - len(lost)) / len(both) if both else 0.0,
        "passes only in first": won,
        "passes only in second": lost,
        "texts differ": differ,
    }


def percentile(ordered: Sequence[float], share: float) -> float:
    """The value below which `share` of the ordered values lie, between neighbours linearly."""
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)
