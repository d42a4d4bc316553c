"""What is wrong with a template that can be read: the rules over its tree and its slots."""

from __future__ import annotations

from collections.abc import Iterator

from clover_engine.api import MAX_HOLE_TOKENS
from clover_templates.span_canvas import LEFT_CHARS, RIGHT_CHARS
from clover_templates.template import (
    Literal,
    Note,
    NoteKind,
    Piece,
    Section,
    Slot,
    Template,
    flat,
)
from clover_templates.template_findings import Code, Finding
from clover_templates.template_settings import BUILTINS, Measure, Mode, SlotSettings

CANVAS_CHARS = LEFT_CHARS + RIGHT_CHARS
# the tokens that what a `max` counts takes at least: a token has seldom more than five letters
_TOKENS = {Measure.CHARS: 0.2, Measure.WORDS: 1.0, Measure.SENTENCES: 8.0, Measure.ITEMS: 4.0}


def check(template: Template) -> Iterator[Finding]:
    """T06 to T12, and T14 for flags that stand under no heading."""
    yield from _levels(template)
    yield from _touching(template)
    yield from _duplicates(template)
    yield from _repetitions(template)
    yield from _too_long(template)
    yield from _flags_elsewhere(template)
    for section in template.sections:
        yield from _required(template, section, optional=False)


def _levels(template: Template) -> Iterator[Finding]:
    above: int | None = None
    for section in template.walk():
        if section.level and above is not None and section.level > above + 1:
            message = f"the heading skips a level, from {above} to {section.level}"
            yield Finding(Code.T06, section.start, _head_end(section), message)
        above = section.level or above


def _touching(template: Template) -> Iterator[Finding]:
    """Slots between which nothing but blanks stands: their texts could not be told apart again."""
    for section in template.walk():
        for pieces in (section.title, tuple(flat(section.body))):
            before: Slot | None = None
            for piece in _put_out(pieces):
                if isinstance(piece, Literal):
                    before = None
                    continue
                if before and {before.name, piece.name}.isdisjoint(BUILTINS):
                    message = (
                        f'nothing separates the slots "{before.name}" and "{piece.name}":'
                        " put a word, a sign or a line end between them"
                    )
                    yield Finding(Code.T07, before.start, piece.end, message)
                before = piece


def _put_out(pieces: tuple[Piece, ...]) -> Iterator[Literal | Slot]:
    for piece in pieces:
        if isinstance(piece, Slot) or (
            isinstance(piece, Literal) and ("\n" in piece.text or piece.text.strip())
        ):
            yield piece


def _required(template: Template, section: Section, *, optional: bool) -> Iterator[Finding]:
    optional = optional or section.optional
    for slot in section.slots:
        if optional and slot.name in template.slots and template.slots[slot.name].required:
            message = f'the slot "{slot.name}" is required, but its section is optional'
            yield Finding(Code.T08, slot.start, slot.end, message)
    for below in section.sections:
        yield from _required(template, below, optional=optional)


def _duplicates(template: Template) -> Iterator[Finding]:
    lines: dict[str, int] = {}
    for section in template.walk():
        heading = (section.heading or "").casefold()
        if heading and heading in lines:
            line = lines[heading]
            message = f'"{section.heading}" is a heading on line {line} already'
            yield Finding(Code.T11, section.start, _head_end(section), message, rule=line)
        elif heading:
            lines[heading] = template.text.count("\n", 0, section.start) + 1


def _too_long(template: Template) -> Iterator[Finding]:
    fixed = sum(len(piece.text) for piece in template.pieces() if isinstance(piece, Literal))
    least = fixed + len(template.slots)
    if least > CANVAS_CHARS:
        message = f"the template alone has {least} characters, a canvas takes {CANVAS_CHARS}"
        yield Finding(Code.T12, 0, 0, message)
    for slot, settings in _first_slots(template):
        if settings.mode is Mode.VERBATIM or settings.maximum is None:
            continue
        tokens = settings.maximum.count * _TOKENS[settings.maximum.measure]
        if tokens > MAX_HOLE_TOKENS:
            message = (
                f'"{slot.name}" may have {settings.maximum}, but at most {MAX_HOLE_TOKENS} tokens'
                " are written at once: lower max, or leave it out"
            )
            yield Finding(Code.T12, slot.start, slot.end, message)


def _repetitions(template: Template) -> Iterator[Finding]:
    """Repeated text that has no slot of its own, so that all repetitions would be the same."""
    for section in template.walk():
        own = [slot for part in section.walk() for slot in part.slots]
        flags = [note for note in _flags(section) if note.text.startswith("repeat")]
        if flags and section.heading is not None and all(slot.implicit for slot in own):
            message = f'"{section.heading}" is repeated, but has no slot: put one into its heading'
            yield Finding(Code.T10, flags[0].start, flags[0].end, message)
    for slot, settings in _first_slots(template):
        if settings.repeat and slot.implicit:
            message = f'the text under "{slot.name}" is repeated, but has no slot of its own'
            yield Finding(Code.T10, slot.start, slot.end, message)


def _flags(section: Section) -> Iterator[Note]:
    for piece in (*section.head, *flat(section.body)):
        if isinstance(piece, Note) and piece.kind is NoteKind.FLAG:
            yield piece


def _flags_elsewhere(template: Template) -> Iterator[Finding]:
    for section in template.walk():
        for flag in _flags(section):
            if section.level == 0:
                message = f'"{flag.text}" stands under no heading: put it behind one'
                yield Finding(Code.T14, flag.start, flag.end, message)


def _first_slots(template: Template) -> Iterator[tuple[Slot, SlotSettings]]:
    """Each slot that has settings, where it first stands."""
    seen: set[str] = set()
    for piece in template.pieces():
        if isinstance(piece, Slot) and piece.name not in seen and piece.name in template.slots:
            seen.add(piece.name)
            yield piece, template.slots[piece.name]


def _head_end(section: Section) -> int:
    return section.title[-1].end if section.title else section.start
