"""A block: the unit a document is cut into and put together from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import pairwise

from clover_templates.numbering import Number
from clover_templates.sentences import sentence_ends
from clover_templates.source import Source, Span, byte_offsets


class Kind(StrEnum):
    """What a block is; LIST_ITEM occurs only among the items of a LIST."""

    BOM = "byte order mark"
    FRONT_MATTER = "front matter"
    HEADING = "heading"
    PARAGRAPH = "paragraph"
    LIST = "list"
    LIST_ITEM = "list item"
    TABLE = "table"
    CODE = "code"
    MATH = "math"
    COMMENT = "comment"
    HTML = "html"
    QUOTE = "quote"
    CALLOUT = "callout"
    REFERENCES = "reference definitions"
    FOOTNOTE = "footnote definition"
    RULE = "rule"
    BLANK = "blank lines"


# no prose stands in them: their text means what it means to the letter
OPAQUE = frozenset({Kind.CODE, Kind.MATH, Kind.COMMENT, Kind.HTML})
_SPLIT = frozenset({Kind.PARAGRAPH, Kind.LIST_ITEM, Kind.FOOTNOTE})


class Style(StrEnum):
    """How a heading is written."""

    ATX = "# …"
    SETEXT = "underlined"
    NUMBERED = "一、…"
    TITLE = "first line"
    BOLD = "**…**"


MARKED = (Style.ATX, Style.SETEXT)


@dataclass(frozen=True, slots=True)
class Heading:
    """What makes a block a heading; `title` is its text alone, without marks and number.

    `level` is 1 to 6. Where `run_in`, the block's text goes on behind the title.
    """

    level: int
    style: Style
    title: Span
    number: Number | None = None
    run_in: bool = False


@dataclass(frozen=True, slots=True)
class Block:
    """`[start, end)` in bytes of `data`, whole lines; blank lines beside it are blocks too.

    `items` of a list join to the list. `nested` is True for an item or a footnote that holds more
    than one paragraph of plain text.
    """

    kind: Kind
    start: int
    end: int
    data: bytes = field(repr=False, compare=False)
    heading: Heading | None = None
    items: tuple[Block, ...] = ()
    nested: bool = False

    @property
    def span(self) -> Span:
        return Span(self.start, self.end)

    @property
    def text(self) -> str:
        return self.data[self.start : self.end].decode()

    @property
    def level(self) -> int:
        """The level of a heading, 1 to 6; 0 for every other block."""
        return self.heading.level if self.heading else 0

    @property
    def title(self) -> str:
        """The text of a heading without marks and number; empty for every other block."""
        if not self.heading:
            return ""
        return self.data[self.heading.title.start : self.heading.title.end].decode()

    @property
    def sentences(self) -> tuple[Span, ...]:
        """Spans that join to the block; one alone where it is not to be cut."""
        run_in = self.heading is not None and self.heading.run_in
        if self.nested or (not run_in and self.kind not in _SPLIT):
            return (self.span,)
        places = byte_offsets(self.text)
        ends = [self.start + places[end] for end in sentence_ends(self.text)]
        return tuple(Span(start, end) for start, end in pairwise([self.start, *ends]))


@dataclass(frozen=True, slots=True)
class Rows:
    """Lines `[first, end)` of a source and what block they are."""

    kind: Kind
    first: int
    end: int
    heading: Heading | None = None
    items: tuple[Rows, ...] = ()
    nested: bool = False


def blocks_of(source: Source, rows: Iterable[Rows]) -> Iterator[Block]:
    """`rows` as blocks, with what lies between them: every line is in exactly one block.

    Rows come in order, without blank lines at their ends; where two overlap the later gives way.
    Lines that no row has are blank lines, or paragraphs.
    """
    at = source.front_matter_lines
    if source.body_start:
        yield Block(Kind.BOM, 0, source.body_start, source.data)
    if at:
        yield _block(source, Rows(Kind.FRONT_MATTER, 0, at))
    for row in rows:
        if row.first < at:
            row = _cut(row, at, row.end)
        if row.first < row.end:
            yield from _between(source, at, row.first)
            yield _block(source, row)
            at = row.end
    yield from _between(source, at, len(source.lines))


def _between(source: Source, first: int, end: int) -> Iterator[Block]:
    at = first
    while at < end:
        blank = source.is_blank(at)
        stop = at + 1
        while stop < end and source.is_blank(stop) == blank:
            stop += 1
        yield _block(source, Rows(Kind.BLANK if blank else Kind.PARAGRAPH, at, stop))
        at = stop


def _cut(rows: Rows, first: int, end: int) -> Rows:
    items = tuple(
        _cut(item, max(item.first, first), min(item.end, end))
        for item in rows.items
        if item.end > first and item.first < end
    )
    return replace(rows, first=first, end=end, items=items)


def _block(source: Source, rows: Rows) -> Block:
    start, end = source.lines[rows.first].start, source.lines[rows.end - 1].end
    items = tuple(_block(source, item) for item in rows.items)
    return Block(rows.kind, start, end, source.data, rows.heading, items, rows.nested)
