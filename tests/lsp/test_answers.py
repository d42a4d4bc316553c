"""The cache of answers: what goes on from what was typed, nothing else, and not too much of it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from clover_engine.api import Hole
from clover_lsp.answers import Answer, Answers, Canvas, Written

HOLE = Hole(stop=("\n",))
sides = st.text("ab", max_size=3)


def answer(left: str, right: str, *texts: str, document: str = "d") -> Answer:
    return Answer(document, Canvas(left, HOLE, right), tuple(map(Written, texts)))


def found(answers: Answers, left: str, right: str, document: str = "d") -> list[str]:
    hit = answers.find(document, Canvas(left, HOLE, right))
    return [written.text for written in hit[1]] if hit else []


@given(
    kept=st.lists(st.tuples(sides, sides, st.text("ab", max_size=4)), max_size=6),
    left=sides,
    right=sides,
)
def test_a_text_found_makes_the_document_the_answer_made(
    kept: list[tuple[str, str, str]], left: str, right: str
) -> None:
    answers = Answers()
    for old_left, old_right, text in kept:
        answers.keep(answer(old_left, old_right, text))
    fitting = {
        (old_left + text)[len(left) :]
        for old_left, old_right, text in {(a, b): (a, b, c) for a, b, c in kept}.values()
        if old_right == right
        and left.startswith(old_left)
        and (old_left + text).startswith(left)
        and (old_left + text != left or old_left == left)
    }
    assert set(found(answers, left, right)) <= fitting
    assert bool(found(answers, left, right)) == bool(fitting)


def test_going_back_over_typed_text_and_coming_back_finds_it() -> None:
    answers = Answers()
    answers.keep(answer("x = ", "\n", "foo(bar)"))
    answers.keep(answer("x = 1\ny = ", "\n", "2"))
    assert found(answers, "x = foo", "\n") == ["(bar)"]
    assert found(answers, "x = f", "\n") == ["oo(bar)"]
    assert found(answers, "x = ", "\n") == ["foo(bar)"]
    # what was there before the answer was typed by the user, and deleted by the user
    assert found(answers, "x ", "\n") == []


def test_another_suffix_document_or_hole_is_another_question() -> None:
    answers = Answers()
    answers.keep(answer("x = ", "\n", "1"))
    assert found(answers, "x = ", "\n\n") == []
    assert found(answers, "x = ", "\n", "other") == []
    assert answers.find("d", Canvas("x = ", Hole(), "\n")) is None


def test_the_text_left_does_not_begin_inside_a_character() -> None:
    answers = Answers()
    answers.keep(answer("", "", "👩\u200d💻!"))
    assert found(answers, "👩", "") == []
    assert found(answers, "👩\u200d💻", "") == ["!"]


def test_all_texts_of_one_hole_that_agree_are_found_the_likeliest_first() -> None:
    answers = Answers()
    answers.keep(answer("r", "", "eturn a", "aise", "eturn b"))
    assert found(answers, "re", "") == ["turn a", "turn b"]


def test_the_oldest_go_when_there_are_too_many_or_too_large_ones() -> None:
    answers = Answers(max_bytes=100_000, max_answers=3)
    for number in range(4):
        answers.keep(answer(str(number), "", "text"))
        assert found(answers, "0", "")
    assert [len(found(answers, str(number), "")) for number in range(4)] == [1, 0, 1, 1]
    answers.keep(answer("x" * 90_000, "", "text"))
    answers.keep(answer("y" * 90_000, "", "text"))
    assert found(answers, "x" * 90_000, "") == []
    assert found(answers, "y" * 90_000, "") == ["text"]
    answers.forget("d")
    assert found(answers, "y" * 90_000, "") == []
