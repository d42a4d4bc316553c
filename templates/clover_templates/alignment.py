"""Which section of a template each heading of a document stands for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from clover_templates.heading_text import plain_heading, unnumbered
from clover_templates.slot_values import matches
from clover_templates.template import Section


@dataclass(frozen=True, slots=True)
class Part:
    """A heading of a document and the text under it, up to the next heading.

    `[start, end)` are bytes, from the heading's first to the last of `body`; `level` is 0 and
    `heading` "" for what stands before the first heading, front matter among it.
    """

    level: int
    heading: str
    start: int
    end: int
    body: str

    @property
    def text(self) -> str:
        """The body with "\n" at the end of each line."""
        return self.body.replace("\r\n", "\n")

    def at(self, offset: int) -> int:
        """The byte of an offset (code points) in `text`."""
        for passed, found in enumerate(re.finditer("\r\n", self.body)):
            if found.start() - passed >= offset:
                break
            offset += 1
        return self.end - len(self.body[offset:].encode("utf-8", "surrogatepass"))


@dataclass(slots=True)
class Node:
    """A part with the parts below it; `part` is None where the heading above them is left out."""

    part: Part | None
    level: int
    below: list[Node] = field(default_factory=list)

    def walk(self) -> Iterator[Node]:
        """This node and all below it, in the document's order."""
        yield self
        for node in self.below:
            yield from node.walk()

    @property
    def text(self) -> str:
        """All the text under the heading, headings below it among it."""
        first, *rest = self.walk()
        own = first.part.text if first.part else ""
        return own + "".join(f"{n.part.heading}\n{n.part.text}" for n in rest if n.part)

    @property
    def end(self) -> int:
        """The byte behind its last part."""
        return max(node.part.end for node in self.walk() if node.part)


@dataclass(frozen=True, slots=True)
class Match:
    """A section and a node that stands for it: the `number`th one, from 1. `behind` is a section
    it stands behind though the template has it before that."""

    section: Section
    node: Node
    by_alias: bool = False
    number: int = 1
    behind: Section | None = None


@dataclass(slots=True)
class Alignment:
    """What stands for what, in the document's order; `missing` sections with the byte where they
    would stand."""

    matches: list[Match] = field(default_factory=list)
    extra: list[Node] = field(default_factory=list)
    missing: list[tuple[Section, int]] = field(default_factory=list)


def align(sections: Sequence[Section], parts: Sequence[Part], end: int) -> Alignment:
    """Align the headings of a document that ends at byte `end` with sections of the first level."""
    alignment = Alignment()
    if sections:
        top = min(section.level for section in sections)
        _align(sections, _nested(parts, top), end, alignment)
    return alignment


def _nested(parts: Sequence[Part], top: int) -> list[Node]:
    """The parts as a tree whose first level is `top`: what stands above it is passed over, and
    what has nothing of it above gets a node without a part."""
    roots: list[Node] = []
    above: list[Node] = []
    for part in parts:
        if part.level < top:
            continue
        while above and above[-1].level >= part.level:
            above.pop()
        if not above and part.level > top:
            above.append(Node(None, top))
            roots.append(above[0])
        node = Node(part, part.level)
        (above[-1].below if above else roots).append(node)
        above.append(node)
    return roots


def _align(sections: Sequence[Section], nodes: Sequence[Node], end: int, into: Alignment) -> None:
    """Sections below one section, and the nodes below the node that stands for it."""
    names = _Names(sections)
    counts = [0] * len(sections)
    ends = [nodes[0].part.start if nodes and nodes[0].part else end] * (len(sections) + 1)
    last = 0
    for node in nodes:
        index, by_alias = names.find(node.part.heading if node.part else None, last, counts)
        if index is None:
            into.extra.append(node)
            continue
        section = sections[index]
        counts[index] += 1
        behind = sections[last] if index < last else None
        into.matches.append(Match(section, node, by_alias, counts[index], behind))
        if node.part is None:
            into.missing.append((section, node.below[0].part.start if node.below[0].part else end))
        if section.sections:
            _align(section.sections, node.below, node.end, into)
        last = max(last, index)
        ends[index + 1 :] = [node.end] * (len(sections) - index)
    for index, section in enumerate(sections):
        if not section.optional and counts[index] < section.repeat.least:
            into.missing.append((section, ends[index]))


class _Names:
    """Finds the section that a heading names."""

    def __init__(self, sections: Sequence[Section]) -> None:
        fixed = [(n, s) for n, s in enumerate(sections) if s.heading is not None]
        self._fixed = {plain_heading(s.heading or ""): n for n, s in reversed(fixed)}
        aliases = [(plain_heading(a), n) for n, s in enumerate(sections) for a in s.aliases]
        self._aliases = dict(reversed(aliases))
        self._open = [(n, s) for n, s in enumerate(sections) if s.heading is None]

    def find(
        self, heading: str | None, last: int, counts: Sequence[int]
    ) -> tuple[int | None, bool]:
        """The section's index and whether an alias named it; of several that would take any
        heading, and do not stand often enough by `counts`, the first from `last` on. A heading
        that was left out is the first section's."""
        if heading is None:
            return 0, False
        plain = plain_heading(heading)
        if plain in self._fixed:
            return self._fixed[plain], False
        if plain in self._aliases:
            return self._aliases[plain], True
        taking = [
            number
            for number, section in self._open
            if (section.repeat.most is None or counts[number] < section.repeat.most)
            and matches(section.title, unnumbered(heading))
        ]
        return next((n for n in taking if n >= last), next(iter(taking), None)), False
