"""The rules between an answer and its display, each by its own table."""

from __future__ import annotations

import pytest

from clover_lsp import postprocess as rules


@pytest.mark.parametrize(
    ("answer", "kept"),
    [
        ("a<|endoftext|>b", "a"),
        ("a <|fim_middle|>", "a "),
        ("x</tool_call>", "x"),
        ("你好<｜end▁of▁sentence｜>", "你好"),
        ("cut off <|im_en", "cut off "),
        ("a <b> c | d", "a <b> c | d"),
        ("f <| g x", "f <| g x"),
    ],
)
def test_special_tokens_end_the_answer(answer: str, kept: str) -> None:
    assert rules.without_specials(answer) == kept


def test_every_line_end_becomes_a_newline() -> None:
    assert rules.with_newlines("a\r\nb\rc\n") == "a\nb\nc\n"


@pytest.mark.parametrize(
    ("answer", "kept"),
    [("a\nb", "a\nb"), ("a\n\nb", "a"), ("\n  a\n \t\nb", "\n  a"), ("\n\nb", "")],
)
def test_a_paragraph_ends_at_a_blank_line(answer: str, kept: str) -> None:
    assert rules.first_paragraph(answer) == kept


@pytest.mark.parametrize(
    "rest", ["", "  ", ")", "))", '")', "');", "]:", "」", "），", "`", "'''", " },"]
)
def test_closing_signs(rest: str) -> None:
    assert rules.only_closers(rest)


@pytest.mark.parametrize("rest", ["a", ") + 1", "你好", "(", ":", "x)", ") a"])
def test_other_signs(rest: str) -> None:
    assert rules.only_closers(rest) == (rest == ":")


@pytest.mark.parametrize(
    ("before", "rest", "answer", "kept"),
    [
        ("f(g(", "))", "x))", "x"),
        ("f(g(", "))", "h(x), [1])", "h(x), [1]"),
        ("print(", ")", '":)")', '":)"'),
        ("x = [", "]", "1, 2", "1, 2"),
        ('s = "', '"', 'abc"', "abc"),
        ('print("', '")', 'hello " + name + "!")', 'hello " + name + "!'),
        ('print("', '")', 'hello", end="")', 'hello", end="'),
        ('print("', '")', 'say \\"no\\"")', 'say \\"no\\"'),
        ("f(", ")", "a, b):", "a, b"),
        ("f(", "):", "a, b):", "a, b"),
        ("他说「", "」", "你好」。", "你好"),
        ("List<", ">", "String> x", "String"),
        ("(", ")", "a > b)", "a > b"),
        ("(see ", ")", "the user's guide)", "the user's guide"),
    ],
)
def test_nothing_is_closed_that_was_not_opened(
    before: str, rest: str, answer: str, kept: str
) -> None:
    assert rules.within_pairs(answer, before, rest) == kept


@pytest.mark.parametrize(
    ("answer", "after", "kept"),
    [
        ('llo")', '")\n', "llo"),
        (", 3,", ", 4]\n", ", 3"),
        ("a b", " b\n", "a"),
        ("aa", "a\n", "aa"),
        ("喜欢", "欢迎\n", "喜欢"),
        ("x or y", "y\n", "x or "),
        ("g(x)", ") + 1\n", "g(x)"),
        ("g(x))", ") + 1\n", "g(x)"),
        ("one\n    two", "\n    two\n", "one"),
        ("abc", "", "abc"),
    ],
)
def test_what_stands_right_of_the_cursor_is_not_written_again(
    answer: str, after: str, kept: str
) -> None:
    assert rules.without_overlap(answer, after) == kept


@pytest.mark.parametrize(
    ("before", "answer", "below", "kept"),
    [
        ("    ", "return x", "\n    return x\n", ""),
        ("    ret", "urn x", "    return x\n", ""),
        ("", "a = 1\nb = 2\nc = 3", "b = 2\n", "a = 1"),
        ("", "}", "}\n", "}"),
        ("", "return", "returned\n", "return"),
        ("", "a", "", "a"),
    ],
)
def test_the_next_line_is_not_written_again(
    before: str, answer: str, below: str, kept: str
) -> None:
    assert rules.without_next_line(answer, before, below) == kept


@pytest.mark.parametrize(
    ("answer", "rest", "kept"),
    [
        ("restart the service.", " the service again. Settings are kept.", "restart"),
        ("发布计划，测试部负责验收", "，测试部负责回归测试。", "发布计划，测试部负责验收"),
        ("发布计划，测试部负责回归测试工作", "，测试部负责回归测试。", "发布计划"),
        ("a, b)", ", b", "a, b)"),
        ("x = 1", "", "x = 1"),
        ("x = 1", "          y", "x = 1"),
    ],
)
def test_an_answer_ends_where_the_rest_of_the_line_begins(
    answer: str, rest: str, kept: str
) -> None:
    assert rules.until_rest(answer, rest) == kept


@pytest.mark.parametrize(
    ("answer", "rest", "kept"),
    [
        ("发布计划。", "，测试部负责。", "发布计划"),
        ("the plan.", ", and more", "the plan"),
        ("the plan.", " and more", "the plan."),
        ("the plan.", "", "the plan."),
        ("发布计划。", "。", "发布计划"),
    ],
)
def test_a_sentence_ends_once(answer: str, rest: str, kept: str) -> None:
    assert rules.without_full_stop(answer, rest) == kept


@pytest.mark.parametrize(
    ("answer", "at_line_end", "kept"),
    [("a \nb\t", True, "a\nb"), ("a ", False, "a "), (" \n ", True, "")],
)
def test_trailing_blanks(answer: str, at_line_end: bool, kept: str) -> None:
    assert rules.trimmed(answer, at_line_end=at_line_end) == kept
