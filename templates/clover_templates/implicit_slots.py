"""The slot of a section that names none: it takes all text under the heading."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from clover_templates.template import Literal, Note, NoteKind, Part, Slot, Unit


def with_slot(
    body: Sequence[Part], name: str, *, at: int, ended: bool, blank: bool, last: bool
) -> tuple[Part, ...]:
    """`body`, which begins at offset `at`, with a slot behind all its text.

    The slot has no width, and neither have the line ends that set it off: `blank` says whether
    headings stand between blank lines, `ended` whether the heading has its line end, `last` whether
    nothing follows the section. The body's own blank lines put out nothing.
    """
    shown = [number for number, part in enumerate(body) if _is_shown(part)]
    told = [number for number, part in enumerate(body) if _is_told(part)]
    cut = max([*shown, *told], default=-1) + 1
    place = body[cut - 1].end if cut else at
    text = shown[-1] + 1 if shown else 0
    before = "\n" * blank if ended else "\n" + "\n" * blank
    if shown:
        before = "\n" if isinstance(body[text - 1], Unit) else "\n\n"
    return (
        *body[: max(text - 1, 0)],
        *map(_stripped, body[max(text - 1, 0) : text]),
        *map(_silent, body[text:cut]),
        Literal(place, place, before),
        Slot(place, place, name, implicit=True, block=True),
        Literal(place, place, "\n" + "\n" * (blank and not last)),
        *map(_silent, body[cut:]),
    )


def _is_shown(part: Part) -> bool:
    return isinstance(part, Unit) or (isinstance(part, Literal) and bool(part.text.strip()))


def _is_told(part: Part) -> bool:
    return isinstance(part, Note) and part.kind is not NoteKind.SETTINGS


def _stripped(part: Part) -> Part:
    return replace(part, text=part.text.rstrip()) if isinstance(part, Literal) else part


def _silent(part: Part) -> Part:
    return replace(part, text="") if isinstance(part, Literal) else part
