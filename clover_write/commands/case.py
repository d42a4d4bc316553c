"""`clover-write case replay FILE`: a saved completion, asked again."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clover_engine.api import Filled
    from clover_lsp.cases import Case

EPILOG = """\
A case is the text around one completion with the letters and digits of long words replaced, the
answer, and its times. Editors write it: run "Save this completion as a case" from their source
actions, or the command clover-write.saveCase.

examples:
  clover-write case replay case.json
  clover-write case replay case.json --engine inproc
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `case`."""
    parser = subparsers.add_parser(
        "case",
        help="ask a completion again that was saved for a bug report",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    actions = parser.add_subparsers(metavar="ACTION", required=True)
    replay = actions.add_parser("replay", help="fill its hole again and print what differs")
    replay.add_argument("file", type=Path, metavar="FILE", help="the saved case")
    replay.add_argument("--engine", choices=("process", "inproc", "fake"), help="where it runs")
    replay.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Replay the case. Raises CloverError."""
    import asyncio
    import time

    from clover_lsp.cases import Case, CaseError
    from clover_write.app import connect
    from clover_write.config import load_config

    try:
        case = Case.read(args.file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise CaseError(f"{args.file} cannot be read: {error}") from error
    config = load_config()
    client = connect(config.with_engine(args.engine))

    async def fill() -> tuple[Filled, float]:
        try:
            # loaded first: the time is to be that of the answer alone
            await client.fill(replace(case.request, deadline_ms=None))
            start = time.perf_counter()
            filled = await client.fill(replace(case.request, deadline_ms=None))
            return filled, (time.perf_counter() - start) * 1000
        finally:
            await client.close()

    _show(case, *asyncio.run(fill()))
    return 0


def _show(case: Case, filled: Filled, ms: float) -> None:
    import difflib

    print(" · ".join(f"{name}: {value}" for name, value in case.about.items()))
    print(f"saved: {_line(case.filled, case.ms)}")
    print(f"now:   {_line(filled, ms)}")
    before, after = _text(case.filled), _text(filled)
    difference = difflib.unified_diff(before, after, "saved", "now", lineterm="")
    print("\n".join(difference) or "the same text")


def _text(filled: Filled) -> list[str]:
    return [line for fill in filled.fills for line in fill.text.splitlines()]


def _line(filled: Filled, ms: float) -> str:
    fill, stats = filled.fills[0], filled.stats
    return (
        f"{fill.finish}, confidence {fill.confidence:.2f}, {stats.tokens} tokens"
        f" in {stats.forwards} forwards, {ms:.0f} ms"
    )
