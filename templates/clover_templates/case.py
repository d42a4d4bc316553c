"""A restructured document beside its source, as the checks of both see them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from clover_templates.document import Document
from clover_templates.locks import Item, locked_items
from clover_templates.normal import Unit, units
from clover_templates.source import Span
from clover_templates.structure import ExpectedHeading
from clover_templates.trace import Piece, Trace, Written


@dataclass(frozen=True, slots=True)
class Expected:
    """What a template asks of its documents, as plain data.

    `literals` is all text it brings itself; `outline` is None where any will do. A model may word
    the slots in `rewritten`, from their sources, and those in `written` anew; a slot in neither
    holds bytes of the source alone.
    """

    literals: str = ""
    outline: tuple[ExpectedHeading, ...] | None = None
    front_matter: tuple[str, ...] = ()
    rewritten: frozenset[str] = frozenset()
    written: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Case:
    """A source, what became of it, and how."""

    source: Document
    output: Document
    trace: Trace
    expected: Expected = field(default_factory=Expected)

    @cached_property
    def source_units(self) -> tuple[Unit, ...]:
        return tuple(units(self.source))

    @cached_property
    def output_units(self) -> tuple[Unit, ...]:
        return tuple(units(self.output))

    @cached_property
    def written(self) -> tuple[Written, ...]:
        return tuple(piece for piece in self.trace.pieces if isinstance(piece, Written))

    @cached_property
    def source_items(self) -> tuple[Item, ...]:
        return tuple(locked_items(self.source))

    @cached_property
    def output_items(self) -> tuple[Item, ...]:
        return tuple(locked_items(self.output))

    def pieces(self, span: Span) -> list[Piece]:
        """The pieces that bytes of `span` of the output come from."""
        return [placed.piece for placed in self.trace.at(span)]

    def is_accounted(self, span: Span) -> bool:
        """Whether `span` of the source is in the output to the letter, or a heading replaced it."""
        places = self.trace.replaced
        replaced = any(place.start <= span.start and span.end <= place.end for place in places)
        return replaced or self.trace.carries(span)

    def source_text(self, span: Span) -> str:
        return self.source.data[span.start : span.end].decode(errors="replace")
