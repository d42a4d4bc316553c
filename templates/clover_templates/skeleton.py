"""What a section of a template looks like in a document that has nothing for it yet."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from clover_templates.template import Literal, Part, Section, Slot, Template, Unit


def skeleton(section: Section, template: Template) -> str:
    """A section with a visible hole in each slot, and those below it that may not be left out.

    Line ends are "\\n"; one stands at the end.
    """
    text = "".join(_texts(section.head, template)) + form(section, template)
    inner = (skeleton(each, template) for each in section.sections if not each.optional)
    return "\n".join([text, *inner])


def form(section: Section, template: Template) -> str:
    """The text under a section's heading with a hole in each slot, behind a blank line; empty where
    the section holds none of its own."""
    text = "".join(_texts(section.body, template)).strip("\n")
    return "\n" + re.sub(r"\n{3,}", "\n\n", text) + "\n" if text else ""


def _texts(parts: Iterable[Part], template: Template) -> Iterator[str]:
    for part in parts:
        match part:
            case Literal():
                yield part.text
            case Slot():
                yield template.settings.hole(part.name)
            case Unit():
                yield from _texts((*part.lead, *part.pieces), template)
