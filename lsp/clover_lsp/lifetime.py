"""The server lives as long as its editor, and leaves within two seconds of it."""

from __future__ import annotations

import os
import threading
import time

WATCH_S = 0.5
LEAVE_S = 1.0


def watch_editor(process_id: int | None) -> None:
    """End this process within a second of the end of process `process_id`.

    Does nothing where the id means nothing: none given, another machine's or container's. On
    Windows the end of standard input has to do, as signal 0 would end the editor there.
    """
    if process_id is None or os.name != "posix" or not _alive(process_id):
        return
    threading.Thread(target=_watch, args=(process_id,), daemon=True, name="editor-watch").start()


def leave_soon(status: int) -> None:
    """End this process within a second, also if a thread deep in a model holds up its end."""
    timer = threading.Timer(LEAVE_S, os._exit, args=(status,))
    timer.daemon = True
    timer.start()


def _watch(process_id: int) -> None:
    while _alive(process_id):
        time.sleep(WATCH_S)
    os._exit(1)


def _alive(process_id: int) -> bool:
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
