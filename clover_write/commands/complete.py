"""`clover-write complete FILE:LINE:COL`: what would be written at that place."""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clover_engine.errors import CloverError

if TYPE_CHECKING:
    from clover_engine.api import EngineClient, Filled
    from clover_lsp.documents import Document
    from clover_write.watch import Watch

EPILOG = """\
Lines and columns count from 1, columns in characters: FILE:1:1 is before the first character.
The file is only read. Prints what would be inserted there, nothing when nothing fits.
With --watch the lines around it are shown on stderr while it is written, each token in the colour
of its confidence; where stderr is no terminal they are printed once, when all is written.

examples:
  clover-write complete notes.md:12:1
  clover-write complete notes.md:12:1 --watch
  clover-write complete src/app.py:40:13 --json
  clover-write complete 'C:\\work\\app.py:3:4' --engine inproc
"""


class PlaceError(CloverError):
    """There is no such place."""


@dataclass(frozen=True, slots=True)
class Cursor:
    """A place in a file; `line` and `column` count from 1, columns in characters."""

    path: Path
    line: int
    column: int


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `complete`."""
    parser = subparsers.add_parser(
        "complete",
        help="print what would be written at a place in a file",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("place", metavar="FILE:LINE:COL", help="where the cursor stands")
    parser.add_argument("--json", action="store_true", help="text, range, confidence and costs")
    parser.add_argument("--watch", action="store_true", help="show how it is written, on stderr")
    parser.add_argument("--engine", choices=("process", "inproc", "fake"), help="where it runs")
    parser.add_argument("--model", help="a model's name, a pulled hub id or a checkpoint's folder")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Complete at the place and print it. Raises CloverError."""
    import asyncio
    import json
    from contextlib import nullcontext

    from clover_write.app import connect
    from clover_write.config import load_config
    from clover_write.models import model_name
    from clover_write.text_file import read_text_file

    cursor = parse_place(args.place)
    document = read_text_file(cursor.path).document
    offset = offset_of(document, cursor)
    config = load_config()
    model = model_name(args.model) if args.model else None
    client = connect(config.with_engine(args.engine, model))
    watch = watch_at(document, offset) if args.watch else None
    with watch or nullcontext():
        answer = asyncio.run(complete(client, document, offset, cursor, watch))
    print(json.dumps(answer, indent=2) if args.json else answer["text"])
    return 0


def parse_place(place: str) -> Cursor:
    """FILE:LINE:COL, where FILE may begin with a drive. Raises PlaceError."""
    path, *numbers = place.rsplit(":", 2)
    if not path or len(numbers) != 2 or not all(number.isdecimal() for number in numbers):
        raise PlaceError(f"{place!r} is no place: write FILE:LINE:COL, for example notes.md:12:1")
    line, column = map(int, numbers)
    if line < 1 or column < 1:
        raise PlaceError(f"{place!r} lies before the file: lines and columns count from 1")
    return Cursor(Path(path), line, column)


def offset_of(document: Document, cursor: Cursor) -> int:
    """The offset of the cursor. Raises PlaceError when the document does not reach so far."""
    lines = len(document.content.starts)
    if cursor.line > lines:
        raise PlaceError(f"line {cursor.line} lies outside {cursor.path}: its last line is {lines}")
    columns = len(document.content.line_content(cursor.line - 1)) + 1
    if cursor.column > columns:
        raise PlaceError(
            f"column {cursor.column} lies outside line {cursor.line} of {cursor.path}:"
            f" its last column is {columns}"
        )
    return document.content.starts[cursor.line - 1] + cursor.column - 1


async def complete(
    client: EngineClient,
    document: Document,
    offset: int,
    cursor: Cursor,
    watch: Watch | None = None,
) -> dict[str, Any]:
    """The answer as `--json` prints it; its text is empty when there is nothing to insert.

    `watch` shows how it is written. Closes the client; raises CloverError.
    """
    from dataclasses import replace

    from clover_lsp.confidentiality import is_marked
    from clover_lsp.infill import Trigger, plan, settle
    from clover_lsp.languages import language_of

    asked, language = Trigger.INVOKED, language_of(cursor.path)
    request = plan(document.text, offset, language, trigger=asked, document=document.uri)
    # no deadline: it may have to wait until the engine has loaded
    request = replace(
        request,
        deadline_ms=None,
        watch=watch is not None,
        private=is_marked(document.text),
    )
    try:
        start = time.perf_counter()
        filled = await client.fill(request, watch.show if watch else None)
        ms = (time.perf_counter() - start) * 1000
    finally:
        await client.close()
    fill = filled.fills[0]
    text = settle(document.text, offset, fill.text, language, trigger=asked, finish=fill.finish)
    text = text or ""
    if watch:
        watch.finish(filled, [text])
    return _answer(text.replace("\n", document.eol), filled, ms, cursor)


def watch_at(document: Document, offset: int) -> Watch:
    """Shows the lines around `offset`."""
    from clover_write.watch import Watch

    return Watch(document.text, [(offset, offset)], context=3)


def _answer(text: str, filled: Filled, ms: float, cursor: Cursor) -> dict[str, Any]:
    from dataclasses import asdict

    fill, place = filled.fills[0], {"line": cursor.line, "column": cursor.column}
    return {
        "text": text,
        "range": {"start": place, "end": place},
        "confidence": fill.confidence,
        "finish": str(fill.finish),
        "ms": ms,
        "stats": asdict(filled.stats),
    }
