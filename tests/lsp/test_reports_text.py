"""What users of other tools reported about the text they were shown, kind by kind: a document with
a cursor `‖`, what a model wrote there, and the document once that is taken."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from lsprotocol import types

from clover_engine.fake import FakeEngine, Script
from clover_engine.inproc import InprocClient
from clover_engine.runner import Runner
from clover_lsp.documents import Documents
from clover_lsp.infill import Trigger
from clover_lsp.inline_completion import InlineCompletion
from clover_lsp.lazy_client import LazyClient
from clover_lsp.status import Status
from tests.support.cursor import at_cursor

AUTOMATIC, INVOKED = Trigger.AUTOMATIC, Trigger.INVOKED


async def items_at(
    marked: str, wrote: str, language: str, trigger: Trigger
) -> tuple[list[Any], types.Position]:
    """The server's items at the cursor when the model wrote that, and the cursor's position."""
    text, offset = at_cursor(marked)
    documents = Documents()
    document = documents.open("untitled:a", language, 1, text)
    position = documents.position(document, offset)
    engine = InprocClient(Runner(lambda: FakeEngine(Script(wrote))))
    status = Status(lambda *_: None, lambda _: None)
    feature = InlineCompletion(documents, LazyClient(lambda: engine), status)
    answer = await feature.answer(document, position, trigger)
    await feature.close()
    return list(answer.items), position


def taken(
    marked: str, wrote: str, language: str = "python", trigger: Trigger = AUTOMATIC
) -> str | None:
    """The document once the item is taken, None if there is none."""
    items, position = asyncio.run(items_at(marked, wrote, language, trigger))
    if not items:
        return None
    assert items[0].range == types.Range(position, position)
    text, offset = at_cursor(marked)
    return f"{text[:offset]}{items[0].insert_text}{text[offset:]}"


@pytest.mark.parametrize("trigger", Trigger)
@pytest.mark.parametrize(
    ("marked", "wrote", "language"),
    [
        ("a = 1\n‖\nb = 2\nc = 3\n", "b = 2\nc = 3", "python"),
        ("a = 1‖\nb = 2\nc = 3\n", "\nb = 2\nc = 3", "python"),
        ("def f():\n    ‖\n\n    return x\n", "return x", "python"),
        ("第一行\n‖\n第二行\n第三行\n", "第二行\n第三行", "markdown"),
        ("- a\n‖\n- b\n- c\n", "- b\n- c", "markdown"),
        ("x = 1\n‖\n\n\n# end\n", "# end", "python"),
    ],
)
def test_lines_below_are_not_doubled(
    marked: str, wrote: str, language: str, trigger: Trigger
) -> None:
    assert taken(marked, wrote, language, trigger) is None


@pytest.mark.parametrize(
    ("marked", "wrote", "language"),
    [
        ("x = 1\ntotal = 2\n‖", "total = 2", "python"),
        ("x = 1\ntotal = 2‖", "total = 2", "python"),
        ("今天天气很好。\n‖", "今天天气很好。", "markdown"),
        ("# Title\n\n‖", "# Title", "markdown"),
        ("    total = 2\n    ‖", "    total = 2", "python"),
    ],
)
def test_the_line_before_is_not_doubled(marked: str, wrote: str, language: str) -> None:
    assert taken(marked, wrote, language, INVOKED) is None


@pytest.mark.parametrize("trigger", Trigger)
@pytest.mark.parametrize(
    ("marked", "wrote", "becomes"),
    [
        ('s = "‖"', 'abc"', 's = "abc"'),
        ("s = '‖'", "abc'", "s = 'abc'"),
        ("s = `‖`", "abc`", "s = `abc`"),
        ('s = """‖"""', 'abc"""', 's = """abc"""'),
        ("f(g(‖))", "x))", "f(g(x))"),
        ("f(g(‖))", "x)", "f(g(x))"),
        ("f(g(‖))", "h(x))) + 1", "f(g(h(x)))"),
        ("f([‖])", "1, 2])", "f([1, 2])"),
        ("{‖}", '"a": 1}', '{"a": 1}'),
        ("f(‖);", "a, b);", "f(a, b);"),
        ("f(‖) + 1", "x) + 1", "f(x) + 1"),
        ("f(‖) + 1", "x) + 2", "f(x) + 1"),
        ("f(‖)", "g(x", "f(g)"),
        ("f(a, ‖)", "[1, 2", None),
        ("他说「‖」。", "你好」。", "他说「你好」。"),
        ("（见‖）", "第三章）", "（见第三章）"),
        ("【‖】", "待补】", "【待补】"),
        ("**‖**", "bold** text", "**bold**"),
    ],
)
def test_what_an_editor_closed_is_not_closed_again(
    marked: str, wrote: str, becomes: str | None, trigger: Trigger
) -> None:
    assert taken(marked, wrote, "python", trigger) == becomes


