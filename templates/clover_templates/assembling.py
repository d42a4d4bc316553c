"""Puts a document together from the template's literals and the source's bytes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from clover_templates.blocks import MARKED, Block, Kind, Style
from clover_templates.builtins import Facts
from clover_templates.document import Document
from clover_templates.form_lines import Answers
from clover_templates.places import Place
from clover_templates.placing import Placed
from clover_templates.portions import Portion, is_indented
from clover_templates.running_numbers import RunningNumbers
from clover_templates.shape import leftover_level
from clover_templates.source import Span
from clover_templates.template import Literal, Note, Part, Section, Slot, Template, Unit
from clover_templates.template_lines import drops, is_dropped, keys_of, lines_of
from clover_templates.template_settings import BUILTINS, Headings, Numbering
from clover_templates.trace import FromSource, Trace, Why
from clover_templates.writer import Writer

_MOST_LEVEL = 6
_FENCE = re.compile(r"([ \t]*)(`{3,}|~{3,})")
# blocks that go on with indented lines below them
_OPEN = (Kind.LIST, Kind.CODE, Kind.FOOTNOTE)
# lines of a 公文 that follow one another without a blank line
_TEXT = (Kind.PARAGRAPH, Kind.HEADING)


@dataclass(frozen=True, slots=True)
class Parts:
    """What a document is put together from: its title, where its portions stand, and the lines
    that fill lines of the template."""

    title: Block | None
    placed: Sequence[Placed]
    answers: Answers


def assemble(document: Document, template: Template, parts: Parts, facts: Facts) -> Trace:
    """The restructured document as pieces. Nothing of the source is left out but headings that the
    template's take the place of, and blank lines."""
    return _Assembly(document, template, parts, facts).trace()


