"""Puts a document together from the template's literals and the source's bytes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from clover_templates.blocks import Block, Kind, Style
from clover_templates.builtins import Facts
from clover_templates.document import Document
from clover_templates.places import Place
from clover_templates.placing import Placed
from clover_templates.portions import Portion, Portions
from clover_templates.source import Span
from clover_templates.template import Literal, Note, Part, Section, Slot, Template, Unit
from clover_templates.template_settings import BUILTINS, Missing, Numbering
from clover_templates.trace import Added, FromSource, Piece, Trace, Why
from clover_templates.trace import Literal as Given

_MOST_LEVEL = 6


def assemble(
    document: Document,
    template: Template,
    portions: Portions,
    placed: Sequence[Placed],
    facts: Facts,
) -> Trace:
    """The restructured document as pieces. Nothing of the source is left out but headings that the
    template's take the place of, and blank lines."""
    return _Assembly(document, template, portions.title, placed, facts).trace()


@dataclass(slots=True)
class _Writer:
    """Pieces one behind the other, with as many line ends between them as they ask for."""

    source: Document
    pieces: list[Piece] = field(default_factory=list)
    _ended: int = 2  # line ends that the text so far ends with

    def text(self, text: str) -> None:
        """Text of the template; no more than one blank line stands in a row."""
        body = text.lstrip("\n")
        self.line_ends(min(self._ended + len(text) - len(body), 2))
        if body:
            kept = body.rstrip("\n")
            self._add(Given(self._bytes(kept)), 0)
            self.line_ends(min(len(body) - len(kept), 2))

    def added(self, text: str, why: Why) -> None:
        """Text of ours within a line."""
        if text:
            self._add(Added(self._bytes(text), why), 0)

    def line_ends(self, count: int) -> None:
        """At least so many line ends."""
        if count > self._ended:
            missing = "\n" * (count - self._ended)
            self._add(Added(self._bytes(missing), Why.SEPARATOR), count)

    def bytes_of(self, span: Span) -> None:
        """Bytes of the source."""
        end = self._text_end(span)
        if end > span.start:
            self._add(FromSource(span.start, end), 0)
        if end < span.end:
            self.line_ends(1)

    def ended(self) -> tuple[Piece, ...]:
        """All pieces; the last line ends as the source's last line does."""
        data = self.source.data
        while self.pieces and isinstance(last := self.pieces[-1], Added):
            if last.why is not Why.SEPARATOR:
                break
            self.pieces.pop()
        if self.pieces and (not data or self.source.source.ends_with_line_end):
            self.pieces.append(Added(self.source.source.line_end, Why.SEPARATOR))
        return tuple(self.pieces)

    def _add(self, piece: Piece, ended: int) -> None:
        self.pieces.append(piece)
        self._ended = ended

    def _text_end(self, span: Span) -> int:
        """Where a span's text ends, its last line end apart."""
        text = self.source.data[span.start : span.end]
        return span.start + len(text.rstrip(b"\r\n"))

    def _bytes(self, text: str) -> bytes:
        return text.replace("\n", self.source.source.line_end.decode()).encode()


