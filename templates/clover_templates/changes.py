"""A proposal as changes that can be taken section by section, or left."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from clover_engine.errors import CloverError
from clover_templates.blocks import Block
from clover_templates.document import Document
from clover_templates.edit import Edit
from clover_templates.restructure import Proposal, edits_of, expected, staying
from clover_templates.shape import leftover_level
from clover_templates.source import Span
from clover_templates.template import Template
from clover_templates.template_findings import did_you_mean
from clover_templates.trace import FromSource, Piece, Trace, Written
from clover_templates.verify import verify

_LINE_ENDS = b"\r\n"


class UnknownSection(CloverError):
    """A section is asked for that the proposal does not have."""


@dataclass(frozen=True, slots=True)
class Change:
    """An edit, and the section of the output it is for, by its heading; what stands above the first
    has the template's title. `worded` where a model's words come with it."""

    section: str
    edit: Edit
    worded: bool = False


def changes_of(proposal: Proposal, template: Template) -> tuple[Change, ...]:
    """The edits that make the output, in order, each for one section.

    Text is taken away by the same section's edits that put it elsewhere: those of any sections
    can be made, and no text is lost or there twice.
    """
    if not proposal.edits:
        return ()
    return tuple(_changes(proposal, tuple(_Way(proposal, template).steps())))


def part_of(proposal: Proposal, template: Template, sections: Collection[str]) -> Proposal:
    """The proposal with the changes of these sections alone; all other text stays where it is.

    It is checked as a whole one is, but for the template's outline, which it need not have. Raises
    UnknownSection.
    """
    if not proposal.edits:
        return proposal
    steps = tuple(_Way(proposal, template).steps())
    known = dict.fromkeys(change.section for change in _changes(proposal, steps))
    for section in sections:
        if section not in known:
            near = did_you_mean(section, known)
            advice = f'did you mean "{near}"?' if near else f"there are {', '.join(known)}"
            raise UnknownSection(f'no change is for a section "{section}"; {advice}')
    pieces: list[Piece] = []
    for step in steps:
        if step.section in sections:
            pieces += _cut(proposal.trace, step.new)
        elif step.old.end > step.old.start:
            pieces.append(FromSource(step.old.start, step.old.end))
    source = proposal.source
    trace = Trace(tuple(pieces))
    trace = replace(
        trace, replaced=tuple(s for s in proposal.trace.replaced if not trace.carries(s))
    )
    output = trace.output(source.data)
    edits = tuple(edits_of(source.data, trace))
    asked = replace(expected(template), outline=None, front_matter=())
    breaches = verify(source, output, trace, asked, edits=edits)
    return replace(proposal, output=output, trace=trace, edits=edits, breaches=breaches)


@dataclass(frozen=True, slots=True)
class _Step:
    """Bytes `new` of the output in place of `old` of the source, for a section; None: they stay."""

    section: str | None
    old: Span
    new: Span


def _changes(proposal: Proposal, steps: Sequence[_Step]) -> Iterator[Change]:
    for step in steps:
        before = proposal.source.data[step.old.start : step.old.end]
        after = proposal.output[step.new.start : step.new.end]
        if step.section is not None and before != after:
            pieces = (one.piece for one in proposal.trace.at(step.new))
            worded = any(isinstance(piece, Written) for piece in pieces)
            edit = Edit(step.old.start, step.old.end, after.decode())
            yield Change(step.section, edit, worded)


@dataclass(frozen=True)
class _Way:
    """From the source to the output. Between what stays, texts come first and then others go.

    A blank line goes with the text before it; at the end of the document, where none follows,
    with the text behind it. What marks a heading, before it and under it, goes with the heading.
    """

    proposal: Proposal
    template: Template

    def steps(self) -> Iterator[_Step]:
        source, output = self.proposal.source.data, self.proposal.output
        end = Span(len(source), len(source))
        at = done = 0
        for run, start in [*staying(self.proposal.trace), (end, len(output))]:
            if (under := self._heading_end(at, run.start)) > at:
                yield _Step(self._section(done - 1), Span(at, under), Span(done, done))
                at = under
            old, new = run.start, start
            if run is not end:
                old = max(at, _line_start(source, run.start))
                new = max(done, _line_start(output, start))
            yield from self._gap(Span(at, old), Span(done, new), last=run is end)
            yield _Step(self._section(start), Span(old, run.start), Span(new, start))
            at, done = run.end, start + run.end - run.start
            yield _Step(None, run, Span(start, done))

    def _heading_end(self, at: int, most: int) -> int:
        """Where the text of a heading ends whose title ends at `at` in the source."""
        block = self._headings.get(at)
        return min(block.start + len(block.text.rstrip().encode()), most) if block else at

    @cached_property
    def _headings(self) -> dict[int, Block]:
        """The headings of the source by where their titles end."""
        return {
            block.heading.title.end: block
            for block in self.proposal.source.blocks
            if block.heading and not block.heading.run_in
        }

    def _gap(self, old: Span, new: Span, *, last: bool) -> Iterator[_Step]:
        source, output = self.proposal.source.data, self.proposal.output
        before, after = source[old.start : old.end], output[new.start : new.end]
        same = _common(before[::-1], after[::-1]) if last else _common(before, after)
        kept = Span(old.end - same, old.end) if last else Span(old.start, old.start + same)
        if last:
            old, new = Span(old.start, kept.start), Span(new.start, new.end - same)
        else:
            old, new = Span(kept.end, old.end), Span(new.start + same, new.end)
            yield _Step(None, kept, Span(new.start - same, new.start))
        given, taken = [*self._given(old.start, new, last)], [*self._taken(old, new.end, last)]
        if given and taken and given[-1].section == taken[0].section:
            yield from given[:-1]
            yield _Step(given[-1].section, taken[0].old, given[-1].new)
            yield from taken[1:]
        else:
            yield from (*given, *taken)
        if last:
            yield _Step(None, kept, Span(new.end, new.end + same))

    def _given(self, at: int, new: Span, last: bool) -> Iterator[_Step]:
        """What comes in at `at`, section by section."""
        output = self.proposal.output
        cuts = [start for start, _ in self._sections if new.start < start < new.end]
        if last:
            cuts = [len(output[:cut].rstrip(_LINE_ENDS)) for cut in cuts]
        start = new.start
        for cut in [*(cut for cut in cuts if cut > new.start), new.end]:
            if cut > start:
                section = self._section(cut - 1 if last else start)
                yield _Step(section, Span(at, at), Span(start, cut))
            start = cut

    def _taken(self, old: Span, place: int, last: bool) -> Iterator[_Step]:
        """What goes, section by section; text that is nowhere else is of the section behind it."""
        source, at = self.proposal.source.data, old.start
        ends = (Span(at, at) for at in (old.start, old.end))
        first, behind = (bisect_left(self._runs, end, key=lambda run: run[0]) for end in ends)
        runs = self._runs[first:behind]
        for number, (run, stands) in enumerate(runs):
            if not last:
                end = old.end - len(source[run.end : old.end].lstrip(_LINE_ENDS))
            else:
                end = old.end if number == len(runs) - 1 else run.end
            yield _Step(self._section(stands), Span(at, end), Span(place, place))
            at = end
        if at < old.end:
            yield _Step(self._section(place), Span(at, old.end), Span(place, place))

    @cached_property
    def _runs(self) -> Sequence[tuple[Span, int]]:
        """The bytes of the source that are in use, ascending, and where they, or a model's words
        for them, stand in the output."""
        return sorted(
            (span, one.span.start)
            for one in self.proposal.trace.placed
            for span in _stood_for(one.piece)
        )

    @cached_property
    def _sections(self) -> Sequence[tuple[int, str]]:
        """Where the sections of the output begin, and their headings."""
        level = leftover_level(self.template)
        return [
            (section.heading.start, section.title)
            for section in Document.of(self.proposal.output).outline
            if section.heading and section.level == level
        ]

    def _section(self, place: int) -> str:
        number = bisect_right(self._sections, place, key=lambda section: section[0]) - 1
        return self._sections[number][1] if number >= 0 else self.template.title


def _stood_for(piece: Piece) -> tuple[Span, ...]:
    """The bytes of the source that a piece stands for."""
    if isinstance(piece, FromSource):
        return () if piece.copy else (Span(piece.start, piece.end),)
    return piece.sources if isinstance(piece, Written) else ()


def _cut(trace: Trace, span: Span) -> Iterator[Piece]:
    """The pieces of a trace in `span` of its output, cut to it."""
    for placed in trace.at(span):
        start = max(span.start - placed.span.start, 0)
        end = min(span.end, placed.span.end) - placed.span.start
        piece = placed.piece
        if isinstance(piece, FromSource):
            yield replace(piece, start=piece.start + start, end=piece.start + end)
        else:
            yield replace(piece, data=piece.data[start:end])


def _line_start(text: bytes, at: int) -> int:
    return max(text.rfind(sign, 0, at) for sign in (b"\n", b"\r")) + 1


def _common(one: bytes, other: bytes) -> int:
    """How many line ends both begin with, in bytes."""
    size = 0
    while one[size : size + 1] == other[size : size + 1] and one[size : size + 1] in (b"\r", b"\n"):
        size += 1
    return size
