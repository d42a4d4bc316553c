"""`clover-write bench sharing`: several users of one engine, beside one at a time."""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clover_write.config import Config, load_config

if TYPE_CHECKING:
    from clover_engine.api import Engine

# a file of the program itself: code that a person wrote, at hand on every machine
FILE = Path(__file__).parents[1] / "store.py"
EXAMPLES = """examples:
  clover-write bench sharing                        eight users, about four minutes
  clover-write bench sharing --users 4 --seconds 0  the speeds alone
"""


def add_to(benches: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `sharing` to the benchmarks."""
    sharing = benches.add_parser(
        "sharing",
        help="several users of one engine: speed at once and one at a time, fairness",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    sharing.add_argument("--users", type=int, default=8, metavar="N", help="at once (8)")
    sharing.add_argument("--tokens", type=int, default=48, metavar="N", help="of each hole (48)")
    sharing.add_argument("--rounds", type=int, default=3, metavar="N", help="the best counts (3)")
    sharing.add_argument(
        "--seconds", type=float, default=60.0, metavar="S", help="for fairness (60); 0: not at all"
    )
    sharing.add_argument(
        "--crowd", type=int, default=16, metavar="N", help="requests of a greedy user beside (16)"
    )
    sharing.add_argument("--threads", type=int, default=2, metavar="N", help="(2)")
    sharing.add_argument("--fake", action="store_true", help="without a model, to try the bench")
    sharing.add_argument("--json", type=Path, metavar="FILE", help="write every figure there")
    sharing.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Measure and print. Raises CloverError."""
    from clover_write.bench.report import machine

    config = replace(load_config(), threads=args.threads, cache_mb=1024)
    figures = {
        "run": {
            "benchmark": "sharing",
            "date": time.strftime("%Y-%m-%d"),
            "threads": args.threads,
            "tokens a hole": args.tokens,
        },
        "machine": machine(),
        **asyncio.run(_measure(args, config)),
    }
    _show(figures)
    if args.json:
        args.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    return 0


async def _measure(args: argparse.Namespace, config: Config) -> dict[str, Any]:
    from clover_engine.fake import FakeEngine, Script
    from clover_engine.runner import Runner
    from clover_write.app import local_engine
    from clover_write.bench.sharing import fairness, speeds, users_of

    def load() -> Engine:
        return (
            FakeEngine(Script("one two three four", step_ms=1))
            if args.fake
            else local_engine(config)
        )

    runner = Runner(load)
    users = users_of(runner, FILE.read_text(encoding="utf-8"), args.users)
    figures: dict[str, Any] = {"speeds": await speeds(users, args.tokens, args.rounds)}
    if args.seconds:
        figures["equal users"] = await fairness(users, args.seconds)
        figures["beside a crowd"] = await fairness(users, args.seconds, args.crowd)
    await asyncio.to_thread(runner.close)
    return figures


def _show(figures: dict[str, Any]) -> None:
    for part in ("run", "machine"):
        print(" · ".join(f"{name}: {value}" for name, value in figures[part].items()))
    speeds = figures["speeds"]
    print(f"\n{speeds['users']} holes, prompts in the cache, no drafts")
    names = ("one at a time", "at once", "ratio")
    print(f"{'':<20}" + "".join(f"{name:>15}" for name in names))
    for unit in speeds["ratio"]:
        print(f"{unit:<20}" + "".join(f"{speeds[name][unit]:>15.2f}" for name in names))
    print(f"identical texts: {'yes' if speeds['identical texts'] else 'NO'}")
    for name in ("equal users", "beside a crowd"):
        if served := figures.get(name):
            tokens = ", ".join(f"{who} {count}" for who, count in served["tokens"].items())
            print(
                f"\n{name}, {served['seconds']:g} s, most to least {served['most to least']:.2f}:"
                f" tokens of {tokens}"
            )
