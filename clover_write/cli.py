"""The `clover-write` command: finds the subcommand, runs it, prints an error once."""

from __future__ import annotations

import argparse
import importlib
import logging
import sys
from collections.abc import Sequence

from clover_engine.errors import CloverError
from clover_write import __version__

COMMANDS = (
    "complete",
    "fill",
    "toc",
    "tags",
    "restructure",
    "check",
    "templates",
    "lsp",
    "playground",
    "engine",
    "stop",
    "models",
    "doctor",
    "stats",
    "case",
    "bench",
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one subcommand; exit status 0, 1 for an error of ours, 2 for wrong usage."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    parser = _parser(arguments)
    args = parser.parse_args(arguments)
    logging.basicConfig(
        level=logging.DEBUG if args.verbose else logging.WARNING,
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
        stream=sys.stderr,
    )
    try:
        status: int = args.run(args)
    except CloverError as error:
        sys.stderr.write(f"clover-write: {error}\n")
        return 1
    except KeyboardInterrupt:
        return 130
    return status


def _parser(arguments: list[str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="clover-write",
        description="A local co-writing server: infill at the cursor that sees both sides of it.",
        epilog="first steps:\n"
        "  clover-write models pull coder-0.5b    fetch the embedded model (491 MB)\n"
        "  clover-write playground                a page to try it in\n"
        "  clover-write complete notes.md:12:1    what would be written there\n"
        "  clover-write fill notes.md --diff      what would stand in its [MASK]s and ____s\n"
        "  clover-write lsp --stdio               what an editor starts\n",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"clover-write {__version__}")
    parser.add_argument("-v", "--verbose", action="store_true", help="log more, to stderr")
    subparsers = parser.add_subparsers(metavar="COMMAND", required=True)
    for name in _wanted(arguments):
        importlib.import_module(f"clover_write.commands.{name}").add_parser(subparsers)
    return parser


def _wanted(arguments: list[str]) -> tuple[str, ...]:
    """The subcommands to import: an editor's `lsp` should not wait for the others."""
    first = next((argument for argument in arguments if not argument.startswith("-")), "")
    return (first,) if first in COMMANDS else COMMANDS
