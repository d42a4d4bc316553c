"""Whether a sentence that a model worded again may stand for the one it was."""

from __future__ import annotations

import re
from collections.abc import Iterator

from clover_templates.breach import Breach, Metric
from clover_templates.case import Case, Expected
from clover_templates.document import Document
from clover_templates.faithful import coverage, invention, locks, modality
from clover_templates.source import Span
from clover_templates.trace import Trace, Written

_SLOT = "sentence"
_EXPECTED = Expected(rewritten=frozenset({_SLOT}))
_LAST_SIGN = re.compile(r"([^\w\s])[ \t]*\Z")


def breaches(old: str, new: str) -> Iterator[Breach]:
    """What of the promises to a rewrite does not hold, of this sentence alone: locks, names,
    obligation, words of its own; and that it stays one sentence of the same form."""
    source, output = Document.of(old.encode()), Document.of(new.encode())
    if [block.kind for block in source.blocks] != [block.kind for block in output.blocks]:
        yield Breach(Metric.STRUCTURE, "no sentence of the same form", new, 0)
    if _last_sign(old) != _last_sign(new):
        yield Breach(Metric.STRUCTURE, "ends in another way", new, 0)
    whole = Span(0, len(source.data))
    case = Case(source, output, Trace((Written(output.data, _SLOT, (whole,)),)), _EXPECTED)
    for metric in (coverage, locks, invention, modality):
        yield from metric(case)


def _last_sign(text: str) -> str:
    found = _LAST_SIGN.search(text)
    return found[1] if found else ""
