"""The moments of editing whose latency is measured, made from a benchmark problem."""

from __future__ import annotations

import random
import sysconfig
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from clover_engine.api import CanvasRequest, Hole, Literal
from clover_lsp.infill import plan
from clover_write.bench.hei import Kind, Problem

COLD = "cold"
NEXT = "next character"
MOVED = "moved one line"
BRACKET = "auto-paired bracket"
LONG = "3,000-line file"
LONG_NEXT = "3,000-line file, next character"

CASES = {
    "cold": (COLD,),
    "next": (NEXT,),
    "moved": (MOVED,),
    "bracket": (BRACKET,),
    "long": (LONG, LONG_NEXT),
}
LONG_LINES = 3000
LONG_EVERY = 10  # a long file costs as much as ten problems: one for every ten
CLOSERS = {"(": ")", "[": "]", "{": "}"}
SEED = 20260101


@dataclass(frozen=True, slots=True)
class Ask:
    """A hole between `left` and `right` of a document; `canvas` is how it reaches our engine."""

    left: str
    right: str
    canvas: CanvasRequest

    @property
    def hole(self) -> Hole:
        """The canvas' one hole."""
        return next(part for part in self.canvas.segments if isinstance(part, Hole))


def benchmark_ask(left: str, right: str, hole: Hole) -> Ask:
    """The benchmark's own question, unchanged."""
    return Ask(left, right, CanvasRequest((Literal(left), hole, Literal(right))))


def editor_ask(left: str, right: str, hole: Hole) -> Ask:
    """What our language server asks for at this cursor, but for this hole and with no deadline."""
    planned = plan(left + right, len(left))
    before, _, after = planned.segments
    return Ask(left, right, replace(planned, segments=(before, hole, after), deadline_ms=None))


@dataclass(frozen=True, slots=True)
class Step:
    """One request of a visit, measured under the name `case`; without a name it only prepares."""

    case: str
    ask: Ask


@dataclass(frozen=True, slots=True)
class Visit:
    """A document nobody has asked about before, and what is asked of it, in order."""

    name: str
    steps: tuple[Step, ...]


def visits(problem: Problem, kind: Kind, number: int, wanted: Sequence[str]) -> list[Visit]:
    """The visits of problem `number` for the wanted keys of CASES, those its line offers."""
    made: list[Visit | None] = []
    if "cold" in wanted:
        ask = benchmark_ask(problem.prompt, problem.suffix, kind.hole)
        made.append(Visit("cold", (Step(COLD, ask),)))
    typing = _Typing(problem, Hole(kind.hole.max_tokens, ("\n",)))
    if "next" in wanted:
        made.append(typing.next_character())
    if "moved" in wanted:
        made.append(typing.moved_line())
    if "bracket" in wanted:
        made.append(typing.paired_bracket())
    if "long" in wanted and number % LONG_EVERY == 0:
        made.append(_long_file(number, typing.hole))
    return [visit for visit in made if visit]


@dataclass(frozen=True, slots=True)
class _Typing:
    """The hole's first line being typed in its document."""

    problem: Problem
    hole: Hole

    @property
    def line(self) -> str:
        return self.problem.canonical_solution.split("\n")[0]

    @property
    def right(self) -> str:
        return self.problem.canonical_solution[len(self.line) :] + self.problem.suffix

    def at(self, typed: int, closers: str = "") -> Ask:
        left = self.problem.prompt + self.line[:typed]
        return editor_ask(left, closers + self.right, self.hole)

    def next_character(self) -> Visit | None:
        """The middle of the line's code, then one more of its characters."""
        code = self.line.lstrip()
        if len(code) < 2:
            return None
        middle = len(self.line) - len(code) // 2
        return Visit("next", (Step("", self.at(middle - 1)), Step(NEXT, self.at(middle))))

    def paired_bracket(self) -> Visit | None:
        """An opening bracket of the line typed, its closing one set by the editor."""
        for place, character in enumerate(self.line):
            if closer := CLOSERS.get(character):
                steps = Step("", self.at(place)), Step(BRACKET, self.at(place + 1, closer))
                return Visit("bracket", steps)
        return None

    def moved_line(self) -> Visit | None:
        """The end of the line, then the end of the line below, or of the one above."""
        text = self.problem.prompt + self.line + self.right
        start = len(self.problem.prompt + self.line)
        below = text.find("\n", start + 1)
        moved = below if below >= 0 else text.rfind("\n", 0, start)
        if moved < 0:
            return None
        here, there = (editor_ask(text[:at], text[at:], self.hole) for at in (start, moved))
        return Visit("moved", (Step("", here), Step(MOVED, there)))


def _long_file(number: int, hole: Hole) -> Visit:
    """The middle of some line of a long file, then one more character there."""
    lines = long_file()
    dice = random.Random(SEED + number)
    row = dice.choice([at for at, line in enumerate(lines) if len(line.strip()) >= 8])
    line = lines[row]
    middle = len(line) - len(line.lstrip()) // 2
    above, below = "".join(f"{text}\n" for text in lines[:row]), "\n".join(["", *lines[row + 1 :]])
    asks = [editor_ask(above + line[:typed], below, hole) for typed in (middle - 1, middle)]
    return Visit("long", (Step(LONG, asks[0]), Step(LONG_NEXT, asks[1])))


@cache
def long_file() -> list[str]:
    """LONG_LINES lines of Python's own library, file after file."""
    folder = Path(sysconfig.get_path("stdlib"))
    lines: list[str] = []
    for path in _sources(folder):
        lines += path.read_text(encoding="utf-8").split("\n")
        if len(lines) >= LONG_LINES:
            break
    return lines[:LONG_LINES]


def _sources(folder: Path) -> Iterator[Path]:
    for name in ("argparse", "tarfile", "configparser", "ast"):
        if (path := folder / f"{name}.py").is_file():
            yield path
