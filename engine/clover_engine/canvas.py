"""The canvas: literals that stand as they are, and holes between them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from clover_engine.api import CanvasRequest, Fill, Hole, Literal

_MOST = 12  # holes that are filled at the same time: each has a cache of its own
_BLANK = "____"  # what stands for an open hole, as in a form
_ENOUGH = 40  # characters of right text, blanks apart, for which no other hole is looked beyond


@dataclass(frozen=True, slots=True)
class Canvas:
    """N holes, and the N + 1 literal texts before, between and behind them; some may be empty."""

    literals: tuple[str, ...]
    holes: tuple[Hole, ...]

    @classmethod
    def of(cls, request: CanvasRequest) -> Canvas:
        """The canvas of a request: neighbouring literals become one."""
        literals, holes = [""], []
        for segment in request.segments:
            match segment:
                case Literal(text):
                    literals[-1] += text
                case Hole() as hole:
                    holes.append(hole)
                    literals.append("")
        return cls(tuple(literals), tuple(holes))

    def side_by_side(self) -> Iterator[Sequence[int]]:
        """Numbers of holes that are filled at the same time, in the order of their turns: each
        builds on those before it in its line."""
        turns: list[list[int]] = []
        turn = 0
        for number, literal in enumerate(self.literals[:-1]):
            turn = turn + 1 if number and "\n" not in literal else 0
            turns += [[]] if turn == len(turns) else []
            turns[turn].append(number)
        for some in turns:
            yield from (some[first : first + _MOST] for first in range(0, len(some), _MOST))

    def left_of(self, number: int, fills: Mapping[int, Fill]) -> str:
        """The text left of hole `number`, the holes before it filled, or blanks to fill in where
        they are filled at the same time."""
        filled = (fills[before].text if before in fills else _BLANK for before in range(number))
        texts = zip(self.literals, filled, strict=False)
        return "".join(text + fill for text, fill in texts) + self.literals[number]

    def asked_of(self, number: int, fills: Mapping[int, Fill]) -> str:
        """The text left of hole `number` as the model reads it: the hint stands above its line."""
        left, hint = self.left_of(number, fills), self.holes[number].hint
        if not hint:
            return left
        above, newline, line = left.rpartition("\n")
        return f"{above}{newline}<!-- {hint} -->\n{line}"

    def right_of(self, number: int) -> str:
        """The text right of hole `number`, to the next hole: a sign for what is missing there would
        be written again. Only where that is very short, the texts behind are joined to it."""
        text = ""
        for literal in self.literals[number + 1 :]:
            text += literal
            if len(text.strip()) >= _ENOUGH:
                break
        return text

    def text(self, fills: Sequence[Fill]) -> str:
        """The whole text, every hole filled: literals are untouched."""
        filled = zip(self.literals, fills, strict=False)
        return "".join(text + fill.text for text, fill in filled) + self.literals[-1]
