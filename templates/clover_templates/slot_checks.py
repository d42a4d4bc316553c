"""What is wrong with the values in a document: missing, of another kind, too long, or written."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from clover_templates.alignment import Part
from clover_templates.measures import count, fits
from clover_templates.slot_values import SlotValue, read_values
from clover_templates.template import Section, Template, Unit
from clover_templates.template_findings import Code, Finding, suggestion
from clover_templates.template_settings import Measure, Missing, Mode, SlotSettings

HOLE = re.compile(r"【待补(?:[：:][^】\n]*)?】|\bTODO\([^()\n]*\)|(?<!\\)\{\{[\w.-]+\}\}")
_SHOWN_CHARS = 40


@dataclass(frozen=True, slots=True)
class SlotChecker:
    """Holds values against the settings of their slots. `written` are the byte ranges that a model
    has worded; `vault` the names of the vault's notes, None where they are not known."""

    template: Template
    written: tuple[tuple[int, int], ...] = ()
    vault: Collection[str] | None = None

    def section(self, section: Section, part: Part, text: str) -> Iterator[Finding]:
        """The values of a section in `text`, with which the text of `part` ends or begins."""
        values = read_values(section.body, text)
        known = [found for slot in section.slots if (found := self.settings(slot.name))]
        yield from self._absent(section, part, known, values)
        shift = max(len(part.text) - len(text), 0)
        for value in values:
            if settings := self.settings(value.slot.name):
                yield from self.value(settings, value.text, part.at(value.start + shift))
        for unit in section.units:
            yield from self._repetitions(section, part, unit, values)
        yield from self._written(part, known)

    def value(self, settings: SlotSettings, value: str, at: int) -> Iterator[Finding]:
        """One value that begins at byte `at`; a hole is none."""
        if not value or HOLE.search(value):
            return
        place, rule = (at, at + len(value.encode("utf-8", "surrogatepass"))), settings.line
        shown = value if len(value) <= _SHOWN_CHARS else value[: _SHOWN_CHARS - 1] + "…"
        if settings.one_of and value not in settings.one_of:
            message = f'"{shown}" is none of {" | ".join(settings.one_of)}'
            yield self.found(Code.D03, place, message + suggestion(value, settings.one_of), rule)
        if settings.from_vault and self.vault is not None and value not in self.vault:
            message = f'the vault has no note "{shown}"{suggestion(value, self.vault)}'
            yield self.found(Code.D03, place, message, rule)
        if settings.format and not fits(value, settings.format):
            form = str(settings.format)
            yield self.found(Code.D04, place, f'"{shown}" is not written as {form}', rule, form)
        limit = settings.maximum
        if limit and (size := count(value, limit.measure)) > limit.count:
            message = f'"{settings.name}" is too long: {size} {limit.measure}'
            yield self.found(Code.D05, place, f"{message}, at most {limit.count}", rule)

    def settings(self, name: str) -> SlotSettings | None:
        """The settings of a slot, None for a built-in one."""
        return self.template.slots.get(name)

    def droppable(self, settings: SlotSettings) -> bool:
        """Whether nothing may stand in the slot."""
        return (settings.missing or self.template.settings.missing) is Missing.DROP

    def line(self, section: Section) -> int:
        """The line of the template on which a section begins, from 1."""
        return self.template.text.count("\n", 0, section.start) + 1

    def found(
        self, code: Code, place: tuple[int, int], message: str, rule: int, expected: str = ""
    ) -> Finding:
        """A finding that names its rule, a line of the template."""
        message = f"{message} (template {self.template.name}:{rule})"
        return Finding(code, *place, message, expected, rule)

    def _absent(
        self,
        section: Section,
        part: Part,
        known: Sequence[SlotSettings],
        values: Sequence[SlotValue],
    ) -> Iterator[Finding]:
        given = {value.slot.name for value in values if value.text}
        place = part.start, part.end
        needed = section.level and not section.optional and not all(map(self.droppable, known))
        if needed and not given:
            message = f'required section "{section.label}" has no text'
            yield self.found(Code.D01, place, message, self.line(section))
            return
        for settings in known:
            if settings.required and settings.name not in given:
                message = f'required "{settings.name}" has no text'
                yield self.found(Code.D01, place, message, settings.line)

    def _repetitions(
        self, section: Section, part: Part, unit: Unit, values: Sequence[SlotValue]
    ) -> Iterator[Finding]:
        names = {slot.name for slot in unit.slots}
        counts = Counter(value.slot.name for value in values if value.slot.name in names)
        number = max(counts.values(), default=0)
        limits = [settings.maximum for name in names if (settings := self.settings(name))]
        most = [limit.count for limit in limits if limit and limit.measure is Measure.ITEMS]
        if unit.repeat.most is not None:
            most.append(unit.repeat.most)
        message = f'"{section.label}" has {number} items, '
        place, rule = (part.start, part.end), self.line(section)
        if most and number > min(most):
            yield self.found(Code.D05, place, f"{message}at most {min(most)}", rule)
        elif 0 < number < unit.repeat.least:
            yield self.found(Code.D01, place, f"{message}at least {unit.repeat.least}", rule)

    def _written(self, part: Part, known: Sequence[SlotSettings]) -> Iterator[Finding]:
        if not known or any(settings.mode is not Mode.VERBATIM for settings in known):
            return
        for start, end in self.written:
            if start < part.end and end > part.start:
                message = f'a model has worded text for "{known[0].name}", which is verbatim'
                yield self.found(Code.D09, (start, end), message, known[0].line)
