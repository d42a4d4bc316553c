"""Starts the engine as a process of its own, which outlives the one that starts it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from clover_engine.address import Place
from clover_engine.errors import EngineUnavailable

MAX_LOG_BYTES = 1_000_000


def start_engine(command: Sequence[str], place: Place) -> subprocess.Popen[bytes]:
    """Start `command` detached, its output appended to the place's log.

    It runs in the place's folder: never in a project, whose files Python could import.
    Raises EngineUnavailable.
    """
    try:
        with open(os.open(_log(place.log), os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)) as log:
            return subprocess.Popen(
                command,
                cwd=place.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                creationflags=_detached(),
            )
    except OSError as error:
        raise EngineUnavailable(f"the engine cannot be started: {error}") from error


def last_words(place: Place) -> str:
    """The last line of the engine's log: why it did not start."""
    try:
        with place.log.open("rb") as log:
            log.seek(max(0, log.seek(0, os.SEEK_END) - 4096))
            lines = log.read().decode(errors="replace").split("\n")
    except OSError as error:
        return f"its log cannot be read: {error}"
    return next((line.strip() for line in reversed(lines) if line.strip()), "it said nothing")


def _log(path: Path) -> Path:
    """The log file, begun afresh when it has grown; the one before is kept."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and path.stat().st_size > MAX_LOG_BYTES:
        path.replace(path.with_suffix(".old"))
    return path


def _detached() -> int:
    if sys.platform == "win32":
        return subprocess.DETACHED_PROCESS | subprocess.CREATE_NEW_PROCESS_GROUP
    return 0
