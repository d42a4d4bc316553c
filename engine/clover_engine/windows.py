"""Windows: how much of the text around a hole the model reads, and where it is cut."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from clover_engine.front_matter import front_matter


@dataclass(frozen=True, slots=True)
class Budget:
    """Sizes of a window in UTF-8 bytes (about three to a token): it is cut to `target` when it
    would exceed `most`, and then stands still until it exceeds `most` or falls under `least`."""

    least: int
    target: int
    most: int


PREFIX_BUDGET = Budget(least=1024, target=2048, most=3072)
SUFFIX_BUDGET = Budget(least=384, target=768, most=1152)
_ANCHOR = 64  # characters by which a window's far edge is found again
_NEWLINE = re.compile("\n")
_HEADING = re.compile("#{1,6} ")
# what a line begins with that belongs to the lines above it; a line may be blank itself
_INNER = ("", " ", "\t", "\n", "}", ")", "]")

Breaks: TypeAlias = Callable[[str, int, int], Iterator[tuple[int, int]]]


@dataclass(frozen=True, slots=True)
class Edge:
    """Where a window began last time: how many characters it left away, and what stood there."""

    place: int = 0
    anchor: str = ""

    def find(self, text: str) -> int:
        """Where the anchor stands now, nearest to its old place; -1 where it is gone."""
        before = text.rfind(self.anchor, 0, self.place + len(self.anchor))
        after = text.find(self.anchor, self.place)
        found = (place for place in (before, after) if place >= 0)
        return min(found, key=lambda place: abs(place - self.place), default=-1)


class Windows:
    """Cuts the text around a hole to a budget, at far edges that move in coarse steps.

    Each document's last edges are remembered by the text that stands at them, so that typing, an
    inserted bracket or a line moved elsewhere keep the edges, and with them the cache. An edge lies
    between two lines, between two blocks where it can, and inside a line only if that is longer
    than a window. A note's front matter stays before a window that leaves it out.
    """

    def __init__(self, documents: int = 64) -> None:
        self._edges: OrderedDict[str, tuple[Edge, Edge]] = OrderedDict()
        self._documents = documents

    def cut(self, document: str, prefix: str, suffix: str) -> tuple[str, str]:
        """The front matter and near end of the prefix, and the near start of the suffix."""
        head, tail = self._edges.pop(document, (Edge(), Edge()))
        backwards = suffix[::-1]
        near_prefix = _near_end(prefix, head, PREFIX_BUDGET, _breaks)
        near_suffix = _near_end(backwards, tail, SUFFIX_BUDGET, _backward_breaks)
        if document:
            self._edges[document] = (_edge(prefix, near_prefix), _edge(backwards, near_suffix))
            if len(self._edges) > self._documents:
                self._edges.popitem(last=False)
        return _left_out(prefix, near_prefix) + near_prefix, near_suffix[::-1]


def _edge(text: str, near: str) -> Edge:
    return Edge(len(text) - len(near), near[:_ANCHOR])


def _left_out(prefix: str, near: str) -> str:
    """The front matter if all of it stands before `near`."""
    matter = front_matter(prefix)
    return matter if matter and len(matter) <= len(prefix) - len(near) else ""


def _near_end(text: str, edge: Edge, budget: Budget, breaks: Breaks) -> str:
    """The end of `text` that fits the budget, starting at the old edge where it still may."""
    if edge.anchor and (found := edge.find(text)) >= 0:
        size = _size(text[found:])
        if size <= budget.most and (size >= budget.least or found == 0):
            return text[found:]
    if len(text) <= budget.most and _size(text) <= budget.most:
        return text
    near = len(text) - len(_last_bytes(text, budget.target))
    spare = len(text) - len(_last_bytes(text, (budget.target + budget.least) // 2))
    best = min(breaks(text, near, spare), default=None)
    return text[best[1] if best else _beside_line(text, near, budget) :]


def _beside_line(text: str, place: int, budget: Budget) -> int:
    """Where the line around `place` begins or, if that is too far, ends; `place` in a longer line
    than the budget's target."""
    start, end = text.rfind("\n", 0, place) + 1, text.find("\n", place) + 1
    if _size(text[start:]) <= budget.most:
        return start
    return end if end and _size(text[start : end - 1]) <= budget.target else place


def _breaks(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Each place behind `start`, up to `end`, where a line begins, after how bad a cut there is."""
    for found in _NEWLINE.finditer(text, start, end):
        place = found.end()
        yield _badness(text[max(place - 2, 0) : place] == "\n\n", text[place : place + 8]), place


def _backward_breaks(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The same in a text that is written backwards: places where a line has ended."""
    for found in _NEWLINE.finditer(text, start, end):
        place = found.end()
        below = text[max(place - 10, 0) : place - 1][::-1]
        yield _badness(below.startswith("\n"), below.lstrip("\n")), place


def _badness(blank: bool, below: str) -> int:
    """How bad a cut above the line `below` is, from 0, with or without a blank line there."""
    outermost = below[:1] not in _INNER
    if blank and outermost:
        return 0 if _HEADING.match(below) else 1
    return 2 if blank else 3 if outermost else 4


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def _last_bytes(text: str, size: int) -> str:
    """The longest end of `text` of at most `size` UTF-8 bytes."""
    tail = text[-size:].encode("utf-8", "surrogatepass")[-size:]
    while tail and tail[0] & 0xC0 == 0x80:
        tail = tail[1:]
    return tail.decode("utf-8", "surrogatepass")
