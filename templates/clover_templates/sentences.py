"""Where sentences end, in English and Chinese, and lines that are not merely wrapped."""

from __future__ import annotations

import re
from collections.abc import Iterator
from unicodedata import east_asian_width

from clover_templates.opaque import inline_pieces
from clover_templates.words import word_list

# widths, in columns, at which writers and their editors wrap lines
_NARROWEST_WRAP = 60
_WIDEST_WRAP = 120
_CLOSERS = r"[\"'”’」』）)\]*_~]*"
_END = re.compile(
    rf"""
      (?P<chinese> (?:[。！？；]|…+)+ {_CLOSERS} )
    | (?P<latin>   [.?!]+ {_CLOSERS} (?=\s|\Z) | (?<=[.?!][”’])[ \t] )
    | (?P<line>    \r\n | \r | \n )
    """,
    re.VERBOSE,
)
_BLANKS = re.compile(r"\s*")
# 他说：“好。走吧。”然后走了: what stands in brackets or quotes stays together
_BRACKETS = re.compile(
    r"（[^（）\r\n]{0,300}）|《[^《》\r\n]{0,300}》|“[^“”\r\n]{0,300}”|「[^「」\r\n]{0,300}」"
)
# what can begin a sentence; at the start of a line `3.` would begin a list
_BEGINNING = re.compile(
    r"[^\W\d_a-z\u00df-\u00ff\u03ac-\u03ce\u0430-\u045f]|[\"'“‘《「（(\[*_`$]|\d(?!\d{0,8}[.)])"
)
_LOWER = re.compile(r"[ \t>]*[a-z]")
_LIST_MARK = re.compile(r"[ \t>]*(?:[-*+]|\d{1,9}[.)])[ \t]")
_FIRST_WORD = re.compile(r"[ \t>]*(\S*)")
_ABBREVIATION = re.compile(
    r"(?<![\w.])(?:(?:[A-Za-z]\.)+|"
    + "|".join(re.escape(word) for word in word_list("abbreviations"))
    + r")\Z"
)
_LONGEST_ABBREVIATION = 12


def sentence_ends(text: str) -> list[int]:
    """Where each sentence of a paragraph ends, in characters, ascending; the last is its length.

    Blanks and line ends behind a sentence are its own. No sentence ends inside code, math, links,
    brackets or quotes. A line end ends one, unless the paragraph is wrapped or the next line goes
    on in lower case.
    """
    if not text:
        return []
    wrapped = _is_wrapped(text.splitlines())
    # blanks before all text are no sentence
    ends: list[int] = []
    start = _blanks_end(text, 0)
    for found in _candidates(text):
        ends_here = (
            _ends_line(text, found, wrapped)
            if found.lastgroup == "line"
            else _ends_sentence(text, found)
        )
        if ends_here:
            end = _blanks_end(text, found.end())
            if end > (ends[-1] if ends else start):
                ends.append(end)
    if not ends or ends[-1] < len(text):
        ends.append(len(text))
    return ends


def _candidates(text: str) -> Iterator[re.Match[str]]:
    """Where a sentence may end: outside of everything that stays together, in order."""
    closed = sorted(
        [(piece.start, piece.end) for piece in inline_pieces(text)]
        + [found.span() for found in _BRACKETS.finditer(text)]
    )
    at = 0
    found = _END.search(text)
    for start, end in [*closed, (len(text), len(text))]:
        while found and found.start() < start:
            yield found
            at = found.end()
            found = _END.search(text, at)
        if found and found.start() < end:
            at = max(at, end)
            found = _END.search(text, at)


def _ends_sentence(text: str, found: re.Match[str]) -> bool:
    if found.lastgroup == "chinese":
        return True
    mark_end = found.start() + 1
    if _ABBREVIATION.search(text, max(mark_end - _LONGEST_ABBREVIATION, 0), mark_end):
        return False
    behind = _blanks_end(text, found.end())
    return behind == len(text) or bool(_BEGINNING.match(text, behind))


def _ends_line(text: str, found: re.Match[str], wrapped: bool) -> bool:
    """Whether the line end `found` is meant as one."""
    if text.endswith(("  ", "\\"), 0, found.start()) or _LIST_MARK.match(text, found.end()):
        return True
    return not wrapped and not _LOWER.match(text, found.end())


def _is_wrapped(lines: list[str]) -> bool:
    """Whether every line was ended only because the next word did not fit any more."""
    widths = [_width(line.rstrip()) for line in lines]
    widest = max(widths)
    return _NARROWEST_WRAP <= widest <= _WIDEST_WRAP and all(
        width + 1 + _first_width(after) > widest
        for width, after in zip(widths[:-1], lines[1:], strict=True)
    )


def _first_width(line: str) -> int:
    """The columns of the first word of `line`; Chinese wraps at every character."""
    found = _FIRST_WORD.match(line)
    word = found[1] if found else ""
    return _width(word[:1]) if _width(word[:1]) == 2 else _width(word)


def _width(text: str) -> int:
    if text.isascii():
        return len(text)
    return sum(2 if east_asian_width(sign) in "WF" else 1 for sign in text)


def _blanks_end(text: str, at: int) -> int:
    found = _BLANKS.match(text, at)
    return found.end() if found else at
