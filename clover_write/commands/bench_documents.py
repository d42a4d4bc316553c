"""`clover-write bench documents`: blocks find their sections, and documents lose nothing."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import sysconfig
import tempfile
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clover_engine.errors import CloverError
from clover_write.config import Config, load_config

if TYPE_CHECKING:
    from rich.console import Console

    from clover_write.bench.journal import Outcome
    from clover_write.bench.labelled import Labelled
    from clover_write.bench.restructuring import Trial

LANGUAGES = ("en", "zh")
SCORERS = ("engine", "labels", "first", "alias", "bm25", "words")
# documents of other people on this machine, beside the notes kept for benchmarks
FOUND = (Path(sysconfig.get_path("purelib")), Path("../shared/data/notes"))
EXAMPLES = """examples:
  clover-write bench documents
  clover-write bench documents --part placing --language zh --half test --resume out.jsonl
  clover-write bench documents --part placing --scorer words,first,alias,bm25
  clover-write bench documents --part loss --documents ~/notes --every 5
  clover-write bench documents --part loss --documents ~/notes --every 50 --model

Placing: the first scorer is what the others are compared with, document by document.
"""


def add_to(benches: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `documents` to the benchmarks."""
    parser = benches.add_parser(
        "documents",
        help="restructuring: blocks find their sections, and nothing is lost",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--part", choices=("placing", "loss"), help="one of the two only")
    parser.add_argument("--every", type=_positive, default=1, metavar="N", help="each N-th")
    parser.add_argument("--language", choices=LANGUAGES, help="placing: one of them only")
    parser.add_argument("--half", choices=("tune", "test"), help="placing: every other document")
    parser.add_argument(
        "--scorer", type=_scorers, default=SCORERS, metavar="LIST", help=f"of {','.join(SCORERS)}"
    )
    parser.add_argument(
        "--documents", type=Path, action="append", metavar="DIR", help="loss: folders to read"
    )
    parser.add_argument("--model", action="store_true", help="loss: place by the engine")
    parser.add_argument("--engine", choices=("inproc", "process", "fake"), default="inproc")
    parser.add_argument("--threads", type=_positive, default=2, metavar="N")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every figure there")
    parser.add_argument(
        "--resume", type=Path, metavar="FILE", help="placing: keep results there, go on from there"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Run what was asked for and print the tables. Raises CloverError."""
    from clover_write.bench.report import machine

    figures: dict[str, Any] = {
        "run": {"benchmark": "documents", "date": time.strftime("%Y-%m-%d"), "every": args.every},
        "machine": machine(),
        **asyncio.run(_measure(args)),
    }
    _show(figures)
    if args.json:
        text = json.dumps(figures, indent=2, ensure_ascii=False)
        args.json.write_text(text + "\n", encoding="utf-8")
    return 0


async def _measure(args: argparse.Namespace) -> dict[str, Any]:
    from clover_write.bench import placing_figures, restructuring_figures

    config = replace(load_config().with_engine(args.engine), threads=args.threads)
    found: dict[str, Any] = {}
    if args.part != "loss":
        found["placing"] = placing_figures.figures(await _placing(args, config))
    if args.part != "placing":
        found["loss"] = restructuring_figures.figures(await _loss(args, config))
    return found


async def _placing(args: argparse.Namespace, config: Config) -> list[Outcome]:
    from clover_write.app import connect
    from clover_write.bench import documents
    from clover_write.bench.journal import Journal

    labelled = _labelled(args)
    plan = {"benchmark": "documents", "scorer": list(args.scorer), "engine": args.engine}
    client = connect(config)
    try:
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            journal = stack.enter_context(Journal(args.resume or folder / "journal", plan))
            rows = documents.placers(args.scorer, client)
            return await documents.run(labelled, rows, journal, _tell)
    finally:
        await client.close()


def _labelled(args: argparse.Namespace) -> list[Labelled]:
    from clover_write.bench.labelled import Half, load

    languages = [args.language] if args.language else LANGUAGES
    half = args.half and Half(args.half)
    return [each for language in languages for each in load(language, half)[:: args.every]]


async def _loss(args: argparse.Namespace, config: Config) -> list[Trial]:
    from clover_templates.engine_scorer import EngineScorer
    from clover_templates.fitting import fitting
    from clover_templates.library import Library
    from clover_templates.scoring import WordScorer
    from clover_write.app import connect
    from clover_write.bench.restructuring import TEMPLATES, attempt, found

    entries = Library.of().entries()
    folders = args.documents or FOUND
    documents = found(folders)[:: args.every]
    if not documents:
        raise CloverError(f"no Markdown or text file below {' '.join(map(str, folders))}")
    client = connect(config)
    scorer = EngineScorer(client) if args.model else WordScorer()
    trials: list[Trial] = []
    try:
        for number, (path, document) in enumerate(documents, start=1):
            for entry in fitting(document, entries, most=TEMPLATES):
                trials.append(await attempt(path, document, entry.template, scorer))
            _tell(number, len(documents))
    finally:
        await client.close()
    return trials


def _tell(done: int, total: int) -> None:
    if done == total or done % max(total // 20, 1) == 0:
        print(f"{done} of {total} documents", file=sys.stderr)


def _show(figures: dict[str, Any]) -> None:
    from rich.console import Console

    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = 120
    for name, table in figures.get("placing", {}).items():
        _show_placing(console, name, table)
    for name, value in figures.get("loss", {}).items():
        shown = f"{value:.3f}" if isinstance(value, float) else value
        console.print(f"{name}: {shown}", markup=False)


def _show_placing(console: Console, name: str, figures: dict[str, Any]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    first = next(iter(figures["rows"]))
    columns = ("row", "blocks", "right", "left over", "wrong", "ms a block", f"{first} / row")
    title = f"{name}: {figures['documents']} documents"
    table = Table(*columns, title=title, box=SIMPLE_HEAD, title_justify="left")
    for row, shares in figures["rows"].items():
        parts = [f"{shares[part]:.1%}" for part in ("right", "leftover", "wrong")]
        ms, ratio = f"{shares['ms a block']:.1f}", f"{shares['first row / this']:.2f}"
        table.add_row(row, str(shares["blocks"]), *parts, ms, ratio)
    console.print(table)
    for pair, one in figures["paired"].items():
        interval = f"{one['mean']:+.1%} [{one['low']:+.1%}, {one['high']:+.1%}]"
        documents = f"{one['better']} documents better, {one['worse']} worse, p = {one['p']:.2g}"
        console.print(f"{name}: {pair}: {interval}, {documents}", markup=False)


def _positive(text: str) -> int:
    if (number := int(text)) < 1:
        raise argparse.ArgumentTypeError(f"{text} is not 1 or more")
    return number


def _scorers(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    if unknown := sorted(set(names) - set(SCORERS)):
        raise argparse.ArgumentTypeError(f"no scorer is called {', '.join(unknown)}")
    return names
