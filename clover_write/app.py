"""Joins the parts: configuration -> model store -> engine or a client of the engine process."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from clover_write import __version__
from clover_write.config import Config

if TYPE_CHECKING:
    from clover_engine.api import Engine, EngineClient


def local_engine(config: Config) -> Engine:
    """Load the configured model in this process (seconds; imports torch). Raises ModelError."""
    from clover_engine.engine import load_engine
    from clover_write.store import Store

    folder = Store(config.cache_dir, config.sources).require(config.model)
    return load_engine(
        folder,
        model=config.model,
        precision=config.precision,
        threads=config.threads,
        cache_bytes=config.cache_mb << 20,
    )


def connect(config: Config) -> EngineClient:
    """The client that `config.engine` names; nothing is started before its first use."""
    if config.engine == "process":
        return _process_client(config)
    from clover_engine.fake import FakeEngine
    from clover_engine.inproc import InprocClient
    from clover_engine.runner import Runner

    return InprocClient(
        Runner(FakeEngine if config.engine == "fake" else lambda: local_engine(config))
    )


def _process_client(config: Config) -> EngineClient:
    from clover_engine.address import default_place
    from clover_engine.client import RemoteClient

    return RemoteClient(
        default_place(config.model, config.precision),
        program_version=__version__,
        command=engine_command(config),
    )


def engine_command(config: Config) -> list[str]:
    """The command that starts the engine process for this configuration."""
    return [
        sys.executable,
        "-P",  # modules of the folder it is started in must not shadow the program's
        "-m",
        "clover_write",
        "engine",
        "--model",
        config.model,
        "--precision",
        config.precision,
        "--threads",
        str(config.threads),
        "--idle-exit",
        str(config.idle_exit_s),
    ]
