"""What is asked at a cursor, and what becomes of the answer; `‖` is the cursor."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clover_engine.api import CanvasRequest, Finish, Hole, Literal, Priority
from clover_lsp.infill import LEFT_CHARS, STEP_CHARS, Trigger, inside_word, plan, settle, warm
from tests.support.cursor import asking, at_cursor, typing

lines = st.text(st.sampled_from("ab ()[]\"'`,:;。」\t\r\n\ud83d😀|<>_"), max_size=40)


def parts(request: CanvasRequest) -> tuple[str, Hole, str]:
    left, hole, right = request.segments
    assert isinstance(left, Literal)
    assert isinstance(hole, Hole)
    assert isinstance(right, Literal)
    return left.text, hole, right.text


def asked(
    marked: str, trigger: Trigger = Trigger.AUTOMATIC, language: str = ""
) -> tuple[str, Hole, str]:
    return parts(plan(*at_cursor(marked), language, trigger=trigger))


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


@pytest.mark.parametrize("marked", ["# ‖", "> ‖", "| ‖", "| ‖ |", "---\ntitle: ‖\n---\n"])
def test_where_lines_stand_alone_one_is_asked_for(marked: str) -> None:
    _, hole, _ = asked(marked, Trigger.INVOKED, "markdown")
    assert hole.stop == ("\n",)
    assert hole.max_tokens <= 32


def test_in_prose_a_sentence_is_asked_for() -> None:
    assert asked("The plan‖", language="markdown")[1].max_tokens <= 32
    assert asked("x = ‖", language="python")[1].max_tokens > 32


def test_in_a_block_of_code_its_end_is_a_stop() -> None:
    _, hole, _ = asked("````\nx = ‖\n````\n", Trigger.INVOKED, "markdown")
    assert hole.stop == ("\n\n", "\n````")


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
    assert typing(marked, filled) == expected


@pytest.mark.parametrize(
    ("marked", "filled", "language", "expected"),
    [
        ("def f():‖\n    return y\n", "\n    y = 1\n    return y", "python", "\n    y = 1"),
        ("for x in y:‖", "\n    a\nb", "python", "\n    a"),
        ("x = 1‖", "\n\n\n\ny = 2", "python", "\n\ny = 2"),
        ("‖", "a = 1 \nb = 2\n\nc = 3", "python", "a = 1\nb = 2"),
        ("# Returns the sum‖", "\nof all items", "python", "\n# of all items"),
        ("/*\n * ‖", "a\nb */ int x;", "c", "a\n * b */"),
        ("/*\n * ‖\n */", "a\n */\nint x;", "c", "a"),
        ("```\nx = ‖\n```", "1\n````\nText", "markdown", "1"),
        ("Text.‖", "\nMore.\n## Next", "markdown", "\nMore."),
        ("（见‖）。", "第三章。", "markdown", "第三章"),
        ("and ‖ the service again.", "restart the service.", "markdown", "restart"),
        ("a‖", " very very very very", "markdown", " very"),
        ("## ‖", "Title\n\nText", "markdown", "Title"),
        ("| a |\n|---|\n| ‖", "1 |\n| 2 |", "markdown", "1 |"),
        ("a‖", ".", "markdown", "."),
    ],
)
def test_what_asking_shows(marked: str, filled: str, language: str, expected: str) -> None:
    assert asking(marked, filled, language) == expected


def test_an_answer_that_was_cut_off_ends_with_a_word() -> None:
    assert typing("The", " plan is go", "markdown", finish=Finish.LENGTH) == " plan is"
    assert typing("f(‖)", "a, [b, c", finish=Finish.DEADLINE) == "a,"


@pytest.mark.parametrize(
    ("marked", "indent", "expected"),
    [
        ("- a‖", "    ", "\n    - b"),
        ("- a‖", "\t", "\n\t- b"),
        ("- a‖", None, "\n  - b"),
        ("- a\n   - b\n- c‖", "    ", "\n   - b"),
        ("- a\n  - b\n  - c\n\n- a\n    - b\n- c‖", None, "\n    - b"),
    ],
)
def test_the_editor_s_indentation_holds_where_the_document_has_none(
    marked: str, indent: str | None, expected: str
) -> None:
    assert asking(marked, "\n  - b", "markdown", indent=indent) == expected


def test_a_document_indents_as_it_begins() -> None:
    text = "if a:\n\tb\n" + "x = 1\n" * 1000 + "if a:‖"
    assert asking(text, "\n    b", "python") == "\n\tb"


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
