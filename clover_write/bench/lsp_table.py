"""Prints the figures of `bench lsp` as tables."""

from __future__ import annotations

from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table


def show(figures: dict[str, Any], console: Console | None = None) -> None:
    """Print the report; wide enough for its columns when it goes into a file."""
    console = console or Console(highlight=False)
    if not console.is_terminal:
        console.width = 120
    for part in ("run", "machine"):
        console.print(*(f"{name}: {value}" for name, value in figures[part].items()), sep=" · ")
    if typing := figures.get("typing"):
        console.print(_answers(typing["answers"]))
        for line in _typing(typing):
            console.print(line)
    if "idle" in figures:
        idle = figures["idle"]
        console.print(f"{idle['seconds']:.0f} s idle: {idle['cpu']:.2%} of a core")
    if handlers := figures.get("handlers"):
        console.print(_handlers(handlers))
    if growth := figures.get("growth"):
        console.print(
            f"{growth['requests']:,} requests in {growth['documents']} documents: resident memory"
            f" {growth['before MiB']:.1f} -> {growth['after MiB']:.1f} MiB,"
            f" {growth['growth MiB']:+.1f}"
        )


def _answers(answers: dict[str, Any]) -> Table:
    table = _table(
        "answers, ms from the request to its receipt", ["class", "n", "p50", "p95", "p99"]
    )
    for kind, times in answers.items():
        table.add_row(kind, str(times["n"]), *_percentiles(times, "p50 ms", "p95 ms", "p99 ms"))
    return table


def _typing(typing: dict[str, Any]) -> list[str]:
    characters, cpu = typing["characters"], typing["cpu s a minute of typing"]
    return [
        "requests: " + ", ".join(f"{count} {name}" for name, count in typing["requests"].items()),
        f"characters: {characters['in right suggestions']:.1%} of the file stood in suggestions"
        f" that were right to their end, {characters['right letter by letter']:.1%} came right"
        f" letter by letter; {characters['suggestions right to the end']:.1%} of the suggestions"
        " were right to their end",
        f"{typing['keystrokes']} keystrokes, {typing['minutes']:.1f} minutes of typing; CPU seconds"
        " a minute of typing: " + ", ".join(f"{name} {took:.2f}" for name, took in cpu.items()),
    ]


def _handlers(handlers: dict[str, Any]) -> Table:
    columns = ["document", "didChange p50", "p99", "bare pygls p50", "p99", "ratio"]
    more = ["probe alone p50", "p99", "cached answer p50", "p95", "n"]
    table = _table("keystrokes in large documents, ms with the round trip", [*columns, *more])
    for name, row in handlers.items():
        table.add_row(
            name,
            *_percentiles(row["didChange"], "p50 ms", "p99 ms"),
            *_percentiles(row["bare pygls"], "p50 ms", "p99 ms"),
            f"{row['ratio']:.2f}x",
            *_percentiles(row["probe alone"], "p50 ms", "p99 ms"),
            *_percentiles(row["cached answer"], "p50 ms", "p95 ms"),
            str(row["cached answer"]["n"]),
        )
    return table


def _percentiles(times: dict[str, float], *names: str) -> list[str]:
    return [f"{times[name]:.2f}" if name in times else "-" for name in names]


def _table(title: str, columns: list[str]) -> Table:
    table = Table(title=title, box=SIMPLE_HEAD, title_justify="left")
    for number, column in enumerate(columns):
        table.add_column(column, justify="right" if number else "left", no_wrap=not number)
    return table
