"""Whether a document has the shape and the values its template asks for (D01 to D10)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from clover_templates.alignment import Match, Node, Part, align
from clover_templates.heading_text import plain_heading
from clover_templates.measures import count, fits
from clover_templates.slot_values import SlotValue, read_values
from clover_templates.template import Literal, Section, Slot, Template
from clover_templates.template_findings import Code, Finding, suggestion
from clover_templates.template_layout import closing_at
from clover_templates.template_settings import Headings, Measure, Missing, Mode, SlotSettings

_FRONT_MATTER = re.compile(r"\A\ufeff?---[ \t]*\n(?P<keys>(?:[^\n]*\n)*?)---[ \t]*(?:\n|\Z)")
_KEY = re.compile(r"^(?P<key>[^\s:#'\"\[\]{},-][^:\n]*):[ \t]*(?P<value>[^\n]*)", re.MULTILINE)
HOLE = re.compile(r"【待补(?:[：:][^】\n]*)?】|\bTODO\([^()\n]*\)|(?<!\\)\{\{[\w.-]+\}\}")


def check_document(
    template: Template,
    outline: Sequence[Part],
    *,
    written: Sequence[tuple[int, int]] = (),
    locks: Sequence[str] = (),
) -> tuple[Finding, ...]:
    """What keeps the document from conforming, in order; offsets are bytes of the document.

    `written` are the byte ranges a model has worded, `locks` what the source has word for word:
    each must stand in the document as often as it is named here.
    """
    findings = [*_Checker(template, tuple(written)).document(outline), *_locks(outline, locks)]
    return tuple(sorted(findings, key=lambda found: (found.start, found.code)))


@dataclass(frozen=True, slots=True)
class _Checker:
    template: Template
    written: tuple[tuple[int, int], ...]

    def document(self, outline: Sequence[Part]) -> Iterator[Finding]:
        first, parts, closing = self._divided(outline)
        end = outline[-1].end if outline else 0
        headless = [section for section in self.template.sections if not section.level]
        yield from self._front_matter(first)
        if headless and headless[0] is self.template.sections[0]:
            body = _FRONT_MATTER.sub("", first.text)
            yield from self._values(headless.pop(0), first, body)
        for section in headless:
            yield from self._values(section, closing, closing.text)
        sections = [section for section in self.template.sections if section.level]
        yield from self._sections(sections, parts, end)
        for part in outline:
            yield from _holes(part)

    def _divided(self, outline: Sequence[Part]) -> tuple[Part, list[Part], Part]:
        """The text before the first heading, the headings, and, where the template has text behind
        its last section, the document's."""
        parts = list(outline)
        first = parts.pop(0) if parts and parts[0].level == 0 else Part(0, "", 0, 0, "")
        last = parts[-1] if parts else first
        closing = Part(0, "", last.end, last.end, "")
        sections = self.template.sections
        if parts and len(sections) > 1 and sections[-1].level == 0:
            at = closing_at(last.body, 0)
            cut = last.end - len(last.body[at:].encode("utf-8", "surrogatepass"))
            closing = Part(0, "", cut, last.end, last.body[at:])
            parts[-1] = Part(last.level, last.heading, last.start, cut, last.body[:at])
        return first, parts, closing

    def _front_matter(self, first: Part) -> Iterator[Finding]:
        own = _FRONT_MATTER.match(first.text)
        keys = {m["key"]: m for m in _KEY.finditer(own["keys"])} if own else {}
        slots = _front_matter_slots(self.template)
        for key, slot in slots.items():
            settings = self.template.slots.get(slot.name) if slot else None
            if key not in keys:
                if settings is None or not self._droppable(settings):
                    message = f'the front matter lacks "{key}"'
                    yield self._found(Code.D01, first.start, first.start, message, 1, f"{key}: ")
            elif slot and settings and own:
                value = keys[key]["value"].strip().strip("\"'")
                at = first.at(own.start("keys") + keys[key].start("value"))
                yield from self._value(settings, value, at)

    def _sections(
        self, sections: Sequence[Section], parts: Sequence[Part], end: int
    ) -> Iterator[Finding]:
        alignment = align(sections, parts, end)
        for match in alignment.matches:
            yield from self._match(match)
        strays = [node for extra in alignment.extra for node in extra.walk()]
        strays += [
            node
            for match in alignment.matches
            if not match.section.sections
            for node in match.node.below
        ]
        misplaced: list[Node] = []
        for section, at in alignment.missing:
            name = plain_heading(section.label)
            stray = next((node for node in strays if _plain(node) == name), None)
            if stray and stray.part and section.heading:
                misplaced.append(stray)
                yield self._misplaced(section, stray.part)
            else:
                yield self._missing(section, at)
        for node in alignment.extra:
            if node not in misplaced and node.part:
                yield from self._extra(sections, node, node.part)

    def _match(self, match: Match) -> Iterator[Finding]:
        section, part = match.section, match.node.part
        if part is None:
            return
        if match.by_alias and self.template.settings.headings is Headings.EXACT:
            name = section.heading or section.label
            message = f'the template calls "{part.heading}" "{name}"'
            yield self._at(Code.D06, part, message, section, name)
        if match.behind:
            message = f'"{part.heading}" stands behind "{match.behind.label}"'
            yield self._at(Code.D02, part, message + ", the template has it before", section)
        most = section.repeat.most
        if most is not None and match.number > most:
            message = f'"{part.heading}" stands for the {match.number}. time, {most} expected'
            yield self._at(Code.D06, part, message, section)
        for value in read_values(section.title, part.heading):
            if settings := self.template.slots.get(value.slot.name):
                yield from self._value(settings, value.text, part.start)
        text = part.text if section.sections else match.node.text
        yield from self._values(section, part, text)

    def _values(self, section: Section, part: Part, text: str) -> Iterator[Finding]:
        """What is wrong with the text of a section; `text` is the part's, or begins or ends with
        it."""
        values = read_values(section.body, text)
        known = [
            self.template.slots[s.name] for s in section.slots if s.name in self.template.slots
        ]
        given = {value.slot.name for value in values if value.text}
        needed = section.level and not section.optional
        if known and needed and not given and not all(map(self._droppable, known)):
            message = f'required section "{section.label}" has no text'
            yield self._at(Code.D01, part, message, section)
        else:
            for one in known:
                if one.required and one.name not in given:
                    message = f'required "{one.name}" has no text'
                    yield self._found(Code.D01, part.start, part.end, message, one.line)
        shift = max(len(part.text) - len(text), 0)
        for value in values:
            if settings := self.template.slots.get(value.slot.name):
                yield from self._value(settings, value.text, part.at(value.start + shift))
        yield from self._repetitions(section, part, values)
        yield from self._written(part, known)

    def _value(self, settings: SlotSettings, value: str, at: int) -> Iterator[Finding]:
        if not value or HOLE.search(value):
            return
        end, limit = at + len(value.encode("utf-8", "surrogatepass")), settings.maximum
        short = value if len(value) <= 40 else value[:39] + "…"
        if settings.one_of and value not in settings.one_of:
            message = f'"{short}" is none of {" | ".join(settings.one_of)}'
            message += suggestion(value, settings.one_of)
            yield self._found(Code.D03, at, end, message, settings.line)
        if settings.format and not fits(value, settings.format):
            message = f'"{short}" is not written as {settings.format}'
            yield self._found(Code.D04, at, end, message, settings.line, str(settings.format))
        if limit and (size := count(value, limit.measure)) > limit.count:
            message = (
                f'"{settings.name}" is too long: {size} {limit.measure}, at most {limit.count}'
            )
            yield self._found(Code.D05, at, end, message, settings.line)

    def _repetitions(
        self, section: Section, part: Part, values: Sequence[SlotValue]
    ) -> Iterator[Finding]:
        for unit in section.units:
            names = {slot.name for slot in unit.slots}
            number = max(
                Counter(value.slot.name for value in values if value.slot.name in names).values(),
                default=0,
            )
            limits = [self.template.slots[n].maximum for n in names if n in self.template.slots]
            items = [x.count for x in limits if x and x.measure is Measure.ITEMS]
            most = min(
                [*items, *([] if unit.repeat.most is None else [unit.repeat.most])], default=number
            )
            if number > most:
                message = f'"{section.label}" is too long: {number} items, at most {most}'
                yield self._at(Code.D05, part, message, section)

    def _written(self, part: Part, known: Sequence[SlotSettings]) -> Iterator[Finding]:
        if not known or any(settings.mode is not Mode.VERBATIM for settings in known):
            return
        for start, end in self.written:
            if start < part.end and end > part.start:
                message = f'a model has worded text for "{known[0].name}", which is verbatim'
                yield self._found(Code.D09, start, end, message, known[0].line)

    def _extra(self, sections: Sequence[Section], node: Node, part: Part) -> Iterator[Finding]:
        if plain_heading(part.heading) == plain_heading(self.template.settings.unplaced):
            sentences = count(node.text, Measure.SENTENCES)
            message = f'"{part.heading}" holds {sentences} sentences that no section has taken'
            yield Finding(Code.D08, part.start, part.end, message)
            return
        labels = [section.label for section in self.template.walk() if section.heading]
        message = f'the template has no heading "{part.heading}"{suggestion(part.heading, labels)}'
        yield Finding(Code.D06, part.start, part.end, message)

    def _missing(self, section: Section, at: int) -> Finding:
        message = f'required section "{section.label}" is missing'
        expected = section.marker + section.label
        return self._found(Code.D01, at, at, message, self._line(section), expected)

    def _misplaced(self, section: Section, part: Part) -> Finding:
        message = f'"{part.heading}" is on level {part.level}, the template has it on'
        return self._at(Code.D02, part, f"{message} level {section.level}", section)

    def _droppable(self, settings: SlotSettings) -> bool:
        return (settings.missing or self.template.settings.missing) is Missing.DROP

    def _line(self, section: Section) -> int:
        return self.template.text.count("\n", 0, section.start) + 1

    def _at(
        self, code: Code, part: Part, message: str, section: Section, expected: str = ""
    ) -> Finding:
        return self._found(code, part.start, part.end, message, self._line(section), expected)

    def _found(
        self, code: Code, start: int, end: int, message: str, rule: int, expected: str = ""
    ) -> Finding:
        message = f"{message} (template {self.template.name}:{rule})"
        return Finding(code, start, end, message, expected, rule)


