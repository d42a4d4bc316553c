"""Code fences around an answer, and those that end it."""

from __future__ import annotations

import re

_FENCE = re.compile(r"[ \t]*(?P<run>`{3,}|~{3,})[ \t]*(?P<info>[^`]*)$")
# what a model calls a text that is no code
_TEXT = frozenset({"", "markdown", "md", "text", "txt", "plaintext", "plain"})


def without_wrapper(answer: str, *, prose: bool) -> str:
    """The answer without the fence that all of it stands in; fences inside stay.

    A model puts its answer in a fence that is none of the document's. In prose a block of code is
    what belongs there: only a wrapper of text is taken off. One whose end is missing, because the
    answer was cut off, is a wrapper too.
    """
    lines = answer.strip("\n").split("\n")
    opening = _FENCE.match(lines[0])
    if not opening or (prose and opening["info"].strip().lower() not in _TEXT):
        return answer
    runs = [opening["run"]]
    for number, line in enumerate(lines[1:], 1):
        if not (found := _FENCE.match(line)):
            continue
        if found["info"].strip() or not found["run"].startswith(runs[-1]):
            runs.append(found["run"])
            continue
        runs.pop()
        if not runs:
            ends = not "".join(lines[number + 1 :]).strip()
            return "\n".join(lines[1:number]) if ends else answer
    return "\n".join(lines[1:])


def within_fence(answer: str, fence: str) -> str:
    """The answer up to the line that would close the block opened by `fence`."""
    lines = answer.split("\n")
    for number, line in enumerate(lines):
        found = _FENCE.match(line)
        if found and found["run"].startswith(fence) and not found["info"].strip():
            return "\n".join(lines[:number])
    return answer
