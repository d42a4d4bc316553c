"""A promise about a restructured document that does not hold."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Metric(StrEnum):
    """What is checked."""

    COVERAGE = "coverage"
    LOCKS = "locks"
    INVENTION = "invention"
    MODALITY = "modality"
    TRACE = "trace"
    STRUCTURE = "structure"
    IDEMPOTENCE = "idempotence"
    EDIT = "edit"
    ANCHORS = "anchors"


@dataclass(frozen=True, slots=True)
class Breach:
    """What does not hold, the offending text, and its byte offset in the source or the output.

    `code` is that of the document diagnostics, where one has its name.
    """

    metric: Metric
    message: str
    text: str
    at: int
    in_output: bool = True
    code: str = ""

    def __str__(self) -> str:
        where = "output" if self.in_output else "source"
        code = f"[{self.code}] " if self.code else ""
        return f"{code}{self.metric}: {self.message}: {self.text[:80]!r} ({where}, byte {self.at})"