def _front_matter_slots(template: Template) -> dict[str, Slot | None]:
    """The keys of the template's front matter, each with the slot that is its value."""
    source = "".join(
        piece.text if isinstance(piece, Literal) else f"\0{number}\0"
        for number, piece in enumerate(template.front_matter)
        if isinstance(piece, Literal | Slot)
    )
    slots: dict[str, Slot | None] = {}
    for found in _KEY.finditer(source):
        number = re.fullmatch(r"\0([0-9]+)\0", found["value"].strip().strip("\"'"))
        piece = template.front_matter[int(number[1])] if number else None
        slots[found["key"]] = piece if isinstance(piece, Slot) else None
    return slots


def _plain(node: Node) -> str:
    return plain_heading(node.part.heading) if node.part else ""


def _holes(part: Part) -> Iterator[Finding]:
    for found in HOLE.finditer(part.text):
        start, end = part.at(found.start()), part.at(found.end())
        yield Finding(Code.D07, start, end, f"{found[0]} is still to be filled in")


def _locks(outline: Sequence[Part], locks: Sequence[str]) -> Iterator[Finding]:
    """Locked items that stand in the document less often than in the source."""
    text = "\n".join(f"{part.heading}\n{part.text}" for part in outline)
    for item, times in Counter(locks).items():
        there = text.count(item)
        if there < times:
            message = f'"{item}" of the source is changed or lost: {times} expected, {there} found'
            yield Finding(Code.D10, 0, 0, message, item)
