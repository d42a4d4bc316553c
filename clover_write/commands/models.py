"""`clover-write models`: list, pull, describe and remove models."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from clover_write.config import load_config

if TYPE_CHECKING:
    from rich.progress import Progress as Bars
    from rich.progress import TaskID

    from clover_write.store import Progress, Store

PLAIN_EVERY_S = 5.0

EXAMPLES = """examples:
  clover-write models list
  clover-write models pull coder-0.5b
  clover-write models pull coder-0.5b --from ~/Downloads     the file is there already
  CLOVER_WRITE_SOURCES=modelscope clover-write models pull coder-0.5b
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `models` with its four verbs."""
    parser = subparsers.add_parser(
        "models",
        help="list, pull, describe and remove models",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    listing = verbs.add_parser(
        "list", help="the models there are, and which of them are on this machine"
    )
    listing.add_argument("--json", action="store_true", help="for programs")
    pull = verbs.add_parser("pull", help="download a model, verify it and convert it")
    pull.add_argument(
        "--from",
        dest="from_path",
        type=Path,
        metavar="PATH",
        help="take the GGUF file from here (the file or its folder) instead of the network",
    )
    pull.add_argument(
        "--json", action="store_true", help="tell progress to a program: stage, done, total (bytes)"
    )
    info = verbs.add_parser("info", help="what a model is, where it comes from and where it lies")
    remove = verbs.add_parser("rm", help="delete a model, and what a broken pull of it left")
    for verb in (pull, info, remove):
        verb.add_argument("name", metavar="NAME", help="as `clover-write models list` names it")


def run(args: argparse.Namespace) -> int:
    """Run one verb. Raises CloverError."""
    from clover_write.store import Store

    config = load_config()
    store = Store(config.cache_dir, config.sources)
    match args.verb:
        case "list":
            _list(store, config.model if args.json else None)
        case "pull":
            _pull(store, args.name, args.from_path, args.json)
        case "info":
            _info(store, args.name)
        case "rm":
            _remove(store, args.name)
    return 0


def _list(store: Store, chosen: str | None) -> None:
    """For people, or, where the `chosen` model is told, for programs."""
    if chosen is not None:
        facts = [
            {
                "name": model.name,
                "title": model.title,
                "license": model.license,
                "size": model.size,
                "ready": store.manifest(model.name) is not None,
                "chosen": model.name == chosen,
            }
            for model in store.models()
        ]
        print(json.dumps(facts, indent=2, ensure_ascii=False))
        return
    for model in store.models():
        state = "ready" if store.manifest(model.name) else "not pulled"
        size = f"{model.size / 1e9:.1f} GB"
        print(f"{model.name:<12} {state:<11} {size:>7}  {model.license}  {model.title}")


def _pull(store: Store, name: str, from_path: Path | None, as_json: bool) -> None:
    if store.manifest(name):
        print(f"{name} is already in {store.path(name)}")
        return
    with nullcontext(JsonLines()) if as_json else _progress() as progress:
        manifest = store.pull(name, from_path, progress)
    print(f"{name} is ready in {store.path(name)} (source: {manifest.source})")


def _info(store: Store, name: str) -> None:
    from clover_write.store import folder_bytes

    model, manifest = store.model(name), store.manifest(name)
    facts = {
        "title": model.title,
        "family": model.family,
        "licence": model.license,
        "file": f"{model.file}, {model.size} bytes",
        "sha256": model.sha256,
        "sources": ", ".join(source.kind for source in model.sources),
        "state": "ready" if manifest else f"not pulled: clover-write models pull {name}",
    }
    if manifest:
        facts["folder"] = f"{store.path(name)}, {folder_bytes(store.path(name))} bytes"
        facts["made from"] = f"source {manifest.source}, by clover-write {manifest.program}"
        facts["format"] = str(manifest.format)
    for label, fact in facts.items():
        print(f"{label:<10} {fact}")


def _remove(store: Store, name: str) -> None:
    freed = store.remove(name)
    print(f"{name} removed, {freed / 1e6:.0f} MB freed" if freed else f"{name} is not here")


@contextmanager
def _progress() -> Iterator[Progress]:
    """Bars with rate and time left on a terminal, a line now and then elsewhere; on stderr."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars
    from rich.progress import TransferSpeedColumn as SpeedColumn

    console = Console(stderr=True, highlight=False)
    if not console.is_terminal:
        yield Lines()
        return
    label = TextColumn("{task.description:<12}")
    columns = (label, BarColumn(), DownloadColumn(), SpeedColumn(), TimeRemainingColumn())
    with Bars(*columns, console=console) as bars:
        yield Terminal(bars)


class Terminal:
    """Shows a pull as one bar per stage."""

    def __init__(self, bars: Bars) -> None:
        self._bars = bars
        self._stages: dict[str, TaskID] = {}

    def note(self, line: str) -> None:
        """Print a line above the bars."""
        self._bars.console.print(line, markup=False)

    def step(self, stage: str, done: int, total: int) -> None:
        """Move the stage's bar, which appears with its first step."""
        if stage not in self._stages:
            self._stages[stage] = self._bars.add_task(stage, total=total, completed=done)
        self._bars.update(self._stages[stage], completed=done)


class Lines:
    """Tells of a pull in plain lines: each stage's end, and every few seconds how far it is."""

    def __init__(self) -> None:
        self._stage = ""
        self._began = (0.0, 0)
        self._told = 0.0

    def note(self, line: str) -> None:
        """Write the line."""
        print(line, file=sys.stderr, flush=True)

    def step(self, stage: str, done: int, total: int) -> None:
        """Write a line if the stage is through, or if the last one is some seconds old."""
        now = time.monotonic()
        if stage != self._stage:
            self._stage, self._began, self._told = stage, (now, done), now
        elif done >= total or now - self._told >= PLAIN_EVERY_S:
            self._told = now
            rate = (done - self._began[1]) / max(now - self._began[0], 1e-3)
            left = (total - done) / rate if rate > 0 else 0.0
            self.note(
                f"{stage} {done / total:4.0%} of {total / 1e6:.0f} MB, "
                f"{rate / 1e6:.0f} MB/s, {left:.0f} s left"
            )


class JsonLines:
    """Tells a program of a pull: an object a line on stdout for each percent; notes on stderr."""

    def __init__(self) -> None:
        self._told = ("", -1)

    def note(self, line: str) -> None:
        """Write the line."""
        print(line, file=sys.stderr, flush=True)

    def step(self, stage: str, done: int, total: int) -> None:
        """Write how far the stage is, unless that was told."""
        percent = 100 * done // max(total, 1)
        if (stage, percent) != self._told:
            self._told = stage, percent
            print(json.dumps({"stage": stage, "done": done, "total": total}), flush=True)