@dataclass(slots=True)
class _Assembly:
    document: Document
    template: Template
    parts: Parts
    facts: Facts
    writer: Writer = field(init=False)
    contents: dict[Place, list[Portion]] = field(init=False, default_factory=dict)
    named: dict[int, Block] = field(init=False, default_factory=dict)
    numbers: RunningNumbers = field(init=False, default_factory=RunningNumbers)
    last: Block | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.writer = Writer(self.document)
        for one in self.parts.placed:
            if one.portion.home is not None and one.portion.replaced:
                self.named.setdefault(id(one.portion.home), one.portion.replaced)
            if one.place is not None and one.portion.blocks:
                self.contents.setdefault(one.place, []).append(one.portion)

    @property
    def is_numbered(self) -> bool:
        """Whether headings are lines with numbers."""
        return self.template.numbering is Numbering.GONGWEN

    def trace(self) -> Trace:
        self._beginning()
        for section in self.template.sections:
            self._section(section)
        self._leftover()
        portions = (one.portion for one in self.parts.placed)
        replaced = [portion.replaced.span for portion in portions if portion.replaced]
        if self.parts.title:
            replaced.append(self.parts.title.span)
        return Trace(self.writer.ended(), tuple(replaced))

    def _beginning(self) -> None:
        """The byte order mark, and the front matter: the source's, with the keys it lacks."""
        blocks = {block.kind: block for block in self.document.blocks[:2]}
        if mark := blocks.get(Kind.BOM):
            self.writer.pieces.append(FromSource(mark.start, mark.end))
        own = blocks.get(Kind.FRONT_MATTER)
        if own is None:
            if self.template.front_matter:
                self._body(self.template.front_matter)
                self.writer.line_ends(2)
            return
        lines = self.document.source.front_matter_lines
        close = self.document.source.lines[lines - 1].start
        there = {self.document.source.line(n).split(b":")[0].strip() for n in range(lines)}
        self.writer.bytes_of(Span(own.start, close))
        for key, line in keys_of(self.template):
            if key.encode() not in there and not is_dropped(line, self.template):
                self._body(line)
                self.writer.line_ends(1)
        self.writer.bytes_of(Span(close, own.end))
        self.writer.line_ends(2)

    def _section(self, section: Section) -> None:
        own = self.contents.get(Place(section, headed=True), [])
        for portion in own:
            self._blocks(portion.blocks, section.level)
        if own and not self._has_text(section):
            return
        if (section.optional or not section.repeat.least) and not self._is_told(section):
            return
        if not self._stays(section):
            self._head(section)
            self._text(section)
        for inner in section.sections:
            self._section(inner)

    def _stays(self, section: Section) -> bool:
        """Write a section as the document has it, where its heading is the template's already."""
        slot = next((slot for slot in section.slots if slot.implicit), None)
        portions = self.contents.get(Place(section, slot), [])
        own = portions[0].replaced if portions else None
        head = "".join(piece.text for piece in section.head if isinstance(piece, Literal))
        if self.is_numbered or own is None or own.text.strip() != head.strip():
            return False
        first = portions[0].blocks
        self.writer.line_ends(2)
        self.writer.pieces.append(FromSource(own.start, first[0].start))
        self._blocks(first, section.level + 1)
        self._portions(portions[1:], section.level + 1)
        return True

    def _has_text(self, section: Section) -> bool:
        """Whether text stands in a section or below it that has no heading of its own."""
        return any(
            place.section is each and not place.headed
            for each in section.walk()
            for place in self.contents
        )

    def _is_told(self, section: Section) -> bool:
        """Whether the document has something for a section or one below it."""
        return any(
            id(each) in self.named or any(place.section is each for place in self.contents)
            for each in section.walk()
        )

    def _head(self, section: Section) -> None:
        """The template's heading, or the document's own where the template keeps those."""
        if not section.level:
            self.writer.line_ends(1)
            return
        self.writer.line_ends(1 if self.is_numbered else 2)
        own = self.named.get(id(section))
        keeps = self.template.settings.headings is Headings.KEEP_SOURCE
        if own and own.heading and keeps:
            self._mark(section.level, own.title)
            self.writer.line_of(own.heading.title)
            self.writer.line_ends(1)
            return
        head = section.head
        if self.is_numbered and isinstance(first := head[0], Literal):
            title = first.text.removeprefix(section.marker)
            self._mark(section.level, title)
            self.writer.text(title)
            head = head[1:]
        self._body(head)

    def _mark(self, level: int, title: str) -> None:
        """What a heading of a level begins with."""
        if self.is_numbered:
            number = self.numbers.next(level)
            # 3.2.1 is another number than 3. before 2.1
            apart = number.endswith(".") and title[:1].isdigit()
            self.writer.added(f"{number} " if apart else number, Why.NUMBER)
        else:
            self.writer.added("#" * min(level, _MOST_LEVEL) + " ", Why.HEADING_MARK)

    def _text(self, section: Section) -> None:
        """The text under a heading: placed blocks in their slots, or instead of a form."""
        if form := self.contents.get(Place(section)):
            self._portions(form, section.level + 1)
            return
        for number, line in enumerate(lines_of(section.body)):
            answers = self.parts.answers.of(section, number)
            for span in answers:
                self.writer.line_ends(1)
                self.writer.bytes_of(span)
            if answers:
                self._line_end(line)
            else:
                self._body(line, section)

    def _line_end(self, line: Sequence[Part]) -> None:
        last = line[-1]
        ended = isinstance(last, Literal) and last.text.endswith("\n")
        self.writer.line_ends(1 if ended or isinstance(last, Unit) else 0)

    def _body(self, parts: Iterable[Part], section: Section | None = None) -> None:
        for part in parts:
            match part:
                case Literal():
                    self.writer.text(part.text)
                case Slot() if section and part.block:
                    self._block_slot(part, section)
                case Slot():
                    self._slot(part)
                case Unit() if part.repeat.least:
                    self._body((*part.lead, *part.pieces))
                case Unit() | Note():
                    pass

    def _block_slot(self, slot: Slot, section: Section) -> None:
        if portions := self.contents.get(Place(section, slot)):
            self._portions(portions, section.level + 1)
        elif section.level or not slot.implicit:
            self._slot(slot)

    def _slot(self, slot: Slot) -> None:
        """A value of the source or the program, or else a visible hole."""
        title = self.parts.title.heading if self.parts.title else None
        known = self.parts.answers.values.get(slot.name)
        if slot.name == "title" and title:
            self.writer.line_of(title.title)
        elif known:
            self.writer.copied(known)
        elif slot.name in BUILTINS and (value := self.facts.fill(slot)):
            self.writer.added(value, Why.BUILT_IN)
        elif not drops(slot, self.template):
            self.writer.added(self.template.settings.hole(slot.name), Why.HOLE)

    def _portions(self, portions: Sequence[Portion], level: int) -> None:
        before: Block | None = None
        for portion in portions:
            if before and _are_one(before, portion.blocks[0]):
                self.writer.line_ends(1)
                self._written(portion.blocks, 0)
            else:
                self._blocks(portion.blocks, level)
            before = portion.blocks[-1]
        self.writer.line_ends(1 if self.is_numbered else 2)

    def _blocks(self, blocks: Sequence[Block], level: int) -> None:
        """Blocks with what lies between them; their headings begin at `level`."""
        levels = [block.level for block in blocks if _is_section(block)]
        shift = level - min(levels) if levels else 0
        self._gap(blocks[0])
        self._written(blocks, shift)

    def _written(self, blocks: Sequence[Block], shift: int) -> None:
        """Blocks as they are, headings by `shift` levels deeper."""
        self.last = blocks[-1]
        for block in blocks:
            if self.is_numbered and block.heading and len(blocks) == 1:
                # the title of a document of another kind, or a heading with nothing below it
                self.writer.line_of(block.heading.title)
            elif _is_section(block) and (shift or not self._fits(block)):
                self._relevelled(block, block.level + shift)
            elif block.kind is Kind.BLANK:
                self.writer.line_ends(2)
            else:
                self.writer.bytes_of(block.span)
                if fence := _open_fence(block):
                    self.writer.line_ends(1)
                    self.writer.added(fence, Why.FENCE)
                    self.writer.line_ends(1)

    def _gap(self, block: Block) -> None:
        """What separates a block from what stands before it."""
        text = block.kind in _TEXT and (self.last is None or self.last.kind in _TEXT)
        closes = self.is_numbered and text and self.writer.ends_with_text
        self.writer.line_ends(1 if closes else 2)
        if is_indented(block) and self.last and self.last.kind in _OPEN:
            # what is indented would go on with what stands before it
            self.writer.added("<!-- -->", Why.SEPARATOR)
            self.writer.line_ends(2)

    def _fits(self, block: Block) -> bool:
        """Whether a heading is one as the output's are."""
        marked = block.heading is not None and block.heading.style in MARKED
        return marked and not self.is_numbered

    def _relevelled(self, block: Block, level: int) -> None:
        self.writer.line_ends(1)
        self._mark(level, block.title)
        self.writer.line_of(block.heading.title if block.heading else block.span)
        self.writer.line_ends(1)

    def _leftover(self) -> None:
        placed = self.parts.placed
        left = [one.portion for one in placed if one.place is None and one.portion.blocks]
        if not left:
            return
        level = leftover_level(self.template)
        mark = "" if self.is_numbered else "#" * level + " "
        self.writer.line_ends(2)
        self.writer.text(f"{mark}{self.template.settings.unplaced}\n")
        self._portions(left, level + 1)


def _is_section(block: Block) -> bool:
    """Whether a block is the heading of a section, marked or numbered, and nothing else."""
    heading = block.heading
    if heading is None or heading.run_in:
        return False
    return heading.style in (*MARKED, Style.NUMBERED)


def _are_one(block: Block, following: Block) -> bool:
    """Whether two blocks are lines of one paragraph."""
    alike = block.kind is following.kind is Kind.PARAGRAPH
    return alike and block.end == following.start


def _open_fence(block: Block) -> str:
    """What closes a block of code that the document's end closed; empty where it is closed."""
    lines = block.text.rstrip().splitlines() if block.kind is Kind.CODE else []
    opened = _FENCE.match(lines[0]) if lines else None
    if not opened:
        return ""
    closed = len(lines) > 1 and lines[-1].strip().startswith(opened[2])
    return "" if closed and not lines[-1].strip(f" \t{opened[2][0]}") else opened[1] + opened[2]
