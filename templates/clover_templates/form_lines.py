"""Lines of a template that are filled like a form, and the lines of a document that fill them.

`{{主送机关}}：`, `Owner: {{owner}}`, a date, a closing: what stands there is a line as a whole,
told by the words around the slot, by its format, or by a value that is known from another line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from clover_templates.blocks import Block, Kind
from clover_templates.measures import fits
from clover_templates.portions import Portion, Portions
from clover_templates.slot_values import matches, read_values
from clover_templates.source import Span
from clover_templates.template import Literal, Part, Section, Slot, Template, Unit, UnitKind
from clover_templates.template_lines import is_form, lines_of

_LONGEST = 80  # characters of a value that stands in a line
_ENDED = re.compile(r"[。！？；\n]")
_PARTED = re.compile(r"[，,。；;]")
_WORD = re.compile(r"\w")
_NUMBER = re.compile(r"\A[ \t\u3000]*\d+[.．、)][ \t]*")


@dataclass(frozen=True, slots=True)
class Answers:
    """Which bytes of the source fill which lines, and what was known from where."""

    lines: dict[tuple[int, int], tuple[Span, ...]]
    values: dict[str, Span]

    def of(self, section: Section, number: int) -> tuple[Span, ...]:
        """The source's lines for a line of a section's text; a repeated one may have several."""
        return self.lines.get((id(section), number), ())


def answered(template: Template, portions: Portions) -> tuple[Answers, Portions]:
    """Fill the template's lines from the document's title and its lines, first come first served;
    the portions that are left."""
    finder = _Finder(template, portions)
    finder.fill()
    taken = {id(block) for block in finder.taken}
    left = tuple(
        portion for portion in portions.all if not any(id(b) in taken for b in portion.blocks)
    )
    title = portions.title
    if title is not None and id(title) not in taken and not _takes_title(template):
        left = (Portion((title,)), *left)
        title = None
    return Answers(finder.lines, finder.values), Portions(title, left)


def _takes_title(template: Template) -> bool:
    slots = (piece for piece in template.pieces() if isinstance(piece, Slot))
    return any(slot.name == "title" for slot in slots)


class _Finder:
    def __init__(self, template: Template, portions: Portions) -> None:
        self._template = template
        lines = [p.blocks[0] for p in portions.all if p.home is None and _is_line(p)]
        self._open = [portions.title, *lines] if portions.title else lines
        self._data = self._open[0].data if self._open else b""
        self._texts = {id(block): _text(block) for block in self._open}
        self.taken: list[Block] = []
        self.lines: dict[tuple[int, int], tuple[Span, ...]] = {}
        self.values: dict[str, Span] = {}

    def fill(self) -> None:
        for section in self._template.walk():
            for number, line in enumerate(lines_of(section.body)):
                if found := tuple(self._fill(line)):
                    self.lines[id(section), number] = found

    def _fill(self, line: tuple[Part, ...]) -> Iterator[Span]:
        if isinstance(line[0], Unit):
            unit = line[0]
            if unit.kind is UnitKind.LINE:
                yield from self._repeated(unit)
            return
        pieces = tuple(part for part in line if isinstance(part, Literal | Slot))
        if not self._is_told(pieces):
            return
        for block in self._open:
            if self._fits(pieces, self._texts[id(block)]):
                self._take(pieces, block)
                yield _span(block)
                return

    def _repeated(self, unit: Unit) -> Iterator[Span]:
        lead = tuple(part for part in unit.lead if isinstance(part, Literal | Slot))
        pieces = tuple(part for part in unit.pieces if isinstance(part, Literal | Slot))
        begun = False
        for block in tuple(self._open):
            text = self._texts[id(block)]
            first = not begun and self._fits((*lead, *pieces), text)
            if first or (begun and _NUMBER.match(text) and self._fits(pieces, text)):
                begun = True
                self._take((), block)
                yield _span(block)

    def _is_told(self, pieces: Sequence[Literal | Slot]) -> bool:
        """Whether a line says what stands in it: by words, or by the settings of all its slots."""
        slots = (piece for piece in pieces if isinstance(piece, Slot))
        return bool(_words(pieces)) or all(is_form(slot, self._template) for slot in slots)

    def _fits(self, pieces: Sequence[Literal | Slot], text: str) -> bool:
        words = _words(pieces)
        slots = [piece for piece in pieces if isinstance(piece, Slot)]
        if not slots:
            return bool(_WORD.search(words)) and words == text
        if not matches(pieces, text):
            return False
        values = [value for value in read_values(pieces, text) if value.text]
        return len(values) >= len(slots) and all(
            self._takes(value.slot, value.text, words) for value in values
        )

    def _takes(self, slot: Slot, value: str, words: str) -> bool:
        """Whether a slot takes a value; the `words` around it may say what it is."""
        told = bool(_WORD.search(words))
        settings = self._template.slots.get(slot.name)
        if settings and settings.one_of:
            return value in settings.one_of
        if settings and settings.format:
            return fits(value, settings.format)
        if not told and (slot.name in self.values or not words):
            return slot.name in self.values and value == self._value(slot.name)
        if len(value) > _LONGEST or _ENDED.search(value):
            return False
        return slot.name == "n" or told or not _PARTED.search(value)

    def _take(self, pieces: Sequence[Literal | Slot], block: Block) -> None:
        self._open.remove(block)
        self.taken.append(block)
        text, start = _text(block), _span(block).start
        for value in read_values(pieces, text):
            at = start + len(text[: value.start].encode())
            self.values.setdefault(value.slot.name, Span(at, at + len(value.text.encode())))

    def _value(self, name: str) -> str:
        span = self.values[name]
        return self._data[span.start : span.end].decode()


def _is_line(portion: Portion) -> bool:
    """Whether a portion is one line of text, or a list of one."""
    if len(portion.blocks) != 1 or portion.blocks[0].kind not in (Kind.PARAGRAPH, Kind.LIST):
        return False
    return "\n" not in portion.text and "\r" not in portion.text


def _words(pieces: Sequence[Literal | Slot]) -> str:
    return "".join(piece.text for piece in pieces if isinstance(piece, Literal)).strip()


def _span(block: Block) -> Span:
    """A line's text; of a heading, its title."""
    if block.heading:
        return block.heading.title
    raw = block.data[block.start : block.end]
    start = block.start + len(raw) - len(raw.lstrip())
    return Span(start, start + len(raw.strip()))


def _text(block: Block) -> str:
    span = _span(block)
    return block.data[span.start : span.end].decode()
