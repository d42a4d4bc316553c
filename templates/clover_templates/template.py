"""A template as it was read: a tree of sections, made of literals, slots and repeated units."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from clover_templates.template_settings import (
    ONCE,
    DocumentSettings,
    Numbering,
    Repeat,
    SlotSettings,
)


@dataclass(frozen=True, slots=True)
class Literal:
    """Fixed text. `text` is what goes into a document (line ends are "\\n", escapes are undone);
    the template has it as `[start, end)`."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Slot:
    """A place for a value, which has no line end at its own end.

    `form` is what stands behind the colon (`{{date:YYYY}}`). A slot that is `implicit` has no
    width in the template: it is the text of a section that names no slot. A `block` slot is alone
    on its line and takes whole blocks; any other takes text within a line.
    """

    start: int
    end: int
    name: str
    form: str = ""
    implicit: bool = False
    block: bool = False


class NoteKind(StrEnum):
    """What a comment that is not put out says."""

    FLAG = "flag"
    HINT = "hint"
    SETTINGS = "settings"


@dataclass(frozen=True, slots=True)
class Note:
    """Text of the template that no document gets; `text` is what it says."""

    start: int
    end: int
    kind: NoteKind
    text: str


Piece: TypeAlias = Literal | Slot | Note


class UnitKind(StrEnum):
    """What is repeated as a whole."""

    ROW = "row"  # the only body row of a table
    ITEM = "item"  # the only item of a list
    LINE = "line"  # a line with a slot whose settings say `repeat`


@dataclass(frozen=True, slots=True)
class Unit:
    """Pieces that stand as often as there are values, line by line. `lead` stands once before the
    first, and not at all when there is none: `附件：` in `附件：{{n}}.{{附件名称}}`."""

    start: int
    end: int
    kind: UnitKind
    lead: tuple[Piece, ...]
    pieces: tuple[Piece, ...]
    repeat: Repeat

    @property
    def slots(self) -> tuple[Slot, ...]:
        """The slots of one repetition, in order."""
        return tuple(piece for piece in self.pieces if isinstance(piece, Slot))


Part: TypeAlias = Piece | Unit


@dataclass(frozen=True, slots=True)
class Section:
    """A heading, the text under it and the sections below it.

    `level` is 0 for text without a heading: before the first one, and, in a 公文, behind the last.
    `head` is the whole heading with its line end, `marker` what comes before its title ("## ",
    "一、"), `title` the title's literals and slots. `repeat` is how often the section may stand.
    """

    start: int
    end: int  # of its own text; its sections follow
    level: int
    marker: str
    title: tuple[Literal | Slot, ...]
    head: tuple[Piece, ...]
    body: tuple[Part, ...]
    sections: tuple[Section, ...] = ()
    optional: bool = False
    verbatim: bool = False
    repeat: Repeat = ONCE
    hint: str = ""
    aliases: tuple[str, ...] = ()

    @property
    def heading(self) -> str | None:
        """The title where it is fixed; None where it holds slots or there is no heading."""
        if self.level == 0 or any(isinstance(piece, Slot) for piece in self.title):
            return None
        return self.label

    @property
    def label(self) -> str:
        """The title as it reads in the template, slots by their names."""
        parts = (p.text if isinstance(p, Literal) else p.name for p in self.title)
        return "".join(parts).strip()

    @property
    def slots(self) -> tuple[Slot, ...]:
        """The slots of the text under the heading, in order; its sections' are not among them."""
        found = [piece for piece in flat(self.body) if isinstance(piece, Slot)]
        return tuple(found)

    @property
    def units(self) -> tuple[Unit, ...]:
        """The repeated rows, items and lines of the text under the heading."""
        return tuple(part for part in self.body if isinstance(part, Unit))

    @property
    def repeated(self) -> bool:
        """Whether it may stand more than once."""
        return self.repeat.most is None or self.repeat.most > 1

    def walk(self) -> Iterator[Section]:
        """This section and all below it, in the template's order."""
        yield self
        for section in self.sections:
            yield from section.walk()


@dataclass(frozen=True, slots=True)
class Expected:
    """One section of `Template.expected_outline`. `heading` is None where it holds slots."""

    level: int
    heading: str | None
    least: int
    most: int | None
    optional: bool


@dataclass(frozen=True, slots=True)
class Template:
    """A template: immutable, and as text the file byte for byte (`pieces` join to it).

    `slots` has every slot by name, implicit ones under their section's heading; built-in slots are
    not among them.
    """

    name: str
    text: str
    front_matter: tuple[Piece, ...] = ()
    sections: tuple[Section, ...] = ()
    slots: Mapping[str, SlotSettings] = field(default_factory=dict)
    settings: DocumentSettings = field(default_factory=DocumentSettings)

    @property
    def title(self) -> str:
        """What people call this kind of document."""
        return self.settings.title or self.name

    @property
    def numbering(self) -> Numbering:
        """How its headings are marked."""
        return self.settings.numbering

    @property
    def kind_line(self) -> str:
        """The line that tells a model what kind of document this is."""
        return f"# {self.title}"

    def walk(self) -> Iterator[Section]:
        """Every section in the template's order."""
        for section in self.sections:
            yield from section.walk()

    def pieces(self) -> Iterator[Piece]:
        """Every piece in the order of the text."""
        yield from self.front_matter
        for section in self.walk():
            yield from section.head
            yield from flat(section.body)

    def expected_outline(self) -> tuple[Expected, ...]:
        """The headings a document of this template has, in order, as plain data."""
        return tuple(
            Expected(
                section.level,
                section.heading,
                0 if section.optional else section.repeat.least,
                section.repeat.most,
                section.optional,
            )
            for section in self.walk()
            if section.level
        )


def hint_line(part: Section | SlotSettings) -> str:
    """The line that tells a model what belongs into a section or a slot: its name and its hint."""
    name = part.label if isinstance(part, Section) else part.name
    return f"## {name} ({part.hint})" if part.hint else f"## {name}"


def flat(parts: tuple[Part, ...]) -> Iterator[Piece]:
    """The pieces of `parts`, those of units among them, in the order of the text."""
    for part in parts:
        if isinstance(part, Unit):
            yield from part.lead
            yield from part.pieces
        else:
            yield part
