"""A document brought into the shape of a template: place, don't retype, and prove it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from clover_templates.assembling import Parts, assemble
from clover_templates.blocks import MARKED, Kind
from clover_templates.breach import Breach
from clover_templates.builtins import Facts
from clover_templates.case import Expected
from clover_templates.document import Document
from clover_templates.edit import Edit
from clover_templates.form_lines import answered
from clover_templates.places import Places
from clover_templates.placing import Placed, place
from clover_templates.portions import portions_of
from clover_templates.scoring import Scorer
from clover_templates.shape import is_titled, leftover_level, misshapes
from clover_templates.source import Span
from clover_templates.template import Template
from clover_templates.template_lines import is_dropped, keys_of
from clover_templates.template_settings import Leftover, Mode, Numbering
from clover_templates.trace import FromSource, Trace, moved
from clover_templates.verify import verify

_SILENT = frozenset({Kind.BLANK, Kind.BOM, Kind.FRONT_MATTER})


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a document would become. It may be applied where `breaches` is empty.

    `edits` make the output of the source, in order and apart from one another; none of them where
    the document has the template's shape already. `refused` says which words of a model were not
    taken.
    """

    source: Document
    output: bytes
    trace: Trace
    placed: tuple[Placed, ...]
    edits: tuple[Edit, ...]
    breaches: tuple[Breach, ...]
    refused: tuple[str, ...] = ()


async def restructure(
    document: Document, template: Template, scorer: Scorer, facts: Facts
) -> Proposal:
    """Propose the document in the template's shape. Raises CloverError where the scorer does."""
    if conforms(document, template):
        whole = Trace((FromSource(0, len(document.data)),))
        return Proposal(document, document.data, whole, (), (), ())
    document = _as_numbered(document, template)
    places = Places(template)
    answers, portions = answered(template, portions_of(document, places))
    placed = await place(portions.all, places, scorer)
    trace = assemble(document, template, Parts(portions.title, placed, answers), facts)
    return proposal_of(document, template, placed, trace)


def proposal_of(
    document: Document, template: Template, placed: tuple[Placed, ...], trace: Trace
) -> Proposal:
    """What a trace makes of a document, checked."""
    output = trace.output(document.data)
    edits = tuple(edits_of(document.data, trace))
    breaches = verify(document, output, trace, expected(template), edits=edits)
    if not breaches:
        breaches = tuple(misshapes(Document.of(output), template))
    return Proposal(document, output, trace, placed, edits, breaches)


def _as_numbered(document: Document, template: Template) -> Document:
    """For a 公文 a text without marked headings below its title is read line by line, however it
    is numbered."""
    marked = [b for b in document.blocks if b.heading and b.heading.style in MARKED]
    if (
        len(marked) > 1
        or any(b.level > 1 for b in marked)
        or template.numbering is not Numbering.GONGWEN
    ):
        return document
    return Document.of(document.data, numbered=True)


def refusal(proposal: Proposal, template: Template) -> str:
    """Why a proposal may not be applied, in one line; empty where it may."""
    if all(block.kind in _SILENT for block in proposal.source.blocks):
        return "it has no text yet"
    if proposal.breaches:
        more = len(proposal.breaches) - 1
        return f"{proposal.breaches[0]}" + (f" (and {more} more)" if more else "")
    left = sum(one.place is None for one in proposal.placed)
    if left and template.settings.leftover is Leftover.REFUSE:
        return f"{left} portions fit nowhere, and the template takes no leftovers"
    return ""


def conforms(document: Document, template: Template) -> bool:
    """Whether the document has the template's shape already: its headings and its keys, of a 公文
    its title."""
    lines = range(document.source.front_matter_lines)
    keys = {document.source.line(n).decode().split(":")[0].strip() for n in lines}
    if not keys.issuperset(_keys(template)) or not is_titled(document, template):
        return False
    return not any(misshapes(document, template))


def expected(template: Template) -> Expected:
    """What the template asks of its documents, for the checks; its shape is checked apart."""
    modes = {slot.name: slot.mode for slot in template.slots.values()}
    mark = "#" * leftover_level(template)
    return Expected(
        literals=f"{template.text}\n{mark} {template.settings.unplaced}\n",
        front_matter=tuple(_keys(template)),
        rewritten=frozenset(name for name, mode in modes.items() if mode is Mode.REWRITE),
        written=frozenset(name for name, mode in modes.items() if mode is Mode.WRITE),
    )


def edits_of(source: bytes, trace: Trace) -> Iterator[Edit]:
    """The fewest bytes that have to change: pieces that keep their order stay where they are."""
    output = trace.output(source)
    end = Span(len(source), len(source))
    at = done = 0
    for run, start in [*staying(trace), (end, len(output))]:
        if source[at : run.start] != output[done:start]:
            yield _trimmed(Edit(at, run.start, output[done:start].decode()), source)
        at, done = run.end, start + run.end - run.start


def staying(trace: Trace) -> Iterator[tuple[Span, int]]:
    """The bytes of the source that keep their order, ascending, and where they stand then."""
    runs = {
        Span(one.piece.start, one.piece.end): one.span.start
        for one in trace.placed
        if isinstance(one.piece, FromSource) and not one.piece.copy
    }
    moving = set(moved(tuple(runs)))
    return ((run, start) for run, start in runs.items() if run not in moving)


def _trimmed(edit: Edit, source: bytes) -> Edit:
    """The edit without the line ends that old and new text have in common at their ends."""
    old, new = source[edit.start : edit.end].decode(), edit.text
    while old and new and old[-1] == new[-1] and old[-1] in "\r\n":
        old, new = old[:-1], new[:-1]
    return Edit(edit.start, edit.start + len(old.encode()), new)


def _keys(template: Template) -> list[str]:
    """The keys that front matter must have: one whose value may be left away is none."""
    return [key for key, line in keys_of(template) if not is_dropped(line, template)]
