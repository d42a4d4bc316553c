"""A document that follows a template: which one it names, and where it does not follow it."""

from __future__ import annotations

import re

from clover_templates.conformance import check_document
from clover_templates.document import Document
from clover_templates.document_parts import parts_of
from clover_templates.front_matter import front_matter
from clover_templates.template import Template
from clover_templates.template_findings import Finding

_NAMED = re.compile(
    r"^template[ \t]*:[ \t]*[\"']?([^\"'\r\n#]+?)[\"']?[ \t]*(?=[#\r\n]|\Z)", re.MULTILINE
)


def named_template(source: bytes) -> str | None:
    """The name behind `template:` in the front matter of a document."""
    matter = front_matter(source)
    found = matter and _NAMED.search(source[: matter.body].decode(errors="replace"))
    return found[1] if found else None


def findings(document: Document, template: Template) -> tuple[Finding, ...]:
    """What keeps a document from conforming (D01 to D08), in order; offsets are bytes."""
    return check_document(template, parts_of(document, template))
