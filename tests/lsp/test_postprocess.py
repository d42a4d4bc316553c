"""The rules between an answer and its display, each by its own table."""

from __future__ import annotations

import pytest

from clover_lsp.postprocess import cjk, comments, fences, repetition, scope, specials, whitespace
from clover_lsp.postprocess.sentences import first_sentence


@pytest.mark.parametrize(
    ("answer", "kept"),
    [
        ("a<|endoftext|>b", "a"),
        ("a <|fim_middle|>", "a "),
        ("a <fim_middle>b", "a "),
        ("a<|file_separator|>", "a"),
        ("a<file_sep>b", "a"),
        ("x</tool_call>", "x"),
        ("x</s>", "x"),
        ("x<end_of_turn>", "x"),
        ("x[/INST] y", "x"),
        ("你好<｜end▁of▁sentence｜>", "你好"),
        ("cut off <|im_en", "cut off "),
        ("cut off <|<|im", "cut off "),
        ("cut off <fim_mid", "cut off "),
        ("a <b> c | d", "a <b> c | d"),
        ("f <| g x", "f <| g x"),
        ("<p>text</p>", "<p>text</p>"),
    ],
)
def test_special_tokens_end_the_answer(answer: str, kept: str) -> None:
    assert specials.without_specials(answer) == kept


def test_every_line_end_becomes_a_newline() -> None:
    assert specials.with_newlines("a\r\nb\rc\n") == "a\nb\nc\n"


@pytest.mark.parametrize(
    ("answer", "kept"),
    [
        ("```python\nx = 1\n```", "x = 1"),
        ("```\nx = 1\n```\n", "x = 1"),
        ("~~~\nx\n~~~", "x"),
        ("```python\nx = 1", "x = 1"),
        ("```markdown\nA\n```sh\nls\n```\n```", "A\n```sh\nls\n```"),
        ("````markdown\nA\n```\nls\n```\n````", "A\n```\nls\n```"),
        ("```sh\nls\n```\nand more", "```sh\nls\n```\nand more"),
        ("A\n```sh\nls\n```", "A\n```sh\nls\n```"),
        ("x = `a`", "x = `a`"),
        ("", ""),
    ],
)
def test_a_fence_around_all_of_it_is_taken_off(answer: str, kept: str) -> None:
    assert fences.without_wrapper(answer, prose=False) == kept


@pytest.mark.parametrize(
    ("answer", "kept"),
    [
        ("```markdown\n# 标题\n```", "# 标题"),
        ("```\nsome text\n```", "some text"),
        ("```python\nx = 1\n```", "```python\nx = 1\n```"),
    ],
)
def test_a_block_of_code_belongs_in_prose(answer: str, kept: str) -> None:
    assert fences.without_wrapper(answer, prose=True) == kept


@pytest.mark.parametrize(
    ("answer", "fence", "kept"),
    [
        ("1\n```\n\nText", "```", "1"),
        ("1\n````\nText", "```", "1"),
        ("1\n```\nText\n````\nmore", "````", "1\n```\nText"),
        ("1\n~~~\n2", "```", "1\n~~~\n2"),
        ("```", "```", ""),
        ("x = '```'", "```", "x = '```'"),
    ],
)
def test_a_block_of_code_ends_at_its_fence(answer: str, fence: str, kept: str) -> None:
    assert fences.within_fence(answer, fence) == kept


@pytest.mark.parametrize(
    ("answer", "kept"),
    [("a\nb", "a\nb"), ("a\n\nb", "a"), ("\n  a\n \t\nb", "\n  a"), ("\n\nb\n\nc", "\n\nb")],
)
def test_a_paragraph_ends_at_a_blank_line(answer: str, kept: str) -> None:
    assert whitespace.first_paragraph(answer) == kept


