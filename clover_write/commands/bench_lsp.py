"""`clover-write bench lsp`: a typing session through the real server, and what it costs."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from contextlib import AsyncExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clover_engine.errors import CloverError
from clover_write.config import load_config

if TYPE_CHECKING:
    from clover_write.bench.editor import Editor

PARTS = ("typing", "handlers", "growth", "idle")
# a file of the program itself: code that a person wrote, at hand on every machine
FILE = Path(__file__).parents[1] / "text_file.py"
SERVER = [sys.executable, "-P", "-m", "clover_write", "lsp", "--stdio", "--engine"]
PEER = [sys.executable, "-P", "-m", "clover_write.bench.bare_server"]
MIB = 1024 * 1024
SCRIPT = '# clover-fake: {"text": "written(by, the, fake, engine)"}\n'
SCRIPT_LINES = 500
EXAMPLES = """examples:
  clover-write bench lsp                               about four minutes, without a model
  clover-write bench lsp --engine process              the typing with the configured model
  clover-write bench lsp --parts typing --speed 4      pauses a quarter as long: says so
  clover-write bench lsp --file notes.md --chars 3000 --json out.json

Times are taken in the client: each includes a round trip. Needs psutil: pip install '.[bench]'.
"""


class BenchError(CloverError):
    """The benchmark cannot be run like this."""


def add_to(benches: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `lsp` to the benchmarks."""
    lsp = benches.add_parser(
        "lsp",
        help="a file typed into the language server: latency, characters saved, CPU, memory",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    lsp.add_argument("--file", type=Path, default=FILE, help="what is typed (a file of our own)")
    lsp.add_argument("--chars", type=int, default=1200, metavar="N", help="its beginning (1200)")
    lsp.add_argument("--seed", type=int, default=1, metavar="N", help="of slips and jumps (1)")
    lsp.add_argument(
        "--speed", type=float, default=1.0, metavar="X", help="type X times as fast as people (1)"
    )
    lsp.add_argument("--engine", choices=("fake", "process"), default="fake", help="for the typing")
    lsp.add_argument(
        "--parts", default=",".join(PARTS), metavar="LIST", help=f"of {','.join(PARTS)}"
    )
    lsp.add_argument("--json", type=Path, metavar="FILE", help="write every figure there")
    lsp.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Measure and print. Raises CloverError."""
    from clover_write.bench.lsp_table import show
    from clover_write.bench.report import machine

    if not find_spec("psutil"):
        raise BenchError("processes are measured by psutil: pip install 'clover-write[bench]'")
    parts = args.parts.split(",")
    if unknown := sorted(set(parts) - set(PARTS)):
        raise BenchError(f"no part is called {', '.join(unknown)}: choose of {', '.join(PARTS)}")
    file = _read(args.file)
    figures = {
        "run": {
            "benchmark": "lsp",
            "date": time.strftime("%Y-%m-%d"),
            "file": f"{args.file.name}, {min(len(file), args.chars)} characters, seed {args.seed}",
            "engine": args.engine,
            "typing speed": f"{8 * args.speed:g} characters a second"
            + ("" if args.speed == 1 else f", {args.speed:g} times a person's"),
        },
        "machine": machine(),
        **asyncio.run(_measure(args, file, parts)),
    }
    show(figures)
    if args.json:
        args.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    return 0


def _read(path: Path) -> str:
    try:
        text = path.read_bytes().decode()
    except (OSError, UnicodeDecodeError) as error:
        raise BenchError(f"{path} cannot be read as text: {error}") from error
    if not text.strip():
        raise BenchError(f"{path} holds nothing to type")
    return text


async def _measure(args: argparse.Namespace, file: str, parts: list[str]) -> dict[str, Any]:
    from clover_write.bench import load
    from clover_write.bench.editor import Editor

    figures: dict[str, Any] = {}
    text = file[: args.chars]
    if "typing" in parts:
        async with Editor([*SERVER, args.engine]) as editor:
            figures["typing"] = await _type(args, text, editor)
    async with AsyncExitStack() as stack:
        ours = await stack.enter_async_context(Editor([*SERVER, "fake"]))
        if "handlers" in parts:
            peer = await stack.enter_async_context(Editor(PEER))
            figures["handlers"] = await load.handlers(ours, peer, large_documents(file), 400)
        if "growth" in parts:
            figures["growth"] = await load.growth(ours, SCRIPT + text, 2000, 200)
        if "idle" in parts:
            figures["idle"] = await load.idle(ours)
    return figures


async def _type(args: argparse.Namespace, text: str, editor: Editor) -> dict[str, Any]:
    import psutil

    from clover_write.bench import load
    from clover_write.bench.typing_script import typing_script
    from clover_write.bench.typing_session import TypingSession

    script = list(typing_script(text, args.seed))
    processes = {"server": psutil.Process(editor.pid)}
    if args.engine == "process":
        processes["engine"] = psutil.Process(await _engine_pid(editor))
    before = {name: load.cpu_seconds(each) for name, each in processes.items()}
    session = TypingSession(editor, text, args.speed)
    await session.play(script)
    minutes = sum(key.pause_s for key in script) / 60
    return {
        "keystrokes": len(script),
        "minutes": minutes,
        **session.figures(),
        "cpu s a minute of typing": {
            name: (load.cpu_seconds(each) - before[name]) / minutes
            for name, each in processes.items()
        },
    }


async def _engine_pid(editor: Editor) -> int:
    """The engine's process, once it has loaded and answered. Raises BenchError."""
    from clover_engine.address import default_place
    from clover_write.bench.load import wait_for_engine

    await wait_for_engine(editor)
    config = load_config()
    note = default_place(config.model, config.precision).read()
    if note is None:
        raise BenchError("no engine was started: clover-write doctor says why")
    return note.pid


def large_documents(text: str) -> dict[str, str]:
    """`text` over and over: to 10,000 lines, to 50,000 lines, to 5 MB.

    The fake engine finds a script all over them: there is an answer at every place.
    """
    lines = text.splitlines(keepends=True)
    block = [SCRIPT, *(lines * (SCRIPT_LINES // len(lines) + 1))[: SCRIPT_LINES - 1]]
    size = sum(len(line.encode()) for line in block)
    return {
        "10,000 lines": "".join(block * (10_000 // SCRIPT_LINES)),
        "50,000 lines": "".join(block * (50_000 // SCRIPT_LINES)),
        "5 MB": "".join(block * (5 * MIB // size + 1)),
    }
