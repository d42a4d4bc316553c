"""How a person types a text: in bursts, with slips, corrections and jumps to what was left out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

CHARS_A_SECOND = 8.0
JUMP_S = 1.0
# a new line is thought about: how often, and for how long at least and at most
THOUGHT, THOUGHT_S = 0.5, (0.5, 2.5)
# of a character: that something else is typed first; that the last few are taken back again
SLIP, SECOND_THOUGHT = 0.03, 0.005
# that some lines are written before the lines above them
JUMP = 0.25
PIECE_LINES = 8
_LETTERS = "etaoinshrdlucm"
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_KEY = re.compile(r"\r\n|.", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Keystroke:
    """In place of `removed` characters at `at`, `text`, `pause_s` after the keystroke before.

    `ahead` is the span of the file that is to be typed at the cursor next, empty while the cursor
    stands behind a slip.
    """

    at: int
    removed: int
    text: str
    pause_s: float
    ahead: range

    @property
    def cursor(self) -> int:
        """Where the cursor stands afterwards."""
        return self.at + len(self.text)

    def applied(self, text: str) -> str:
        """`text` after the keystroke."""
        return text[: self.at] + self.text + text[self.at + self.removed :]


def typing_script(text: str, seed: int) -> Iterator[Keystroke]:
    """The keystrokes that make `text` of an empty document, the same for the same seed."""
    draw = Random(seed)
    for piece, at in _in_order(text, draw):
        yield from _typed(text, piece, at, draw)


def _in_order(text: str, draw: Random) -> Iterator[tuple[range, int]]:
    """Pieces of whole lines in the order they are written, and the offset each is written at."""
    pieces = list(_pieces(text, draw))
    while pieces:
        first = pieces.pop(0)
        if pieces and draw.random() < JUMP:
            yield pieces.pop(0), first.start
        yield first, first.start


def _pieces(text: str, draw: Random) -> Iterator[range]:
    ends = [match.end() for match in _LINE.finditer(text)]
    start = 0
    while ends:
        lines = draw.randint(1, PIECE_LINES)
        taken, ends = ends[:lines], ends[lines:]
        yield range(start, taken[-1])
        start = taken[-1]


def _typed(text: str, piece: range, at: int, draw: Random) -> Iterator[Keystroke]:
    """`piece` of the text, typed at offset `at`."""
    shift, pause = at - piece.start, JUMP_S
    keys = [match.span() for match in _KEY.finditer(text, piece.start, piece.stop)]
    number = 0
    while number < len(keys):
        start, end = keys[number]
        if draw.random() < SLIP:
            for slip in _slip(draw, start + shift, range(start, piece.stop)):
                yield slip
                pause = _pause(draw)
        yield Keystroke(start + shift, 0, text[start:end], pause, range(end, piece.stop))
        pause = _pause(draw)
        if text[end - 1] in "\r\n" and draw.random() < THOUGHT:
            pause += draw.uniform(*THOUGHT_S)
        number += 1
        if draw.random() < SECOND_THOUGHT:
            for _ in range(min(draw.randint(2, 6), number)):
                number -= 1
                start, end = keys[number]
                ahead = range(start, piece.stop)
                yield Keystroke(start + shift, end - start, "", _pause(draw), ahead)


def _slip(draw: Random, at: int, ahead: range) -> Iterator[Keystroke]:
    """One or two wrong letters at `at`, and the keys that take them back."""
    wrong = [draw.choice(_LETTERS) for _ in range(draw.randint(1, 2))]
    for place, letter in enumerate(wrong, start=at):
        yield Keystroke(place, 0, letter, _pause(draw), ahead[:0])
    for place in reversed(range(at, at + len(wrong))):
        yield Keystroke(place, 1, "", _pause(draw), ahead if place == at else ahead[:0])


def _pause(draw: Random) -> float:
    return draw.gammavariate(4, 1 / (4 * CHARS_A_SECOND))