@dataclass(slots=True)
class _Assembly:
    document: Document
    template: Template
    title: Block | None
    placed: Sequence[Placed]
    facts: Facts
    writer: _Writer = field(init=False)
    contents: dict[Place, list[Portion]] = field(init=False, default_factory=dict)
    named: set[int] = field(init=False, default_factory=set)

    def __post_init__(self) -> None:
        self.writer = _Writer(self.document)
        for one in self.placed:
            if one.portion.home is not None:
                self.named.add(id(one.portion.home))
            if one.place is not None and one.portion.blocks:
                self.contents.setdefault(one.place, []).append(one.portion)

    def trace(self) -> Trace:
        self._beginning()
        for section in self.template.sections:
            self._section(section)
        self._leftover()
        replaced = [one.portion.replaced.span for one in self.placed if one.portion.replaced]
        if self.title:
            replaced.append(self.title.span)
        return Trace(self.writer.ended(), tuple(replaced))

    def _beginning(self) -> None:
        """The byte order mark, and the front matter: the source's, with the keys it lacks."""
        blocks = {block.kind: block for block in self.document.blocks[:2]}
        if mark := blocks.get(Kind.BOM):
            self.writer.pieces.append(FromSource(mark.start, mark.end))
        own = blocks.get(Kind.FRONT_MATTER)
        keys = list(_lines(self.template.front_matter))[1:-1]
        if own is None:
            if keys:
                self._parts(self.template.front_matter)
                self.writer.line_ends(2)
            return
        lines = self.document.source.front_matter_lines
        close = self.document.source.lines[lines - 1].start
        there = {self.document.source.line(n).split(b":")[0].strip() for n in range(lines)}
        self.writer.bytes_of(Span(own.start, close))
        for line in keys:
            if _key(line).encode() not in there and not self._is_dropped(line):
                self._parts(line)
                self.writer.line_ends(1)
        self.writer.bytes_of(Span(close, own.end))
        self.writer.line_ends(2)

    def _section(self, section: Section) -> None:
        if section.optional and not self._is_told(section):
            return
        if section.repeat.least == 0 and not self._is_told(section):
            return
        self.writer.line_ends(2 if section.level else 1)
        if own := self.contents.get(Place(section, headed=True)):
            self._portions(own, section.level)
            return
        if not self._stays(section):
            self._parts(section.head)
            self._body(section)
        for inner in section.sections:
            self._section(inner)

    def _stays(self, section: Section) -> bool:
        """Write a section as the document has it, where its heading is the template's already."""
        slot = next((slot for slot in section.slots if slot.implicit), None)
        portions = self.contents.get(Place(section, slot), [])
        own = portions[0].replaced if portions else None
        head = "".join(piece.text for piece in section.head if isinstance(piece, Literal))
        if own is None or own.text.strip() != head.strip():
            return False
        first = portions[0].blocks
        self.writer.pieces.append(FromSource(own.start, first[0].start))
        self._blocks(first, section.level + 1)
        self._portions(portions[1:], section.level + 1)
        return True

    def _is_told(self, section: Section) -> bool:
        """Whether the document has something for a section or one below it."""
        return any(
            id(each) in self.named or any(place.section is each for place in self.contents)
            for each in section.walk()
        )

    def _body(self, section: Section) -> None:
        form = self.contents.get(Place(section))
        if form:
            self._portions(form, section.level + 1)
        else:
            self._parts(section.body, section)

    def _parts(self, parts: Iterable[Part], section: Section | None = None) -> None:
        for part in parts:
            match part:
                case Literal():
                    self.writer.text(part.text)
                case Slot() if section and part.block:
                    self._block_slot(part, section)
                case Slot():
                    self._slot(part)
                case Unit() if part.repeat.least:
                    self._parts((*part.lead, *part.pieces))
                case Unit() | Note():
                    pass

    def _block_slot(self, slot: Slot, section: Section) -> None:
        if portions := self.contents.get(Place(section, slot)):
            self._portions(portions, section.level + 1)
        elif section.level or not slot.implicit:
            self._slot(slot)

    def _slot(self, slot: Slot) -> None:
        """A value of the source or the program, or else a visible hole."""
        if slot.name == "title" and self.title and self.title.heading:
            self.writer.bytes_of(self.title.heading.title)
        elif slot.name in BUILTINS and (value := self.facts.fill(slot)):
            self.writer.added(value, Why.BUILT_IN)
        elif not self._drops(slot):
            self.writer.added(self.template.settings.hole(slot.name), Why.HOLE)

    def _drops(self, slot: Slot) -> bool:
        settings = self.template.slots.get(slot.name)
        missing = (settings and settings.missing) or self.template.settings.missing
        return missing is Missing.DROP

    def _is_dropped(self, line: Sequence[Part]) -> bool:
        slots = [part for part in line if isinstance(part, Slot)]
        return bool(slots) and all(map(self._drops, slots))

    def _portions(self, portions: Sequence[Portion], level: int) -> None:
        for portion in portions:
            self.writer.line_ends(2)
            self._blocks(portion.blocks, level)
        self.writer.line_ends(2)

    def _blocks(self, blocks: Sequence[Block], level: int) -> None:
        """Blocks with what lies between them; their headings begin at `level`."""
        levels = [block.level for block in blocks if _is_marked(block)]
        shift = level - min(levels) if levels else 0
        for block in blocks:
            if shift and _is_marked(block) and block.heading:
                self._relevelled(block, min(block.level + shift, _MOST_LEVEL))
            elif block.kind is Kind.BLANK:
                self.writer.line_ends(2)
            else:
                self.writer.bytes_of(block.span)

    def _relevelled(self, block: Block, level: int) -> None:
        title = block.heading.title if block.heading else block.span
        self.writer.added("#" * level + " ", Why.HEADING_MARK)
        self.writer.bytes_of(title)
        self.writer.line_ends(1)

    def _leftover(self) -> None:
        left = [one.portion for one in self.placed if one.place is None and one.portion.blocks]
        if not left:
            return
        settings, level = self.template.settings, leftover_level(self.template)
        mark = "#" * level + " " if settings.numbering is Numbering.MD else ""
        self.writer.line_ends(2)
        self.writer.text(f"{mark}{settings.unplaced}")
        for portion in left:
            self.writer.line_ends(2)
            self._blocks(portion.blocks, level + 1)


def leftover_level(template: Template) -> int:
    """The level of the heading over what fits no slot: that of the sections below the title."""
    levels = [section.level for section in template.walk() if section.level]
    tops = [section for section in template.sections if section.level]
    if len(tops) == 1 and tops[0].sections:
        return tops[0].sections[0].level
    return min(levels, default=2)


def _is_marked(block: Block) -> bool:
    return block.heading is not None and block.heading.style in (Style.ATX, Style.SETEXT)


def _lines(parts: Iterable[Part]) -> Iterator[list[Part]]:
    """Front matter line by line."""
    line: list[Part] = []
    for part in parts:
        if not isinstance(part, Literal):
            line.append(part)
            continue
        at = part.start
        for text in part.text.splitlines(keepends=True):
            line.append(Literal(at, at + len(text), text))
            at += len(text)
            if text.endswith("\n"):
                yield line
                line = []
    if line:
        yield line


def _key(line: Sequence[Part]) -> str:
    first = line[0]
    return first.text.split(":")[0].strip() if isinstance(first, Literal) else ""
