"""Canvases of any shape: every hole is filled as it asks, every literal stands as it was."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clover_engine.api import CanvasRequest, Fill, Finish, Hole, Literal, Segment
from clover_engine.canvas import Canvas
from clover_engine.errors import RequestError
from tests.support.driving import run

if TYPE_CHECKING:
    from clover_engine.engine import LocalEngine

texts = st.text("ab \n中\r…", max_size=8)
segments = st.lists(texts.map(Literal) | st.just(Hole(4)), min_size=1, max_size=9).filter(
    lambda some: any(isinstance(one, Hole) for one in some)
)


@given(segments, st.data())
@settings(max_examples=200, deadline=None)
def test_literals_survive_and_fills_stand_in_order(
    some: list[Segment], data: st.DataObject
) -> None:
    canvas = Canvas.of(CanvasRequest(tuple(some)))
    fills = [Fill(data.draw(texts), 1.0, Finish.STOP) for _ in canvas.holes]
    texts_of_holes = iter(fills)
    expected = "".join(
        one.text if isinstance(one, Literal) else next(texts_of_holes).text for one in some
    )
    assert canvas.text(fills) == expected
    for number in range(len(fills)):
        left, right = canvas.left_of(number, dict(enumerate(fills))), canvas.right_of(number)
        assert expected.startswith(left)
        behind = canvas.literals[number + 1 :]
        assert right.startswith(behind[0])
        assert "".join(behind).startswith(right)


def test_the_right_text_ends_at_the_next_hole_unless_that_is_near() -> None:
    long, short = "words that stand between two holes of a text", " and "
    segments = (Hole(6), Literal(short), Hole(6), Literal(long), Hole(6), Literal("end"))
    canvas = Canvas.of(CanvasRequest(segments))
    assert [canvas.right_of(number) for number in range(3)] == [short + long, long, "end"]


@pytest.mark.parametrize(
    "some",
    [
        (Hole(6),),
        (Literal("value = "), Hole(6)),
        (Hole(6), Literal("\n    return name")),
        (Literal("a"), Hole(6), Hole(6), Literal("b"), Hole(6)),
        (Literal(""), Literal("def name"), Hole(6), Literal(""), Literal(":\n"), Hole(6)),
    ],
)
def test_canvases_of_any_shape_are_filled(
    float_engine: LocalEngine, some: tuple[Segment, ...]
) -> None:
    done = run(float_engine, CanvasRequest(some))
    holes = sum(isinstance(one, Hole) for one in some)
    assert len(done.filled.fills) == holes
    assert done.filled.stats.tokens <= 6 * holes
    assert done.filled.stats.forwards <= len(done.needs)


def test_each_hole_takes_what_it_asks_for(float_engine: LocalEngine) -> None:
    request = CanvasRequest(
        (
            Literal("name = "),
            Hole(12, choices=("self.value", "self", "中文")),
            Literal("\nnumber = "),
            Hole(12, pattern="[0-9]{2,3}"),
            Literal("\ndef "),
            Hole(8, stop=("\n",)),
        )
    )
    choice, number, line = run(float_engine, request).filled.fills
    assert choice.text in ("self.value", "self", "中文")
    assert re.fullmatch("[0-9]{2,3}", number.text)
    assert "\n" not in line.text


def test_each_choice_is_scored_for_itself(float_engine: LocalEngine) -> None:
    choices = ("self.value", "self", "中文", "a much longer choice than all others")

    def scores(*some: str) -> tuple[float, ...]:
        request = CanvasRequest((Literal("name = "), Hole(64, choices=some), Literal("\n")))
        fill = run(float_engine, request).filled.fills[0]
        assert fill.text == some[fill.scores.index(max(fill.scores))]
        return fill.scores

    alone = [scores(choice)[0] for choice in choices]
    assert scores(*choices) == pytest.approx(alone, abs=1e-4)
    assert scores(*choices[::-1]) == pytest.approx(alone[::-1], abs=1e-4)
    assert all(score < 0 for score in alone)


@pytest.mark.parametrize("right", ["b x", "bab\n", "b"])
def test_what_matches_a_pattern_is_not_cut_at_the_right_text(
    float_engine: LocalEngine, right: str
) -> None:
    for room in (2, 4, 6):
        # the room is used up where the text may end but need not
        hole = Hole(room, pattern="(ab)+")
        request = CanvasRequest((Literal("name\n"), hole, Literal(right)))
        assert re.fullmatch("(ab)+", run(float_engine, request).filled.fills[0].text)


@pytest.mark.parametrize(
    ("hole", "message"),
    [
        (Hole(2, choices=("a choice of many more tokens than two",)), "too few"),
        (Hole(8, pattern="(unclosed"), "unclosed"),
        (Hole(8, pattern="[^\\x00-\\x{10FFFF}]"), "match"),
    ],
)
def test_an_error_names_the_hole(float_engine: LocalEngine, hole: Hole, message: str) -> None:
    request = CanvasRequest((Literal("a"), Hole(2), Literal("b"), hole, Literal("c")))
    with pytest.raises(RequestError, match="hole 2 of 2: ") as caught:
        run(float_engine, request)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_hint_stands_above_its_line() -> None:
    canvas = Canvas.of(CanvasRequest((Literal("# Plan\nOwner: "), Hole(hint="who leads"))))
    assert canvas.asked_of(0, {}) == "# Plan\n<!-- who leads -->\nOwner: "
    assert canvas.left_of(0, {}) == "# Plan\nOwner: "


def test_holes_without_choices_do_not_exist() -> None:
    with pytest.raises(RequestError, match="empty"):
        Hole(choices=())
    with pytest.raises(RequestError, match="not both"):
        Hole(choices=("a",), pattern="b")


def test_a_deadline_leaves_the_holes_behind_it_empty(float_engine: LocalEngine) -> None:
    some = (Literal("def name"), Hole(9), Literal("\n"), Hole(9, choices=("abc",)))
    first, second = run(float_engine, CanvasRequest(some), deadline_at=1).filled.fills
    assert first.finish is second.finish is Finish.DEADLINE
    assert second.text == ""


NOTE = (
    Literal("# Plan\nowner: "),
    Hole(4, max_lines=1),
    Literal(" and "),
    Hole(4, max_lines=1),
    Literal("\nplace: "),
    Hole(4, max_lines=1),
    Literal("\n\nWe meet at "),
    Hole(6),
    Literal(".\n"),
)


def test_holes_of_one_line_build_on_one_another() -> None:
    canvas = Canvas.of(CanvasRequest(NOTE))
    assert list(canvas.side_by_side()) == [[0, 2, 3], [1]]
    first = Fill("Bo", 1.0, Finish.STOP)
    assert canvas.asked_of(1, {0: first}) == "# Plan\nowner: Bo and "
    assert canvas.asked_of(2, {}) == "# Plan\nowner: ____ and ____\nplace: "
    assert canvas.asked_of(3, {0: first}).startswith("# Plan\nowner: Bo and ____\nplace: ____\n")


@given(segments)
def test_every_hole_has_one_turn_after_those_before_it_in_its_line(some: list[Segment]) -> None:
    canvas = Canvas.of(CanvasRequest(tuple(some)))
    turns = {hole: turn for turn, holes in enumerate(canvas.side_by_side()) for hole in holes}
    assert sorted(turns) == list(range(len(canvas.holes)))
    for hole, literal in enumerate(canvas.literals[1:-1]):
        assert "\n" in literal or turns[hole] < turns[hole + 1]


def test_holes_side_by_side_are_written_as_if_each_were_alone(float_engine: LocalEngine) -> None:
    canvas = Canvas.of(CanvasRequest(NOTE))
    done = run(float_engine, CanvasRequest(NOTE))
    fills = dict(enumerate(done.filled.fills))
    turns = list(canvas.side_by_side())
    for turn, holes in enumerate(turns):
        known = {hole: fills[hole] for before in turns[:turn] for hole in before}
        for hole in holes:
            left, right = canvas.asked_of(hole, known), canvas.right_of(hole)
            alone = CanvasRequest((Literal(left), canvas.holes[hole], Literal(right)))
            [fill] = run(float_engine, alone).filled.fills
            assert (fill.text, fill.finish) == (fills[hole].text, fills[hole].finish)
    # and that took fewer forwards
    assert done.filled.stats.forwards < len(done.needs)


def test_holes_side_by_side_end_together_when_time_is_up(float_engine: LocalEngine) -> None:
    whole = run(float_engine, CanvasRequest(NOTE))
    for round_ in range(whole.filled.stats.forwards):
        fills = run(float_engine, CanvasRequest(NOTE), deadline_at=round_).filled.fills
        assert len(fills) == 4
        assert any(fill.finish is Finish.DEADLINE for fill in fills)
        for fill, wanted in zip(fills, whole.filled.fills, strict=True):
            assert wanted.text.startswith(fill.text)
