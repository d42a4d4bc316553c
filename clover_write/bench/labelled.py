"""Labelled documents: blocks of well-formed documents, and the section each of them stood in."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from importlib.resources import files
from importlib.resources.abc import Traversable

from clover_templates.blocks import Kind
from clover_templates.conforming import named_template
from clover_templates.document import Document
from clover_templates.library import Library
from clover_templates.places import Places
from clover_templates.portions import Portion, portions_of
from clover_templates.template import Section

LANGUAGES = ("en", "zh")
_FEWEST = 3  # sections with text: below that there is little to find


class Half(StrEnum):
    """What was tuned on one half says nothing; every other document is for tuning."""

    TUNE = "tune"
    TEST = "test"


@dataclass(frozen=True, slots=True)
class Labelled:
    """A document without its headings: `portions` in their order, each with its section."""

    name: str
    language: str
    places: Places
    portions: tuple[Portion, ...]
    sections: tuple[Section, ...]

    def shuffled(self) -> list[int]:
        """The numbers of the portions in an order of chance, the same on every machine."""
        order = list(range(len(self.portions)))
        random.Random(self.name).shuffle(order)
        return order


def load(language: str, half: Half | None = None) -> list[Labelled]:
    """The labelled documents of a language: the shipped samples, and those made for this."""
    found = [labelled for path in _paths(language) if (labelled := _labelled(path, language))]
    found.sort(key=lambda each: each.name)
    return found if half is None else found[half is Half.TEST :: 2]


def _paths(language: str) -> Iterator[Traversable]:
    for folder in (
        files("clover_templates").joinpath(language, "samples"),
        files("clover_write.bench").joinpath("labelled", language),
    ):
        yield from (path for path in folder.iterdir() if path.name.endswith(".md"))


def _labelled(path: Traversable, language: str) -> Labelled | None:
    """A document as its sections' blocks; None where hardly any section has text."""
    document = Document.of(path.read_bytes())
    name = path.name.removesuffix(".md")
    places = Places(Library.of().find(named_template(document.data) or name).template)
    cut = list(_cut(document, places))
    if len({section.label for _, section in cut}) < _FEWEST:
        return None
    portions, sections = zip(*cut, strict=True)
    return Labelled(name, language, places, portions, sections)


def _cut(document: Document, places: Places) -> Iterator[tuple[Portion, Section]]:
    """What stands below the headings that name sections, block by block."""
    for portion in portions_of(document, places).all:
        section, span = portion.home, portion.span
        if section is None or span is None or is_headed(portion) or not places.of(section):
            continue
        inner = portions_of(Document.of(document.data[span.start : span.end]), places)
        yield from ((each, section) for each in inner.all)


def is_headed(portion: Portion) -> bool:
    """Whether headings stand in a portion: they would tell where it belongs."""
    return any(block.kind is Kind.HEADING for block in portion.blocks)
