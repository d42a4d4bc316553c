"""Blanks and blank lines at the ends of an answer and of its lines."""

from __future__ import annotations

import re

_BLANK_LINE = re.compile(r"\n[ \t]*(?=\n)")
_LEADING = re.compile(r"(?:[ \t]*\n)+")
_TRAILING = re.compile(r"(?P<hard>(?<=\S) {2,}(?=\n[ \t]*\S))|[ \t]+(?=\n)")

# words of alphabets; an ideograph is never half a word
_LAST_WORD = re.compile(r"[0-9A-Za-z_\u00c0-\u1fff]+$")


def first_line(answer: str) -> str:
    """The answer up to its first line end."""
    return answer.partition("\n")[0]


def first_paragraph(answer: str) -> str:
    """The answer up to the first blank line behind its text."""
    start = found.end() if (found := _LEADING.match(answer)) else 0
    blank = _BLANK_LINE.search(answer, start)
    return answer[: blank.start()] if blank else answer


def with_few_newlines(answer: str, before: str, above: str) -> str:
    """The answer with no more line ends before its text than one blank line takes.

    On a blank line it begins where the cursor is, but for a blank line after one with text.
    """
    found = _LEADING.match(answer)
    if not found:
        return answer
    text = answer[found.end() :]
    most = 2
    if not before.strip():
        most = 1 if not before and above.removesuffix("\n").rpartition("\n")[2].strip() else 0
    return "\n" * min(found[0].count("\n"), most) + text


def without_double_blank(answer: str, before: str) -> str:
    """The answer without the blanks it begins with where the line has one already."""
    return answer.lstrip(" \t") if before.strip() and before[-1] in " \t" else answer


def trimmed(answer: str, rest: str, *, at_line_end: bool, prose: bool) -> str:
    """No blanks at the ends of lines, but for the two of a hard break in prose.

    Inside a line one blank at the end may part two words.
    """
    answer = _TRAILING.sub(lambda end: "  " if prose and end["hard"] else "", answer)
    if at_line_end or rest[:1].isspace():
        return answer.rstrip()
    bare = answer.rstrip(" \t")
    return bare + answer[len(bare) :][:1]


def is_worth_showing(answer: str, *, asked: bool = False) -> bool:
    """Whether there is something to see in `answer`: a word at least or two signs, one sign for
    who asked."""
    visible = "".join(sign for sign in answer if sign.isprintable() and not sign.isspace())
    return len(visible) > 1 or visible.isalnum() or (asked and bool(visible))


def without_broken_word(answer: str) -> str:
    """The answer, cut off somewhere, without a last word that may be half of one."""
    bare = _LAST_WORD.sub("", answer)
    return bare if bare.strip() else answer
