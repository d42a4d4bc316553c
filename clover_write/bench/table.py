"""Prints the figures of a benchmark as tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from clover_write.bench.figures import CASE_ORDER

SHOWN_IDS = 20
WORK_COLUMNS = {  # and their decimals
    "forwards": 1,
    "tokens": 1,
    "tokens per forward": 2,
    "prompt tokens": 0,
    "reused tokens": 0,
    "queue ms": 1,
    "prefill ms": 0,
    "decode ms": 0,
    "decode ms a token": 1,
}


def show(report: dict[str, Any], console: Console | None = None) -> None:
    """Print the report; wide enough for its columns when it goes into a file."""
    console = console or Console(highlight=False)
    if not console.is_terminal:
        console.width = 160
    for part in ("run", "machine"):
        console.print(*(f"{name}: {value}" for name, value in report[part].items()), sep=" · ")
    for row, about in report["rows"].items():
        console.print(f"{row}: {about}")
    for table in _tables(report):
        if table.row_count:
            console.print(table)
    for pair in report["paired"]:
        console.print(_paired(pair))


def _tables(report: dict[str, Any]) -> Iterable[Table]:
    yield _quality(report["quality"])
    cases = [case for case in CASE_ORDER if any(case in row for row in report["latency"].values())]
    yield _latency(report["latency"], cases)
    yield _work(report["work"], cases)
    yield _ratio(report["ratio"], cases)


def _quality(quality: dict[str, Any]) -> Table:
    table = _table("quality", ["row", "n", "pass@1", "exact match"])
    for row, figures in quality.items():
        shares = (f"{figures[name]:.1%}" for name in ("pass@1", "exact match"))
        table.add_row(row, str(figures["n"]), *shares)
    return table


def _latency(latency: dict[str, Any], cases: Sequence[str]) -> Table:
    table = _table("latency: p50 / p95 ms (n)", ["row", *cases])
    for row, by_case in latency.items():
        cells = (
            f"{by_case[case]['p50 ms']:.0f} / {by_case[case]['p95 ms']:.0f} ({by_case[case]['n']})"
            if case in by_case
            else "-"
            for case in cases
        )
        table.add_row(row, *cells)
    return table


def _work(work: dict[str, Any], cases: Sequence[str]) -> Table:
    table = _table("work of one request, mean", ["row", "case", *WORK_COLUMNS, "masks right"])
    for case in cases:
        for row, by_case in work.items():
            if figures := by_case.get(case):
                cells = (f"{figures[name]:.{WORK_COLUMNS[name]}f}" for name in WORK_COLUMNS)
                right = " ".join(f"{share:.2f}" for share in figures["masks right"])
                table.add_row(row, case, *cells, right)
        table.add_section()
    return table


def _ratio(ratio: dict[str, Any], cases: Sequence[str]) -> Table:
    table = _table("p50 ratio, ours to the peer's", ["row", "peer", *cases])
    for row, peers in ratio.items():
        for peer, by_case in peers.items():
            cells = (f"{by_case[case]:.2f}x" if case in by_case else "-" for case in cases)
            table.add_row(row, peer, *cells)
    return table


def _paired(pair: dict[str, Any]) -> str:
    differ: list[str] = pair["texts differ"]
    listed = ", ".join(differ[:SHOWN_IDS]) + (", ..." if len(differ) > SHOWN_IDS else "")
    return (
        f"{pair['first']} against {pair['second']}:"
        f" same text {pair['same text']:.1%} of {pair['n']},"
        f" pass@1 {100 * pair['pass@1 difference']:+.2f} points"
        f" ({len(pair['passes only in first'])} won, {len(pair['passes only in second'])} lost)"
        + (f"\n  texts differ: {listed}" if differ else "")
    )


def _table(title: str, columns: Sequence[str]) -> Table:
    table = Table(title=title, box=SIMPLE_HEAD, title_justify="left")
    for column in columns:
        text = column in ("row", "peer", "case")
        table.add_column(column, justify="left" if text else "right", no_wrap=text)
    return table