@pytest.mark.parametrize(
    ("answer", "before", "above", "kept"),
    [
        ("\n\n\n\nText", "Text.", "", "\n\nText"),
        ("\n\nText", "Text.", "", "\n\nText"),
        ("\n\nText", "", "Text.\n", "\nText"),
        ("\nText", "", "Text.\n\n", "Text"),
        ("\nText", "", "", "Text"),
        ("\n    x", "    ", "if a:\n", "    x"),
        ("Text\n\n\nText", "", "", "Text\n\n\nText"),
    ],
)
def test_no_two_blank_lines(answer: str, before: str, above: str, kept: str) -> None:
    assert whitespace.with_few_newlines(answer, before, above) == kept


@pytest.mark.parametrize(
    ("answer", "before", "kept"),
    [
        (" b", "a ", "b"),
        ("  b", "a\t", "b"),
        (" b", "a", " b"),
        ("b", "a", "b"),
        ("    b", "  ", "    b"),
    ],
)
def test_one_blank_parts_two_words(answer: str, before: str, kept: str) -> None:
    assert whitespace.without_double_blank(answer, before) == kept


@pytest.mark.parametrize(
    ("answer", "rest", "prose", "kept"),
    [
        ("a \nb\t", "", False, "a\nb"),
        ("a  \nb", "", False, "a\nb"),
        ("a  \nb", "", True, "a  \nb"),
        ("第一行    \n第二行  ", "", True, "第一行  \n第二行"),
        ("a  \n\nb", "", True, "a\n\nb"),
        ("a  ", "", True, "a"),
        (" \n ", "", True, ""),
    ],
)
def test_lines_end_without_blanks_but_for_hard_breaks(
    answer: str, rest: str, prose: bool, kept: str
) -> None:
    assert whitespace.trimmed(answer, rest, at_line_end=True, prose=prose) == kept


@pytest.mark.parametrize(
    ("answer", "rest", "kept"), [("a ", "b", "a "), ("a  ", "b", "a "), ("a ", " b", "a")]
)
def test_inside_a_line_one_blank_may_stay(answer: str, rest: str, kept: str) -> None:
    assert whitespace.trimmed(answer, rest, at_line_end=False, prose=False) == kept


@pytest.mark.parametrize(
    ("answer", "kept"),
    [
        ("a word and a ha", "a word and a "),
        ("a word and ", "a word and "),
        ("单词和", "单词和"),
        ("word", "word"),
        ("été été", "été "),
        ("foo(ba", "foo("),
    ],
)
def test_an_answer_cut_off_ends_with_a_word(answer: str, kept: str) -> None:
    assert whitespace.without_broken_word(answer) == kept


@pytest.mark.parametrize(
    ("answer", "worth"),
    [
        ("a", True),
        ("是", True),
        ("1", True),
        (")", False),
        ("。", False),
        (" ", False),
        ("()", True),
    ],
)
def test_one_sign_alone_is_not_worth_showing(answer: str, worth: bool) -> None:
    assert whitespace.is_worth_showing(answer) is worth
    assert whitespace.is_worth_showing(answer, asked=True) is (worth or answer in ")。")


@pytest.mark.parametrize(
    ("answer", "before", "kept"),
    [
        (" is good. We go.", "This", " is good."),
        (' said "no." Then', "He", ' said "no."'),
        ("Is it? Yes.", "", "Is it?"),
        (". Then we go. Bye.", "done", ". Then we go."),
        (" the U.S. army left. Then", "", " the U.S. army left."),
        ("see Fig. 3 and Mr. Smith. Then", "", "see Fig. 3 and Mr. Smith."),
        ("e.g. this one. Then", "", "e.g. this one."),
        ("version 2.4.0 is out. Then", "", "version 2.4.0 is out."),
        ("1. Open it", "", "1. Open it"),
        (" Open it. Close it.", "2.", " Open it."),
        ("very well... and so on. Then", "", "very well... and so on."),
        ("很好。我们去公园。", "今天天气", "很好。"),
        ("去吗？”他问。", "“", "去吗？”"),
        ("没有句号", "", "没有句号"),
        ("……然后走了。再见。", "他", "……然后走了。"),
        ("no end", "", "no end"),
        ("modules (`mod { ... }`). Then", "", "modules (`mod { ... }`)."),
        ("it (see A. See B) is. Then", "", "it (see A. See B) is."),
        ("[¹] … and others. Then", "", "[¹] … and others."),
    ],
)
def test_a_sentence(answer: str, before: str, kept: str) -> None:
    assert first_sentence(answer, before) == kept


