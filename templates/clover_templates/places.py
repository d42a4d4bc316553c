"""The places of a template: where blocks of a document may stand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from clover_templates.heading_text import plain_heading
from clover_templates.template import Section, Slot, Template, hint_line
from clover_templates.template_lines import is_form
from clover_templates.template_settings import Numbering


@dataclass(frozen=True, slots=True)
class Place:
    """A section and the slot of its text that takes whole blocks.

    `slot` is None where the section's text is a form (rows, items, labelled lines): blocks that
    are placed there stand in for the form. A place that is `headed` takes whole sections with
    headings of their own: those of the template are a slot.
    """

    section: Section
    slot: Slot | None = None
    headed: bool = False


class Places:
    """All places of a template in its order, and which of them a heading of a document names."""

    def __init__(self, template: Template) -> None:
        self.template = template
        self.all = tuple(_places(template))
        self._named: dict[str, Section] = {}
        for section in template.walk():
            if section.heading is not None:
                self._named.setdefault(plain_heading(section.heading), section)
        for section in template.walk():
            for alias in section.aliases:
                self._named.setdefault(plain_heading(alias), section)

    def named(self, heading: str, below: Section | None = None) -> Section | None:
        """The section that a heading names by its own words or an alias; first one `below` the
        section that the heading above it named."""
        plain = plain_heading(heading)
        for section in below.sections if below else ():
            names = (section.heading or "", *section.aliases)
            if plain in map(plain_heading, names):
                return section
        return self._named.get(plain)

    def of(self, section: Section) -> tuple[Place, ...]:
        """Where text may stand that belongs to a section: in it, or else in those below it."""
        own = tuple(place for place in self.all if place.section is section)
        below = (place for inner in section.sections for place in self.of(inner))
        return own or tuple(below)


def hints(places: Sequence[Place], template: Template) -> list[str]:
    """For each place the line that tells a model what belongs there."""
    return [_hint(place, template) for place in places]


def _hint(place: Place, template: Template) -> str:
    slot = place.slot
    if slot is None or slot.implicit or slot.name not in template.slots:
        return hint_line(place.section)
    settings = template.slots[slot.name]
    label = f"{place.section.label} / {slot.name}" if place.section.level else slot.name
    return f"## {label} ({settings.hint})" if settings.hint else f"## {label}"


def _places(template: Template) -> Iterator[Place]:
    top = 0 if template.numbering is Numbering.GONGWEN else 1
    for section in template.walk():
        blocks = [slot for slot in section.slots if _takes_blocks(section, slot, template)]
        if section.level > top and section.heading is None and section.repeated:
            yield Place(section, headed=True)
        yield from (Place(section, slot) for slot in blocks)
        if not blocks and section.slots and section.level > top:
            yield Place(section)


def _takes_blocks(section: Section, slot: Slot, template: Template) -> bool:
    in_unit = any(slot in unit.slots for unit in section.units)
    return slot.block and not in_unit and not is_form(slot, template)
