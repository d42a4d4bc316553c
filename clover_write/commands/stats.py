"""`clover-write stats`: how many suggestions were worth keeping."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clover_lsp.ledger import Count

EPILOG = """\
A suggestion is kept if most of its text still stands in the document a minute after it was
accepted. Counted on this machine by language and day, without any text, and never sent anywhere.

examples:
  clover-write stats                      the last 30 days
  clover-write stats --days 7 --json
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `stats`."""
    parser = subparsers.add_parser(
        "stats",
        help="suggestions shown, accepted and kept, by language",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--days", type=int, default=30, metavar="N", help="the last N (30)")
    parser.add_argument("--json", action="store_true", help="for scripts")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the counts. Raises LedgerError."""
    import json
    from collections import Counter
    from dataclasses import asdict
    from datetime import date, timedelta

    from clover_lsp.ledger import KEEP_RATE, Count, Ledger
    from clover_lsp.state_file import state_dir

    since = date.today() - timedelta(days=args.days)
    totals: dict[str, Count] = {}
    for day, counts in Ledger(state_dir() / KEEP_RATE).days().items():
        if day > since:
            for language, count in counts.items():
                totals[language] = totals.get(language, Count()) + count
    shown = Counter({language: count.shown for language, count in totals.items()})
    ordered = {language: totals[language] for language, _ in shown.most_common()}
    if args.json:
        print(json.dumps({language: asdict(count) for language, count in ordered.items()}))
    elif ordered:
        _show(ordered, args.days)
    else:
        print(f"No suggestion was shown in the last {args.days} days.")
    return 0


def _show(totals: dict[str, Count], days: int) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    from clover_lsp.ledger import Count

    table = Table(title=f"the last {days} days", box=SIMPLE_HEAD, title_justify="left")
    for number, column in enumerate(("language", "shown", "accepted", "", "kept", "")):
        table.add_column(column, justify="right" if number else "left")
    for language, count in totals.items():
        table.add_row(language or "(none)", *_cells(count))
    if len(totals) > 1:
        table.add_section()
        table.add_row("all", *_cells(sum(totals.values(), Count())))
    Console(highlight=False).print(table)


def _cells(count: Count) -> list[str]:
    """The counts, and what share of the shown was accepted, of the accepted was kept."""
    accepted = f"{count.accepted / count.shown:.0%}" if count.shown else "-"
    kept = f"{count.kept / count.accepted:.0%}" if count.accepted else "-"
    return [f"{count.shown:,}", f"{count.accepted:,}", accepted, f"{count.kept:,}", kept]
