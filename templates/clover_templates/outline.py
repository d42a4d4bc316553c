"""The outline of a document: sections as a tree, each with its heading and what it holds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from clover_templates.blocks import Block, Kind


@dataclass(frozen=True, slots=True)
class Section:
    """A heading, the blocks up to the next heading, and the sections below; they join to it.

    The root has no heading: its blocks stand before the first one.
    """

    heading: Block | None
    blocks: tuple[Block, ...]
    children: tuple[Section, ...]

    @property
    def title(self) -> str:
        return self.heading.title if self.heading else ""

    @property
    def level(self) -> int:
        return self.heading.level if self.heading else 0

    def __iter__(self) -> Iterator[Section]:
        """This section and all below it, in the order of the document."""
        waiting: list[Section] = [self]
        while waiting:
            section = waiting.pop()
            yield section
            waiting += reversed(section.children)


@dataclass(slots=True)
class _Open:
    heading: Block | None
    blocks: list[Block] = field(default_factory=list)
    children: list[Section] = field(default_factory=list)

    @property
    def level(self) -> int:
        return self.heading.level if self.heading else 0

    def closed(self) -> Section:
        return Section(self.heading, tuple(self.blocks), tuple(self.children))


def outline_of(blocks: Sequence[Block]) -> Section:
    """The root section of a document's blocks."""
    path = [_Open(None)]
    for block in blocks:
        if block.kind is not Kind.HEADING:
            path[-1].blocks.append(block)
            continue
        while path[-1].level >= block.level:
            _close(path)
        path.append(_Open(block))
    while len(path) > 1:
        _close(path)
    return path[0].closed()


def _close(path: list[_Open]) -> None:
    section = path.pop().closed()
    path[-1].children.append(section)
