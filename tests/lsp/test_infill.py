"""What is asked at a cursor, and what becomes of the answer; `‖` is the cursor."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clover_engine.api import CanvasRequest, Hole, Literal, Priority
from clover_lsp.infill import LEFT_CHARS, STEP_CHARS, Trigger, inside_word, plan, settle, warm

CURSOR = "‖"
lines = st.text(st.sampled_from("ab ()[]\"'`,:;。」\t\r\n\ud83d😀|<>_"), max_size=40)


def at_cursor(marked: str) -> tuple[str, int]:
    before, _, after = marked.partition(CURSOR)
    return before + after, len(before)


def parts(request: CanvasRequest) -> tuple[str, Hole, str]:
    left, hole, right = request.segments
    assert isinstance(left, Literal)
    assert isinstance(hole, Hole)
    assert isinstance(right, Literal)
    return left.text, hole, right.text


def asked(marked: str, trigger: Trigger = Trigger.AUTOMATIC) -> tuple[str, Hole, str]:
    return parts(plan(*at_cursor(marked), trigger=trigger))


def shown(marked: str, filled: str, trigger: Trigger = Trigger.AUTOMATIC) -> str | None:
    return settle(*at_cursor(marked), filled, trigger=trigger)


@pytest.mark.parametrize(
    ("marked", "right"),
    [
        ("f(‖)\nb", "\nb"),
        ('print("‖")', ""),
        ("f(‖) + 1\nb", ") + 1\nb"),
        ("lon‖ger line", "ger line"),
        ("a‖\r\nb", "\nb"),
        ("（见‖），\nb", "\nb"),
    ],
)
def test_brackets_of_the_editor_stay_out_of_the_canvas(marked: str, right: str) -> None:
    assert asked(marked)[2] == right


def test_typing_asks_for_a_line_and_asking_for_a_paragraph() -> None:
    _, automatic, _ = asked("a‖\nb")
    _, invoked, _ = asked("a‖\nb", Trigger.INVOKED)
    assert automatic.stop == ("\n",)
    assert invoked.stop == ("\n\n",)
    assert invoked.max_tokens > automatic.max_tokens


@pytest.mark.parametrize("trigger", Trigger)
def test_within_a_line_the_engine_finds_the_end_that_fits(trigger: Trigger) -> None:
    _, inside = asked("a ‖ b", trigger)[:2]
    assert (inside.stop, inside.max_lines) == ((), 1)


def test_deadlines() -> None:
    assert plan("", 0).deadline_ms == 1200
    assert plan("", 0, trigger=Trigger.INVOKED).deadline_ms == 5000


def test_warming_writes_nothing_and_reads_what_typing_reads() -> None:
    text, offset = at_cursor("a = f(‖)\nb\n")
    request = warm(text, offset, document="u")
    left, hole, right = parts(request)
    assert (left, right) == parts(plan(text, offset))[::2]
    assert hole.max_tokens == 0
    assert request.priority is Priority.BACKGROUND


def test_a_keystroke_in_a_long_document_moves_neither_end_of_the_canvas() -> None:
    text = "0123456789\n" * 30_000
    offset = len(text) // 2
    left, _, right = parts(plan(text, offset))
    typed_left, _, typed_right = parts(plan(text[:offset] + "x" + text[offset:], offset + 1))
    assert typed_left == left + "x"
    assert typed_right == right
    assert LEFT_CHARS <= len(left) <= LEFT_CHARS + STEP_CHARS


def test_half_a_pair_does_not_reach_the_engine() -> None:
    assert asked("a\ud83d‖\udc00")[::2] == ("a\ufffd", "\ufffd")


@pytest.mark.parametrize(
    ("marked", "filled", "expected"),
    [
        ("print(‖)", "a, b)", "a, b"),
        ('print("he‖llo")', 'llo")', None),
        ('print("he‖")', 'llo")', "llo"),
        ("[1, 2‖, 4]", ", 3,", ", 3"),
        ("foo(‖) + 1", "g(x)", "g(x)"),
        ("x = 1‖;", " + 2;", " + 2"),
        ("a‖\nb", "\n  ", None),
        ("foo‖ bar", "  ", None),
        ("a ‖+ b", "* c ", "* c "),
        ("def f():\n    ‖\n    return x", "return x", None),
        ("a‖", "b<|im_end|>", "b"),
        ("a‖", "b  \nc", "b"),
        ("a‖\r\nb", " c\r\n", " c"),
    ],
)
def test_what_typing_shows(marked: str, filled: str, expected: str | None) -> None:
    assert shown(marked, filled) == expected


def test_asking_shows_lines_up_to_what_follows() -> None:
    body = "\n    y = 1\n    return y"
    assert shown("def f():‖\n    return y\n", body, Trigger.INVOKED) == "\n    y = 1"


@pytest.mark.parametrize(
    ("marked", "inside"),
    [("exam‖ple", True), ("exam‖", False), ("‖a", False), ("你‖好", False), ("a_‖b", True)],
)
def test_inside_a_word(marked: str, inside: bool) -> None:
    assert inside_word(*at_cursor(marked)) is inside


@settings(max_examples=300, deadline=None)
@given(before=lines, after=lines, filled=lines, trigger=st.sampled_from(Trigger))
def test_an_item_is_visible_and_as_long_as_was_asked(
    before: str, after: str, filled: str, trigger: Trigger
) -> None:
    answer = settle(before + after, len(before), filled, trigger=trigger)
    if answer is not None:
        assert answer.strip()
        assert "\r" not in answer
        assert trigger is Trigger.INVOKED or "\n" not in answer


@settings(max_examples=300, deadline=None)
@given(
    inner=st.text(st.sampled_from("abc 你"), min_size=1).filter(lambda text: "你 " not in text),
    rest=st.text(st.sampled_from("xyz)];,。 "), min_size=1).filter(lambda rest: len(rest) > 2),
)
def test_the_rest_of_the_line_stands_there_once(inner: str, rest: str) -> None:
    left, right = "p = q(", rest + "\nnext line"
    answer = settle(left + right, len(left), inner + rest, trigger=Trigger.INVOKED)
    assert (answer or "").rstrip() == inner.rstrip()


balanced = st.recursive(
    st.text(st.sampled_from("ab, ."), max_size=4),
    lambda inner: st.tuples(st.sampled_from(["()", "[]", "{}"]), inner, inner).map(
        lambda parts: parts[0][0] + parts[1] + parts[0][1] + parts[2]
    ),
    max_leaves=5,
)


@settings(max_examples=300, deadline=None)
@given(inner=balanced, opener=st.sampled_from(["(", "[", "{", "f(g("]), more=balanced)
def test_balanced_brackets_stay_balanced(inner: str, opener: str, more: str) -> None:
    closer = "".join({"(": ")", "[": "]", "{": "}"}.get(sign, "") for sign in reversed(opener))
    filled = inner + closer + more
    answer = settle(opener + closer, len(opener), filled, trigger=Trigger.INVOKED)
    assert (answer or "").rstrip() == inner.rstrip()
