"""A document as headings with the text under each: what conformance is checked on."""

from __future__ import annotations

from clover_templates.alignment import Part
from clover_templates.document import Document


def parts_of(document: Document) -> tuple[Part, ...]:
    """The part before the first heading, then one for every heading, in the document's order."""
    parts: list[Part] = []
    for section in document.outline:
        start = section.heading.start if section.heading else document.source.body_start
        body = "".join(block.text for block in section.blocks)
        if section.heading and section.heading.heading and section.heading.heading.run_in:
            title = section.heading.heading.title
            body = document.data[title.end : section.heading.end].decode() + body
        behind = (section.blocks[-1] if section.blocks else section.heading) or None
        end = behind.end if behind else start
        parts.append(Part(section.level, section.title, start, end, body))
    return tuple(parts)
