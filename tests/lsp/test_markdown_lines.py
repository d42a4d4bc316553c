"""Lists, tables, headings and front matter: what a line of them may become."""

from __future__ import annotations

import pytest

from clover_lsp.postprocess import markdown_lines as rules


@pytest.mark.parametrize(
    ("before", "answer", "kept"),
    [
        ("- ", "- milk", "milk"),
        ("  - ", "* milk", "milk"),
        ("1. ", "1. open it", "open it"),
        ("2. ", "3) open it", "open it"),
        ("- [ ] ", "- [x] milk", "milk"),
        ("- [ ] ", "[ ] milk", "milk"),
        ("-", "- milk", " milk"),
        ("## ", "## Title", "Title"),
        ("#", "# Title", "# Title"),
        ("> ", "> quoted", "quoted"),
        ("1、", "1、第一项", " 第一项"),
        ("- ", "milk", "milk"),
        ("- a ", "- b", "- b"),
        ("", "- milk", "- milk"),
        ("- ", "-1 is less", "-1 is less"),
    ],
)
def test_a_sign_stands_once(before: str, answer: str, kept: str) -> None:
    assert rules.without_marker(answer, before) == kept


@pytest.mark.parametrize(
    ("before", "answer", "comment", "kept"),
    [
        ("# ", "# a note", "#", "a note"),
        ("    //", "// a note", "//", " a note"),
        ("# ", "## a note", "", "## a note"),
        ("- ", "- 1", "#", "- 1"),
    ],
)
def test_a_comment_is_begun_once(before: str, answer: str, comment: str, kept: str) -> None:
    assert rules.without_marker(answer, before, comment, prose=False) == kept


@pytest.mark.parametrize(
    ("above", "before", "answer", "kept"),
    [
        ("1. a\n2. b\n3. c\n", "", "1. d", "4. d"),
        ("1. a\n", "", "5. d\n9. e", "2. d\n3. e"),
        ("1. a\n1. b\n", "", "3. c", "1. c"),
        ("1) a\n", "", "2. b", "2) b"),
        ("1、甲\n2、乙\n", "", "1、丙", "3、丙"),
        ("（1）甲\n", "", "（2）乙", "（2）乙"),
        ("（1）甲\n（2）乙\n", "", "（1）丙", "（3）丙"),
        ("(1) a\n", "", "2. b", "(2) b"),
        ("- a\n", "", "1. b", "- b"),
        ("1. a\n\n- b\n- c\n\n", "", "2. d", "2. d"),
        ("- a\n", "", "* b", "- b"),
        ("* a\n  - b\n", "", "- c", "* c"),
        ("* a\n  - b\n", "", "  * c", "  - c"),
        ("1. a\n   - b\n", "", "5. c", "2. c"),
        ("1. a\n   wrapped\n", "", "5. c", "2. c"),
        ("1. a\n\n", "", "5. c", "2. c"),
        ("", "2. b", "\n7. c\n8. d", "\n3. c\n4. d"),
        ("  1. a\n", "  ", "1. b", "2. b"),
        ("1. a\n\nText.\n\n", "", "1. b", "1. b"),
        ("1. a\n", "", "- b", "2. b"),
        ("text\n", "", "- b", "- b"),
        ("1. a\n", "", "text", "text"),
    ],
)
def test_items_go_on_with_their_list(above: str, before: str, answer: str, kept: str) -> None:
    assert rules.continued_items(answer, before, above) == kept


HEAD = "| a | b |\n|---|---|\n"


@pytest.mark.parametrize(
    ("before", "rest", "answer", "kept"),
    [
        ("| ", "", "1 | 2 |", "1 | 2 |"),
        ("| ", "", "1 | 2 | 3 |", "1 | 2 |"),
        ("| ", "", "1 | 2", "1 | 2 |"),
        ("| ", "", "1", "1"),
        ("| 1 | ", " |", "2", "2"),
        ("| 1 | ", " |", "2 | 3", "2 "),
        ("| ", " | 2 |", "1", "1"),
        ("| 1 | 2 |", "", " 3 |", ""),
        ("", "", "| 一 | 二 |", "| 一 | 二 |"),
        ("", "", "| 一 | 二 | 三 |", "| 一 | 二 |"),
        ("| ", "", r"a \| b | c |", r"a \| b | c |"),
    ],
)
def test_a_row_has_the_columns_of_its_table(before: str, rest: str, answer: str, kept: str) -> None:
    assert rules.within_table(answer, before, rest, HEAD, "") == kept


def test_the_first_row_of_a_table_is_free_but_for_rows_below() -> None:
    assert rules.within_table("a | b | c |", "| ", "", "text\n", "") == "a | b | c |"
    assert rules.within_table("a | b | c |", "| ", "", "text\n", "|---|---|\n") == "a | b |"


@pytest.mark.parametrize(
    ("answer", "kept"),
    [("a\n---\nb", "a"), ("---", ""), ("a: b\n+++", "a: b"), ("a --- b", "a --- b")],
)
def test_front_matter_does_not_end_twice(answer: str, kept: str) -> None:
    assert rules.without_rule(answer) == kept
