"""Whether a document has the headings it should have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from clover_templates.blocks import Style
from clover_templates.normal import normal
from clover_templates.outline import Section


class ExpectedHeading(Protocol):
    """One heading of a pattern: a flat list in the template's order, `level` making it a tree.

    `heading` is None where any text will do. It stands `least` to `most` times, without limit if
    `most` is None, or not at all if `optional`.
    """

    @property
    def level(self) -> int: ...
    @property
    def heading(self) -> str | None: ...
    @property
    def least(self) -> int: ...
    @property
    def most(self) -> int | None: ...
    @property
    def optional(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class Misfit:
    """What is wrong, its code as a diagnostic, and the section; None if that is missing."""

    code: str
    message: str
    section: Section | None


@dataclass(frozen=True, slots=True)
class _Node:
    expected: ExpectedHeading
    children: tuple[_Node, ...]


def misfits(outline: Section, pattern: Sequence[ExpectedHeading]) -> Iterator[Misfit]:
    """Where `outline` is not as `pattern` wants it.

    Sections below a heading that has none in the pattern are free: they are its text. So is a
    title in the first line of a numbered text, where the pattern has no title.
    """
    nodes = _tree(pattern)
    sections = outline.children
    if len(sections) == 1 and not any(_fits(node, sections[0]) for node in nodes):
        heading = sections[0].heading
        if heading and heading.heading and heading.heading.style is Style.TITLE:
            sections = sections[0].children
    yield from _compare(sections, nodes)


def _tree(pattern: Sequence[ExpectedHeading]) -> tuple[_Node, ...]:
    nodes: list[_Node] = []
    at = 0
    while at < len(pattern):
        end = at + 1
        while end < len(pattern) and pattern[end].level > pattern[at].level:
            end += 1
        nodes.append(_Node(pattern[at], _tree(pattern[at + 1 : end])))
        at = end
    return tuple(nodes)


def _compare(sections: Sequence[Section], nodes: Sequence[_Node]) -> Iterator[Misfit]:
    counts = [0] * len(nodes)
    reached = 0
    for section in sections:
        number = _node_of(section, nodes, counts, reached)
        if number is None:
            yield Misfit("D06", "the template has no such section here", section)
            continue
        if number < reached:
            yield Misfit("D02", "the template has this section further up", section)
        reached = max(reached, number)
        counts[number] += 1
        node = nodes[number]
        if node.expected.most is not None and counts[number] > node.expected.most:
            yield Misfit("D06", "the section stands too often", section)
        if _is_marked(section) and section.level != node.expected.level:
            level = node.expected.level
            yield Misfit("D02", f"the heading is on level {section.level}, not {level}", section)
        if node.children:
            yield from _compare(section.children, node.children)
    for node, count in zip(nodes, counts, strict=True):
        if count < node.expected.least and (count or not node.expected.optional):
            name = node.expected.heading or "a section with a heading of its own"
            yield Misfit("D01", f"the section is missing: {name}", None)


def _node_of(
    section: Section, nodes: Sequence[_Node], counts: Sequence[int], reached: int
) -> int | None:
    """The node a section belongs to: that of its heading, or the next open one for any heading."""
    named = [n for n, node in enumerate(nodes) if node.expected.heading and _fits(node, section)]
    if named:
        ahead = [number for number in named if number >= reached]
        return next((n for n in ahead if _is_open(nodes[n], counts[n])), (ahead or named[-1:])[0])
    for number in range(reached, len(nodes)):
        if nodes[number].expected.heading is None and _is_open(nodes[number], counts[number]):
            return number
    return None


def _is_open(node: _Node, count: int) -> bool:
    return node.expected.most is None or count < node.expected.most


def _fits(node: _Node, section: Section) -> bool:
    heading = node.expected.heading
    return heading is not None and normal(heading).lower() == normal(section.title).lower()


def _is_marked(section: Section) -> bool:
    heading = section.heading.heading if section.heading else None
    return heading is not None and heading.style in (Style.ATX, Style.SETEXT)
