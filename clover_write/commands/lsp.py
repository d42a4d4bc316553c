"""`clover-write lsp`: the language server an editor starts."""

from __future__ import annotations

import argparse
import gc
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clover_engine.api import EngineClient
    from clover_lsp.protocol import CloverServer


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the subcommand."""
    parser = subparsers.add_parser(
        "lsp",
        help="the language server an editor starts",
        description="Speak LSP on standard input and output, for one editor; or over WebSocket.",
        epilog="examples:\n"
        "  clover-write lsp --stdio                  what editors start\n"
        "  clover-write lsp --stdio --engine fake    without a model, to try an editor\n"
        "  clover-write lsp --websocket 127.0.0.1:0  for editors in a browser; prints the URL\n"
        "\neditors/README.md has the configuration of VS Code and Neovim.\n",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    transport = parser.add_mutually_exclusive_group()
    transport.add_argument("--stdio", action="store_true", help="the transport, unless told")
    transport.add_argument(
        "--websocket", metavar="HOST:PORT", help="listen there; its token is printed with the URL"
    )
    parser.add_argument(
        "--allow-origin",
        action="append",
        default=[],
        metavar="URL",
        help="let in pages from there, beside those of this machine (as https://ide.example)",
    )
    parser.add_argument(
        "--allow-host",
        action="append",
        default=[],
        metavar="NAME[:PORT]",
        help="a name by which clients may call this server, beside its address",
    )
    parser.add_argument(
        "--engine",
        choices=("process", "inproc", "fake"),
        help="where the model runs (default: the configuration)",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Serve until the editor leaves. Raises ListenError."""
    # what is imported stays: looking for garbage in it would take a tenth of the start
    gc.disable()
    create = server_factory(args.engine)
    if args.websocket:
        return _serve_websocket(args, create)
    server = create()
    gc.freeze()
    gc.enable()
    server.start_io()
    return 0


def server_factory(engine: str | None) -> Callable[[], CloverServer]:
    """Makes a server for one editor; `engine` says where the model runs, None: as configured."""
    from clover_lsp.server import create_server
    from clover_write import __version__

    return lambda: create_server(lambda: _connect(engine), __version__, _template_folder)


def _template_folder() -> Path:
    from clover_write.config import config_path

    return config_path().with_name("templates")


def _serve_websocket(args: argparse.Namespace, create: Callable[[], CloverServer]) -> int:
    """Serve browsers until the process is told to end. Raises ListenError."""
    import asyncio

    from clover_lsp.websocket import Door, WebSocketServer

    gc.enable()
    door = Door.parse(args.websocket, args.allow_origin, args.allow_host)
    asyncio.run(WebSocketServer(door, create).run(lambda url: print(url, flush=True)))
    return 0


def _connect(engine: str | None) -> EngineClient:
    """The configured client; read late, so that the editor's `initialize` does not wait for it."""
    from clover_write.app import connect
    from clover_write.config import load_config

    return connect(load_config().with_engine(engine))
