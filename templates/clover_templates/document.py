"""A document: its bytes, the blocks that join to them, and its outline."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from functools import cached_property

from clover_templates.blocks import Block, Heading, Kind, Style, blocks_of
from clover_templates.chinese_text import numbered_rows
from clover_templates.markdown_blocks import markdown_rows
from clover_templates.outline import Section, outline_of
from clover_templates.source import Source, Span

_BOLD = re.compile(
    rb"[ ]{0,3}(\*\*|__)(?=\S)((?:(?!\1)[^\r\n]){1,240})(?<=\S)\1[ \t]*(?:\r\n|\r|\n)?\Z"
)
_ENDED = re.compile(r"[。！？；：，.!?;:,]\Z")
_BOLD_LEVEL = 2


@dataclass(frozen=True)
class Document:
    """An immutable document. The spans of `blocks` join to `data`, always."""

    source: Source
    blocks: tuple[Block, ...] = field(repr=False)

    @classmethod
    def of(cls, data: bytes, *, numbered: bool = False) -> Document:
        """Cut `data` into blocks; as a numbered Chinese text if it is one, or is said to be one,
        else as Markdown.

        Raises DocumentError for what is no UTF-8 text or too large.
        """
        source = Source.of(data)
        rows = numbered_rows(source, always=numbered)
        blocks = blocks_of(source, markdown_rows(source) if rows is None else rows)
        return cls(source, _with_bold_headings(tuple(blocks)))

    @property
    def data(self) -> bytes:
        return self.source.data

    @cached_property
    def outline(self) -> Section:
        """The root of the document's sections."""
        return outline_of(self.blocks)


def _with_bold_headings(blocks: tuple[Block, ...]) -> tuple[Block, ...]:
    """`blocks`, with bold lines as headings where it is safe to read them so.

    It is where no other heading stands in the document and two such lines or more do, each
    alone between blank lines and without a mark at its end.
    """
    if any(block.kind is Kind.HEADING for block in blocks):
        return blocks
    bold = {block.start: title for block in blocks if (title := _bold_title(block))}
    if len(bold) < 2:
        return blocks
    return tuple(
        replace(
            block,
            kind=Kind.HEADING,
            heading=Heading(_BOLD_LEVEL, Style.BOLD, bold[block.start]),
        )
        if block.start in bold
        else block
        for block in blocks
    )


def _bold_title(block: Block) -> Span | None:
    if block.kind is not Kind.PARAGRAPH:
        return None
    found = _BOLD.match(block.data[block.start : block.end])
    if not found or _ENDED.search(found[2].decode()):
        return None
    return Span(block.start + found.start(2), block.start + found.end(2))
