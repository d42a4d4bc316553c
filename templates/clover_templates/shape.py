"""Whether a document has a template's shape: its headings, in order and number, and its keys."""

from __future__ import annotations

from collections.abc import Iterator

from clover_templates.blocks import Kind
from clover_templates.breach import Breach, Metric
from clover_templates.conformance import check_document
from clover_templates.document import Document
from clover_templates.document_parts import parts_of
from clover_templates.slot_values import matches
from clover_templates.structure import misfits
from clover_templates.template import Expected, Literal, Slot, Template
from clover_templates.template_findings import Code
from clover_templates.template_lines import lines_of
from clover_templates.template_settings import Numbering

_SILENT = frozenset({Kind.BLANK, Kind.BOM, Kind.FRONT_MATTER})
_SHAPE = frozenset({Code.D01, Code.D02, Code.D06})


def is_titled(document: Document, template: Template) -> bool:
    """Whether the first line of a document is one of the template's: a 公文 is known by its title,
    `…关于…的批复`. Of another template any title will do."""
    if template.numbering is not Numbering.GONGWEN:
        return True
    wanted = next(lines_of(template.sections[0].body), ())
    texts = (block.text for block in document.blocks if block.kind not in _SILENT)
    title = next(texts, "").strip().split("\n")[0]
    return matches([part for part in wanted if isinstance(part, Literal | Slot)], title)


def misshapes(document: Document, template: Template) -> Iterator[Breach]:
    """Where the shape is another one; what is missing within a section is no question of shape."""
    if template.numbering is Numbering.GONGWEN:
        parts = parts_of(document, template)
        for finding in check_document(template, parts):
            missing = finding.code is not Code.D01 or finding.expected
            if finding.code in _SHAPE and missing:
                text = document.data[finding.start : finding.end].decode(errors="replace")
                message = finding.message
                yield Breach(Metric.STRUCTURE, message, text, finding.start, code=finding.code)
        return
    for misfit in misfits(document.outline, outline(template)):
        heading = misfit.section.heading if misfit.section else None
        text, at = (heading.text.strip(), heading.start) if heading else ("", len(document.data))
        yield Breach(Metric.STRUCTURE, misfit.message, text, at, code=misfit.code)


def outline(template: Template) -> tuple[Expected, ...]:
    """The template's headings, and the one that may stand over what fits nowhere."""
    unplaced = Expected(leftover_level(template), template.settings.unplaced, 0, 1, True)
    return (*template.expected_outline(), unplaced)


def leftover_level(template: Template) -> int:
    """The level of the heading over what fits no slot: that of the sections below the title."""
    tops = [section for section in template.sections if section.level]
    if len(tops) == 1 and tops[0].sections:
        return tops[0].sections[0].level
    return min((section.level for section in template.walk() if section.level), default=2)
