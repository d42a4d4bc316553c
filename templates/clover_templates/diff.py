"""Two texts as a unified diff, byte for byte as `patch` reads it."""

from __future__ import annotations

import difflib
import re

_LINE = re.compile(r"[^\n]*\n|[^\n]+\Z")  # for patch a line ends with "\n" alone
_UNENDED = "\n\\ No newline at end of file\n"


def unified_diff(before: str, after: str, name: str) -> str:
    """What changes if `after` takes the place of `before` in the file `name`; empty for nothing."""
    lines = difflib.unified_diff(_LINE.findall(before), _LINE.findall(after), name, name)
    return "".join(line if line.endswith("\n") else line + _UNENDED for line in lines)
