"""A selection worded again under the locks that hold for a whole document."""

from __future__ import annotations

from dataclasses import dataclass

from clover_templates.case import Expected
from clover_templates.document import Document
from clover_templates.edit import Edit
from clover_templates.prose import Prose, sentences_in
from clover_templates.restructure import edits_of
from clover_templates.source import Span
from clover_templates.trace import FromSource, Trace
from clover_templates.verify import verify
from clover_templates.wordings import Wording

_SLOT = "selection"
_EXPECTED = Expected(rewritten=frozenset({_SLOT}))


@dataclass(frozen=True, slots=True)
class Rewording:
    """The edits that put a model's words into a document; `refused` says why other words of it
    were not taken, a line each, and `sentences` how many it was asked for."""

    edits: tuple[Edit, ...]
    refused: tuple[str, ...]
    sentences: int


async def reword(document: Document, selected: Span, how: Wording, prose: Prose) -> Rewording:
    """Word the sentences that a selection touches again; code, tables, headings and quotes are
    left alone. Raises CloverError where the engine does."""
    sentences = tuple(sentences_in(document, selected, _SLOT))
    worded = await prose.reworded(sentences, how)
    trace = Trace((FromSource(0, len(document.data)),)).reworded(worded.written)
    edits = tuple(edits_of(document.data, trace))
    output = trace.output(document.data)
    if breaches := verify(document, output, trace, _EXPECTED, edits=edits):
        return Rewording((), tuple(map(str, breaches)), len(sentences))
    return Rewording(edits, worded.refused, len(sentences))
