"""The blocks of a Markdown text: the tree of its block grammar, brought to whole lines."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from clover_templates.blocks import Heading, Kind, Rows, Style
from clover_templates.grammar import block_tree, top_level
from clover_templates.opaque import Fenced, Run, fenced_runs
from clover_templates.source import Source, Span

if TYPE_CHECKING:
    from tree_sitter import Node

_KINDS = {
    "paragraph": Kind.PARAGRAPH,
    "pipe_table": Kind.TABLE,
    "fenced_code_block": Kind.CODE,
    "indented_code_block": Kind.CODE,
    "html_block": Kind.HTML,
    "block_quote": Kind.QUOTE,
    "link_reference_definition": Kind.REFERENCES,
    "thematic_break": Kind.RULE,
}
_FENCED = {Fenced.MATH: Kind.MATH, Fenced.COMMENT: Kind.COMMENT}
_LONE_CR = re.compile(rb"\r(?!\n)")
_NO_LINE_END = re.compile(rb"[^\r\n]")
_ATX = re.compile(rb"[ \t]*(#{1,6})(?:[ \t]+(.*?))??(?:[ \t]+#+)?[ \t]*[\r\n]*\Z", re.DOTALL)
_CALLOUT = re.compile(rb"[ ]{0,3}>[ \t]?\[![^\[\]\r\n]+\]")
_FOOTNOTE = re.compile(rb"[ ]{0,3}\[\^[^\[\]\s]+\]:")
_REFERENCE = re.compile(rb"[ ]{0,3}\[(?!\^)(?:[^\[\]\\\r\n]|\\.)+\]:[ \t]*\S+")
_LINK_TITLE = re.compile(rb"[ \t]*[\"'(]")
_INDENTED = re.compile(rb" {4}| {0,3}\t")
_MATH_LINE = re.compile(rb"[ ]{0,3}\$\$(?:[^$]|\$(?!\$))+\$\$[ \t]*[\r\n]*\Z")


def markdown_rows(source: Source) -> Iterator[Rows]:
    """The rows of every top-level block, in order; blank lines and front matter have none.

    `$$` and `%%` blocks are taken out before the tree is made: what looks like a heading in them
    is none. CR alone counts as a line end.
    """
    if len(source.lines) <= source.front_matter_lines:
        return
    yield from _merged(source, _told_apart_rows(source))


def _told_apart_rows(source: Source) -> Iterator[Rows]:
    dialect = _dialect_runs(source)
    runs = deque(Rows(_FENCED[run.kind], run.first, run.end) for run in dialect)
    for row in _tree_rows(source, _masked(source, dialect)):
        while runs and runs[0].first < row.first:
            yield runs.popleft()
        if runs and runs[0].first == row.first and row.kind is Kind.HEADING:
            # it stands for the run
            continue
        while runs and runs[0].end <= row.end:
            # inside of a list or quote: part of it
            runs.popleft()
        yield from _told_apart(source, row)
    yield from runs


def _dialect_runs(source: Source) -> list[Run]:
    if b"$$" not in source.data and b"%%" not in source.data:
        return []
    start = source.front_matter_lines
    lines = [source.line(number) for number in range(start, len(source.lines))]
    return [
        Run(run.kind, run.first + start, run.end + start)
        for run in fenced_runs(lines)
        if run.kind in _FENCED
    ]


def _masked(source: Source, runs: Sequence[Run]) -> bytes:
    """The text below the front matter, with an empty heading and line ends in place of `runs`: like
    them a heading ends a list that it is not indented into.

    It begins with a line end more: what stands in its first line now cannot be front matter.
    """
    shift = source.lines[source.front_matter_lines].start
    text = bytearray(source.data[shift:])
    for run in runs:
        start, end = source.lines[run.first].start - shift, source.lines[run.end - 1].end - shift
        mark = start + len(text[start:end]) - len(text[start:end].lstrip(b" \t"))
        text[start:end] = _NO_LINE_END.sub(b" ", text[start:end])
        text[mark : mark + 1] = b"#"
    return b"\n" + _LONE_CR.sub(b"\n", bytes(text))


def _tree_rows(source: Source, text: bytes) -> Iterator[Rows]:
    # where `text` begins in the document
    shift = len(source.data) - len(text)
    for node in top_level(block_tree(text)):
        first, end = _lines(source, text, node, shift)
        match node.type:
            case "ERROR":
                # blank lines are all that is left to go by
                continue
            case "atx_heading" | "setext_heading":
                heading = _heading(source, first, end, node.type)
                yield Rows(Kind.HEADING, first, end, heading)
            case "list":
                items = [item for item in node.named_children if item.type == "list_item"]
                firsts = [_lines(source, text, item, shift)[0] for item in items[1:]]
                yield Rows(Kind.LIST, first, end, items=_items(items, [first, *firsts, end]))
            case kind:
                yield Rows(_KINDS.get(kind, Kind.PARAGRAPH), first, end)


def _lines(source: Source, text: bytes, node: Node, shift: int) -> tuple[int, int]:
    """The lines `[first, end)` of a node; blanks at its end, of the next line even, are not its."""
    size = len(text[node.start_byte : node.end_byte].rstrip(b" \t\r\n"))
    first = source.line_at(node.start_byte + shift)
    return first, source.line_at(node.start_byte + max(size - 1, 0) + shift) + 1


def _items(items: Sequence[Node], borders: Sequence[int]) -> tuple[Rows, ...]:
    """Items that join to their list, whatever the tree leaves between them."""
    return tuple(
        Rows(Kind.LIST_ITEM, first, end, nested=_is_nested(item))
        for item, (first, end) in zip(items, pairwise(borders), strict=True)
        if end > first
    )


def _is_nested(item: Node) -> bool:
    inside = [
        child.type
        for child in item.named_children
        if not child.type.startswith(("list_marker", "task_list_marker", "block_continuation"))
    ]
    return inside != ["paragraph"]


def _heading(source: Source, first: int, end: int, kind: str) -> Heading:
    start = source.lines[first].start
    text = source.data[start : source.lines[end - 1].end]
    if kind == "atx_heading":
        found = _ATX.match(text)
        marks, title = (found[1], found.span(2)) if found else (b"#", (0, len(text)))
        level, style = len(marks), Style.ATX
    else:
        last = source.lines[end - 1].start - start
        level, style, title = (1 if b"=" in text[last:] else 2), Style.SETEXT, (0, last)
    inside = text[max(title[0], 0) : max(title[1], 0)]
    at = start + max(title[0], 0) + len(inside) - len(inside.lstrip())
    return Heading(level, style, Span(at, at + len(inside.strip())))


def _told_apart(source: Source, row: Rows) -> Iterator[Rows]:
    """`row` as what it is to writers: callouts, footnotes, definitions and lines of math."""
    line = source.line(row.first)
    if row.kind is Kind.QUOTE and _CALLOUT.match(line):
        yield replace(row, kind=Kind.CALLOUT)
    elif row.kind is Kind.PARAGRAPH and row.end == row.first + 1 and _MATH_LINE.match(line):
        yield replace(row, kind=Kind.MATH)
    elif row.kind in (Kind.PARAGRAPH, Kind.REFERENCES):
        yield from _definitions(source, row)
    else:
        yield row


def _definitions(source: Source, row: Rows) -> Iterator[Rows]:
    """A paragraph cut where a footnote or a run of reference definitions begins or ends in it."""
    first, kind = row.first, row.kind
    if kind is Kind.PARAGRAPH and not source.line(first).lstrip(b" ").startswith(b"["):
        yield row
        return
    for number in range(row.first, row.end):
        line = source.line(number)
        here = _line_kind(line, kind, number == row.first)
        if number > first and (here is not kind or _FOOTNOTE.match(line)):
            yield replace(row, kind=kind, first=first, end=number)
            first = number
        kind = here
    yield replace(row, kind=kind, first=first)


def _line_kind(line: bytes, above: Kind, heads: bool) -> Kind:
    """What a line of a paragraph is; definitions stand before all text, as text goes on for good.

    `above` is what the line above it is, or what the tree says where the line `heads` the block.
    """
    if above is Kind.PARAGRAPH and not heads:
        return above
    if _FOOTNOTE.match(line):
        return Kind.FOOTNOTE
    if _REFERENCE.match(line):
        return Kind.REFERENCES
    if above is Kind.REFERENCES and not heads and not _LINK_TITLE.match(line):
        return Kind.PARAGRAPH
    return above


def _merged(source: Source, rows: Iterator[Rows]) -> Iterator[Rows]:
    """`rows` with what belongs together in one: a run of definitions, a footnote and its text."""
    open_row: Rows | None = None
    for row in rows:
        if open_row and _goes_on(source, open_row, row):
            nested = open_row.kind is Kind.FOOTNOTE
            open_row = replace(open_row, end=row.end, nested=nested)
            continue
        if open_row:
            yield open_row
        open_row = row
    if open_row:
        yield open_row


def _goes_on(source: Source, row: Rows, below: Rows) -> bool:
    if row.kind is Kind.REFERENCES:
        return below.kind is Kind.REFERENCES and row.end == below.first
    # only Markdown calls it code
    indented = below.kind is Kind.CODE and _INDENTED.match(source.line(below.first))
    return row.kind is Kind.FOOTNOTE and bool(indented)
