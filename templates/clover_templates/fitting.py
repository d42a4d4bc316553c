"""Which templates a document is likely to be restructured to."""

from __future__ import annotations

from collections.abc import Sequence

from clover_templates.conforming import named_template
from clover_templates.document import Document
from clover_templates.language import language_of
from clover_templates.library import Entry, Origin
from clover_templates.places import Places
from clover_templates.template_findings import errors_of


def fitting(
    document: Document, entries: Sequence[Entry], *, recent: Sequence[str] = (), most: int = 8
) -> list[Entry]:
    """The templates that fit best, best first, of those that can be used.

    First the one that the document names, then those that have more of its headings, were used
    lately (`recent`, the last one first), are the user's own, or are of the text's language.
    """
    named = (named_template(document.data) or "").casefold()
    lang = language_of(document.data.decode())

    def rank(entry: Entry) -> tuple[bool, int, int, bool, bool]:
        name = entry.template.name
        lately = len(recent) - recent.index(name) if name in recent else 0
        headings = _known(document, entry)
        own = entry.origin is not Origin.SHIPPED
        is_named = named in map(str.casefold, entry.names)
        return is_named, headings, lately, own, entry.template.settings.lang == lang

    usable = [entry for entry in entries if not errors_of(entry.reading.findings)]
    return sorted(usable, key=rank, reverse=True)[:most]


def _known(document: Document, entry: Entry) -> int:
    """How many headings of the document name sections of the template."""
    places = Places(entry.template)
    titles = [section.title for section in document.outline if section.heading]
    return sum(places.named(title) is not None for title in titles)
