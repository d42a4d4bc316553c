"""Pieces of other files, and those of them that tell most about the text around a cursor."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import log, sqrt

from clover_engine.api import Snippet

MAX_PIECE_BYTES = 240
# a run of lines without a blank one; long runs make several
_RUN = re.compile(r"(?:^[ \t]*\S.*\n?){1,16}", re.MULTILINE)
# a name, or two ideographs that stand together: Chinese writes no blanks between words
_TERM = re.compile(r"[A-Za-z_À-ӿ][0-9A-Za-z_À-ӿ]{2,}|(?=([\u3400-\u9fff]{2}))")
_DEFINITION = re.compile(
    r"^[ \t]*(?:(?:export|default|pub|public|private|protected|static|async|abstract|final|inline)"
    r"[ \t]+)*(?:def|class|func|fn|function|struct|interface|type|enum|trait|impl|module|const|let"
    r"|var|object|protocol|record|#define|typedef)[ \t]+(?:\([^)\n]*\)[ \t]*)?(\w{3,})"
    r"|^(\w{3,})[ \t]*(?::[^=\n]*)?=(?!=)",
    re.MULTILINE,
)
# what the user's text lacks is what its names mean: one that a piece defines counts so many times
# as much as one that both use
_DEFINED = 10.0
# a piece of less worth, if it defines nothing, shares little but words that stand everywhere
_LEAST = 1.5
# in a few pieces everything is rare: their terms count as if there were so many
_FEW = 50
# what a piece is worth in each earlier file, where it would be worth 1 in the one after it
_FADING = 0.9


@dataclass(frozen=True, slots=True)
class Piece:
    """Lines that stand together. `header` is the unindented line above, for indented ones."""

    start: int
    text: str
    header: str
    terms: frozenset[str]
    defined: frozenset[str]

    @property
    def size(self) -> int:
        """UTF-8 bytes it takes in a snippet at most."""
        return size(f"{self.header}\n{self.text}\n\n")


@dataclass(frozen=True, slots=True)
class Place:
    """The terms of the text around a cursor, and those of the document's head: its imports."""

    near: frozenset[str]
    named: frozenset[str]

    def uses(self, names: frozenset[str]) -> frozenset[str]:
        """Those of the names that stand in either."""
        return names & (self.near | self.named)


def size(text: str) -> int:
    """UTF-8 bytes of a text."""
    return len(text.encode("utf-8", "surrogatepass"))


def terms(text: str) -> Iterator[str]:
    """The names and the pairs of ideographs in `text`."""
    return (found.group(1) or found.group() for found in _TERM.finditer(text))


def pieces(text: str) -> tuple[Piece, ...]:
    """`text` (line ends `\\n`) in pieces, in order; of long ones only the beginning."""
    made: list[Piece] = []
    above = ""
    for run in _RUN.finditer(text):
        lines = run.group().rstrip("\n").split("\n")
        indented = lines[0][0] in " \t"
        if kept := _beginning(lines):
            defined = (name for pair in _DEFINITION.findall(kept) for name in pair if name)
            header = above if indented else ""
            made.append(
                Piece(run.start(), kept, header, frozenset(terms(kept)), frozenset(defined))
            )
        outer = [line for line in lines if line[0] not in " \t"]
        above = outer[-1] if outer and size(outer[-1]) < MAX_PIECE_BYTES else above
    return tuple(made)


def _beginning(lines: Iterable[str]) -> str:
    """The first lines that fit a piece."""
    kept: list[str] = []
    room = MAX_PIECE_BYTES
    for line in lines:
        room -= size(line) + 1
        if room < 0:
            break
        kept.append(line.rstrip())
    return "\n".join(kept)


def telling(place: Place, files: Mapping[str, Sequence[Piece]], room: int) -> tuple[Snippet, ...]:
    """Of each file, by its path, the pieces that share the rarest names with `place`.

    They and their paths take `room` bytes at most. Pieces of later files count more.
    """
    spread = Counter(term for file in files.values() for piece in file for term in piece.terms)
    total = max(sum(map(len, files.values())), _FEW)
    rarity = {term: log(1 + total / count) for term, count in spread.items()}
    scored = [
        (worth * _FADING**rank, path, piece)
        for rank, (path, file) in enumerate(reversed(list(files.items())))
        for piece in file
        if (worth := _worth(piece, place, rarity)) >= _LEAST or place.uses(piece.defined)
    ]
    chosen: dict[str, list[Piece]] = {}
    for _, path, piece in sorted(scored, key=lambda each: each[0], reverse=True):
        cost = piece.size + (0 if path in chosen else size(path) + 1)
        if cost <= room:
            room -= cost
            chosen.setdefault(path, []).append(piece)
    return tuple(Snippet(path, _joined(chosen[path])) for path in files if path in chosen)


def _worth(piece: Piece, place: Place, rarity: Mapping[str, float]) -> float:
    """How much that is rare the piece has in common with the place, by the room it takes."""
    defined = place.uses(piece.defined)
    shared = (piece.terms & place.near) - defined
    worth = _DEFINED * sum(rarity[term] for term in defined) + sum(rarity[term] for term in shared)
    return worth / sqrt(piece.size)


def _joined(chosen: Iterable[Piece]) -> str:
    """The pieces in the order of their file, each header once."""
    parts: list[str] = []
    header = ""
    for piece in sorted(chosen, key=lambda piece: piece.start):
        named = f"{piece.header}\n" if piece.header not in ("", header) else ""
        parts.append(named + piece.text)
        header = piece.header or header
    return "\n\n".join(parts)
