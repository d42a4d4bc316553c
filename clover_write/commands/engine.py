"""`clover-write engine`: the process that owns the model and serves every editor window."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clover_engine.api import Engine
    from clover_write.config import Config

EPILOG = """\
Editors start the engine on demand, share it, and it leaves when none has been connected for a
while: it seldom needs to be started by hand.

examples:
  clover-write engine                     serve the configured model until Ctrl-C
  clover-write engine --idle-exit 0       stay for ever
  clover-write engine --fake              a fake engine without a model, to work on editors
  clover-write engine --new-user ann      a token for ann, and the line for the file of users
  clover-write engine --listen 0.0.0.0:8443 --allow-host gpu.example:8443 --users users.txt \\
      --tls-cert cert.pem --tls-key key.pem       serve a team; engine/DEPLOY.md has more
  clover-write engine --openai 127.0.0.1:8012 --users users.txt   for llama.vim, Zed, Continue
"""
# how long a forward or a load that is under way may take to end
CLOSE_S = 5.0


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser(
        "engine",
        help="serve the model to the editors of this user",
        description="Serve the model to the editors of this user, in the foreground.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--model", help="a name that `clover-write models list` shows, or a folder")
    parser.add_argument("--precision", help="int8 or bf16")
    parser.add_argument("--threads", type=int, help="processor threads; 0 chooses")
    parser.add_argument(
        "--idle-exit",
        type=float,
        metavar="SECONDS",
        dest="idle_exit_s",
        help="leave after that long without a client; 0 never",
    )
    parser.add_argument("--fake", action="store_true", help="serve a fake engine without a model")
    _add_network_arguments(parser)
    parser.set_defaults(run=run)


def _add_network_arguments(parser: argparse.ArgumentParser) -> None:
    network = parser.add_argument_group("on the network")
    network.add_argument("--listen", metavar="HOST:PORT", help="serve other machines' users there")
    network.add_argument(
        "--openai",
        metavar="HOST:PORT",
        help="serve /v1/completions with suffix, and /infill, to editors that speak only those",
    )
    network.add_argument(
        "--users",
        type=Path,
        metavar="FILE",
        help="lines NAME TOKEN; else CLOVER_WRITE_USERS",
    )
    network.add_argument("--new-user", metavar="NAME", help="print a token for NAME, and leave")
    network.add_argument(
        "--allow-host",
        action="append",
        default=[],
        metavar="NAME[:PORT]",
        help="by what name clients call this engine, as their URL has it",
    )
    network.add_argument("--tls-cert", type=Path, metavar="FILE", help="PEM, with its chain")
    network.add_argument("--tls-key", type=Path, metavar="FILE", help="PEM")
    network.add_argument("--behind-proxy", action="store_true", help="a proxy before it ends TLS")


def run(args: argparse.Namespace) -> int:
    """Serve until stopped; raises EngineUnavailable when it cannot listen."""
    if args.new_user:
        from clover_engine.users import new_token

        token, line = new_token(args.new_user)
        print(f"token for {args.new_user}: {token}\nline for the file of users: {line}")
        return 0
    return _serve_network(args) if args.listen or args.openai else _serve_here(args)


def _serve_network(args: argparse.Namespace) -> int:
    """Serve users at `--listen` and `--openai`. Raises UsersError or EngineUnavailable."""
    import logging

    from clover_engine.door import Door
    from clover_write.service import JsonLines, Service, read_users

    given = (args.allow_host, args.tls_cert, args.tls_key, args.behind_proxy)
    door, api_door = (
        Door.parse(place, *given) if place else None for place in (args.listen, args.openai)
    )
    users, config = read_users(args.users), _config(args)
    for handler in logging.getLogger().handlers:
        handler.setFormatter(JsonLines())
    logging.getLogger("clover_engine").setLevel(logging.INFO)
    model = "fake" if args.fake else config.model
    Service(_loader(config, args.fake), model, users, door, api_door).run()
    return 0


def _serve_here(args: argparse.Namespace) -> int:
    """Serve this user's editors; raises EngineUnavailable when an engine already runs."""
    import asyncio
    import faulthandler
    import logging
    import os

    from clover_engine.address import default_place
    from clover_engine.runner import Runner
    from clover_engine.server import EngineServer
    from clover_write import __version__

    # a crash inside torch leaves its place in the log
    faulthandler.enable()
    log = logging.getLogger("clover_engine")
    log.setLevel(min(log.getEffectiveLevel(), logging.INFO))
    config = _config(args)
    place = default_place("fake") if args.fake else default_place(config.model, config.precision)
    with place.occupied():
        runner = Runner(_loader(config, args.fake), model="fake" if args.fake else config.model)
        server = EngineServer(runner, __version__, config.idle_exit_s)
        asyncio.run(server.run_until_signal(place))
        if not runner.close(CLOSE_S):
            # the thread is deep in the model: leaving in good order would wait for it
            log.warning("leaving while the model is still at work")
            os._exit(0)
    return 0


def _config(args: argparse.Namespace) -> Config:
    from dataclasses import replace

    from clover_write.config import load_config
    from clover_write.models import model_name

    names = ("model", "precision", "threads", "idle_exit_s")
    given = {name: value for name in names if (value := getattr(args, name)) is not None}
    if "model" in given:
        given["model"] = model_name(given["model"])
    return replace(load_config(), **given)


def _loader(config: Config, fake: bool) -> Callable[[], Engine]:
    if fake:
        from clover_engine.fake import FakeEngine

        return FakeEngine

    def load() -> Engine:
        # torch is imported in the worker's thread: clients are answered meanwhile
        from clover_write.app import local_engine

        return local_engine(config)

    return load
