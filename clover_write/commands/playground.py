"""`clover-write playground`: a page to write in and to watch the engine write."""

from __future__ import annotations

import argparse

EPILOG = """\
Prints the URL of a page on this machine, and serves it until Ctrl-C. The page has an editor with
ghost text (Tab accepts) and shows the canvas while it is written: masks turn into tokens, their
colour is how sure the model is, and forwards are counted. What you write there is saved nowhere.

The URL ends with a token, which no other page and no other user of the machine knows: whoever has
it can use the server while it runs.

examples:
  clover-write playground
  clover-write playground --port 8765 --engine fake    without a model, to see the page
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `playground`."""
    parser = subparsers.add_parser(
        "playground",
        help="a local page to write in and to watch the engine write",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--port", type=int, default=0, help="where to listen (default: a free one)")
    parser.add_argument("--engine", choices=("process", "inproc", "fake"), help="where it runs")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Serve the page until the process is told to end. Raises ListenError, MonacoMissing."""
    import asyncio

    from clover_lsp.websocket import Door, WebSocketServer
    from clover_write.commands.lsp import server_factory
    from clover_write.playground.site import Site

    door = Door.parse(f"127.0.0.1:{args.port}")
    server = WebSocketServer(door, server_factory(args.engine), Site().answer)
    asyncio.run(server.run(lambda url: print(f"the playground is at {url}", flush=True)))
    return 0
