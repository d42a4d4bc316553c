"""`clover-write fill FILE`: write what is missing in its masked spans."""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clover_engine.api import EngineClient, Filled
    from clover_templates.masked_spans import MaskedSpan
    from clover_write.text_file import TextFile
    from clover_write.watch import Watch

EPILOG = """\
Masked spans are [MASK], ____ (three or more), {{hint}}, 【待补：hint】 and <fill hint>. A tag may
say more: <fill choices="yes|no">, <fill pattern="[0-9]+">, <fill max=8 a colour>. A backslash
before one keeps it as it is; so does code in Markdown, unless --in-code is given.
Prints the filled text. All bytes outside the spans stay as they are; a span stays where nothing
could be written. With --watch the spans' lines are shown on stderr while they are filled, each
token in the colour of its confidence; where stderr is no terminal they are printed once, when all
is written.

examples:
  clover-write fill notes.md
  clover-write fill notes.md --diff
  clover-write fill notes.md --in-place --watch
  clover-write fill app.py --engine inproc --json
"""
MARKDOWN_SUFFIXES = frozenset({".md", ".markdown", ".mdown", ".mkd", ".mdx", ".qmd", ".rmd"})


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What came of a file: `fills` has None for each span that stays."""

    spans: tuple[MaskedSpan, ...]
    fills: tuple[str | None, ...]
    text: str
    filled: Filled
    ms: float


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `fill`."""
    parser = subparsers.add_parser(
        "fill",
        help="write what is missing in a file's masked spans",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", metavar="FILE", type=Path, help="a text file in UTF-8")
    output = parser.add_mutually_exclusive_group()
    output.add_argument("--diff", action="store_true", help="print a unified diff instead")
    output.add_argument("--in-place", action="store_true", help="change the file, print nothing")
    output.add_argument("--json", action="store_true", help="print spans, fills and costs instead")
    parser.add_argument("--watch", action="store_true", help="show how it is filled, on stderr")
    parser.add_argument("--in-code", action="store_true", help="fill spans in Markdown code too")
    parser.add_argument("--engine", choices=("process", "inproc", "fake"), help="where it runs")
    parser.add_argument("--model", help="a model's name, a pulled hub id or a checkpoint's folder")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Fill the file's spans and print or write the outcome. Raises CloverError."""
    import asyncio
    from contextlib import nullcontext

    from clover_write.app import connect
    from clover_write.config import load_config
    from clover_write.models import model_name
    from clover_write.text_file import read_text_file

    file = read_text_file(args.file)
    spans = _spans(file, args.in_code)
    config = load_config()
    model = model_name(args.model) if args.model else None
    client = connect(config.with_engine(args.engine, model))
    watch = _watch(file, spans) if args.watch else None
    with watch or nullcontext():
        outcome = asyncio.run(_fill(client, file, spans, watch))
    if args.in_place:
        file.replace(outcome.text)
    else:
        # bytes: the line ends of the file are not those of the terminal
        sys.stdout.buffer.write(_printed(args, file, outcome))
        sys.stdout.buffer.flush()
    _tell_left(file, outcome)
    return 0


def _spans(file: TextFile, in_code: bool) -> tuple[MaskedSpan, ...]:
    from clover_templates.masked_spans import SpanError, find_spans

    markdown = file.path.suffix.lower() in MARKDOWN_SUFFIXES
    try:
        return find_spans(file.document.text, markdown=markdown, in_code=in_code)
    except SpanError as error:
        raise SpanError(f"{file.path}:{error}") from error


def _watch(file: TextFile, spans: tuple[MaskedSpan, ...]) -> Watch:
    from clover_write.watch import Watch

    return Watch(file.document.text, [(span.start, span.end) for span in spans], context=1)


async def _fill(
    client: EngineClient, file: TextFile, spans: tuple[MaskedSpan, ...], watch: Watch | None
) -> _Outcome:
    from dataclasses import replace

    from clover_engine.errors import RequestError
    from clover_templates.span_canvas import apply, canvas_request, placed, written

    document = file.document
    # no deadline: it may have to wait until the engine has loaded
    request = canvas_request(document.text, spans, document=document.uri)
    request = replace(request, watch=watch is not None)
    try:
        start = time.perf_counter()
        filled = await client.fill(request, watch.show if watch else None)
        ms = (time.perf_counter() - start) * 1000
    except RequestError as error:
        named = placed(error, document.text, spans)
        raise error if named is error else RequestError(f"{file.path}:{named}") from error
    finally:
        await client.close()
    fills = written(document.text, spans, filled.fills)
    if watch:
        watch.finish(filled, fills)
    return _Outcome(spans, fills, apply(document.text, spans, fills), filled, ms)


def _printed(args: argparse.Namespace, file: TextFile, outcome: _Outcome) -> bytes:
    import json

    if args.json:
        return (json.dumps(_answer(file, outcome), indent=2) + "\n").encode()
    if args.diff:
        return file.diff(outcome.text)
    return file.encoded(outcome.text)


def _answer(file: TextFile, outcome: _Outcome) -> dict[str, Any]:
    from dataclasses import asdict

    text, content = file.document.text, file.document.content
    spans: list[dict[str, Any]] = []
    for span, fill, given in zip(outcome.spans, outcome.fills, outcome.filled.fills, strict=True):
        line = content.line_of(span.start)
        spans.append(
            {
                "line": line + 1,
                "column": span.start - content.starts[line] + 1,
                "mask": text[span.start : span.end],
                "text": fill,
                "confidence": given.confidence,
                "finish": str(given.finish),
            }
        )
    stats = asdict(outcome.filled.stats)
    return {"spans": spans, "text": outcome.text, "ms": outcome.ms, "stats": stats}


def _tell_left(file: TextFile, outcome: _Outcome) -> None:
    from clover_templates.masked_spans import place

    pairs = zip(outcome.spans, outcome.fills, strict=True)
    left = [place(file.document.text, span.start) for span, fill in pairs if fill is None]
    if left:
        sys.stderr.write(
            f"clover-write: {len(left)} of {len(outcome.spans)} spans stay, nothing was written"
            f" there: {', '.join(f'{file.path}:{at}' for at in left)}\n"
        )
