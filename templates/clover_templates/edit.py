"""A change of a text's bytes, and the text with such changes made."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Edit:
    """`text` in place of the bytes `[start, end)` of a source."""

    start: int
    end: int
    text: str


def applied(source: bytes, edits: Iterable[Edit]) -> bytes:
    """`source` with `edits`, which are ordered and do not overlap; all other bytes stay."""
    parts: list[bytes] = []
    at = 0
    for edit in edits:
        parts += [source[at : edit.start], edit.text.encode("utf-8", "surrogatepass")]
        at = edit.end
    return b"".join([*parts, source[at:]])
