"""Text brought to a form that survives moving: the units that coverage counts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from unicodedata import normalize

from clover_templates.blocks import MARKED, OPAQUE, Block, Kind
from clover_templates.document import Document
from clover_templates.numbering import number_prefix
from clover_templates.sentences import sentence_ends
from clover_templates.source import Span, byte_offsets

_LINE = re.compile(r"[^\r\n]+")
_MARKS = re.compile(
    r"[ \t\u3000>]*(?:#{1,6}(?:[ \t]+|$)|[-*+•·][ \t]+(?:\[[ xX]\][ \t]+)?|\d{1,9}[.)][ \t]+)?"
)
_LINK = re.compile(
    r"!?\[([^\[\]\n]{0,300})\]\([^()\s]{0,2000}(?:\([^()\s]{0,200}\))?[^()\n]{0,300}\)"
)
_EMPHASIS = re.compile(r"\*+|~~|==|(?<!\w)_+|_+(?!\w)")
_FENCE = re.compile(r"[ \t]*(?:`{3,}|~{3,})")
_DELIMITER_ROW = re.compile(r"[ \t|:>-]*-[ \t|:>-]*\Z")
_UNDERLINE = re.compile(r"[ \t]*(?:=+|(?:[-*_][ \t]*){3,}|(?:`{3,}|~{3,})\w*)[ \t]*\Z")
_TOKEN = re.compile(r"[\u3400-\u9fff]|[^\W_\u3400-\u9fff]+")
# nothing to lose in them
_EMPTY = frozenset({Kind.BLANK, Kind.BOM, Kind.RULE})


@dataclass(frozen=True, slots=True)
class Unit:
    """A sentence, a line of a list or table, or a whole block of code; `text` as `normal` has it.

    `span` is where its words stand in the document, without the marks before them.
    """

    text: str
    span: Span


def normal(text: str) -> str:
    """`text` of one line without marks, numbering, emphasis and link targets, blanks squeezed.

    Two texts with the same normal form say the same; NFKC makes full-width signs plain.
    """
    words = _LINK.sub(r"\1", text[marks_end(text) :])
    return " ".join(_EMPHASIS.sub("", normalize("NFKC", words)).split())


def marks_end(line: str) -> int:
    """How many characters of quote, heading and list marks and of numbering begin the line."""
    at = 0
    while at < len(line):
        found = _MARKS.match(line, at)
        end = found.end() if found else at
        end += len(number_prefix(line[end:]))
        if end == at:
            break
        at = end
    return at


def says_nothing(text: str) -> bool:
    """Whether `text` holds nothing but blanks, marks, fences and rules."""
    lines = _LINE.findall(text)
    return all(
        not normal(line) or _DELIMITER_ROW.match(line) or _UNDERLINE.match(line) for line in lines
    )


def units(document: Document) -> Iterator[Unit]:
    """Everything the document says, unit by unit, in order."""
    for block in document.blocks:
        if block.kind in OPAQUE:
            yield Unit(whole(block), block.span)
        elif block.kind not in _EMPTY:
            yield from _pieces(block)


def grams(text: str) -> set[tuple[str, ...]]:
    """The 3-grams of `text`, a token being one Chinese character or one word; fewer if short."""
    tokens = tuple(_TOKEN.findall(normalize("NFKC", text).lower()))
    return {tokens[at : at + 3] for at in range(max(len(tokens) - 2, 1))} if tokens else set()


def whole(block: Block) -> str:
    """An opaque block to the letter, but for line ends and the fence that may have been closed."""
    lines = block.text.splitlines()
    if block.kind is Kind.CODE and _FENCE.match(lines[0]):
        lines = lines[:-1] if len(lines) > 1 and _FENCE.match(lines[-1]) else lines
    return "\n".join(lines).rstrip()


def _pieces(block: Block) -> Iterator[Unit]:
    if block.heading and block.heading.style in MARKED:
        yield from _title_pieces(block, block.heading.title)
        return
    text = block.text
    places = byte_offsets(text)
    for line in _LINE.finditer(text):
        if _DELIMITER_ROW.match(line[0]) or _UNDERLINE.match(line[0]):
            continue  # whatever it is here, it says nothing
        for start, end in pairwise([0, *_ends(block, line[0])]):
            piece = line[0][start:end].rstrip()
            if said := normal(piece):
                first, last = (
                    line.start() + start + marks_end(piece),
                    line.start() + start + len(piece),
                )
                yield Unit(said, Span(block.start + places[first], block.start + places[last]))


def _title_pieces(block: Block, title: Span) -> Iterator[Unit]:
    """A marked heading says its title, without the signs that close it, on however many lines."""
    text = " ".join(block.title.split())
    for start, end in pairwise([0, *sentence_ends(text)]):
        if said := normal(text[start:end]):
            yield Unit(said, title)


def _ends(block: Block, line: str) -> list[int]:
    whole = block.kind in (Kind.TABLE, Kind.FRONT_MATTER, Kind.REFERENCES)
    return [len(line)] if whole else sentence_ends(line)
