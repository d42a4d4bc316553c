"""A heading as it is read: its plain text, and its text as Markdown without links."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

# a sign that would mean something to Markdown where it stands in text
_ACTIVE = re.compile(
    r"""
      [`*\[\]]
    | \\(?=[!-/:-@\[-`{-~]|\Z)
    | (?<![^\W_])_ | _(?![^\W_])
    | <(?=[A-Za-z/!?])
    | &(?=\#?\w+;)
    | ~(?=~)
    """,
    re.VERBOSE,
)
_SHOWN = frozenset({"text", "code_inline", "softbreak", "hardbreak"})
_FOOTNOTE = re.compile(r"\[\^[^\]\s]+\]")


@dataclass(frozen=True, slots=True)
class RenderedHeading:
    """`plain` is what a page's anchor is made from, `with_alt` the same with images' texts.

    `label` shows the heading inside a link: in one line, code as code, no links, no emphasis.
    """

    plain: str
    with_alt: str
    label: str


def render_headings(sources: Iterable[str], defined: Iterable[str]) -> list[RenderedHeading]:
    """Read headings' Markdown; `defined` are the labels that the document defines as links."""
    from markdown_it.common.utils import normalizeReference

    links = {normalizeReference(label): {"href": "#", "title": ""} for label in defined}
    return [_read(source, {"references": links}) for source in sources]


def _read(source: str, env: dict[str, dict[str, dict[str, str]]]) -> RenderedHeading:
    tokens = _markdown().parseInline(source, env)[0].children or []
    return RenderedHeading(
        "".join(_plain(tokens, images=False)),
        "".join(_plain(tokens, images=True)),
        _label(tokens),
    )


def _plain(tokens: Sequence[Token], images: bool) -> Iterator[str]:
    for token in tokens:
        if token.type in ("text", "code_inline"):
            yield token.content
        elif token.type == "image" and images:
            yield from _plain(token.children or [], images)


def _label(tokens: Sequence[Token]) -> str:
    """In one line. Text is escaped as a whole: what a sign means hangs on what stands beside it."""
    parts: list[str] = []
    for is_code, run in groupby(_flat(tokens), lambda token: token.type == "code_inline"):
        if is_code:
            parts += map(_code, run)
        else:
            text = "".join(" " if "break" in token.type else token.content for token in run)
            parts.append(escaped(_FOOTNOTE.sub("", text)))
    return " ".join("".join(parts).split())


def _flat(tokens: Sequence[Token]) -> Iterator[Token]:
    for token in tokens:
        if token.type == "image":
            yield from _flat(token.children or [])
        elif token.type in _SHOWN:
            yield token


def _code(token: Token) -> str:
    blank = " " if token.content[:1] == "`" or token.content[-1:] == "`" else ""
    return f"{token.markup}{blank}{token.content}{blank}{token.markup}"


def escaped(text: str) -> str:
    """Markdown that shows `text`."""
    return _ACTIVE.sub(r"\\\g<0>", text)


@cache
def _markdown() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").enable("strikethrough")
