"""The canvas: literals that stand as they are, and holes between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from clover_engine.api import CanvasRequest, Fill, Hole, Literal

BLANK = "…"  # stands in a prompt for a hole that is still empty


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

    def left_of(self, number: int, fills: Sequence[Fill]) -> str:
        """The text left of hole `number`, the holes before it filled."""
        filled = zip(self.literals, fills[:number], strict=False)
        return "".join(text + fill.text for text, fill in filled) + self.literals[number]

    def asked_of(self, number: int, fills: Sequence[Fill]) -> str:
        """The text left of hole `number` as the model reads it: the hint stands above its line."""
        left, hint = self.left_of(number, fills), self.holes[number].hint
        if not hint:
            return left
        above, newline, line = left.rpartition("\n")
        return f"{above}{newline}<!-- {hint} -->\n{line}"

    def right_of(self, number: int) -> str:
        """The text right of hole `number`, the holes behind it blank."""
        return BLANK.join(self.literals[number + 1 :])

    def text(self, fills: Sequence[Fill]) -> str:
        """The whole text, every hole filled: literals are untouched."""
        return self.left_of(len(self.holes), fills)
