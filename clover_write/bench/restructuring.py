"""Restructuring, measured on documents that are found: what is lost or refused, and how fast."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from time import perf_counter
from typing import Any

from markdown_it import MarkdownIt

from clover_templates.blocks import Style
from clover_templates.builtins import Facts
from clover_templates.document import Document
from clover_templates.locks import locked_items
from clover_templates.normal import normal, units
from clover_templates.restructure import Proposal, refusal, restructure
from clover_templates.scoring import Scorer
from clover_templates.source import DocumentError
from clover_templates.template import Template

TEMPLATES = 3  # a document is brought into so many
SUFFIXES = (".md", ".markdown", ".txt")
_PARSER = MarkdownIt("commonmark").enable("table")


@dataclass(frozen=True, slots=True)
class Trial:
    """One document brought into one template. `refused` are the kinds of what kept it from being
    applied; of an edit that was applied the other figures tell whether it kept its promises."""

    path: str
    template: str
    size: int  # bytes
    ms: float
    refused: tuple[str, ...] = ()
    left: int = 0  # portions without a place
    sentences_lost: int = 0
    locks_changed: int = 0
    rests: bool = True  # a second run makes no edit
    parsed_alike: bool = True  # another parser finds the same headings

    @property
    def applied(self) -> bool:
        """Whether the edit could be applied."""
        return not self.refused


def found(folders: Iterable[Path]) -> list[tuple[Path, Document]]:
    """Every document below these folders that is text, in order."""
    paths = {
        path
        for folder in folders
        for path in folder.rglob("*")
        if path.suffix in SUFFIXES and path.is_file()
    }
    documents = ((path, _read(path)) for path in sorted(paths))
    return [(path, document) for path, document in documents if document]


def _read(path: Path) -> Document | None:
    try:
        document = Document.of(path.read_bytes())
    except (OSError, DocumentError):
        return None  # what other programs left there need not be readable UTF-8
    return document if document.data.strip() else None


async def attempt(path: Path, document: Document, template: Template, scorer: Scorer) -> Trial:
    """Bring a document into a template and count. Raises CloverError where the scorer does."""
    facts = Facts(datetime(2026, 1, 1), path.stem)
    started = perf_counter()
    proposal = await restructure(document, template, scorer, facts)
    ms = (perf_counter() - started) * 1000
    kinds = tuple(_kinds(proposal, template))
    trial = Trial(str(path), template.name, len(document.data), ms, kinds)
    if not trial.applied:
        return trial
    again = await restructure(Document.of(proposal.output), template, scorer, facts)
    return replace(trial, rests=not again.edits, **judged(document, proposal))


def judged(document: Document, proposal: Proposal) -> dict[str, Any]:
    """What a proposal kept, counted anew and not as the checks that it has passed count."""
    output = Document.of(proposal.output)
    return {
        "left": sum(one.place is None for one in proposal.placed),
        "sentences_lost": (_said(document, proposal) - _said(output)).total(),
        "locks_changed": (_locks(document, proposal) - _locks(output)).total(),
        # a numbered text is no Markdown
        "parsed_alike": _is_numbered(output) or _headings(output) == _others_headings(output),
    }


def _kinds(proposal: Proposal, template: Template) -> Iterator[str]:
    if not refusal(proposal, template):
        return
    kinds = {f"{breach.metric}: {breach.message}" for breach in proposal.breaches}
    yield from sorted(kinds) or [refusal(proposal, template)]


def _said(document: Document, proposal: Proposal | None = None) -> Counter[str]:
    """Every sentence, as often as it stands, but for headings that gave way to the template's."""
    gone = _replaced(proposal)
    return Counter(unit.text for unit in units(document) if unit.span.start not in gone)


def _locks(document: Document, proposal: Proposal | None = None) -> Counter[tuple[str, str]]:
    gone = _replaced(proposal)
    items = (item for item in locked_items(document) if item.span.start not in gone)
    return Counter((item.lock.value, item.value) for item in items)


def _replaced(proposal: Proposal | None) -> set[int]:
    """The bytes of the source's headings that gave way."""
    spans = proposal.trace.replaced if proposal else ()
    return {at for span in spans for at in range(span.start, span.end)}


def _is_numbered(document: Document) -> bool:
    styles = {block.heading.style for block in document.blocks if block.heading}
    return bool(styles & {Style.NUMBERED, Style.TITLE})


def _headings(document: Document) -> list[tuple[int, str]]:
    """Level and words of the marked headings."""
    return [
        (block.level, normal(block.title))
        for block in document.blocks
        if block.heading and block.heading.style in (Style.ATX, Style.SETEXT)
    ]


def _others_headings(document: Document) -> list[tuple[int, str]]:
    """The same as another parser finds them; front matter is nothing that it knows."""
    matter = document.source.front_matter_lines
    body = document.data.decode("utf-8-sig").splitlines(keepends=True)[matter:]
    tokens = _PARSER.parse("".join(body))
    return [
        (int(token.tag[1]), normal(inline.content))
        for token, inline in pairwise(tokens)
        if token.type == "heading_open" and token.level == 0
    ]
