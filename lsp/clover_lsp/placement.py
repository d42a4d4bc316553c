"""Text that goes on behind the closing signs right of the cursor, for editors that show that."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeAlias

from clover_lsp.cursor import Cursor
from clover_lsp.postprocess import only_closers

# what of the last, written at an offset (in code points) of the first, fits there
Settle: TypeAlias = Callable[[str, int, str], str | None]
_LINE = re.compile(r"[^\r\n]*")


def behind_closers(cursor: Cursor, put: str, wrote: str, settle: Settle) -> tuple[str, str]:
    """What to put at the cursor, and what right of it that covers: `put` and nothing, or, where
    what the engine `wrote` goes on behind the closing signs there, the whole with those signs.

    An editor put the signs there; so the engine closes what it is in, where `put` ends.
    """
    text, at = cursor.text, cursor.at
    found = _LINE.match(text, at)
    closers = found.group().rstrip() if found else ""
    closed = put + closers
    if not closers or not only_closers(closers) or not wrote.startswith(closed):
        return put, ""
    tail = settle(f"{text[:at]}{put}{text[at:]}", at + len(closed), wrote[len(closed) :])
    return (closed + tail, closers) if tail else (put, "")
