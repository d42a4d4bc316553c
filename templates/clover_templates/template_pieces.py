"""Cuts the text of a template into literals, slots, notes and repeated units."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeGuard

from clover_templates.code_regions import Region
from clover_templates.settings_reader import read_repeat
from clover_templates.template import Literal, Note, NoteKind, Part, Piece, Slot, Unit, UnitKind
from clover_templates.template_findings import Code, Finding
from clover_templates.template_layout import Layout, line_at
from clover_templates.template_settings import Repeat, SlotSettings
from clover_templates.template_tokens import Token, TokenKind

_BLANK_LINE_END = re.compile(r"(?:\A|[\n\r])[ \t]*(?:\r\n|\n|\r)\Z")
_LINE_END = re.compile(r"\r\n|\r")
# the element of a MADR template that may be left out says so in a sentence
_OPTIONAL = re.compile(r"optional|this is an optional element\b.*", re.IGNORECASE | re.DOTALL)
_HINT = re.compile(r"hint[ \t]*[:：]\s*(.*)", re.DOTALL)
_SETTINGS = re.compile(r"clover\b")
_BLANKS = " \t\u3000"


def note_of(token: Token) -> Note | Finding | None:
    """What a comment says to us; None for one that is put out like any other text."""
    start, end, said = token.start, token.end, token.text
    if _SETTINGS.match(said):
        return Note(start, end, NoteKind.SETTINGS, "")
    if hint := _HINT.fullmatch(said):
        return Note(start, end, NoteKind.HINT, " ".join(hint[1].split()))
    if _OPTIONAL.fullmatch(said):
        return Note(start, end, NoteKind.FLAG, "optional")
    if said in ("verbatim", "repeat"):
        return Note(start, end, NoteKind.FLAG, said)
    word, _, times = said.partition(" ")
    if word == "repeat" and times[:1].isdecimal():
        if read_repeat(times):
            return Note(start, end, NoteKind.FLAG, said)
        message = f'"{said}" does not say how often: write repeat 2..5, repeat 0.. or repeat 3'
        return Finding(Code.T14, start, end, message)
    return None


def widened(text: str, note: Note, floor: int, layout: Layout) -> Note:
    """The note with the blanks and lines that would be left of it; nothing before `floor`, and of
    the closing part only what stands there as well.

    On a line with other text it takes the blanks before it. Alone, it takes its lines, and the
    blank line behind them where one stands before them as well; settings, with which a file ends,
    take the blank lines before them.
    """
    line = line_at(text, note.start)[0]
    end = line_at(text, note.end)[1]
    if text[line : note.start].strip(_BLANKS) or text[note.end : end].strip():
        kept = text[max(floor, line) : note.start].rstrip(_BLANKS)
        return replace(note, start=max(floor, line) + len(kept))
    start = max(floor, line)
    before = text[floor:start]
    if note.kind is NoteKind.SETTINGS:
        written = floor + len(before.rstrip())
        line, after = line_at(text, written)
        return replace(note, start=written if written == line else min(after, start), end=end)
    following = line_at(text, end)
    if (
        end != layout.closing
        and not text[slice(*following)].strip()
        and _BLANK_LINE_END.search(before)
    ):
        end = following[1]
    return replace(note, start=start, end=end)


@dataclass(frozen=True, slots=True)
class Cutter:
    """Cuts ranges of the text at their `marks`: slots and escapes, and the comments that are not
    put out, in order."""

    text: str
    marks: Sequence[Token | Note]
    layout: Layout
    slots: Mapping[str, SlotSettings]

    def pieces(self, start: int, end: int) -> tuple[Piece, ...]:
        """The pieces of `[start, end)`; joined, their places are that text."""
        pieces: list[Piece] = []
        at = start
        for mark in self.within(start, end):
            self._add(pieces, self._literal(at, mark.start))
            self._add(pieces, mark if isinstance(mark, Note) else self._token(mark))
            at = mark.end
        self._add(pieces, self._literal(at, end))
        return tuple(pieces)

    def body(self, start: int, end: int) -> tuple[Part, ...]:
        """The pieces of `[start, end)`, what is repeated in it as units."""
        parts: list[Part] = []
        at = start
        for unit in self._units(start, end):
            parts += [*self.pieces(at, unit.start), unit]
            at = unit.end
        return (*parts, *self.pieces(at, end))

    def within(self, start: int, end: int) -> Sequence[Token | Note]:
        """The marks of `[start, end)`."""
        first = bisect_left(self.marks, start, key=_start)
        return self.marks[first : bisect_left(self.marks, end, key=_start)]

    def slot_tokens(self, start: int, end: int) -> list[Token]:
        """The slots of `[start, end)`."""
        return [mark for mark in self.within(start, end) if _is_slot(mark)]

    def _literal(self, start: int, end: int) -> Literal:
        return Literal(start, end, _LINE_END.sub("\n", self.text[start:end]))

    def _token(self, token: Token) -> Literal | Slot:
        start, end = token.start, token.end
        if token.kind is TokenKind.ESCAPE:
            return Literal(start, end, "{{")
        line = self.text[slice(*line_at(self.text, start))]
        block = line.strip() == self.text[start:end]
        return Slot(start, end, token.text, token.form, block=block)

    @staticmethod
    def _add(pieces: list[Piece], piece: Piece) -> None:
        """Literals side by side become one."""
        if isinstance(piece, Literal) and pieces and isinstance(last := pieces[-1], Literal):
            pieces[-1] = Literal(last.start, piece.end, last.text + piece.text)
        elif piece.start < piece.end:
            pieces.append(piece)

    def _units(self, start: int, end: int) -> Iterator[Unit]:
        rows, items = self.layout.rows, self.layout.items
        places = [(region, UnitKind.ROW) for region in _between(rows, start, end)]
        places += [(region, UnitKind.ITEM) for region in _between(items, start, end)]
        places += [
            (line_at(self.text, token.start), UnitKind.LINE)
            for token in self.slot_tokens(start, end)
            if (known := self.slots.get(token.text)) and known.repeat
        ]
        at = start
        # of one place the row or item goes before the line
        for region, kind in sorted(places, key=lambda place: place[0]):
            if region[0] >= at and region[1] <= end and self.slot_tokens(*region):
                yield self._unit(*region, kind)
                at = region[1]

    def _unit(self, start: int, end: int, kind: UnitKind) -> Unit:
        tokens = self.slot_tokens(start, end)
        said = [self.slots[token.text].repeat for token in tokens if token.text in self.slots]
        repeat = next((repeat for repeat in said if repeat), Repeat(1, None))
        counter = next((token.start for token in tokens if token.text == "n"), start)
        begin = counter if kind is UnitKind.LINE else start
        lead, pieces = self.pieces(start, begin), self.pieces(begin, end)
        return Unit(start, end, kind, lead, pieces, repeat)


def _between(regions: Sequence[Region], start: int, end: int) -> Sequence[Region]:
    """The regions that begin in `[start, end)`."""
    return regions[bisect_left(regions, (start, 0)) : bisect_left(regions, (end, 0))]


def _start(mark: Token | Note) -> int:
    return mark.start


def _is_slot(mark: Token | Note) -> TypeGuard[Token]:
    return isinstance(mark, Token) and mark.kind is TokenKind.SLOT
