"""The trained tiny Clover infills the language that it was given, through the engine."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING

import pytest

from clover_engine.api import CanvasRequest, Hole, Literal, infill_request
from clover_engine.opening import open_checkpoint
from tests.support import toy_language
from tests.support.driving import run
from tests.support.tiny_clover import TRAINED

if TYPE_CHECKING:
    from clover_engine.canvas_engine import CanvasEngine

HOLES = 12  # of each kind of line


@pytest.fixture(scope="module")
def trained() -> CanvasEngine:
    """The engine over the shipped checkpoint."""
    return open_checkpoint(TRAINED, model="tiny", precision="float32", threads=1)


def right_lines(engine: CanvasEngine, line_of: Callable[[Random], str], most: int) -> int:
    """Of some lines, in each of which a few characters are missing, how many become lines again."""
    random, right = Random(5), 0
    for _ in range(HOLES):
        line = line_of(random)
        start = random.randrange(len(line))
        end = min(len(line), start + random.randint(1, most))
        before, behind = toy_language.document(random, 4), toy_language.document(random, 2)
        asked = infill_request(before + line[:start], f"{line[end:]}\n{behind}", max_tokens=20)
        right += toy_language.is_line(line[:start] + run(engine, asked).text + line[end:])
    return right


def test_what_is_missing_in_json_is_found(trained: CanvasEngine) -> None:
    assert right_lines(trained, toy_language.small_json, most=1) >= HOLES // 2


def test_several_slots_are_settled_in_a_step(trained: CanvasEngine) -> None:
    asked = infill_request('1+1=2\n{"na', '"bob"}\n[()]\n', max_tokens=20)
    done = run(trained, asked)
    assert done.filled.stats.tokens > done.filled.stats.forwards - 2  # reading, and the length


def test_the_likeliest_choice_is_taken(trained: CanvasEngine) -> None:
    hole = Hole(12, choices=("brown", "bob", "xx"))
    asked = CanvasRequest((Literal('1+1=2\n{"name": "'), hole, Literal('"}\n[()]\n')))
    assert run(trained, asked).text == "bob"
