"""What the outcomes of placing come to: shares by language, order and row, and rows paired."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from statistics import fmean
from typing import Any

from clover_write.bench.documents import ORDERS
from clover_write.bench.journal import Outcome
from clover_write.bench.pairing import paired


def figures(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Tables by language and order: each row's shares, and the first row against the others."""
    found: dict[str, Any] = {}
    for language in sorted({outcome.task_id.split("/")[0] for outcome in outcomes}):
        for order in ORDERS:
            some = [one for one in outcomes if _is_of(one, language, order)]
            found[f"{language}, {order}"] = _table(some)
    return found


def _is_of(outcome: Outcome, language: str, order: str) -> bool:
    return outcome.task_id.startswith(f"{language}/") and outcome.case == order


def _table(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    rows: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        rows[outcome.row].append(outcome)
    first, *others = rows
    right = {row: list(_by_document(some)) for row, some in rows.items()}
    return {
        "documents": len(right[first]),
        "rows": {row: _shares(some, rows[first]) for row, some in rows.items()},
        "paired": {f"{first} - {row}": asdict(paired(right[first], right[row])) for row in others},
    }


def _shares(some: Sequence[Outcome], first: Sequence[Outcome]) -> dict[str, float]:
    right = fmean(bool(one.passed) for one in some)
    return {
        "blocks": len(some),
        "right": right,
        "leftover": fmean(not one.text for one in some),
        "wrong": fmean(bool(one.text) and not one.passed for one in some),
        "ms a block": fmean(one.ms for one in some),
        "first row / this": fmean(bool(one.passed) for one in first) / right if right else 0.0,
    }


def _by_document(outcomes: Sequence[Outcome]) -> Iterator[float]:
    """For each document the share of its blocks that are right."""
    found: dict[str, list[bool]] = defaultdict(list)
    for outcome in outcomes:
        found[outcome.task_id].append(bool(outcome.passed))
    return (fmean(some) for some in found.values())
