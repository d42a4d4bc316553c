"""The front matter of a note, which says what all of it is about. No torch."""

from __future__ import annotations

import re

MAX_BYTES = 512
_FRONT_MATTER = re.compile(r"(---|\+\+\+)[ \t]*\n(?:.*\n){0,200}?\1[ \t]*(?:\n|\Z)")


def front_matter(text: str) -> str:
    """The block between `---` or `+++` lines that `text` (line ends `\\n`) begins with, or "".

    Of one over MAX_BYTES the last lines are left out.
    """
    found = _FRONT_MATTER.match(text)
    if not found:
        return ""
    *lines, closing = found.group().splitlines(keepends=True)
    kept: list[str] = []
    room = MAX_BYTES - len(closing)
    for line in lines:
        room -= len(line.encode("utf-8", "surrogatepass"))
        if room < 0:
            break
        kept.append(line)
    return "".join([*kept, closing])
