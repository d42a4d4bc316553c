"""Where an answer meets its line and the next: brackets, quotes, the text right of the cursor."""

from __future__ import annotations

import pytest

from clover_lsp.postprocess import brackets, overlap


@pytest.mark.parametrize(
    "rest",
    [
        "",
        "  ",
        ")",
        "))",
        '")',
        "');",
        "]:",
        "」",
        "），",
        "`",
        "'''",
        " },",
        "**",
        " |",
        " */",
        ").",
    ],
)
def test_closing_signs(rest: str) -> None:
    assert brackets.only_closers(rest)


@pytest.mark.parametrize("rest", ["a", ") + 1", "你好", "(", "x)", ") a", "，然后", "| b |"])
def test_other_signs(rest: str) -> None:
    assert not brackets.only_closers(rest)


@pytest.mark.parametrize(
    ("before", "rest", "answer", "kept"),
    [
        ('s = "', '"', 'abc"', "abc"),
        ('print("', '")', 'hello " + name + "!")', 'hello " + name + "!'),
        ('print("', '")', 'hello", end="")', 'hello", end="'),
        ('print("', '")', 'say \\"no\\"")', 'say \\"no\\"'),
        ('"""', '"""', 'A thing."""', "A thing."),
        ("**bo", "**", "ld** and more", "ld"),
        ("**粗", "**", "体** 和 **更多", "体** 和 **更多"),
        ("`co", "`", "de` is", "de"),
        ('print("a", ', ")", '"b"', '"b"'),
    ],
)
def test_a_string_ends_where_the_editor_ends_it(
    before: str, rest: str, answer: str, kept: str
) -> None:
    assert brackets.within_delimiter(answer, before, rest) == kept


@pytest.mark.parametrize(
    ("before", "after", "answer", "kept"),
    [
        ("f(g(", "))", "x))", "x"),
        ("f(g(", "))", "h(x), [1])", "h(x), [1]"),
        ("print(", ")", '":)")', '":)"'),
        ("x = [", "]", "1, 2", "1, 2"),
        ("f(", ")", "a, b):", "a, b"),
        ("f(", "):", "a, b):", "a, b"),
        ("List<", ">", "String> x", "String"),
        ("(", ")", "a > b)", "a > b"),
        ("f(", ") + 1", "x) + 2", "x"),
        ("f(", "\ng()", "x)", "x)"),
        ("f(g(", ")", "x)", "x)"),
        ("f(g(", ")", "x))", "x)"),
        ("f[g(", ")", "x)", "x"),
        ("f(\n    a,\n    b", "\n)\n", ")", ""),
        ("f(\n    a,\n    b", "", ")", ")"),
        ("x = ", "", "y)", "y"),
        ("x = ", "", "f(a, [1", "f"),
        ("x = ", "", "f(a) + g(b, h(c)", "f(a) + g"),
        ("if x ", "\n}", "{", "{"),
        ("{\n  if x ", "\n}", "{", ""),
        ("{\n s: [\n {\n  ", "\n  a\n }\n }\n ]\n}", "label: {", "label: {"),
        ("f('", "', b)", "a', c", "a', c"),
        ("", "\n    a,\n)", "x = f(", "x = f("),
        ("", "\n    a,\n)", "x = g(f(", "x = g(f"),
        ("{\n", "\n    a\n  }\n}", "  if x {", "  if x {"),
        ("{\n", "\n}", "  if x {", "  if x "),
        ("f([{ x: 3", "\n  { x: 4 },\n])", "5 },", "5 },"),
        ("f([{ x: 3", "\n  { x: 4 },\n])", "5 }]", "5 }"),
        ("fn f<'a>(b: &'a str", " {", ", c: &'a str) -> d", ", c: &'a str) -> d"),
    ],
)
def test_brackets_of_code_stay_pairs(before: str, after: str, answer: str, kept: str) -> None:
    assert brackets.balanced(answer, before, after, words=False) == kept


@pytest.mark.parametrize(
    ("before", "after", "answer", "kept"),
    [
        ("(see ", ")", "the user's guide)", "the user's guide"),
        ("他说「", "」", "你好」。", "你好"),
        ("", "", "1) open it", "1) open it"),
        ("that is fine ", "", "see below) and more", "see below"),
        ("either ", "", "a) open or b) close it", "a) open or b) close it"),
        ("或者", "", "（甲）或 2）乙", "（甲）或 2）乙"),
        ("", "", "(option b) is", "(option b) is"),
        ("", "", "a (b] c", "a "),
        ("(see the manual", "\n\n1) Next", ") for more", ") for more"),
        ("（见", "）。", "第三章）。然后", "第三章"),
        ("It", "", "’s here (or", "’s here "),
        ("", "", "the user’s guide", "the user’s guide"),
    ],
)
def test_brackets_among_words_stay_pairs(before: str, after: str, answer: str, kept: str) -> None:
    assert brackets.balanced(answer, before, after, words=True) == kept


@pytest.mark.parametrize(
    ("answer", "after", "kept"),
    [
        ('llo")', '")\n', "llo"),
        (", 3,", ", 4]\n", ", 3"),
        ("a b", " b\n", "a"),
        ("aa", "a\n", "aa"),
        ("喜欢", "欢迎\n", "喜欢"),
        ("a---------", "-\n", "a"),
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
    assert overlap.without_overlap(answer, after) == kept


@pytest.mark.parametrize(
    ("answer", "before", "rest", "kept"),
    [
        ("restart the service.", "and ", " the service again. Settings are kept.", "restart"),
        ("发布计划，测试部负责验收", "", "，测试部负责回归测试。", "发布计划，测试部负责验收"),
        ("发布计划，测试部负责回归测试工作", "", "，测试部负责回归测试。", "发布计划"),
        ("a, b)", "", ", b", "a"),
        ("x) { y }", "f(", ") {", "x"),
        ("append(x)", "", "end", "append(x)"),
        ("late, then calculate(x)", "calc", "ulate(x)", "late, then calc"),
        ("ple is here", "exam", "ple is", ""),
        ("ination", "exam", "ple is", "ination"),
        ("x = 1", "", "", "x = 1"),
        ("x = 1", "", "          y", "x = 1"),
    ],
)
def test_an_answer_ends_where_the_rest_of_the_line_begins(
    answer: str, before: str, rest: str, kept: str
) -> None:
    assert overlap.until_rest(answer, before, rest) == kept


@pytest.mark.parametrize(
    ("before", "answer", "below", "kept"),
    [
        ("    ", "return x", "\n    return x\n", ""),
        ("    ret", "urn x", "    return x\n", ""),
        ("    ", "return  x", "    return x\n", ""),
        ("", "a = 1\nb = 2\nc = 3", "b = 2\n", "a = 1"),
        ("x = 1", "\nb = 2\nc = 3", "b = 2\nc = 3\n", ""),
        ("x = 1  ", "foo(x)", "foo(x)\n", ""),
        ("", "第二行", "第二行\n第三行\n", ""),
        ("", "}", "}\n", "}"),
        ("", "  a do\n  end", "end\n", "  a do\n  end"),
        ("", "<p>\n</p>", "</p>\n", "<p>\n</p>"),
        ("", "return", "returned\n", "return"),
        ("", "a", "", "a"),
    ],
)
def test_the_next_line_is_not_written_again(
    before: str, answer: str, below: str, kept: str
) -> None:
    assert overlap.without_next_line(answer, before, below) == kept
