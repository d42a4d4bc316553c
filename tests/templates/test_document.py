"""How a document is cut into blocks, and that they join to it."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import example, given

from clover_templates.blocks import Kind, Style
from clover_templates.document import Document
from clover_templates.source import MAX_BYTES, DocumentError
from tests.support.documents import INCIDENT, LECTURE, REPORT, TEXTS


def cut(text: str) -> list[tuple[str, str]]:
    """The blocks of a text but the blank ones, as kind and text."""
    blocks = Document.of(text.encode()).blocks
    return [(block.kind.name, block.text) for block in blocks if block.kind is not Kind.BLANK]


def kinds(text: str) -> list[str]:
    return [kind for kind, _ in cut(text)]


def headings(text: str) -> list[tuple[int, str]]:
    blocks = Document.of(text.encode()).blocks
    return [(block.level, block.title) for block in blocks if block.kind is Kind.HEADING]


def assert_joins(data: bytes) -> None:
    """Blocks join to the document, items to their list, sentences to their block."""
    blocks = Document.of(data).blocks
    assert [block.start for block in blocks[1:]] == [block.end for block in blocks[:-1]]
    assert not data or (blocks[0].start, blocks[-1].end) == (0, len(data))
    for block in blocks:
        assert block.end > block.start
        for parts in ([item.span for item in block.items], block.sentences):
            if parts:
                assert (parts[0].start, parts[-1].end) == (block.start, block.end)
                assert all(left.end == right.start for left, right in pairwise(parts))
                assert all(data[part.start : part.end].decode() for part in parts)
        if block.heading:
            title = block.heading.title
            assert block.start <= title.start <= title.end <= block.end


@given(TEXTS)
@example("- x\n-")
@example("> [!note] a\n> > [!tip] b\n")
@example("$$\n# a\n")
@example("- a\n\n  $$\n  b\n  $$\n- c\n")
@example("a\n---")
@example("\ufeff---\r\na: 1\r\n---")
def test_parts_join_to_the_document(text: str) -> None:
    for data in (text, text.replace("\n", "\r\n"), text.replace("\n", "\r"), f"\ufeff{text}"):
        assert_joins(data.encode())


@pytest.mark.parametrize(
    "text",
    [
        *(">" * 3000, "> " * 3000 + "x", "[" * 20000, "- " * 3000 + "x", "[a](" * 20000),
        *("`".join(" " * 20000), "<!-- " * 20000, "$a " * 20000, "$$\n" * 20001, "%% a\n" * 20001),
        *("（《“" * 20000, "a. " * 50000, "http://" * 20000, "# " * 20000, "**a" * 20000),
        *(
            "一、甲\n二、乙\n" * 10000,
            "[^a]: b\n    c\n\n" * 5000,
            "".join("`" * n + " " for n in range(600)),
        ),
        "| a |\n|---|\n" + "|  |\n" * 20000,
    ],
    ids=lambda text: repr(text[:8]),
)
def test_no_shape_takes_more_than_its_length(text: str) -> None:
    assert_joins(text.encode())


@pytest.mark.parametrize("text", [REPORT, LECTURE, INCIDENT])
def test_articles_join_with_every_line_end(text: str) -> None:
    for end in ("\n", "\r\n", "\r"):
        assert_joins(text.replace("\n", end).encode())
        assert headings(text.replace("\n", end)) == headings(text)


@given(TEXTS)
def test_line_ends_do_not_change_the_headings(text: str) -> None:
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    found = headings(lines)
    assert [level for level, _ in headings(lines.replace("\n", "\r\n"))] == [n for n, _ in found]
    assert [level for level, _ in headings(lines.replace("\n", "\r"))] == [n for n, _ in found]


@pytest.mark.parametrize(
    ("text", "blocks"),
    [
        ("", []),
        ("\ufeff# H", ["BOM", "HEADING"]),
        ("---\na: 1\n---\n# H", ["FRONT_MATTER", "HEADING"]),
        ("+++\na = 1\n+++\n", ["FRONT_MATTER"]),
        ("---\na: 1\n---", ["FRONT_MATTER"]),
        ("---\n\ntext\n\n---\n", ["RULE", "PARAGRAPH", "RULE"]),
        ("---\na: 1\n", ["RULE", "PARAGRAPH"]),
        ("---\na: 1\n---\n---\nb: 1\n---\n", ["FRONT_MATTER", "RULE", "HEADING"]),
        ("a\n$$\n# b\n$$\nc\n", ["PARAGRAPH", "MATH", "PARAGRAPH"]),
        ("$$x = 1$$\n", ["MATH"]),
        ("- a\n- b\n\n$$\n# x\n$$\n\n- c\n", ["LIST", "MATH", "LIST"]),
        ("- a\n\n  $$\n  # x\n  $$\n- b\n", ["LIST"]),
        ("$$\n# b\n", ["PARAGRAPH", "HEADING"]),
        ("%%\n# hidden\n%%\n# H\n", ["COMMENT", "HEADING"]),
        ("```\n$$\n```\n# H\n$$\n", ["CODE", "HEADING", "PARAGRAPH"]),
        ("~~~\n```\n# a\n~~~\n", ["CODE"]),
        ("```\n# a\n", ["CODE"]),
        ("- a\n\n  ```\n  # b\n  ```\n- c\n", ["LIST"]),
        ("> ```\n> # a\n> ```\n", ["QUOTE"]),
        ("> [!warning]- Mind\n> # a\n>> [!tip] b\n", ["CALLOUT"]),
        ("    code\n", ["CODE"]),
        ("<details>\n# a\n</details>\n", ["HTML"]),
        ("| a | b |\n|---|---|\n| 1 | 2 |\n", ["TABLE"]),
        ("| a | b |\n|---|---|\n| 1 | 2 |\n|  |  |\n\n# H\n", ["TABLE", "HEADING"]),
        ("| a |\r|---|\r| 1 |\r|  |\r\r# H\r", ["TABLE", "HEADING"]),
        ("| a | b |\r\n|||\r\n\r\n# H\r\n", ["PARAGRAPH", "HEADING"]),
        ("[a]: http://x\n[b]: http://y\n", ["REFERENCES"]),
        ("[a]: http://x\ntext\n", ["REFERENCES", "PARAGRAPH"]),
        ("text\n[a]: http://x\n", ["PARAGRAPH"]),
        ("[^1]: one\n[^2]: two\n", ["FOOTNOTE", "FOOTNOTE"]),
        ("[^1]: one\n\n    more\n\ntext\n", ["FOOTNOTE", "PARAGRAPH"]),
        ("[a]: http://x\n[^1]: one\n", ["REFERENCES", "FOOTNOTE"]),
        ("text\n\n***\n", ["PARAGRAPH", "RULE"]),
        ("text\n---", ["HEADING"]),
        ("- x\n-", ["LIST"]),
        ("#tag\n\n＃ 标题\n\n#\u3000b\n", ["PARAGRAPH"] * 3),
    ],
)
def test_kinds(text: str, blocks: list[str]) -> None:
    assert kinds(text) == blocks


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("# a #\n## b\\#\n", [(1, "a"), (2, "b\\#")]),
        ("#\n", [(1, "")]),
        ("####### a\n", []),
        ("A\nB\n===\nC\n-", [(1, "A\nB"), (2, "C")]),
        ("> # q\n- # i\n", []),
        ("**A**\n\ntext\n\n__B__\n\ntext\n", [(2, "A"), (2, "B")]),
        # not safe: one alone, beside a heading, with a mark at the end, or not alone in its block
        ("**A**\n\ntext\n", []),
        ("# H\n\n**A**\n\n**B**\n", [(1, "H")]),
        ("**A:**\n\ntext\n\n**B.**\n", []),
        ("**A**\ntext\n\n**B**\ntext\n", []),
        ("**A** and **B**\n\n**C**\n", []),
    ],
)
def test_headings(text: str, found: list[tuple[int, str]]) -> None:
    assert headings(text) == found


def test_a_list_has_its_items_and_an_item_its_own_list() -> None:
    [block] = Document.of(b"- a\n  - b\n\n- cat. Dog.\n").blocks
    assert [item.text for item in block.items] == ["- a\n  - b\n\n", "- cat. Dog.\n"]
    assert [item.nested for item in block.items] == [True, False]
    assert [len(item.sentences) for item in block.items] == [1, 2]


def test_a_report_without_marks_has_headings() -> None:
    assert headings(REPORT) == [
        (1, "关于全市老旧小区加装电梯情况的调研报告"),
        (2, "基本情况"),
        (2, "主要问题"),
        (3, "意见难统一"),
        (3, "资金缺口大"),
        (4, "补贴标准偏低"),
        (4, "后期维护无着"),
        (2, "对策建议"),
    ]
    blocks = Document.of(REPORT.encode()).blocks
    run_in = [block.text for block in blocks if block.heading and block.heading.run_in]
    assert [text[:8] for text in run_in] == ["1.补贴标准偏低", "2.后期维护无着"]
    assert [kind for kind, _ in cut(REPORT)].count("TABLE") == 1
    assert cut(REPORT)[-1] == ("PARAGRAPH", "2026年8月1日")


def test_a_lecture_keeps_code_and_math_whole() -> None:
    assert headings(LECTURE) == [
        (1, "排序算法第三讲"),
        (2, "为什么要排序"),
        (2, "快速排序"),
        (2, "归并排序"),
    ]
    assert [kind for kind in kinds(LECTURE) if kind in ("CODE", "MATH")] == ["CODE", "MATH"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        # a title over two lines, below a document number
        (
            "某发〔2026〕5号\n某市人民政府办公室\n关于防汛工作的通知\n各区：\n一、甲\n乙。\n二、丙\n丁。",
            [(1, "某市人民政府办公室\n关于防汛工作的通知"), (2, "甲"), (2, "丙")],
        ),
        # no title: the first line ends in a mark
        ("各区：\n一、甲\n乙。\n二、丙\n丁。", [(2, "甲"), (2, "丙")]),
        # 1. and 2. without text below them are a list
        ("一、甲\n1.子\n2.丑\n二、乙\n完。", [(2, "甲"), (2, "乙")]),
        (
            "一、甲\n1.子\n正文。\n2.丑\n正文。\n二、乙",
            [(2, "甲"), (4, "子"), (4, "丑"), (2, "乙")],
        ),
        # whole sentences are items, not headings
        ("一、同意你局意见。\n二、请抓紧办理。", []),
        # names of attachments are no headings
        ("一、甲\n乙。\n二、丙\n丁。\n附件：1.名单\n2.表\n某局\n", [(2, "甲"), (2, "丙")]),
        # out of sequence
        ("一、甲\n二、乙\n五、丙\n", [(2, "甲"), (2, "乙")]),
        ("**一、甲**\n乙\n**二、丙**\n丁\n", [(2, "甲"), (2, "丙")]),
        ("# 标题\n一、甲\n二、乙\n", [(1, "标题"), (2, "甲"), (2, "乙")]),
        # Markdown's own headings rule
        ("# 标题\n\n## 一、甲\n\n## 二、乙\n", [(1, "标题"), (2, "一、甲"), (2, "二、乙")]),
        ("```\n一、甲\n二、乙\n```\n", []),
        ("一、只有一条\n正文", []),
    ],
)
def test_numbered_texts(text: str, found: list[tuple[int, str]]) -> None:
    assert headings(text) == found


def test_numbers_are_told_with_their_level() -> None:
    blocks = Document.of("一、甲\n（一）乙\n1.丙\n正文\n（1）丁\n正文\n二、戊\n".encode()).blocks
    numbers = [block.heading.number for block in blocks if block.heading]
    assert [(n.level, n.value) for n in numbers if n] == [(1, 1), (2, 1), (3, 1), (4, 1), (1, 2)]
    assert all(block.heading.style is Style.NUMBERED for block in blocks if block.heading)


def test_the_outline_is_a_tree_that_holds_every_block() -> None:
    document = Document.of(INCIDENT.encode())
    root = document.outline
    assert [(section.level, section.title) for section in root] == [
        (0, ""),
        (1, "Database outage"),
        (2, "Timeline"),
        (2, "Cause"),
        (2, "Follow-ups"),
    ]
    held = [
        block
        for section in root
        for block in (*([section.heading] if section.heading else []), *section.blocks)
    ]
    assert tuple(held) == document.blocks


def test_the_outline_of_jumping_levels() -> None:
    root = Document.of(b"### c\n# a\n### d\n## b\n").outline
    assert [child.title for child in root.children] == ["c", "a"]
    assert [child.title for child in root.children[1].children] == ["d", "b"]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"a\0b", "NUL at byte 1"),
        (b"caf\xe9", "not UTF-8 at byte 3"),
        ("中文".encode("utf-16"), "UTF-16"),
        (b"a" * (MAX_BYTES + 1), "10,000,000 are read at most"),
    ],
)
def test_what_is_no_text_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(DocumentError, match=message):
        Document.of(data)


def test_a_document_knows_its_bytes() -> None:
    source = Document.of("\ufeff甲\r\nb\r\nc\n".encode()).source
    assert (source.body_start, source.line_end, source.ends_with_line_end) == (3, b"\r\n", True)
    assert [source.place(at) for at in (3, 6, 8, 9)] == ["1:1", "1:2", "2:1", "2:2"]
    assert Document.of(b"").source.place(0) == "1:1"
