"""Reads the values back out of a text that was made from literals and slots."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from clover_templates.template import Literal, Part, Piece, Slot, Unit, UnitKind

_ROW = re.compile(r"[ \t]*\|[^\n]*(?:\n|\Z)")
# with the lines that are indented below it
_ITEM = re.compile(
    r"(?P<indent>[ \t]*)(?:[-*+]|[0-9]{1,9}[.)])[ \t][^\n]*(?:\n|\Z)"
    r"(?:(?P=indent)[ \t]+\S[^\n]*(?:\n|\Z)|[ \t]*\n(?=(?P=indent)[ \t]+\S))*"
)
_BLANK_LINE = re.compile(r"(?<=\S)[ \t]*\n[ \t]*\n")
_LINE = re.compile(r"[^\n]*\S[^\n]*(?:\n|\Z)")
# what stands right before the first repetition
_FIRST = {
    UnitKind.ROW: re.compile(r"^[ \t]*\|?[ \t]*:?-[-:| \t]*(?:\n|\Z)", re.MULTILINE),
    UnitKind.ITEM: re.compile(r"^(?=[ \t]*(?:[-*+]|[0-9]{1,9}[.)])[ \t])", re.MULTILINE),
    UnitKind.LINE: re.compile(r""),
}
_BEFORE = {**_FIRST, UnitKind.ROW: re.compile(r"^[ \t]*\|", re.MULTILINE)}
_UNITS = {UnitKind.ROW: _ROW, UnitKind.ITEM: _ITEM, UnitKind.LINE: _LINE}


@dataclass(frozen=True, slots=True)
class SlotValue:
    """What stands in a slot, and at which code point of the text it begins."""

    slot: Slot
    text: str
    start: int


def read_values(parts: Sequence[Part], text: str) -> list[SlotValue]:
    """The values in `text`, in order. Literals that are not there are passed over: what stands in
    for them is taken for the value of the slot before."""
    values: list[SlotValue] = []
    at = 0
    rest = list(_spoken(parts))
    while rest:
        literals = rest[: next((n for n, part in enumerate(rest) if isinstance(part, Unit)), None)]
        unit = rest[len(literals)] if len(literals) < len(rest) else None
        del rest[: len(literals) + 1]
        found, end = _in_order(literals, text, at, unit)
        values += found
        at = end
        if isinstance(unit, Unit):
            found, at = _repeated(unit, text, at)
            values += found
    return values


def matches(pieces: Sequence[Piece], text: str) -> bool:
    """Whether `text` has all literals of `pieces`, in order, the first and last at its ends."""
    spoken = [piece for piece in pieces if isinstance(piece, Literal | Slot)]
    at = 0
    for number, piece in enumerate(spoken):
        key = piece.text.strip() if isinstance(piece, Literal) else ""
        # the last one may stand in a value, too
        found = text.rfind(key) if number == len(spoken) - 1 else text.find(key, at)
        if found < at or (number == 0 and key and text[:found].strip()):
            return False
        at = found + len(key)
    last = spoken[-1] if spoken else None
    return not (isinstance(last, Literal) and last.text.strip() and text[at:].strip())


def _spoken(parts: Sequence[Part]) -> Iterator[Part]:
    """Without notes, and without the blank literals behind the last thing that is put out."""
    kept = [part for part in parts if isinstance(part, Slot | Unit | Literal)]
    while kept and isinstance(last := kept[-1], Literal) and not last.text.strip():
        kept.pop()
    yield from kept


def _in_order(
    parts: Sequence[Part], text: str, at: int, before: Part | None = None
) -> tuple[list[SlotValue], int]:
    values: list[SlotValue] = []
    waiting: Slot | None = None
    for part in parts:
        if isinstance(part, Slot):
            waiting = part
        elif not isinstance(part, Literal) or not (waiting or part.text.strip()):
            continue  # blanks separate two values, and before the first there is nothing to part
        elif place := _find(part.text, text, at):
            if waiting:
                values.append(_value(waiting, text, at, place[0]))
            waiting, at = None, place[1]
        elif waiting and not part.text.strip():
            values.append(_value(waiting, text, at, len(text)))
            waiting, at = None, len(text)
    if waiting:
        end = _next_unit(before, text, at) if isinstance(before, Unit) else len(text)
        values.append(_value(waiting, text, at, end))
        at = end
    return values, at


def _find(literal: str, text: str, at: int) -> tuple[int, int] | None:
    """Where a literal stands; one of blanks alone is a line end, a blank line, or a blank."""
    key = literal.strip()
    if key:
        found = text.find(key, at)
        return (found, found + len(key)) if found >= 0 else None
    if not literal:
        return None
    sign = r"\n[ \t]*\n\s*" if literal.count("\n") > 1 else r"\n" if "\n" in literal else r"[ \t]+"
    # line ends before any text separate nothing
    first = re.compile(r"\s*").match(text, at)
    place = re.compile(sign).search(text, first.end() if first else at)
    return place.span() if place else None


def _value(slot: Slot, text: str, start: int, end: int) -> SlotValue:
    value = text[start:end]
    lead = len(value) - len(value.lstrip())
    return SlotValue(slot, value.strip(), start + lead if value.strip() else start)


def _next_unit(unit: Unit, text: str, at: int) -> int:
    """Where the value before a unit ends: at its lead, at its first row or item, or, where there
    is none, at the next blank line."""
    if unit.lead:
        place = _lead(unit, text, at) or _BLANK_LINE.search(text, at)
    else:
        place = _BEFORE[unit.kind].search(text, at)
    if isinstance(place, re.Match):
        place = place.span()
    return place[0] if place else len(text)


def _lead(unit: Unit, text: str, at: int) -> tuple[int, int] | None:
    words = next((p.text for p in unit.lead if isinstance(p, Literal) and p.text.strip()), "")
    return _find(words, text, at) if words else None


def _repeated(unit: Unit, text: str, at: int) -> tuple[list[SlotValue], int]:
    if unit.lead:
        lead = _lead(unit, text, at)
        if lead is None:
            return [], at
        at = lead[1]
    # the rule of a table may be the end of the text before it
    line = text.rfind("\n", 0, at) + 1 if unit.kind is UnitKind.ROW else at
    first = _FIRST[unit.kind].search(text, line)
    at = first.end() if first else len(text)
    pieces = list(_spoken(unit.pieces))
    values: list[SlotValue] = []
    while (one := _UNITS[unit.kind].match(text, at)) and one.end() > at:
        found, _ = _in_order(pieces, one[0], 0)
        values += [SlotValue(value.slot, value.text, at + value.start) for value in found]
        at = one.end()
    return values, at
