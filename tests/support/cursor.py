"""Documents with a cursor drawn in: `‖`."""

from __future__ import annotations

from typing import Any

from clover_lsp.infill import Trigger, settle

CURSOR = "‖"


def at_cursor(marked: str) -> tuple[str, int]:
    """The document without its cursor, and where that stood."""
    before, _, after = marked.partition(CURSOR)
    return before + after, len(before)


def typing(marked: str, filled: str, language: str = "", **more: Any) -> str | None:
    """What is shown while typing when the model wrote `filled`."""
    return settle(*at_cursor(marked), filled, language, **more)


def asking(marked: str, filled: str, language: str = "", **more: Any) -> str | None:
    """What is shown when asked."""
    return settle(*at_cursor(marked), filled, language, trigger=Trigger.INVOKED, **more)
