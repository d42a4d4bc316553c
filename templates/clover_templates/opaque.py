"""What is taken as a whole: fenced runs of lines, and inline code, math, links and their like."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum


class Fenced(StrEnum):
    """What encloses a run of lines: a code fence, `$$`, or `%%` (a comment of Obsidian)."""

    CODE = "code"
    MATH = "math"
    COMMENT = "comment"


@dataclass(frozen=True, slots=True)
class Run:
    """Lines `[first, end)` between a fence and what closes it, both included."""

    kind: Fenced
    first: int
    end: int


class Inline(StrEnum):
    """A piece of a line whose inside is not prose."""

    CODE = "code"
    COMMENT = "comment"
    MATH = "math"
    IMAGE = "image"
    WIKILINK = "wikilink"
    LINK = "link"
    FOOTNOTE = "footnote"
    URL = "url"
    HTML = "html"


@dataclass(frozen=True, slots=True)
class Piece:
    """`[start, end)` in characters of the text that was scanned."""

    kind: Inline
    start: int
    end: int


_FENCE = re.compile(rb"[ \t]*(`{3,}(?=[^`]*$)|~{3,})[^\r\n]*")
_DOUBLE = re.compile(rb" {0,3}(\$\$|%%)")
_SIGNS = re.compile(r"[`$%!\[<]|://")
_TICKS = re.compile("`+")
_INLINE = re.compile(
    r"""
      (?P<escape>   \\[!-/:-@\[-`{-~] )
    | (?P<code>     `+ )
    | (?P<comment>  %%[^%\n]{1,500}%% | <!--(?:(?!-->|<!--).)*?--> )
    | (?P<math>     \$\$[^$\n]{1,500}\$\$ | (?<![\w$])\$(?=\S)[^$\n]{1,300}(?<=\S)\$(?![\w$]) )
    | (?P<image>    !\[\[[^\[\]\n]{1,300}\]\]
                  | !\[[^\[\]\n]{0,300}\]\([^()\s]{1,2000}[^()\n]{0,200}\) )
    | (?P<wikilink> \[\[[^\[\]\n]{1,300}\]\] )
    | (?P<footnote> \[\^[^\[\]\s]{1,100}\] )
    | (?P<link>     \[[^\[\]\n]{0,300}\]
                    \([^()\s]{0,2000}(?:\([^()\s]{0,200}\)[^()\s]{0,200})?
                    (?:[ ][^()\n]{0,200})?\) )
    | (?P<url>      <?(?:https?|ftp|file)://
                    [^\s<>"'`|\\^{}\[\]\u3000-\u303f\uff00-\uffef\u4e00-\u9fff]+>? )
    | (?P<html>     </?[A-Za-z][\w-]{0,30}(?:\s[^<>\n]{0,500})?/?> )
    """,
    re.VERBOSE | re.DOTALL,
)


def fenced_runs(lines: Sequence[bytes]) -> list[Run]:
    """The fenced runs of a document, in order and disjoint.

    A code fence that nothing closes runs to the end, as in Markdown; `$$` and `%%` that nothing
    closes are no fences. What is closed in its own line is left to the inline scanner.
    """
    runs: list[Run] = []
    at = 0
    while at < len(lines):
        run = _run_at(lines, at)
        if run:
            runs.append(run)
        at = run.end if run else at + 1
    return runs


def _run_at(lines: Sequence[bytes], first: int) -> Run | None:
    if fence := _FENCE.match(lines[first].rstrip(b"\r\n")):
        mark = fence[1]
        closer = re.compile(rb"[ \t]*" + mark[:1] + b"{%d,}[ \t\r\n]*\\Z" % len(mark))
        for number in range(first + 1, len(lines)):
            if closer.match(lines[number]):
                return Run(Fenced.CODE, first, number + 1)
        return Run(Fenced.CODE, first, len(lines))
    double = _DOUBLE.match(lines[first])
    if not double or double[1] in lines[first][double.end() :]:
        return None
    for number in range(first + 1, len(lines)):
        if double[1] in lines[number]:
            kind = Fenced.MATH if double[1] == b"$$" else Fenced.COMMENT
            return Run(kind, first, number + 1)
    return None


def inline_pieces(text: str) -> Iterator[Piece]:
    """The inline pieces of `text` whose inside is not prose, in order and disjoint.

    Reads what Markdown and Obsidian write alike; links stop at 300 characters of label.
    """
    if not _SIGNS.search(text):
        return
    closers = _tick_runs(text)
    at = 0
    while found := _INLINE.search(text, at):
        kind, start, at = found.lastgroup, found.start(), found.end()
        if kind == "code":
            ticks, places = at - start, closers[at - start]
            while places and places[-1] < at:
                places.pop()
            if not places:
                continue
            at = places[-1] + ticks
        if kind and kind != "escape":
            yield Piece(Inline(kind), start, at)


def _tick_runs(text: str) -> dict[int, list[int]]:
    """Where runs of backticks begin, by their length; the first stands last."""
    runs: dict[int, list[int]] = defaultdict(list)
    for run in _TICKS.finditer(text):
        runs[len(run[0])].append(run.start())
    for places in runs.values():
        places.reverse()
    return runs
