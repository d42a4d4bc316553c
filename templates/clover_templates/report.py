"""A proposal told in words: what moved where, what is left over, what is missing."""

from __future__ import annotations

from collections.abc import Iterator

from clover_templates.places import Place
from clover_templates.restructure import Proposal
from clover_templates.template import Template
from clover_templates.trace import Added, Why, Written

_SHORT = 60  # characters of a text that is named


def report(proposal: Proposal, template: Template, name: str) -> str:
    """Markdown: one table of what was placed, and lists of what asks for a look."""
    return "\n".join(_lines(proposal, template, name)) + "\n"


def place_name(place: Place) -> str:
    """What a place is called: by its heading, or else by its slot."""
    return place.section.label or (place.slot.name if place.slot else "")


def _lines(proposal: Proposal, template: Template, name: str) -> Iterator[str]:
    yield f"# {name} as {template.title}"
    if not proposal.edits and not proposal.breaches:
        yield from ("", "The document has this shape already: nothing changes.")
        return
    yield from _list("Not applied: a promise would be broken", map(str, proposal.breaches))
    yield from _placed(proposal)
    left = (_line(proposal, n) for n, one in enumerate(proposal.placed) if one.place is None)
    yield from _list("Left over", left)
    pieces = proposal.trace.pieces
    holes = [p.data.decode() for p in pieces if isinstance(p, Added) and p.why is Why.HOLE]
    yield from _list("Missing", holes)
    written = [piece for piece in pieces if isinstance(piece, Written)]
    yield from _list("Written by the model", (_written(proposal, piece) for piece in written))
    yield from _list("Words of the model that were not taken", map(_short, proposal.refused))
    before, after = len(proposal.source.data), len(proposal.output)
    changed = sum(edit.end - edit.start + len(edit.text.encode()) for edit in proposal.edits)
    yield from ("", f"{before} bytes became {after}; {changed} bytes are edited.")


def _placed(proposal: Proposal) -> Iterator[str]:
    told = [n for n, one in enumerate(proposal.placed) if one.place and one.portion.blocks]
    if not told:
        return
    yield from ("", "| Line | Text | Under | Why |", "|---|---|---|---|")
    for number in told:
        one = proposal.placed[number]
        if one.place:
            why = "heading" if one.portion.home else "text"
            line, text = _line(proposal, number).split(" ", 1)
            yield f"| {line} | {_cell(text)} | {_cell(place_name(one.place))} | {why} |"


def _list(title: str, lines: Iterator[str] | list[str]) -> Iterator[str]:
    items = [f"- {line}" for line in lines]
    if items:
        yield from ("", f"## {title}", "", *items)


def _line(proposal: Proposal, number: int) -> str:
    """Where a portion begins in the source, and its first words."""
    portion = proposal.placed[number].portion
    start = portion.span.start if portion.span else 0
    line = proposal.source.source.line_at(start) + 1
    return f"{line} {_short(portion.text.splitlines()[0])}"


def _written(proposal: Proposal, piece: Written) -> str:
    """A model's text, whole, behind what it stands for."""
    data = proposal.source.data
    before = " ".join(data[s.start : s.end].decode() for s in piece.sources)
    return f"{piece.slot}: {before and f'“{before}” → '}“{piece.data.decode()}”"


def _short(text: str) -> str:
    return text if len(text) <= _SHORT else text[: _SHORT - 1] + "…"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