@pytest.mark.parametrize(
    ("marked", "wrote", "becomes"),
    [
        ("[1, 2‖, 4]", ", 3,", "[1, 2, 3, 4]"),
        ("f(a‖, c)", ", b, c)", "f(a, b, c)"),
        ("f(a‖; c)", "; b;", "f(a; b; c)"),
        ("苹果‖，梨", "，香蕉，", "苹果，香蕉，梨"),
        ("x = ‖ + 1", "y + 1", "x = y + 1"),
        ("return ‖ if a else b", "c if a else b", "return c if a else b"),
        (
            "确定新版本的‖，由产品部负责。",
            "发布日期，由产品部",
            "确定新版本的发布日期，由产品部负责。",
        ),
    ],
)
def test_the_rest_of_the_line_stands_once(marked: str, wrote: str, becomes: str) -> None:
    assert taken(marked, wrote, "python", INVOKED) == becomes


@pytest.mark.parametrize("trigger", Trigger)
@pytest.mark.parametrize(
    ("marked", "wrote"),
    [
        ("foo‖ bar", "  "),
        ("foo‖", "\n  "),
        ("foo‖\n", "\n\n\n"),
        ("foo‖", "\t"),
        ("‖", " \n \n"),
        ("你好‖", " "),
        ("你好‖", "\u3000\u200b"),
    ],
)
def test_what_cannot_be_seen_is_not_shown(marked: str, wrote: str, trigger: Trigger) -> None:
    assert taken(marked, wrote, "markdown", trigger) is None


@pytest.mark.parametrize(
    ("marked", "wrote", "becomes"),
    [
        ("foo ‖", " bar", "foo bar"),
        ("foo ‖", "   bar", "foo bar"),
        ("foo‖ bar", " and ", "foo and bar"),
        ("今天‖", " 天气 很好", "今天天气很好"),
        ("今天‖很好", " 天气 ", "今天天气很好"),
    ],
)
def test_blanks_are_not_doubled(marked: str, wrote: str, becomes: str) -> None:
    assert taken(marked, wrote, "markdown", INVOKED) == becomes


@pytest.mark.parametrize(
    ("marked", "wrote", "language", "becomes"),
    [
        ("\t- a\n‖", " - b", "markdown", "\t- a\n\t- b"),
        ("\t- a\n‖", "    - b", "markdown", "\t- a\n\t- b"),
        ("\t- a‖", "\n  - b\n  - c", "markdown", "\t- a\n\t- b\n\t- c"),
        ("if a:\n\tb\n\tif c:‖", "\n        d", "python", "if a:\n\tb\n\tif c:\n\t\td"),
        ("if a:\n  b\nif c:‖", "\n    d", "python", "if a:\n  b\nif c:\n  d"),
        ("if a:\n    b\nif c:‖", "\n\td", "python", "if a:\n    b\nif c:\n    d"),
    ],
)
def test_lines_are_indented_as_the_document_is(
    marked: str, wrote: str, language: str, becomes: str
) -> None:
    assert taken(marked, wrote, language, INVOKED) == becomes


@pytest.mark.parametrize("trigger", Trigger)
@pytest.mark.parametrize(
    ("marked", "wrote", "becomes"),
    [
        ("def f():\n    ‖", "    return x", "def f():\n    return x"),
        ("def f():\n    ‖", "return x", "def f():\n    return x"),
        ("def f():\n‖", "    return x", "def f():\n    return x"),
        ("def f():\n\t‖", "\treturn x", "def f():\n\treturn x"),
        ("if a:\n    if b:\n    ‖", "        c", "if a:\n    if b:\n        c"),
        ("a\n‖", "b", "a\nb"),
        ("a\n\n‖", "b", "a\n\nb"),
    ],
)
def test_a_blank_line_is_indented_once(
    marked: str, wrote: str, becomes: str, trigger: Trigger
) -> None:
    assert taken(marked, wrote, "python", trigger) == becomes


