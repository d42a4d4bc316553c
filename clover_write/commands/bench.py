"""`clover-write bench`: quality and speed, against peers run in the same call."""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from clover_engine.errors import CloverError
from clover_write.commands import bench_documents, bench_lsp, bench_notes, bench_sharing
from clover_write.config import Config, load_config

if TYPE_CHECKING:
    from clover_write.bench.journal import Outcome
    from clover_write.bench.rows import Row
    from clover_write.bench.sandbox import Sandbox

KINDS = ("single-line", "single-line-open", "multi-line", "random-span", "random-span-light")
CASES = ("cold", "next", "moved", "bracket", "long")
HEI_EXAMPLES = """examples:
  clover-write bench hei --data DIR --every 10
  clover-write bench hei --data DIR --cases cold --rows int8-lookup,int8-none,reference-none \\
      --gguf model-q4_k_m.gguf
  clover-write bench hei --data DIR --kind multi-line --every 20 --half test --cases cold \\
      --rows int8-lookup-rules,int8-lookup-learned,int8-lookup-both
  clover-write bench hei --data DIR --every 20 --half test --cases cold \\
      --rows int8-none,int8-lookup,int8-masks,int8-both
  clover-write bench hei --data DIR --every 10 --json out.json --resume out.jsonl \\
      --peer-bin llama.cpp/build/bin/llama-server --peer-gguf model-q4_k_m.gguf
"""


# beside the checkout, where the benchmark data of this project is kept
DATA = Path("../shared/data/human-eval-infilling")


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `bench` and its benchmarks."""
    parser = subparsers.add_parser("bench", help="measure quality and speed against peers")
    benches = parser.add_subparsers(metavar="BENCHMARK", required=True)
    hei = benches.add_parser(
        "hei",
        help="HumanEval-Infilling: fill a hole, run the tests",
        epilog=HEI_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_hei_arguments(hei)
    bench_notes.add_to(benches)
    bench_lsp.add_to(benches)
    bench_documents.add_to(benches)
    bench_sharing.add_to(benches)
    hei.set_defaults(run=run)


def _add_hei_arguments(hei: argparse.ArgumentParser) -> None:
    hei.add_argument(
        "--data",
        type=Path,
        default=DATA,
        metavar="DIR",
        help=f"folder of its task files ({DATA})",
    )
    hei.add_argument("--kind", choices=KINDS, default=KINDS[0])
    hei.add_argument(
        "--every", type=_positive, default=1, metavar="N", help="take each N-th problem"
    )
    hei.add_argument(
        "--half", choices=("tune", "test"), help="functions of even or of odd number only"
    )
    hei.add_argument(
        "--cases", type=_cases, default=list(CASES), metavar="LIST", help=f"of {','.join(CASES)}"
    )
    hei.add_argument(
        "--rows", type=_names, metavar="LIST", help="several of PRECISION-DRAFTING[-ENDS], paired"
    )
    hei.add_argument("--precision", choices=("int8", "bf16"), default="int8", help="without --rows")
    hei.add_argument("--drafting", choices=("lookup", "none"), default="lookup")
    hei.add_argument("--engine", choices=("inproc", "process", "fake"), default="inproc")
    hei.add_argument(
        "--threads", type=_positive, default=2, metavar="N", help="for us and for peers (2)"
    )
    hei.add_argument(
        "--gguf", type=Path, metavar="PATH", help="the original model, for rows reference-*"
    )
    hei.add_argument("--peer-bin", type=Path, metavar="PATH", help="a llama-server")
    hei.add_argument("--peer-gguf", type=Path, metavar="PATH", help="the model it serves")
    hei.add_argument(
        "--peer-q4-gguf", type=Path, metavar="PATH", help="the same in Q4_0 (else made, if it can)"
    )
    hei.add_argument("--json", type=Path, metavar="FILE", help="write every figure there")
    hei.add_argument(
        "--resume", type=Path, metavar="FILE", help="keep results there; go on where they end"
    )


def run(args: argparse.Namespace) -> int:
    """Run HumanEval-Infilling and print its tables. Raises CloverError."""
    from clover_write.bench.report import report
    from clover_write.bench.sandbox import Sandbox
    from clover_write.bench.table import show

    if bool(args.peer_bin) != bool(args.peer_gguf):
        raise CloverError("a peer needs both --peer-bin and --peer-gguf")
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that peers are ended too
    sandbox = Sandbox()
    settings = {
        "benchmark": f"HumanEval-Infilling {args.kind}, every {args.every}",
        "engine": args.engine,
        "threads": args.threads,
        "tests run": sandbox.isolation,
    }
    figures = report(settings, *asyncio.run(_measure(args, sandbox)))
    show(figures)
    if args.json:
        args.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    return 0


async def _measure(
    args: argparse.Namespace, sandbox: Sandbox
) -> tuple[Sequence[Row], dict[str, str], list[Outcome]]:
    from clover_write.bench import hei, run
    from clover_write.bench.journal import Journal

    problems = hei.load(args.data, args.kind, args.every, args.half and hei.Half(args.half))
    config = replace(load_config().with_engine(args.engine), threads=args.threads)
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        rows: list[Row] = []
        for row in _rows(args, config, folder):
            stack.push_async_callback(row.close)
            rows.append(row)
        settings = {
            name: getattr(args, name) for name in ("kind", "half", "cases", "engine", "threads")
        }
        plan = {**settings, "rows": [row.name for row in rows]}
        journal = stack.enter_context(Journal(args.resume or folder / "journal", plan))
        outcomes = await run.run(
            problems, hei.KINDS[args.kind], args.cases, rows, sandbox, journal, _show_progress
        )
        about = {row.name: await row.about() for row in rows}
    return rows, about, outcomes


def _rows(args: argparse.Namespace, config: Config, folder: Path) -> Iterator[Row]:
    """Our rows, then the peer's, whose model is brought to Q4_0 in `folder` where it can be."""
    from clover_write.bench.rows import engine_rows

    names = args.rows or [f"{args.precision}-{args.drafting}"]
    yield from engine_rows(names, config, args.gguf or args.peer_gguf)
    if args.peer_bin:
        from clover_write.bench.peers import Program, start_peers, with_our_prompt

        program = Program(args.peer_bin)
        q4_gguf = args.peer_q4_gguf or program.requantised(args.peer_gguf, folder)
        same = with_our_prompt(config)
        yield from start_peers(program, args.peer_gguf, q4_gguf, args.threads, same)


def _show_progress(done: int, total: int) -> None:
    if done == total or done % max(total // 20, 1) == 0:
        print(f"{done} of {total} problems", file=sys.stderr)


def _positive(text: str) -> int:
    if (number := int(text)) < 1:
        raise argparse.ArgumentTypeError(f"{text} is not 1 or more")
    return number


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _cases(text: str) -> list[str]:
    names = _names(text)
    if unknown := sorted(set(names) - set(CASES)):
        raise argparse.ArgumentTypeError(f"no case is called {', '.join(unknown)}")
    return names
