"""Documents found on the machine: cut without loss, and with the headings another parser finds."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from mdit_py_plugins.front_matter import front_matter_plugin

from clover_templates.blocks import Style
from clover_templates.case import Expected
from clover_templates.document import Document
from clover_templates.verify import verify
from tests.support.documents import shuffled
from tests.templates.test_document import assert_joins

pytestmark = pytest.mark.slow

_ORACLE = MarkdownIt("commonmark").enable("table").use(front_matter_plugin)
_MARKED = (Style.ATX, Style.SETEXT)


def test_every_document_found_joins_again(documents: dict[Path, Document]) -> None:
    for document in documents.values():
        assert_joins(document.data)


def test_headings_are_those_markdown_it_finds(documents: dict[Path, Document]) -> None:
    found = {path: document for path, document in documents.items() if path.suffix != ".txt"}
    disagreed = [path for path, doc in found.items() if headings(doc) != oracle_headings(doc)]
    assert len(disagreed) <= len(found) // 200, disagreed


def headings(document: Document) -> list[tuple[int, int]]:
    """The marked headings as line and level."""
    return [
        (document.source.line_at(block.start), block.level)
        for block in document.blocks
        if block.heading and block.heading.style in _MARKED
    ]


def oracle_headings(document: Document) -> list[tuple[int, int]]:
    tokens = _ORACLE.parse(document.data.decode("utf-8-sig"))
    return [
        (token.map[0], int(token.tag[1]))
        for token in tokens
        if token.type == "heading_open" and token.level == 0 and token.map
    ]


def test_shuffled_sections_raise_no_alarm(documents: dict[Path, Document]) -> None:
    rnd = random.Random(0)
    for path in rnd.sample(sorted(documents), min(len(documents), 100)):
        trace = shuffled(documents[path], rnd)
        output = trace.output(documents[path].data)
        breaches = verify(documents[path], output, trace, Expected())
        assert not breaches, (path, [str(breach) for breach in breaches[:3]])
