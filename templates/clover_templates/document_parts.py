"""A document as headings with the text under each: what conformance is checked on."""

from __future__ import annotations

from clover_templates.alignment import Part
from clover_templates.document import Document
from clover_templates.source import byte_offsets
from clover_templates.template import Template
from clover_templates.template_layout import read_layout
from clover_templates.template_settings import Numbering


def parts_of(document: Document, template: Template) -> tuple[Part, ...]:
    """The part before the first heading, then one for every heading, in the document's order.

    Headings are read as the template marks them, which of few lines need not be how the document
    reads by itself. Of a 公文 lines on levels that the template has no headings on are text.
    """
    start = document.source.body_start
    text = document.data[start:].decode()
    places = [start + place for place in byte_offsets(text)]
    headings = read_layout(text, template.numbering).headings
    if template.numbering is Numbering.GONGWEN:
        deepest = max((section.level for section in template.walk()), default=0)
        headings = tuple(heading for heading in headings if heading.level <= deepest)
    starts = [*(heading.start for heading in headings), len(text)]
    parts = [Part(0, "", start, places[starts[0]], text[: starts[0]])] if starts[0] else []
    for heading, end in zip(headings, starts[1:], strict=True):
        title = text[heading.title_start : heading.title_end]
        at = places[heading.start], places[end]
        parts.append(Part(heading.level, title, *at, text[heading.end : end]))
    return tuple(parts)
