"""Where every byte of an output comes from."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property

from clover_templates.source import Span


@dataclass(frozen=True, slots=True)
class Literal:
    """Text of the template itself."""

    data: bytes


@dataclass(frozen=True, slots=True)
class FromSource:
    """Bytes `[start, end)` of the source; `copy` where they are used again on purpose."""

    start: int
    end: int
    copy: bool = False


class Why(StrEnum):
    """What an assembly may add of its own around bytes of the source."""

    SEPARATOR = "separator"
    HEADING_MARK = "heading mark"
    NUMBER = "number"
    FENCE = "closed fence"
    HOLE = "hole"
    BUILT_IN = "built-in value"


@dataclass(frozen=True, slots=True)
class Added:
    """Bytes that are neither the template's nor the source's, and why they are there."""

    data: bytes
    why: Why


@dataclass(frozen=True, slots=True)
class Written:
    """Prose a model wrote for `slot`; a rewrite names the `sources` it stands for."""

    data: bytes
    slot: str
    sources: tuple[Span, ...] = ()


Piece = Literal | FromSource | Added | Written


@dataclass(frozen=True, slots=True)
class Placed:
    """A piece and where it stands in the output."""

    piece: Piece
    span: Span


@dataclass(frozen=True)
class Trace:
    """An output as pieces that join to it; `slot` names are those of `Written`.

    `replaced` are headings of the source whose place a heading of the template took.
    """

    pieces: tuple[Piece, ...]
    replaced: tuple[Span, ...] = ()

    def output(self, source: bytes) -> bytes:
        return b"".join(_data(piece, source) for piece in self.pieces)

    @cached_property
    def placed(self) -> tuple[Placed, ...]:
        placed: list[Placed] = []
        at = 0
        for piece in self.pieces:
            size = piece.end - piece.start if isinstance(piece, FromSource) else len(piece.data)
            placed.append(Placed(piece, Span(at, at + size)))
            at += size
        return tuple(placed)

    @cached_property
    def runs(self) -> tuple[Span, ...]:
        """The bytes of the source in the order of the output, joined where they go on."""
        pieces = (piece for piece in self.pieces if isinstance(piece, FromSource))
        spans = [Span(p.start, p.end) for p in pieces if not p.copy and p.end > p.start]
        return tuple(_joined(spans))

    @property
    def rewritten(self) -> tuple[Span, ...]:
        """The bytes of the source that a model's text stands for."""
        written = (piece for piece in self.pieces if isinstance(piece, Written))
        return tuple(span for piece in written for span in piece.sources)

    def reworded(self, written: Sequence[Written]) -> Trace:
        """This trace with a model's text in place of the bytes that each piece stands for, which
        one piece of the source holds; what none holds stays as it is."""
        pieces = list(self.pieces)
        for new in written:
            for number, piece in enumerate(pieces):
                if isinstance(piece, FromSource) and not piece.copy and _holds(piece, new):
                    [old] = new.sources
                    around = replace(piece, end=old.start), new, replace(piece, start=old.end)
                    pieces[number : number + 1] = [part for part in around if _is_something(part)]
                    break
        return replace(self, pieces=tuple(pieces))

    def filled(self, hole: Added, written: Written) -> Trace:
        """This trace with a model's text in place of a hole of it."""
        return replace(
            self, pieces=tuple(written if piece is hole else piece for piece in self.pieces)
        )

    def at(self, span: Span) -> Iterator[Placed]:
        """The pieces that hold bytes of `span` of the output."""
        number = bisect_right(self.placed, span.start, key=lambda placed: placed.span.end)
        while number < len(self.placed) and self.placed[number].span.start < span.end:
            yield self.placed[number]
            number += 1

    def place_of(self, offset: int) -> int | None:
        """Where the source's byte at `offset` stands in the output; None where it does not."""
        number = bisect_right(self._by_source, offset, key=lambda entry: entry[0].start) - 1
        if number < 0 or offset >= self._by_source[number][0].end:
            return None
        used, start = self._by_source[number]
        return start + offset - used.start

    @cached_property
    def _by_source(self) -> tuple[tuple[Span, int], ...]:
        """The bytes of the source in use, ascending, and where each begins in the output."""
        return tuple(
            sorted(
                (Span(placed.piece.start, placed.piece.end), placed.span.start)
                for placed in self.placed
                if isinstance(placed.piece, FromSource) and not placed.piece.copy
            )
        )

    def start(self, piece: Piece) -> int:
        """Where a piece of this trace begins in the output."""
        return next(placed.span.start for placed in self.placed if placed.piece is piece)

    def carries(self, span: Span) -> bool:
        """Whether the bytes of `span` of the source stand in the output side by side."""
        number = bisect_right(self._runs_by_start, span.start, key=lambda run: run.start) - 1
        return number >= 0 and span.end <= self._runs_by_start[number].end

    def unused(self, size: int) -> tuple[Span, ...]:
        """The bytes of a source of `size` that no piece uses, rewrites or replaces."""
        gaps: list[Span] = []
        at = 0
        for span in [*sorted([*self.runs, *self.replaced, *self.rewritten]), Span(size, size)]:
            if span.start > at:
                gaps.append(Span(at, span.start))
            at = max(at, span.end)
        return tuple(gaps)

    @cached_property
    def moved(self) -> tuple[Span, ...]:
        """The runs that changed places, as few bytes as that can be said with."""
        return moved(self.runs)

    @cached_property
    def _runs_by_start(self) -> tuple[Span, ...]:
        return tuple(sorted(self.runs))


def moved(runs: Sequence[Span]) -> tuple[Span, ...]:
    """The runs that have to move, fewest bytes first: all but the heaviest ascending sequence."""
    # best[i] is the heaviest ascending sequence that ends with a run of rank i or below
    ranks = {run: rank for rank, run in enumerate(sorted(runs), 1)}
    heaviest: list[tuple[int, int]] = [(0, -1)] * (len(runs) + 1)
    before: list[int] = []
    for number, run in enumerate(runs):
        weight, last = _best(heaviest, ranks[run] - 1)
        before.append(last)
        _raise(heaviest, ranks[run], (weight + run.end - run.start, number))
    kept: set[int] = set()
    at = _best(heaviest, len(runs))[1]
    while at >= 0:
        kept.add(at)
        at = before[at]
    return tuple(run for number, run in enumerate(runs) if number not in kept)


def _best(tree: list[tuple[int, int]], rank: int) -> tuple[int, int]:
    """The greatest entry of a Fenwick tree up to `rank`."""
    best = (0, -1)
    while rank > 0:
        best = max(best, tree[rank])
        rank -= rank & -rank
    return best


def _raise(tree: list[tuple[int, int]], rank: int, entry: tuple[int, int]) -> None:
    while rank < len(tree):
        tree[rank] = max(tree[rank], entry)
        rank += rank & -rank


def _joined(spans: Sequence[Span]) -> Iterator[Span]:
    """`spans` with each that begins where the one before ends made one with it."""
    open_span: Span | None = None
    for span in spans:
        if open_span and open_span.end == span.start:
            open_span = Span(open_span.start, span.end)
            continue
        if open_span:
            yield open_span
        open_span = span
    if open_span:
        yield open_span


def _holds(piece: FromSource, written: Written) -> bool:
    return all(piece.start <= span.start and span.end <= piece.end for span in written.sources)


def _is_something(piece: Piece) -> bool:
    return not isinstance(piece, FromSource) or piece.end > piece.start


def _data(piece: Piece, source: bytes) -> bytes:
    return source[piece.start : piece.end] if isinstance(piece, FromSource) else piece.data
