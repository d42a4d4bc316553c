"""Where a text may be cut: between what readers see as characters (UAX #29), never inside one."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import regex

# no cluster is looked for further back than this: lines of thousands of flags are not read whole
_REACH = 256
_ZWJ = "\u200d"


def is_boundary(text: str, offset: int) -> bool:
    """Whether a cut at `offset` (in code points) parts no surrogate pair, combining mark, joined
    emoji, flag or `\\r\\n`."""
    return offset_before(text, offset) == offset


def offset_before(text: str, offset: int) -> int:
    """The last place at or before `offset` where `text` may be cut."""
    if not 0 < offset < len(text):
        return min(max(offset, 0), len(text))
    before, after = text[offset - 1], text[offset]
    # nothing below U+0300 joins its neighbours, but for a line end
    if before < "\u0300" and after < "\u0300":
        return offset - (before == "\r" and after == "\n")
    start = max(text.rfind("\n", 0, offset) + 1, offset - _REACH)
    for cluster in _clusters().finditer(text, start):
        if cluster.end() > offset:
            return cluster.start()
        if cluster.end() == offset:
            break
    return offset


def without_half(text: str) -> str:
    """`text` without a character at its end that was cut off: a joiner's left side, half a flag."""
    if not text or text[-1] < "\u0300":
        return text
    start = offset_before(text + "\u0301", len(text))
    last = text[start:]
    halved = last.endswith(_ZWJ) or (len(last) == 1 and "\U0001f1e6" <= last <= "\U0001f1ff")
    return text[:start] if halved else text


@cache
def _clusters() -> regex.Pattern[str]:
    # its import takes longer than an editor's start should wait
    import regex

    return regex.compile(r"\X")
