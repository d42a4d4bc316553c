"""Where a hole meets the text right of it, which need not be between two tokens.

What a hole ends with and what follows it often make one token (`)` and a line break, `ret` and
`urn`). The model is therefore never asked to end inside one: the word or the signs that the right
text begins with are left out of the prompt and written again with the hole, and what was written
beyond the hole's end is cut off where it agrees with the right text.
"""

from __future__ import annotations

import re

# letters and digits of a spaced script; one sign of any other; signs such as `):`
_BEGINNING = re.compile(r"[A-Za-z0-9_À-ӿ]{1,16}|[^\w\s]{1,4}|\w")


def beginning(right: str) -> str:
    """The part of the right text that is written again with the hole; often nothing."""
    found = _BEGINNING.match(right)
    return found.group() if found else ""


def overhang(written: str, right: str, last: int) -> int | None:
    """How many characters at the end of `written` stand at the beginning of `right` already.

    `last` is the number of characters that the last token brought: all but one of them may lie
    beyond the hole. None where the hole cannot end here: `right` would begin twice, or differently.
    """
    needed = len(beginning(right))
    for count in range(min(needed + max(last - 1, 0), len(right), len(written)), needed - 1, -1):
        if written.endswith(right[:count]):
            return count
    return None
