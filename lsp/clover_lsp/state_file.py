"""Small files that are kept on this machine, replaced whole: a reader never sees half of one."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path

APP = "clover-write"
STATE_DIR = "CLOVER_WRITE_STATE_DIR"


def state_dir() -> Path:
    """The folder for them; CLOVER_WRITE_STATE_DIR moves it."""
    import platformdirs

    override = os.environ.get(STATE_DIR)
    return Path(override).absolute() if override else platformdirs.user_state_path(APP)


def write_state(path: Path, text: str) -> None:
    """Put `text` at `path`, readable by the user alone; folders are made. Raises OSError."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor, fresh = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(fresh, path)
    except OSError:
        with suppress(OSError):
            os.unlink(fresh)
        raise
