"""Whether a document has the shape and the values its template asks for (D01 to D11)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from clover_templates.alignment import Alignment, Match, Node, Part, align
from clover_templates.code_regions import code_regions
from clover_templates.front_matter import front_matter
from clover_templates.gongwen_rules import rule_findings
from clover_templates.heading_text import plain_heading
from clover_templates.measures import count
from clover_templates.slot_checks import HOLE, SlotChecker
from clover_templates.slot_values import read_values
from clover_templates.template import Literal, Section, Slot, Template
from clover_templates.template_findings import Code, Finding, suggestion
from clover_templates.template_layout import closing_at
from clover_templates.template_settings import Headings, Measure, Numbering

_KEY = re.compile(r"^(?P<key>[^\s:#'\"\[\]{},-][^:\n]*):[ \t]*(?P<value>[^\n]*)", re.MULTILINE)


def check_document(
    template: Template,
    outline: Sequence[Part],
    *,
    written: Sequence[tuple[int, int]] = (),
    locks: Sequence[str] = (),
    vault: Collection[str] | None = None,
) -> tuple[Finding, ...]:
    """What keeps the document from conforming, in order; offsets are bytes of the document.

    The title of a 公文 is text before the first heading. `written` are the byte ranges a model has
    worded, `locks` what the source has word for word: each must stand in the document as often as
    it is named here. `vault` are the names of the vault's notes, if they are known.
    """
    checker = _Checker(template, SlotChecker(template, tuple(written), vault))
    findings = [*checker.document(outline), *_changed(outline, locks)]
    if template.numbering is Numbering.GONGWEN:
        formats = [found for found in findings if found.code is Code.D04]
        rules = rule_findings(template.name, outline)
        findings += [rule for rule in rules if not any(map(rule.overlaps, formats))]
    return tuple(sorted(findings, key=lambda found: (found.start, found.code)))


def in_characters(findings: Sequence[Finding], document: bytes) -> tuple[Finding, ...]:
    """The findings with offsets in code points of the decoded document."""
    ends = sorted({end for found in findings for end in (found.start, found.end)})
    characters: dict[int, int] = {}
    last = at = 0
    for end in ends:
        at += len(document[last:end].decode("utf-8", "surrogatepass"))
        characters[end] = at
        last = end
    return tuple(replace(f, start=characters[f.start], end=characters[f.end]) for f in findings)


@dataclass(frozen=True, slots=True)
class _Checker:
    template: Template
    slots: SlotChecker

    def document(self, outline: Sequence[Part]) -> Iterator[Finding]:
        first, parts, closing = self._divided(outline)
        headless = [section for section in self.template.sections if not section.level]
        yield from self._front_matter(first)
        if headless and headless[0] is self.template.sections[0]:
            body = first.text[_matter_end(first.text) :]
            yield from self.slots.section(headless.pop(0), first, body)
        for section in headless:
            yield from self.slots.section(section, closing, closing.text)
        sections = [section for section in self.template.sections if section.level]
        alignment = align(sections, parts, outline[-1].end if outline else 0)
        for match in alignment.matches:
            yield from self._match(match)
        yield from self._misfits(alignment)
        markdown = self.template.numbering is Numbering.MD
        for part in outline:
            yield from _holes(part, markdown)

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
            parts[-1] = replace(last, end=cut, body=last.body[:at])
        return first, parts, closing

    def _front_matter(self, first: Part) -> Iterator[Finding]:
        matter = first.text[: _matter_end(first.text)]
        keys = {found["key"]: found for found in _KEY.finditer(matter)}
        for key, slot in _front_matter_slots(self.template).items():
            settings = self.slots.settings(slot.name) if slot else None
            if key in keys and settings:
                value = keys[key]["value"].strip().strip("\"'")
                yield from self.slots.value(settings, value, first.at(keys[key].start("value")))
            elif key not in keys and not (settings and self.slots.droppable(settings)):
                place = first.start, first.start
                message = f'the front matter lacks "{key}"'
                yield self.slots.found(Code.D01, place, message, 1, f"{key}: ")

    def _match(self, match: Match) -> Iterator[Finding]:
        section, part = match.section, match.node.part
        if part is None:
            return
        exact, most = self.template.settings.headings is Headings.EXACT, section.repeat.most
        if match.by_alias and exact:
            message = f'the template calls "{part.heading}" "{section.label}"'
            yield self._at(Code.D06, part, message, section, section.label)
        if match.behind:
            message = f'"{part.heading}" stands behind "{match.behind.label}"'
            yield self._at(Code.D02, part, f"{message}, the template has it before", section)
        if most is not None and match.number > most:
            message = f'"{part.heading}" is number {match.number} of its kind, at most {most}'
            yield self._at(Code.D06, part, message, section)
        for value in read_values(section.title, part.heading):
            if settings := self.slots.settings(value.slot.name):
                yield from self.slots.value(settings, value.text, part.start)
        text = part.text if section.sections else match.node.text
        yield from self.slots.section(section, part, text)

    def _misfits(self, alignment: Alignment) -> Iterator[Finding]:
        """Sections that are missing or stand elsewhere, and headings that are no section's."""
        leaves = [match.node for match in alignment.matches if not match.section.sections]
        roots = [*alignment.extra, *(node for leaf in leaves for node in leaf.below)]
        strays = {_plain(node): node for root in reversed(roots) for node in root.walk()}
        misplaced: list[Node] = []
        for section, at in alignment.missing:
            stray = strays.get(plain_heading(section.heading)) if section.heading else None
            if stray and stray.part:
                misplaced.append(stray)
                message = f'"{stray.part.heading}" is on level {stray.part.level}'
                message += f", the template has it on level {section.level}"
                yield self._at(Code.D02, stray.part, message, section)
            else:
                message = f'required section "{section.label}" is missing'
                expected, line = section.marker + section.label, self.slots.line(section)
                yield self.slots.found(Code.D01, (at, at), message, line, expected)
        for node in alignment.extra:
            if node.part and node not in misplaced:
                yield self._extra(node, node.part)

    def _extra(self, node: Node, part: Part) -> Finding:
        if _plain(node) == plain_heading(self.template.settings.unplaced):
            sentences = count(node.text, Measure.SENTENCES)
            message = f'"{part.heading}" holds {sentences} sentences that fit no section'
            return Finding(Code.D08, part.start, part.end, message)
        labels = [section.heading for section in self.template.walk() if section.heading]
        message = f'the template has no heading "{part.heading}"{suggestion(part.heading, labels)}'
        return Finding(Code.D06, part.start, part.end, message)

    def _at(
        self, code: Code, part: Part, message: str, section: Section, expected: str = ""
    ) -> Finding:
        place = part.start, part.end
        return self.slots.found(code, place, message, self.slots.line(section), expected)


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


