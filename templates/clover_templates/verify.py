"""The promises about a restructured document, checked on every edit: nine metrics.

Each metric yields what breaks its promise, with the offending text and its place; without a breach
the edit may be applied. None of them asks a model.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence

from clover_templates.blocks import OPAQUE, Kind
from clover_templates.breach import Breach, Metric
from clover_templates.case import Case, Expected
from clover_templates.document import Document
from clover_templates.edit import Edit, applied
from clover_templates.faithful import coverage, invention, locks, modality
from clover_templates.normal import says_nothing
from clover_templates.numbering import number_prefix
from clover_templates.source import Span
from clover_templates.structure import misfits
from clover_templates.trace import Added, FromSource, Literal, Trace, Why, Written

_LINE_END = re.compile(rb"\r\n|\r|\n")
_ADDED = {
    Why.SEPARATOR: re.compile(r"\s*(?:<!-- -->)?\s*"),
    Why.HEADING_MARK: re.compile(r"\s*#{1,6}[ \t]*"),
    Why.FENCE: re.compile(r"\s*(?:`{3,}|~{3,})\s*"),
    Why.HOLE: re.compile(r"【待补(?:：[^【】\r\n]*)?】|TODO\([^()\r\n]*\)"),
    Why.BUILT_IN: re.compile(r"[^\r\n]*"),
}
# a label a slot of the template stands for: 主送机关： or Owner:
_LABEL = re.compile(
    r"[ \t\u3000]*(?:[-*+][ \t]+)?[*_]{0,2}[^\s:：][^:：\r\n]{0,30}[:：][*_]{0,2}\s*"
)


def verify(
    source: Document,
    output: bytes,
    trace: Trace,
    expected: Expected,
    *,
    edits: Sequence[Edit] | None = None,
    again: Callable[[bytes], bytes] | None = None,
) -> tuple[Breach, ...]:
    """Every breach of metrics 1 to 6 and 8, and of 7 where `again` is there to restructure anew.

    Raises DocumentError where the output is no document.
    """
    case = Case(source, Document.of(output), trace, expected)
    metrics = (traceability, coverage, locks, invention, modality, structure, kinds, layout)
    breaches = [breach for metric in metrics for breach in metric(case)]
    if edits is not None:
        breaches += edit(source.data, output, edits)
    if again is not None:
        breaches += idempotence(output, again(output))
    return tuple(breaches)


def traceability(case: Case) -> Iterator[Breach]:
    """Every byte of the output has a source, and every byte of the source one place at most."""
    if case.trace.output(case.source.data) != case.output.data:
        at = _first_difference(case.trace.output(case.source.data), case.output.data)
        text = case.output.data[at : at + 80].decode(errors="replace")
        yield Breach(Metric.TRACE, "the trace does not join to the output", text, at)
    for placed in case.trace.placed:
        if problem := _problem(case, placed.piece):
            text = case.output.data[placed.span.start : placed.span.end].decode(errors="replace")
            code = "D09" if isinstance(placed.piece, Written) else ""
            yield Breach(Metric.TRACE, problem, text, placed.span.start, code=code)
    yield from _used_twice(case)
    yield from _dropped(case)


def _problem(case: Case, piece: object) -> str:
    """What is wrong with a piece of the trace by itself; empty where nothing is."""
    match piece:
        case FromSource(start, end):
            inside = 0 <= start <= end <= len(case.source.data)
            return _cut(case.source.data, start, end) if inside else "the source has no such bytes"
        case Literal(data):
            text = _plain(data.decode(errors="replace"))
            return "" if text in _plain(case.expected.literals) else "no text of the template"
        case Added(data, why):
            text = data.decode(errors="replace")
            if why is Why.NUMBER:
                fits = number_prefix(text.strip()) == text.strip()
            else:
                fits = bool(_ADDED[why].fullmatch(text))
            return "" if fits else f"no {why}"
        case Written(_, slot):
            allowed = slot in case.expected.rewritten | case.expected.written
            return "" if allowed else f"written by a model, and {slot} is verbatim"
    return ""


def _cut(source: bytes, start: int, end: int) -> str:
    """What a piece `[start, end)` cuts in two that is one; empty where it does not."""
    for at in (start, end):
        if source[at - 1 : at + 1] == b"\r\n" and at > 0:
            return "a line end is cut in two"
        if at < len(source) and 0x80 <= source[at] < 0xC0:
            return "a character is cut in two"
    return ""


def _first_difference(one: bytes, other: bytes) -> int:
    pairs = zip(one, other, strict=False)
    shorter = min(len(one), len(other))
    return next((at for at, (left, right) in enumerate(pairs) if left != right), shorter)


def _plain(text: str) -> str:
    return re.sub(r"\r\n|\r", "\n", text).strip()


def _used_twice(case: Case) -> Iterator[Breach]:
    end = 0
    for run in sorted([*case.trace.runs, *case.trace.rewritten]):
        if run.start < end:
            text = case.source_text(Span(run.start, min(end, run.end)))
            yield Breach(Metric.TRACE, "used twice", text, run.start, in_output=False)
        end = max(end, run.end)


def _dropped(case: Case) -> Iterator[Breach]:
    """Bytes of the source that are nowhere, unless they are blanks and marks, or were replaced."""
    blocks = case.source.blocks
    headings = {block.span for block in blocks if block.heading and not block.heading.run_in}
    for span in case.trace.replaced:
        if span not in headings and not _LABEL.fullmatch(case.source_text(span)):
            text, message = case.source_text(span), "replaced, and neither heading nor label"
            yield Breach(Metric.TRACE, message, text, span.start, in_output=False)
    for span in case.trace.unused(len(case.source.data)):
        text = case.source_text(span)
        if not says_nothing(text.removeprefix("\ufeff")):
            yield Breach(Metric.TRACE, "dropped", text, span.start, in_output=False)


def structure(case: Case) -> Iterator[Breach]:
    """The output has the template's headings, in order and number, and its front matter's keys."""
    pattern = case.expected.outline
    for misfit in [] if pattern is None else misfits(case.output.outline, pattern):
        heading = misfit.section.heading if misfit.section else None
        text, at = (heading.text.strip(), heading.start) if heading else ("", len(case.output.data))
        yield Breach(Metric.STRUCTURE, misfit.message, text, at, code=misfit.code)
    lines = case.output.source.front_matter_lines
    there = {case.output.source.line(n).decode().split(":")[0].strip() for n in range(lines)}
    for key in case.expected.front_matter:
        if key not in there:
            yield Breach(Metric.STRUCTURE, "the front matter lacks a key", key, 0, code="D01")


def kinds(case: Case) -> Iterator[Breach]:
    """What was code, math, a comment or HTML still is, and nothing else became so."""
    blocks = case.output.blocks
    for block in case.source.blocks:
        place = case.trace.place_of(block.start)
        if place is None or block.kind is Kind.BLANK:
            continue
        here = blocks[bisect_right(blocks, place, key=lambda other: other.start) - 1]
        if {block.kind, here.kind} & OPAQUE and block.kind is not here.kind:
            message = f"{block.kind} became {here.kind}"
            yield Breach(Metric.STRUCTURE, message, block.text, place)


def layout(case: Case) -> Iterator[Breach]:
    """Byte order mark, line ends and the end of the file are as they were."""
    before, after = case.source.source, case.output.source
    if before.body_start != after.body_start:
        yield Breach(Metric.EDIT, "byte order mark added or lost", "", 0)
    if before.data and before.ends_with_line_end != after.ends_with_line_end:
        at = len(after.data)
        yield Breach(Metric.EDIT, "line end at the end of the file added or lost", "", at)
    if set(after.line_ends) - {*before.line_ends, before.line_end}:
        yield Breach(Metric.EDIT, "line ends are not what they were", "", 0)
    for placed in case.trace.placed:
        if isinstance(placed.piece, FromSource):
            continue
        if set(_LINE_END.findall(placed.piece.data)) - {before.line_end}:
            text = repr(placed.piece.data)
            yield Breach(Metric.EDIT, "foreign line end", text, placed.span.start)


def edit(source: bytes, output: bytes, edits: Sequence[Edit]) -> Iterator[Breach]:
    """The edits make the output of the source, do not overlap, and none of them is idle."""
    at = 0
    ordered = sorted(edits, key=lambda change: (change.start, change.end))
    for change in ordered:
        old = source[change.start : change.end]
        if change.start < at or old == change.text.encode():
            message = "overlapping edits" if change.start < at else "an edit that changes nothing"
            yield Breach(Metric.EDIT, message, old.decode(errors="replace"), change.start)
        at = max(at, change.end)
    if applied(source, ordered) != output:
        yield Breach(Metric.EDIT, "the edits do not make the output", "", 0)


def idempotence(output: bytes, again: bytes) -> Iterator[Breach]:
    """Restructuring what was restructured changes nothing."""
    if again != output:
        at = _first_difference(output, again)
        text = output[at : at + 80].decode(errors="replace")
        yield Breach(Metric.IDEMPOTENCE, "a second run changes the output", text, at)


def anchors(links: Sequence[tuple[str, int]], headings: Sequence[str]) -> Iterator[Breach]:
    """Every link of a table of contents leads to a heading, in their order.

    `links` are anchors without `#` and the byte offsets they stand at; `headings` is the anchor of
    every heading that may be linked to, in order.
    """
    at = 0
    for link, place in links:
        try:
            at = headings.index(link, at) + 1
        except ValueError:
            message = "no heading has this anchor, or not in this order"
            yield Breach(Metric.ANCHORS, message, link, place)
