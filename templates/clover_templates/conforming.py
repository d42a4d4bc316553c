"""A document that follows a template: which one it names, and where it does not follow it."""

from __future__ import annotations

import re

from clover_templates.blocks import Kind
from clover_templates.conformance import check_document
from clover_templates.document import Document
from clover_templates.document_parts import parts_of
from clover_templates.template import Template
from clover_templates.template_findings import Finding

_NAMED = re.compile(r"^template[ \t]*:[ \t]*[\"']?([^\"'\r\n#]+?)[\"']?[ \t]*(?:#|$)", re.MULTILINE)


def named_template(document: Document) -> str | None:
    """The name behind `template:` in the document's front matter."""
    for block in document.blocks[:2]:
        if block.kind is Kind.FRONT_MATTER and (found := _NAMED.search(block.text)):
            return found[1]
    return None


def findings(document: Document, template: Template) -> tuple[Finding, ...]:
    """What keeps a document from conforming (D01 to D08), in order; offsets are bytes."""
    return check_document(template, parts_of(document, template))