@pytest.mark.parametrize(
    ("answer", "rest", "kept"),
    [
        ("发布计划。", "，测试部负责。", "发布计划"),
        ("the plan.", ", and more", "the plan"),
        ("the plan.", " and more", "the plan."),
        ("the plan.", "", "the plan."),
        ("发布计划。", "。", "发布计划"),
        ("the manual.", ").", "the manual"),
        ("the manual.", ")", "the manual"),
        ("你好。", "」", "你好"),
        ("第三章。", "）。", "第三章"),
        ("and so on...", ", then", "and so on..."),
        ("1.", ", 2", "1."),
        ("really?", ")", "really?"),
    ],
)
def test_a_sentence_ends_once(answer: str, rest: str, kept: str) -> None:
    assert cjk.without_full_stop(answer, rest, words=True) == kept


def test_a_point_in_code_is_no_full_stop() -> None:
    assert cjk.without_full_stop("x.", ")", words=False) == "x."


@pytest.mark.parametrize(
    ("answer", "before", "rest", "kept"),
    [
        ("今天 天气 很好", "", "", "今天天气很好"),
        (" 天气", "今天", "", "天气"),
        ("天气 ", "今天", "很好", "天气"),
        ("用 Python 写", "", "", "用 Python 写"),
        (" b", "a", "", " b"),
        ("张 三 李 四", "王 五 ", "", "张 三 李 四"),
        ("한국 사람", "", "", "한국 사람"),
    ],
)
def test_no_blank_between_ideographs(answer: str, before: str, rest: str, kept: str) -> None:
    assert cjk.without_han_blanks(answer, before, rest) == kept


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        ("a very very very very", "a very"),
        ("a very very very very ve", "a very"),
        ("非常非常非常非常", "非常"),
        ("and again and again and again", "and again "),
        ("哈哈哈", "哈哈哈"),
        ("0, 0, 0, 0, 0, 0", "0, 0, 0, 0, 0, 0"),
        ("-" * 40, "-" * 40),
        ("id=XXXXXXXXXXXX", "id=XXXXXXXXXXXX"),
        ("had had", "had had"),
    ],
)
def test_a_line_does_not_go_round(line: str, kept: str) -> None:
    assert repetition.without_loops(line) == kept


@pytest.mark.parametrize(
    ("answer", "kept"),
    [
        ("a\na\na", "a"),
        ("x\na\nb\na\nb\na\nb\nc", "x\na\nb"),
        ("好的\n好的\n好的\n好的", "好的"),
        ("a\na", "a\na"),
        ("}\n}\n}", "}\n}\n}"),
        ("a\nb\nc", "a\nb\nc"),
    ],
)
def test_lines_do_not_go_round(answer: str, kept: str) -> None:
    assert repetition.without_loops(answer) == kept


@pytest.mark.parametrize(
    ("answer", "before", "above", "kept"),
    [
        ("total = 2", "", "x = 1\ntotal = 2\n", ""),
        ("x = 1\ntotal = 2\ny", "", "x = 1\ntotal = 2\n", "y"),
        ("  total = 2", "  ", "  total = 2\n", ""),
        ("\ntotal = 2\ny", "total = 2", "", "\ny"),
        ("total = 2", "total = ", "", " 2"),
        ("今天天气很好。", "今天天气", "", "很好。"),
        ("第一段。", "", "第一段。\n\n", ""),
        ("}", "", "}\n", "}"),
        ("---", "", "---\n", "---"),
        ("x = 1", "", "x = 1\ntotal = 2\n", "x = 1"),
        ("a b", "a ", "", "a b"),
        ("今天天气", "今天", "", "天气"),
        ("看看", "看", "", "看看"),
        (" forward", "for", "", " forward"),
        (" return_value", "return", "", " return_value"),
        ("  end", "", "    end\n", "  end"),
        ("</div>", "", "  </div>\n", "</div>"),
        (" and so", "and", "", " so"),
    ],
)
def test_the_lines_above_are_not_written_again(
    answer: str, before: str, above: str, kept: str
) -> None:
    assert repetition.without_line_above(answer, before, above) == kept


