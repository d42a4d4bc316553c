"""`clover-write lsp`: the language server an editor starts."""

from __future__ import annotations

import argparse
from dataclasses import replace

from clover_write.config import ENGINES


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the subcommand."""
    parser = subparsers.add_parser(
        "lsp",
        help="the language server an editor starts",
        description="Speak LSP on standard input and output, for one editor.",
        epilog="examples:\n"
        "  clover-write lsp --stdio                  what editors start\n"
        "  clover-write lsp --stdio --engine fake    without a model, to try an editor\n"
        "\neditors/README.md has the configuration of VS Code and Neovim.\n",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--stdio", action="store_true", help="the transport, and the only one")
    parser.add_argument(
        "--engine", choices=ENGINES, help="where the model runs (default: the configuration)"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Serve until the editor leaves."""
    from clover_lsp.server import create_server
    from clover_write import __version__
    from clover_write.app import connect
    from clover_write.config import load_config

    config = load_config()
    if args.engine:
        config = replace(config, engine=args.engine)
    create_server(lambda: connect(config), __version__).start_io()
    return 0
