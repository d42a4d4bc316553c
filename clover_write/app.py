"""Joins the parts: configuration -> model store -> engine or a client of the engine process."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from clover_write import __version__
from clover_write.config import Config
from clover_write.profiles import ENGINE, LOCAL, Profile, order

if TYPE_CHECKING:
    from clover_engine.api import Engine, EngineClient
    from clover_write.routing import Route


def local_engine(config: Config) -> Engine:
    """Load the configured model in this process (seconds; imports torch). Raises ModelError."""
    from time import perf_counter

    started = perf_counter()
    from clover_engine.memory import peak_bytes
    from clover_engine.opening import open_engine
    from clover_write.config import families_path
    from clover_write.loads import Load, note
    from clover_write.models import model_folder

    engine = open_engine(
        model_folder(config),
        model=config.model,
        precision=config.precision,
        threads=config.threads,
        families=families_path(),
        cache_bytes=config.cache_mb << 20,
    )
    info, seconds = engine.info, perf_counter() - started
    load = Load(seconds, *peak_bytes(), precision=info.precision, device=info.device)
    note(config.cache_dir, config.model, load)
    return engine


def connect(config: Config) -> EngineClient:
    """The client of the engines that `config.profile` names; nothing is started or reached before
    its first use."""
    if config.profile == LOCAL:
        return local_client(config)
    from clover_write.routing import Router, Rules

    names = order(config.profile, config.profiles)
    return Router([_route(name, config) for name in names], Rules(config.never_send))


def _route(name: str, config: Config) -> Route:
    from clover_write.routing import Route

    if name == LOCAL:
        return Route(name, "", is_local=True, client=local_client(config))
    profile = config.profiles[name]
    where = "" if profile.is_local else f"{name} ({profile.host})"
    return Route(name, where, profile.is_local, profile_client(profile))


def profile_client(profile: Profile) -> EngineClient:
    """The client of one engine beside the local one. Raises ProfileError."""
    if profile.kind == ENGINE:
        from clover_engine.network_client import NetworkClient

        return NetworkClient(profile.url, profile.secret(), __version__, profile.ca_file)
    from clover_engine.remote.backend import RemoteBackend
    from clover_engine.remote.discovery import Kind
    from clover_engine.remote.http import Endpoint

    endpoint = Endpoint(profile.url, profile.secret(), profile.ca_file)
    return RemoteBackend(Kind(profile.kind), endpoint, profile.model, profile.path)


def local_client(config: Config) -> EngineClient:
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
