"""Reads a template: any text with headings, `{{slots}}`, comments that say more, and settings."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, count, pairwise
from types import MappingProxyType

from clover_templates.implicit_slots import with_slot
from clover_templates.settings_reader import SectionSettings, read_repeat
from clover_templates.template import Note, NoteKind, Section, Slot, Template, flat
from clover_templates.template_checks import check
from clover_templates.template_findings import Finding
from clover_templates.template_layout import LINE_END, Heading
from clover_templates.template_pieces import Cutter
from clover_templates.template_settings import BUILTINS, ONCE, Mode, Numbering, Repeat, SlotSettings
from clover_templates.template_source import Source


@dataclass(frozen=True, slots=True)
class Reading:
    """A template and what was found in it; with an error among the findings it is not for use."""

    template: Template
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class _Range:
    """A section's own text: its heading, if it has one, and `[body, end)`. `implicit` is the name
    of the slot it is given because it has none."""

    heading: Heading | None
    start: int
    body: int
    end: int
    label: str = ""
    implicit: str = ""


def read_template(text: str, name: str = "") -> Reading:
    """Read a template; raises nothing, whatever the text.

    A text without slots, flags and settings is a template as well: each heading without headings
    below it takes the text of its section.
    """
    source = Source.of(text)
    cutter = Cutter(text, source.marks, source.layout, {})
    ranges = _named(cutter, list(_ranges(source)))
    labels = {one.label for one in ranges if one.heading}
    slots, said = source.reader.slots(_known_slots(cutter, ranges), labels)
    builder = _Builder(source, replace(cutter, slots=slots), said)
    sections = [builder.section(one) for one in ranges]
    template = Template(
        name,
        text,
        cutter.pieces(0, source.layout.front_matter_end),
        _nested(sections),
        MappingProxyType(_settled(slots, sections)),
        source.settings,
    )
    findings = [*source.findings, *source.reader.findings, *check(template)]
    return Reading(template, tuple(sorted(findings, key=lambda found: (found.start, found.code))))


def _ranges(source: Source) -> Iterator[_Range]:
    layout = source.layout
    starts = [heading.start for heading in layout.headings]
    first = starts[0] if starts else layout.closing
    if layout.front_matter_end < first:
        yield _Range(None, layout.front_matter_end, layout.front_matter_end, first)
    ends = pairwise([*starts, layout.closing])
    for heading, (_, end) in zip(layout.headings, ends, strict=True):
        yield _Range(heading, heading.start, heading.end, end)
    if layout.closing < len(source.text):
        yield _Range(None, layout.closing, layout.closing, len(source.text))


def _named(cutter: Cutter, ranges: list[_Range]) -> list[_Range]:
    """The ranges with their labels; those that need one get a slot, no two of the same name."""
    taken = {token.text for token in cutter.slot_tokens(0, len(cutter.text))}
    named: list[_Range] = []
    above: list[tuple[int, str]] = []
    for one, following in zip(ranges, [*ranges[1:], None], strict=False):
        if one.heading:
            level, label = one.heading.level, _label(cutter, one.heading)
            above = [*(up for up in above if up[0] < level), (level, label)]
            one = replace(one, label=label)
            leaf = not (following and following.heading and following.heading.level > level)
            if leaf and not cutter.slot_tokens(one.body, one.end):
                one = replace(one, implicit=_free_name([up[1] for up in above], taken))
                taken.add(one.implicit)
        named.append(one)
    return named


def _label(cutter: Cutter, heading: Heading) -> str:
    pieces = cutter.pieces(heading.title_start, heading.title_end)
    texts = (p.name if isinstance(p, Slot) else p.text for p in pieces if not isinstance(p, Note))
    return " ".join("".join(texts).split())


def _free_name(path: Sequence[str], taken: Collection[str]) -> str:
    """A name for the slot under the last heading of `path`: with as many of the headings above it
    as tell it from the others, or a number."""
    paths = ("/".join(path[-length:]) or "text" for length in range(1, len(path) + 1))
    numbered = (f"{path[-1] or 'text'} {number}" for number in count(2))
    return next(name for name in chain(paths, numbered) if name not in taken)


def _known_slots(cutter: Cutter, ranges: Sequence[_Range]) -> dict[str, SlotSettings]:
    starts = [0, *(found.end() for found in LINE_END.finditer(cutter.text))]
    found = [(token.start, token.text, False) for token in cutter.slot_tokens(0, len(cutter.text))]
    found += [(one.start, one.implicit, True) for one in ranges if one.implicit]
    slots: dict[str, SlotSettings] = {}
    for offset, name, implicit in sorted(found):
        if name not in BUILTINS and name not in slots:
            slots[name] = SlotSettings(name, bisect_right(starts, offset), implicit)
    return slots


def _nested(sections: Sequence[Section]) -> tuple[Section, ...]:
    tree: list[Section] = []
    at = 0
    while at < len(sections):
        level, end = sections[at].level, at + 1
        while level and end < len(sections) and sections[end].level > level:
            end += 1
        tree.append(replace(sections[at], sections=_nested(sections[at + 1 : end])))
        at = end
    return tuple(tree)


def _settled(
    slots: Mapping[str, SlotSettings], sections: Sequence[Section]
) -> dict[str, SlotSettings]:
    """The slots with what their sections say: verbatim, and the hint where only one is there."""
    settled = dict(slots)
    for section in sections:
        own = [slot.name for slot in section.slots if slot.name in settled]
        for name in own:
            if section.verbatim:
                settled[name] = replace(settled[name], mode=Mode.VERBATIM)
            if section.hint and len(set(own)) == 1 and not settled[name].hint:
                settled[name] = replace(settled[name], hint=section.hint)
    return settled


@dataclass(frozen=True, slots=True)
class _Builder:
    source: Source
    cutter: Cutter
    said: Mapping[str, SectionSettings]

    def section(self, one: _Range) -> Section:
        """The section of a range, without those below it."""
        body = self.cutter.body(one.body, one.end)
        if one.heading is None:
            return Section(one.start, one.end, 0, "", (), (), body)
        head = self.cutter.pieces(one.start, one.body)
        if one.implicit:
            body = with_slot(
                body,
                one.implicit,
                at=one.body,
                ended=self.source.text[one.start : one.body].endswith(("\n", "\r")),
                blank=self.source.spaced,
                last=one.end == len(self.source.text),
            )
        title = self.cutter.pieces(one.heading.title_start, one.heading.title_end)
        notes = [piece for piece in (*head, *flat(body)) if isinstance(piece, Note)]
        flags = [note.text for note in notes if note.kind is NoteKind.FLAG]
        section = Section(
            one.start,
            one.end,
            one.heading.level,
            self.source.text[one.start : one.heading.title_start],
            tuple(piece for piece in title if not isinstance(piece, Note)),
            head,
            body,
            optional="optional" in flags,
            verbatim="verbatim" in flags,
            hint=" ".join(note.text for note in notes if note.kind is NoteKind.HINT),
        )
        return self._with_settings(replace(section, repeat=self._repeat(section, flags)))

    def _repeat(self, section: Section, flags: Sequence[str]) -> Repeat:
        for flag in flags:
            if flag.startswith("repeat"):
                return read_repeat(flag.removeprefix("repeat")) or Repeat()
        named = [p.name for p in section.title if isinstance(p, Slot) and p.name not in BUILTINS]
        for name in named:
            if repeat := self.cutter.slots[name].repeat:
                return repeat
        first = section.start == self.source.layout.headings[0].start
        is_title = first and section.level == 1 and self.source.settings.numbering is Numbering.MD
        return Repeat() if named and not is_title else ONCE

    def _with_settings(self, section: Section) -> Section:
        """The section with its aliases and hint, those of its slots among them."""
        said = self.said.get(section.label, SectionSettings())
        names = dict.fromkeys(slot.name for slot in section.slots)
        own = [self.cutter.slots[name] for name in names if name in self.cutter.slots]
        hint = section.hint or said.hint or (own[0].hint if len(own) == 1 else "")
        aliases = [*said.aliases, *(alias for slot in own for alias in slot.aliases)]
        return replace(section, hint=hint, aliases=tuple(dict.fromkeys(aliases)))
