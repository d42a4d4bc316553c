"""`clover-write doctor`: what is installed, what runs where, and whether it works."""

from __future__ import annotations

import argparse
import platform
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from clover_engine.errors import CloverError
from clover_write.commands.doctor_remote import examine, routes
from clover_write.commands.finding import Finding

if TYPE_CHECKING:
    from clover_engine.address import Place
    from clover_engine.api import EngineClient
    from clover_write.config import Config

EPILOG = """\
Exit status 1 when something that is needed is missing; the line says what to do.

examples:
  clover-write doctor                     look at everything, and fill one hole
  clover-write doctor --fast              without the self-test, which loads the model
  clover-write doctor --remote office     an engine of the configuration: what it is, one hole
  clover-write doctor --remote https://gpu.example:8000
"""
PACKAGES = (
    "cattrs",
    "filelock",
    "gguf",
    "google-re2",
    "httpx2",
    "huggingface-hub",
    "lsprotocol",
    "numba",
    "numpy",
    "platformdirs",
    "prometheus-client",
    "pygls",
    "pyyaml",
    "rich",
    "safetensors",
    "tokenizers",
    "torch",
    "websockets",
)
# what the int8 and bf16 kernels gain from, as /proc/cpuinfo calls it
INSTRUCTIONS = ("avx2", "avx_vnni", "avx512_vnni", "avx512_bf16", "amx_int8", "amx_bf16")


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `doctor`."""
    parser = subparsers.add_parser(
        "doctor",
        help="say what is installed, what runs where, and whether it works",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--fast", action="store_true", help="leave the self-test out")
    parser.add_argument(
        "--remote", metavar="PROFILE|URL", help="look at an engine on another machine instead"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the findings as they are made. Raises CloverError for settings that cannot be read."""
    from clover_write.config import load_config

    config = load_config()
    healthy = True
    for finding in examine(config, args.remote) if args.remote else _findings(config):
        healthy &= not finding.missing
        _show(finding)
    # with something missing it could only say so again
    if healthy and not args.fast and not args.remote:
        for finding in _self_test(config):
            healthy &= not finding.missing
            _show(finding)
    return 0 if healthy else 1


def _show(finding: Finding) -> None:
    print(f"{'MISSING' if finding.missing else 'ok':<8}{finding.subject:<10} {finding.text}")


def _findings(config: Config) -> Iterator[Finding]:
    from clover_write import __version__

    yield Finding("program", f"clover-write {__version__}, Python {platform.python_version()}")
    yield Finding("system", f"{platform.platform()}, {_processor()}")
    yield from _packages()
    yield _settings(config)
    yield routes(config)
    yield _cache(config)
    yield _model(config)
    yield _engines()


def _processor() -> str:
    """Usable cores, and the instructions that decide which kernels run."""
    import os
    from pathlib import Path

    cores = f"{os.cpu_count()} cores"
    cpuinfo = Path("/proc/cpuinfo")
    if not cpuinfo.is_file():
        return cores
    flags = set(cpuinfo.read_text(encoding="utf-8", errors="replace").split())
    found = [name for name in INSTRUCTIONS if name in flags]
    return f"{cores}, {' '.join(found) or 'no AVX2: int8 will be slow'}"


def _packages() -> Iterator[Finding]:
    from importlib.metadata import PackageNotFoundError, version

    versions = []
    for name in PACKAGES:
        try:
            versions.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            yield Finding(
                "package", f"{name}: run `{sys.executable} -m pip install {name}`", missing=True
            )
    yield Finding("packages", ", ".join(versions))


def _settings(config: Config) -> Finding:
    from clover_write.config import config_path

    path = config_path()
    threads = config.threads or "automatic"
    return Finding(
        "settings",
        f"model {config.model}, engine {config.engine}, precision {config.precision},"
        f" threads {threads}; from {path if path.is_file() else 'defaults and the environment'}",
    )


def _cache(config: Config) -> Finding:
    import shutil

    folder = config.cache_dir.absolute()
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    free = shutil.disk_usage(existing).free / 1e9
    return Finding("cache", f"{folder}, {free:.1f} GB free")


def _model(config: Config) -> Finding:
    from clover_write.models import model_folder
    from clover_write.store import folder_bytes

    if config.engine == "fake":
        return Finding("model", "none: the fake engine needs none")
    try:
        folder = model_folder(config)
    except CloverError as error:
        return Finding("model", str(error), missing=True)
    return Finding("model", f"{config.model} in {folder}, {folder_bytes(folder) / 1e6:.0f} MB")


def _engines() -> Finding:
    from clover_engine.address import places

    try:
        running = [text for place in places() if (text := _running(place))]
    except CloverError as error:
        return Finding("processes", str(error), missing=True)
    return Finding("processes", ", ".join(running) or "no engine runs; editors start it on demand")


def _running(place: Place) -> str | None:
    """The engine at a place; a note alone may be that of a killed one."""
    note = place.read()
    if note is None or place.wait_free(0.0):
        return None
    return f"the engine {place.name} runs as process {note.pid}"


def _self_test(config: Config) -> Iterator[Finding]:
    import asyncio

    from clover_write.app import connect

    print("        the self-test starts the engine and fills one hole twice ...", flush=True)
    try:
        yield from asyncio.run(_fill_twice(connect(config)))
    except CloverError as error:
        yield Finding("self-test", str(error), missing=True)


async def _fill_twice(client: EngineClient) -> list[Finding]:
    """The first fill waits until the engine is there; the second shows its speed."""
    from time import perf_counter

    from clover_engine.api import infill_request

    request = infill_request(
        "def greet(name):\n    return ",
        "\n\n\nprint(greet('Ada'))\n",
        document="doctor:greet.py",
        max_tokens=16,
        stop=("\n",),
    )
    try:
        start = perf_counter()
        await client.fill(request)
        ready = perf_counter()
        filled = await client.fill(request)
        done = perf_counter()
        info = await client.info()
    finally:
        await client.close()
    stats, text = filled.stats, filled.fills[0].text
    first, second = ready - start, 1000 * (done - ready)
    return [
        Finding("engine", f"{info.model} {info.precision} on {info.device}, {info.detail}"),
        Finding(
            "self-test",
            f"first answer after {first:.1f} s, the next after {second:.0f} ms"
            f" ({stats.tokens} tokens in {stats.forwards} forwards): {text!r}",
        ),
    ]
