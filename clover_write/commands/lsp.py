"""`clover-write lsp`: the language server an editor starts."""

from __future__ import annotations

import argparse
import gc
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clover_engine.api import EngineClient


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
        "--engine",
        choices=("process", "inproc", "fake"),
        help="where the model runs (default: the configuration)",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Serve until the editor leaves."""
    # what is imported stays: looking for garbage in it would take a tenth of the start
    gc.disable()
    from clover_lsp.server import create_server
    from clover_lsp.stdio import serve_stdio
    from clover_write import __version__

    server = create_server(lambda: _connect(args.engine), __version__)
    gc.freeze()
    gc.enable()
    return serve_stdio(server)


def _connect(engine: str | None) -> EngineClient:
    """The configured client; read late, so that the editor's `initialize` does not wait for it."""
    from clover_write.app import connect
    from clover_write.config import load_config

    config = load_config()
    return connect(replace(config, engine=engine or config.engine))