def test_inside_a_line_something_comes_when_asked() -> None:
    assert taken("longer ‖ line", "and better", "markdown", INVOKED) == "longer and better line"
    assert taken("longer ‖ line", "and better", "markdown") == "longer and better line"
    assert taken("exam‖ple", "ination, for exam", "markdown", INVOKED) == (
        "examination, for example"
    )
    assert taken("exam‖ple", "ination, for exam", "markdown") is None


@pytest.mark.parametrize("trigger", Trigger)
@pytest.mark.parametrize("eol", ["\r\n", "\n", "\r"])
@pytest.mark.parametrize("wrote", ["b\r\nc", "b\rc", "b\nc", "b\r\n", "\r\nb\r"])
def test_no_line_end_but_the_document_s(wrote: str, eol: str, trigger: Trigger) -> None:
    becomes = taken(f"x = a{eol}y = ‖{eol}", wrote, "python", trigger)
    assert not {"\r", "\n"} & set((becomes or "").replace(eol, ""))


@pytest.mark.parametrize("trigger", Trigger)
@pytest.mark.parametrize(
    "special",
    [
        "<|im_end|>",
        "<|file_separator|>",
        "<|endoftext|>",
        "<|fim_middle|>",
        "<|mask|>",
        "<｜end▁of▁sentence｜>",
        "</s>",
        "<|im_e",
    ],
)
def test_special_tokens_do_not_leak(special: str, trigger: Trigger) -> None:
    assert taken("a = ‖", f"b{special}", "python", trigger) == "a = b"
    assert taken("a = ‖", special, "python", trigger) is None


def test_special_tokens_of_the_user_survive() -> None:
    marked = "The end is <|im_end|> and ‖ is <|mask|>.\n"
    becomes = "The end is <|im_end|> and this is <|mask|>.\n"
    assert taken(marked, "this", "markdown", INVOKED) == becomes


@pytest.mark.parametrize(
    ("marked", "wrote", "language", "becomes"),
    [
        ("‖", "```markdown\nText\n```", "markdown", "Text"),
        ("‖", "```\nText\n```", "plaintext", "Text"),
        ("x = 1\n‖", "```python\ny = 2\n```", "python", "x = 1\ny = 2"),
        ("‖", "````markdown\nA\n```sh\nls\n```\n````", "markdown", "A\n```sh\nls\n```"),
        ("‖", "```markdown\nA\n```sh\nls\n```\nB\n```", "markdown", "A\n```sh\nls\n```\nB"),
        ("Run:\n‖", "```sh\nls\n```\nThen", "markdown", "Run:\n```sh\nls\n```\nThen"),
        ("```python\nx = ‖\n```\n", "1\n```\nText", "markdown", "```python\nx = 1\n```\n"),
        (
            "````\n```\nx‖\n```\n````\n",
            " = 1\n````\nText",
            "markdown",
            "````\n```\nx = 1\n```\n````\n",
        ),
        ("````\n‖", "```\nx\n```\ny", "markdown", "````\n```\nx\n```\ny"),
    ],
)
def test_fences(marked: str, wrote: str, language: str, becomes: str) -> None:
    assert taken(marked, wrote, language, INVOKED) == becomes


@pytest.mark.parametrize(
    ("marked", "wrote", "becomes"),
    [
        ("The plan is‖", " good. We go.", "The plan is good."),
        ("今天天气‖", "很好。我们去公园。", "今天天气很好。"),
        ("- ‖", "- milk\n- bread", "- milk"),
        ("1. a\n2. b\n‖", "1. c", "1. a\n2. b\n3. c"),
        ("# ‖", "# Title\n\nText", "# Title"),
        ("> ‖", "> said\n> more", "> said"),
        ("| a | b |\n|---|---|\n| ‖", "1 | 2 | 3 |\n| 4 |", "| a | b |\n|---|---|\n| 1 | 2 |"),
        ("| a | b |\n|---|---|\n| 1 | ‖ |", "2 |", "| a | b |\n|---|---|\n| 1 | 2 |"),
        ("---\ntitle: ‖\n---\n", "Notes\n---", "---\ntitle: Notes\n---\n"),
        ("---\ntitle: a\n‖\n---\n", "---", None),
    ],
)
def test_prose_goes_on_by_a_line_or_a_sentence(
    marked: str, wrote: str, becomes: str | None
) -> None:
    assert taken(marked, wrote, "markdown") == becomes
