"""Masked spans of a text: the places a writer left open, and what is said about them there."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from clover_engine.errors import CloverError
from clover_templates.code_regions import Region, code_regions
from clover_templates.fill_tag import Unreadable, parse_tag

MAX_SPANS = 200
# a blank stands for a word or two, a span with words in it for up to a sentence
BLANK_TOKENS = 16
SPAN_TOKENS = 32

# a line of nothing but underscores is a rule; ___重点___ is emphasis, 共___元 is not; TODO(Cause)
# is what a template leaves where text is missing, TODO(ada): is a note to somebody
_MARKDOWN_ALONE = r"""
      (?P<rule>     (?<![^\n\r])[ \t]*(?:_[ \t]*){3,}+(?![^\n\r]) )
    | (?P<left>     \bTODO\((?P<left_hint>[^()\n\r]+)\)(?![:：]) )
    | (?P<emphasis> (?<!\w)___(?=[^\W_])[^_\n\r\[{【<]*(?<=[^\W_])___(?!\w) )
    |"""
# in this order: an escape hides what it stands before, three braces are another language's
_EVERYWHERE = r"""
      (?P<escape>  \\(?:_+|\{+|[^\n\r]) | \{{3,} )
    | (?P<mask>    \[MASK\] )
    | (?P<blank>   _{3,} )
    | (?P<todo>    【待补(?:[：:](?P<todo_hint>(?:[^【】\n\r]|【[^【】\n\r]*】)*+))?】 )
    | (?P<braces>  \{\{(?P<braces_hint>(?:(?!\{\{|\}\})[^\n\r])*+)\}\} )
    | (?P<tag>     <fill(?=[\s/>])(?P<tag_body>
                     (?:=[ \t]*(?:"[^"\n\r]*"|'[^'\n\r]*')|(?!<fill)[^>\n\r])*+)> )
    | (?P<open>    【待补(?=[：:]) | \{\{ | <fill(?=[\s/]|\Z) )
    """
_MARKDOWN = re.compile(_MARKDOWN_ALONE + _EVERYWHERE, re.VERBOSE)
_PLAIN = re.compile(_EVERYWHERE, re.VERBOSE)
_CLOSERS = {"【待补": "】", "{{": "}}", "<fill": ">"}
_LINE_END = re.compile(r"\r\n|\n|\r")


class SpanError(CloverError):
    """A masked span that cannot be read, or none or too many; names line:column, from 1."""


@dataclass(frozen=True, slots=True)
class MaskedSpan:
    """`[start, end)` in code points, and what may stand there instead.

    `hint` is the text inside the mask; `choices`, `pattern` and `max_tokens` are those of
    `clover_engine.api.Hole`.
    """

    start: int
    end: int
    hint: str = ""
    choices: tuple[str, ...] | None = None
    pattern: str | None = None
    max_tokens: int = SPAN_TOKENS


@dataclass(frozen=True, slots=True)
class Scan:
    """The masked spans of a text, ordered and disjoint, and the first that cannot be read."""

    spans: tuple[MaskedSpan, ...]
    problem: SpanError | None = None


def find_spans(
    text: str, *, markdown: bool = True, in_code: bool = False
) -> tuple[MaskedSpan, ...]:
    """Every masked span of `text`: `[MASK]`, `____`, `【待补：…】`, `{{…}}`, `<fill …>`.

    A span stands in one line; one with a backslash before it is none. With `markdown`, code is
    left alone unless `in_code`. Raises SpanError for a span that cannot be read, for no span, and
    for more than MAX_SPANS.
    """
    scan = scan_spans(text, markdown=markdown, in_code=in_code)
    if scan.problem:
        raise scan.problem
    if not scan.spans:
        raise SpanError(
            "1:1: no masked span from here on: write [MASK], ____, {{hint}}, 【待补：hint】 or"
            " <fill hint> where something is missing"
        )
    if len(scan.spans) > MAX_SPANS:
        raise SpanError(
            f"{place(text, scan.spans[MAX_SPANS].start)}: here begins masked span"
            f" {MAX_SPANS + 1} of {len(scan.spans)}, and {MAX_SPANS} are filled at once:"
            " split the text"
        )
    return scan.spans


def scan_spans(text: str, *, markdown: bool = True, in_code: bool = False) -> Scan:
    """As `find_spans`, for a text that is still being written: raises nothing."""
    token = _MARKDOWN if markdown else _PLAIN
    starts = [match.start() for match in token.finditer(text)]
    regions = code_regions(text, starts) if starts and markdown and not in_code else []
    spans: list[MaskedSpan] = []
    problem: SpanError | None = None
    for match in _outside(token, text, regions):
        try:
            if span := _span(match):
                spans.append(span)
        except Unreadable as error:
            problem = problem or SpanError(f"{place(text, match.start())}: {error}")
    return Scan(tuple(spans), problem)


def place(text: str, offset: int) -> str:
    """`line:column` of an offset, both from 1, columns in characters."""
    lines = [match.end() for match in _LINE_END.finditer(text, 0, offset)]
    return f"{len(lines) + 1}:{offset - (lines[-1] if lines else 0) + 1}"


def _outside(
    token: re.Pattern[str], text: str, regions: Sequence[Region]
) -> Iterator[re.Match[str]]:
    """The tokens that begin outside `regions`; after a region the text is read afresh."""
    at = 0
    match = token.search(text)
    for start, end in [*regions, (len(text), len(text))]:
        while match and match.start() < start:
            yield match
            at = match.end()
            match = token.search(text, at)
        if match and match.start() < end:
            at = max(at, end)
            match = token.search(text, at)


def _span(match: re.Match[str]) -> MaskedSpan | None:
    """The span a token stands for, None for what only looks like one; raises Unreadable."""
    start, end = match.span()
    match match.lastgroup:
        case "mask":
            return MaskedSpan(start, end, max_tokens=BLANK_TOKENS)
        case "blank" if not _in_name(match.string, start, end):
            return MaskedSpan(start, end, max_tokens=BLANK_TOKENS)
        case "todo" | "braces" | "left" as kind:
            return MaskedSpan(start, end, (match[f"{kind}_hint"] or "").strip())
        case "tag":
            tag = parse_tag(match["tag_body"])
            limit = tag.max_tokens or SPAN_TOKENS
            return MaskedSpan(start, end, tag.hint, tag.choices, tag.pattern, limit)
        case "open":
            raise Unreadable(
                f"{match[0]} has no {_CLOSERS[match[0]]} on its line: close it, or write"
                f" \\{match[0]} to keep it as it is"
            )
        case _:
            return None


def _in_name(text: str, start: int, end: int) -> bool:
    # Chinese has no blanks between words: 我叫____ is no name
    beside = text[max(start - 1, 0) : start] + text[end : end + 1]
    return any(sign.isalnum() and sign < "\u2e80" for sign in beside)