def _matter_end(text: str) -> int:
    """Where front matter is over, 0 where there is none."""
    source = text.encode("utf-8", "surrogatepass")
    matter = front_matter(source)
    return len(source[: matter.body].decode("utf-8", "surrogatepass")) if matter else 0


def _plain(node: Node) -> str:
    return plain_heading(node.part.heading) if node.part else ""


def _holes(part: Part, markdown: bool) -> Iterator[Finding]:
    found = list(HOLE.finditer(part.text))
    near = [hole.start() for hole in found]
    code = code_regions(part.text, near) if found and markdown else []
    for hole in found:
        if not any(start <= hole.start() < end for start, end in code):
            start, end = part.at(hole.start()), part.at(hole.end())
            yield Finding(Code.D07, start, end, f"{hole[0]} is still to be filled in")


def _changed(outline: Sequence[Part], locks: Sequence[str]) -> Iterator[Finding]:
    """Locked items that stand in the document less often than in the source."""
    text = "\n".join(f"{part.heading}\n{part.text}" for part in outline)
    for item, times in Counter(locks).items():
        # 12 is not in 123, but 3年 is in 第3年级
        whole = rf"(?<![A-Za-z0-9]){re.escape(item)}(?![A-Za-z0-9])"
        there = len(re.findall(whole if item[:1].isascii() else re.escape(item), text))
        if there < times:
            message = f'"{item}" of the source is changed or lost: {times} expected, {there} found'
            yield Finding(Code.D10, 0, 0, message, item)
