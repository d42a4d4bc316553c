"""`clover-write bench notes`: spans of real notes, taken out and written again."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clover_write.config import Config, load_config

if TYPE_CHECKING:
    from clover_write.bench.fit import Fit
    from clover_write.bench.notes import Gap
    from clover_write.bench.rows import EngineRow

# beside the checkout, where the benchmark data of this project is kept
DATA = Path("../shared/data/notes/bench")
ROWS = "int8-lookup-rules,int8-lookup-none,int8-lookup-learned,int8-lookup-both"
EXAMPLES = f"""examples:
  clover-write bench notes --data DIR
  clover-write bench notes --most 10 --rows {ROWS}

The first row is what the others are compared with. Needs sacrebleu: pip install '.[bench]'.
"""


def add_to(benches: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `notes` to the benchmarks."""
    notes = benches.add_parser(
        "notes",
        help="real notes: write a missing word, phrase, sentence or list item",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    notes.add_argument(
        "--data", type=Path, default=DATA, metavar="DIR", help=f"folder with en/ and zh/ ({DATA})"
    )
    notes.add_argument(
        "--most", type=int, default=30, metavar="N", help="gaps of a kind and language (30)"
    )
    notes.add_argument("--rows", default=ROWS, metavar="LIST", help="PRECISION-DRAFTING-ENDS")
    notes.add_argument("--engine", choices=("inproc", "process", "fake"), default="inproc")
    notes.add_argument("--threads", type=int, default=2, metavar="N")
    notes.add_argument("--json", type=Path, metavar="FILE", help="write every figure there")
    notes.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Fill the gaps and print the tables. Raises CloverError."""
    from clover_write.bench.notes import LANGUAGES, NotesError, load
    from clover_write.bench.report import machine

    if not find_spec("sacrebleu"):
        raise NotesError("chrF needs sacrebleu: pip install 'clover-write[bench]'")
    config = replace(load_config().with_engine(args.engine), threads=args.threads)
    gaps = [gap for language in LANGUAGES for gap in load(args.data, language, args.most)]
    fits, about = asyncio.run(_fill(gaps, args.rows.split(","), config))
    figures = {
        "run": {"benchmark": "notes", "date": time.strftime("%Y-%m-%d"), "gaps": len(gaps)},
        "machine": machine(),
        "rows": about,
        **_figures(gaps, fits),
    }
    _show(figures)
    if args.json:
        args.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    return 0


async def _fill(
    gaps: Sequence[Gap], names: Sequence[str], config: Config
) -> tuple[dict[str, list[Fit]], dict[str, str]]:
    from clover_write.bench.fit import fit
    from clover_write.bench.rows import engine_rows

    rows: list[EngineRow] = engine_rows(names, config, None)
    fits: dict[str, list[Fit]] = {row.name: [] for row in rows}
    try:
        for number, gap in enumerate(gaps, start=1):
            for row in rows:
                answer = await row.answer(gap.name, gap.ask, fresh=True)
                fits[row.name].append(fit(answer.text, gap.truth))
            if number % 20 == 0:
                print(f"{number} of {len(gaps)} gaps", file=sys.stderr)
        return fits, {row.name: await row.about() for row in rows}
    finally:
        for row in rows:
            await row.close()


def _figures(gaps: Sequence[Gap], fits: dict[str, list[Fit]]) -> dict[str, Any]:
    """Means by language, kind and row; and how each row differs from the first, by language."""
    from clover_write.bench.fit import difference, summary
    from clover_write.bench.notes import KINDS, LANGUAGES

    baseline, *others = fits

    def some(row: str, language: str, kind: str | None = None) -> list[Fit]:
        return [
            fit
            for gap, fit in zip(gaps, fits[row], strict=True)
            if gap.language == language and kind in (None, gap.kind)
        ]

    return {
        "fit": {
            language: {
                kind or "all": {
                    row: summary(found) for row in fits if (found := some(row, language, kind))
                }
                for kind in (*KINDS, None)
            }
            for language in LANGUAGES
        },
        "difference": {
            language: {
                f"{row} - {baseline}": difference(some(row, language), some(baseline, language))
                for row in others
            }
            for language in LANGUAGES
        },
    }


def _show(figures: dict[str, Any]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = 120
    for language, kinds in figures["fit"].items():
        columns = ("kind", "row", "n", "exact match", "chrF", "length error", "ends right")
        table = Table(*columns, title=language, box=SIMPLE_HEAD, title_justify="left")
        for kind, rows in kinds.items():
            for row, means in rows.items():
                shares = [f"{means[name]:.1%}" for name in ("exact match", "length error")]
                chrf, ends = f"{means['chrF']:.1f}", f"{means['ends right']:.1%}"
                table.add_row(kind, row, str(means["n"]), shares[0], chrf, shares[1], ends)
            table.add_section()
        console.print(table)
        for pair, measures in figures["difference"][language].items():
            parts = (
                f"{name} {mean:+.1f} [{low:+.1f}, {high:+.1f}]"
                for name, (mean, low, high) in measures.items()
            )
            console.print(f"{language}: {pair}: {', '.join(parts)}")
