"""Comments go on as comments, and code does not follow them."""

from __future__ import annotations

import re

from clover_lsp.postprocess.indentation import blanks

# what a line of code has and one of words has not
_CODE = re.compile(
    r"[=(){}\[\]<>;]|[:,]$|^(?:return|pass|break|continue|raise|import|from|yield|await|else|end)\b"
)


def within_comment(answer: str, comment: tuple[str, str], *, closed: bool) -> str:
    """The answer up to the end of the block comment (its opener and closer) the cursor is in.

    `closed`: the document has that end already.
    """
    end = answer.find(comment[1])
    if end < 0:
        return answer
    return answer[:end].rstrip(" \t") if closed else answer[: end + len(comment[1])]


def with_stars(answer: str, before: str, comment: tuple[str, str]) -> str:
    """The lines of a block comment begin with the star that the cursor's line begins with."""
    line = before.lstrip(" \t")
    if not line.startswith("*"):
        return answer
    first, *others = answer.split("\n")
    star = f"{blanks(before)}* "
    ends = ("*", comment[1])
    return "\n".join([first, *(_prefixed(other, star, ends) for other in others)])


def with_line_comments(answer: str, before: str, sign: str) -> str:
    """Words that follow a line of comment are a comment too, up to the first line of code."""
    if not sign or not before.lstrip(" \t").startswith(sign):
        return answer
    lines = answer.split("\n")
    for number, line in enumerate(lines[1:], 1):
        if not line.strip() or (_CODE.search(line.strip()) and sign not in line):
            break
        lines[number] = _prefixed(line, f"{blanks(before)}{sign} ", (sign,))
    return "\n".join(lines)


def _prefixed(line: str, prefix: str, begins: tuple[str, ...]) -> str:
    text = line.strip(" \t")
    return line if not text or text.startswith(begins) else prefix + text
