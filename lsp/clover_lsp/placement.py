"""Text that goes on behind the closing signs right of the cursor, for editors that show that."""

from __future__ import annotations

import re

from clover_lsp import infill
from clover_lsp.answers import Written
from clover_lsp.cursor import Cursor
from clover_lsp.infill import Trigger
from clover_lsp.postprocess import only_closers

_LINE = re.compile(r"[^\r\n]*")


def behind_closers(cursor: Cursor, put: str, written: Written, trigger: Trigger) -> tuple[str, str]:
    """What to put at the cursor, and what right of it that covers: `put` and nothing, or, where
    what is written goes on behind the closing signs there, the whole with those signs.

    An editor put the signs there; so the engine closes what it is in, where `put` ends.
    """
    text, at = cursor.text, cursor.at
    found = _LINE.match(text, at)
    closers = found.group().rstrip() if found else ""
    closed = put + closers
    if not closers or not only_closers(closers) or not written.text.startswith(closed):
        return put, ""
    tail = infill.settle(
        f"{text[:at]}{put}{text[at:]}",
        at + len(closed),
        written.text[len(closed) :],
        cursor.document.language,
        trigger=trigger,
        finish=written.finish,
    )
    return (closed + tail, closers) if tail else (put, "")
