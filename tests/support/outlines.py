"""The outline of a text, as the checker of documents takes it."""

from __future__ import annotations

from clover_templates.alignment import Part
from clover_templates.template_layout import read_layout
from clover_templates.template_settings import Numbering


def outline(text: str, numbering: Numbering = Numbering.MD) -> list[Part]:
    """Its headings with what stands under them."""
    headings = read_layout(text, numbering).headings
    starts = [*(heading.start for heading in headings), len(text)]
    parts = [Part(0, "", 0, _byte(text, starts[0]), text[: starts[0]])] if starts[0] else []
    for heading, end in zip(headings, starts[1:], strict=True):
        title = text[heading.title_start : heading.title_end]
        place = _byte(text, heading.start), _byte(text, end)
        parts.append(Part(heading.level, title, *place, text[heading.end : end]))
    return parts


def _byte(text: str, offset: int) -> int:
    return len(text[:offset].encode("utf-8", "surrogatepass"))
