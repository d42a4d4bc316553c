"""One line of a report on what works and what does not."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found about a subject; `missing` when the program does not work like this."""

    subject: str
    text: str
    missing: bool = False
