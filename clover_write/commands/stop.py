"""`clover-write stop`: asks the running engines to leave and waits until they have."""

from __future__ import annotations

import argparse

EPILOG = """\
Stopping is always safe: an editor that needs the engine again starts it again.

example:
  clover-write stop                       free the memory the model takes
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser(
        "stop",
        help="stop the running engine",
        description="Ask every running engine of this user to leave, and wait until it has.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Stop them one after the other; raises EngineUnavailable when one does not leave."""
    import asyncio

    from clover_engine.address import places
    from clover_engine.client import stop_engine

    stopped = [place.name for place in places() if asyncio.run(stop_engine(place))]
    for name in stopped:
        print(f"stopped the engine of {name}")
    if not stopped:
        print("no engine runs")
    return 0
