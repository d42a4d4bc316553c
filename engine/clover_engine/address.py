"""Where an engine and its clients meet: a private folder with a note of its address."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from clover_engine.errors import EngineUnavailable

log = logging.getLogger(__name__)

APP = "clover-write"
RUNTIME_DIR = "CLOVER_WRITE_RUNTIME_DIR"
# sun_path takes 104 bytes on macOS and 108 on Linux, with the zero at its end
MAX_SOCKET_PATH = 103
POSIX = os.name == "posix"


@dataclass(frozen=True, slots=True)
class UnixAddress:
    """A Unix socket, written `unix:PATH`."""

    path: Path

    def __str__(self) -> str:
        return f"unix:{self.path}"


@dataclass(frozen=True, slots=True)
class TcpAddress:
    """A TCP port, written `tcp:HOST:PORT`; port 0 stands for a free one."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"tcp:{self.host}:{self.port}"


Address: TypeAlias = UnixAddress | TcpAddress


def parse_address(text: str) -> Address:
    """Read `unix:PATH` or `tcp:HOST:PORT`; raises EngineUnavailable for anything else."""
    kind, _, rest = text.partition(":")
    host, _, port = rest.rpartition(":")
    if kind == "unix" and rest:
        return UnixAddress(Path(rest))
    if kind == "tcp" and host and port.isascii() and port.isdigit() and int(port) < 65536:
        return TcpAddress(host, int(port))
    raise EngineUnavailable(f"an address is unix:PATH or tcp:HOST:PORT, not {text!r}")


@dataclass(frozen=True, slots=True)
class Note:
    """What a running engine leaves for its clients; the token is asked for on TCP."""

    address: Address
    token: str
    pid: int


@dataclass(frozen=True, slots=True)
class Place:
    """Where the engine called `name` meets its clients; `folder` belongs to the user alone."""

    folder: Path
    name: str

    @property
    def log(self) -> Path:
        """What a started engine says: kept over a restart of the machine, unlike the rest."""
        import platformdirs

        override = os.environ.get(RUNTIME_DIR)
        folder = self.folder if override else platformdirs.user_log_path(APP)
        return folder / f"{self.name}.log"

    def address(self) -> Address:
        """Where the engine listens: on a Unix socket, or on a free loopback port without those."""
        if not POSIX:
            return TcpAddress("127.0.0.1", 0)
        path = self._file("sock")
        if len(os.fsencode(path)) > MAX_SOCKET_PATH:
            digest = hashlib.sha256(os.fsencode(path)).hexdigest()[:16]
            path = _private(_temporary()) / f"{digest}.sock"
        return UnixAddress(path)

    def read(self) -> Note | None:
        """The note of the engine that runs here, or ran and was killed; None without one."""
        try:
            fields = json.loads(self._file("json").read_text(encoding="utf-8"))
            return Note(parse_address(fields["address"]), fields["token"], fields["pid"])
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError, EngineUnavailable) as error:
            log.warning("%s cannot be read: %r", self._file("json"), error)
            return None

    def write(self, note: Note) -> None:
        """Leave the note, readable by its user only."""
        fields = {"address": str(note.address), "token": note.token, "pid": note.pid}
        fresh = self._file("json.new")
        with open(os.open(fresh, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "w") as file:
            json.dump(fields, file)
        fresh.replace(self._file("json"))

    def clear(self) -> None:
        """Take the note away."""
        self._file("json").unlink(missing_ok=True)

    @contextmanager
    def occupied(self) -> Iterator[None]:
        """Held by the engine while it lives; raises EngineUnavailable when another one holds it."""
        # without a note, whoever holds it is leaving: that takes as long as a forward, or a load
        with self._lock("engine", 0.5 if self.read() else 15.0) as is_mine:
            if not is_mine:
                raise EngineUnavailable("an engine already runs: clover-write stop ends it")
            yield

    @contextmanager
    def turn(self) -> Iterator[bool]:
        """Whether it is this client that may start the engine now."""
        with self._lock("start", 0.0) as is_mine:
            yield is_mine

    def wait_free(self, timeout: float) -> bool:
        """Whether the engine is gone after at most `timeout` seconds; blocks."""
        with self._lock("engine", timeout) as is_mine:
            return is_mine

    @contextmanager
    def _lock(self, what: str, timeout: float) -> Iterator[bool]:
        from filelock import FileLock, Timeout

        # the system may have swept temporary folders since
        _private(self.folder)
        lock = FileLock(self._file(f"{what}.lock"))
        try:
            lock.acquire(timeout=timeout)
        except Timeout:
            yield False
            return
        try:
            yield True
        finally:
            lock.release()

    def _file(self, ending: str) -> Path:
        return self.folder / f"{self.name}.{ending}"


def default_place(model: str, precision: str = "") -> Place:
    """The place of the user's engine for this model: another model is another engine."""
    name = "-".join(part for part in (model, precision) if part)
    return Place(runtime_folder(), re.sub(r"[^\w.-]", "-", name))


def places() -> list[Place]:
    """Where engines of this user run, or ran and were killed."""
    folder = runtime_folder()
    return [Place(folder, note.stem) for note in sorted(folder.glob("*.json"))]


def runtime_folder() -> Path:
    """The user's folder for sockets; raises EngineUnavailable when others could get at it."""
    if override := os.environ.get(RUNTIME_DIR):
        return _private(Path(override).absolute())
    if not POSIX:
        import platformdirs

        return _private(platformdirs.user_runtime_path(APP))
    session = Path(os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}")
    if session.is_dir() and session.stat().st_uid == os.getuid():
        return _private(session / APP)
    return _private(_temporary())


def _temporary() -> Path:
    user = f"-{os.getuid()}" if POSIX else ""
    return Path(tempfile.gettempdir()) / f"{APP}{user}"


def _private(folder: Path) -> Path:
    """Make the folder, or check that it is the user's alone and that nobody can swap it."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise EngineUnavailable(f"{folder} cannot be used: {error}") from error
    if not POSIX:
        # the user's own folders are closed to others by their access lists
        return folder
    own, above = folder.lstat(), folder.parent.stat()
    if not stat.S_ISDIR(own.st_mode) or own.st_uid != os.getuid():
        raise EngineUnavailable(f"{folder} is not a folder of yours: remove it")
    if own.st_mode & 0o077:
        raise EngineUnavailable(f"{folder} is open to other users: run chmod 700 {folder}")
    if above.st_mode & stat.S_IWOTH and not above.st_mode & stat.S_ISVTX:
        raise EngineUnavailable(f"{folder.parent} lets other users replace {folder.name}")
    return folder
