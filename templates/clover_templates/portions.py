"""Portions of a document: the blocks that move as a whole when it is restructured."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from clover_templates import outline, template
from clover_templates.blocks import Block, Kind, Style
from clover_templates.document import Document
from clover_templates.places import Places
from clover_templates.source import Span

# nothing is read out of them: they stay behind what they follow
_ATTACHED = frozenset(
    {Kind.REFERENCES, Kind.FOOTNOTE, Kind.COMMENT, Kind.HTML, Kind.RULE, Kind.MATH}
)
_LED = frozenset({Kind.LIST, Kind.TABLE, Kind.CODE, Kind.QUOTE, Kind.CALLOUT, Kind.MATH})
_ENDED = re.compile(r"[。！？；：…][”』」）)]*\s*\Z")
_SILENT = frozenset({Kind.BLANK, Kind.BOM, Kind.FRONT_MATTER})


@dataclass(frozen=True, slots=True)
class Portion:
    """Blocks that follow one another. `home` is the section that a heading of the document names
    for them; `replaced` that heading, which gives way to the template's."""

    blocks: tuple[Block, ...]
    home: template.Section | None = None
    replaced: Block | None = None

    @property
    def span(self) -> Span | None:
        """From the first block's first byte to the last one's end; None without blocks."""
        return Span(self.blocks[0].start, self.blocks[-1].end) if self.blocks else None

    @property
    def text(self) -> str:
        """What is read of it to place it."""
        return "".join(block.text for block in self.blocks).strip()


@dataclass(frozen=True, slots=True)
class Portions:
    """A document taken apart: its title's block, if it has one, and its portions in order."""

    title: Block | None
    all: tuple[Portion, ...] = field(default=())


def portions_of(document: Document, places: Places) -> Portions:
    """Take a document apart: sections whose headings name sections of the template stay together
    below them, sections with other headings stay whole, other blocks stand for themselves."""
    title = _title(document, places)
    found = _Walk(places, title).section(document.outline, None)
    return Portions(title, tuple(found))


def _title(document: Document, places: Places) -> Block | None:
    """The first heading, if it is the only one of the first level and names no section."""
    headings = [block for block in document.blocks if block.kind is Kind.HEADING]
    if not headings or headings[0].level > 1 or places.named(headings[0].title):
        return None
    heading = headings[0].heading
    others = [block for block in headings[1:] if block.level == 1]
    is_title = heading is not None and heading.style is Style.TITLE
    return headings[0] if is_title or not others or document.blocks[0] is headings[0] else None


@dataclass(frozen=True, slots=True)
class _Walk:
    places: Places
    title: Block | None

    def section(self, section: outline.Section, home: template.Section | None) -> Iterator[Portion]:
        heading = section.heading
        if heading is None or heading is self.title:
            yield from self._blocks(section.blocks, home)
            yield from self._children(section, home)
        elif named := self.places.named(section.title, home):
            run_in = heading.heading is not None and heading.heading.run_in
            blocks = (heading, *section.blocks) if run_in else section.blocks
            yield Portion(_told(blocks), named, None if run_in else heading)
            yield from self._children(section, named)
        elif any(self.places.named(inner.title, home) for inner in section if inner is not section):
            yield Portion(_told((heading, *section.blocks)), home)
            yield from self._children(section, home)
        else:
            inner = [block for each in section for block in _own(each)]
            yield Portion(_told(inner), home)

    def _children(
        self, section: outline.Section, home: template.Section | None
    ) -> Iterator[Portion]:
        for child in section.children:
            yield from self.section(child, home)

    def _blocks(self, blocks: Sequence[Block], home: template.Section | None) -> Iterator[Portion]:
        """Each block for itself, with what stays behind it."""
        group: list[Block] = []
        last: Block | None = None
        for block in (line for each in blocks for line in _lines(each)):
            if block.kind not in _SILENT:
                if last and not _belongs(block, last):
                    yield Portion(_told(group), home)
                    group = []
                last = block
            group.append(block)
        if last:
            yield Portion(_told(group), home)


def _lines(block: Block) -> Iterator[Block]:
    """A paragraph whose lines end with a Chinese sentence's end is a paragraph a line: text that is
    wrapped breaks anywhere."""
    lines = block.text.splitlines(keepends=True) if block.kind is Kind.PARAGRAPH else []
    if len(lines) < 2 or not all(_ENDED.search(line) for line in lines[:-1]):
        yield block
        return
    start = block.start
    for line in lines:
        end = start + len(line.encode())
        yield replace(block, start=start, end=end)
        start = end


def is_indented(block: Block) -> bool:
    """Whether a block is code by its indentation."""
    return block.kind is Kind.CODE and block.text[:1] in (" ", "\t")


def _belongs(block: Block, before: Block) -> bool:
    """Whether a block stays behind the one before: a list behind its `…:`, a note, a rule, and
    indented code, which is code only where no list stands before it."""
    if block.kind in _ATTACHED or is_indented(block):
        return True
    return block.kind in _LED and before.text.rstrip().endswith((":", "："))


def _own(section: outline.Section) -> tuple[Block, ...]:
    return (section.heading, *section.blocks) if section.heading else section.blocks


def _told(blocks: Sequence[Block]) -> tuple[Block, ...]:
    """The blocks without blank lines at their ends."""
    told = [number for number, block in enumerate(blocks) if block.kind not in _SILENT]
    return tuple(blocks[told[0] : told[-1] + 1]) if told else ()