@pytest.mark.parametrize(
    ("answer", "before", "kept"),
    [
        ("\n    a\n    b\nc", "for x in y:", "\n    a\n    b"),
        ("\n    a\nelse:\n    b\nc", "if x:", "\n    a\nelse:\n    b"),
        ("\n  a();\n}\nb();", "if (x) {", "\n  a();\n}"),
        ("\n  a();\n} else {\n  b();\n}\nc();", "if (x) {", "\n  a();\n} else {\n  b();\n}"),
        ("\n  a\nend\nb", "while x do", "\n  a\nend"),
        ("a\n    b\nc", "    ", "a\n    b"),
        ("a\nb", "", "a\nb"),
        ("x = [\n  1,\n]\ny = 1", "", "x = [\n  1,\n]\ny = 1"),
        ("\n  1,\n]\ny = 1", "x = [", "\n  1,\n]"),
        ("\n\n    a", "    b", "\n\n    a"),
    ],
)
def test_code_ends_with_its_block(answer: str, before: str, kept: str) -> None:
    assert scope.within_block(answer, before) == kept


@pytest.mark.parametrize(
    ("answer", "before", "kept"),
    [
        ("text\n## Next", "Some ", "text"),
        ("\n\n## Next\ntext", "Some text.", "\n"),
        ("## Next\ntext\n### More", "", "## Next\ntext"),
        ("正文\n---\n更多", "", "正文"),
        ("Title\n=====\ntext", "", "Title"),
        ("a\n- b", "", "a\n- b"),
        ("#hashtag\nmore", "", "#hashtag\nmore"),
    ],
)
def test_prose_ends_with_its_section(answer: str, before: str, kept: str) -> None:
    assert scope.within_section(answer, before) == kept


@pytest.mark.parametrize(
    ("answer", "closed", "kept"),
    [
        ("b\n */\nint y;", True, "b\n"),
        ("b */ int y;", False, "b */"),
        ("b\nc", True, "b\nc"),
    ],
)
def test_no_code_follows_a_block_comment(answer: str, closed: bool, kept: str) -> None:
    assert comments.within_comment(answer, ("/*", "*/"), closed=closed) == kept


def test_lines_of_a_block_comment_keep_their_star() -> None:
    written = comments.with_stars("a\nb\n * c\n */", " * ", ("/*", "*/"))
    assert written == "a\n * b\n * c\n */"
    assert comments.with_stars("a\nb", "text ", ("/*", "*/")) == "a\nb"


@pytest.mark.parametrize(
    ("answer", "before", "sign", "kept"),
    [
        ("the sum\nof all items", "# Returns ", "#", "the sum\n# of all items"),
        ("the sum\n# of all items", "# Returns ", "#", "the sum\n# of all items"),
        ("the sum\nreturn a + b\nnot words", "  # Add", "#", "the sum\nreturn a + b\nnot words"),
        ("求和\n所有的数", "  // ", "//", "求和\n  // 所有的数"),
        ("a\nb words", "x = 1", "#", "a\nb words"),
        ("a\nb words", "# x", "", "a\nb words"),
    ],
)
def test_words_after_a_comment_are_one_too(answer: str, before: str, sign: str, kept: str) -> None:
    assert comments.with_line_comments(answer, before, sign) == kept
