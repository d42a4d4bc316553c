"""The table of contents: what it lists, where it stands, and what it leaves alone."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from clover_templates.edit import Edit, applied
from clover_templates.slug import Style
from clover_templates.toc import TocError, TocOptions, toc_edit

# what the outline and the Markdown grammar look at, so that they meet often
PIECES = st.sampled_from(
    [
        *(
            "# ",
            "## ",
            "### ",
            "#",
            "a",
            "中文",
            "①",
            "🍀",
            "！",
            "*",
            "_",
            "`",
            "```",
            "~~~",
            "  ",
        ),
        *("\n", "\n\n", "\r\n", "\r", "---", "===", "- ", "* ", "1. ", "> ", "    ", "\t", "|"),
        *("<!-- toc -->", "<!-- tocstop -->", "<!--", "-->", "<div>", "[a](#a)", "[[#a]]", "[b]"),
        *("[b]: c\n", "](", "$$", "%%", "\\", "&amp;", "<b>", "![i](j)", "\ufeff", "\0", "\ud83d"),
        *("<!-- TOC -->", "<!-- START doctoc x -->", "<!-- END doctoc x -->", "- [a](#a)\n"),
    ]
)
TEXTS = st.lists(PIECES, max_size=40).map("".join) | st.text()
STYLES = st.sampled_from([None, *Style])


def encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def with_toc(text: str, style: Style | None = None, lowest: int = 1, highest: int = 6) -> str:
    """The text with its table, after a look at what a second run does."""
    options = TocOptions(style, lowest, highest)
    source = encoded(text)
    edit = toc_edit(source, options)
    result = applied(source, [edit] if edit else [])
    assert toc_edit(result, options) is None
    return result.decode("utf-8", "surrogatepass")


def listed(text: str, style: Style | None = None, lowest: int = 1, highest: int = 6) -> list[str]:
    """The lines of the table that a text without one gets."""
    result = with_toc(text, style, lowest, highest).replace("\r\n", "\n")
    table = re.search(r"<!-- toc.* -->\n\n(.*)\n\n<!-- tocstop -->\n", result, re.DOTALL)
    assert table
    return table[1].split("\n")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("# T\n\n## A\n", "# T\n\n@\n\n## A\n"),
        ("# T\ntext\n## A\n", "# T\n\n@\n\ntext\n## A\n"),
        ("T\n===\n## A", "T\n===\n\n@\n\n## A"),
        ("badge\n\n# T\n## A\n", "badge\n\n# T\n\n@\n\n## A\n"),
        ("## A\n", "@\n\n## A\n"),
        ("\ufeff## A\n", "\ufeff@\n\n## A\n"),
        ("---\nx: 1\n---\n## A\n", "---\nx: 1\n---\n\n@\n\n## A\n"),
        ("---\nx: 1\n---\n\n## A\n", "---\nx: 1\n---\n\n@\n\n## A\n"),
        ("\ufeff---\nx: 1\n---\n# T\n## A\n", "\ufeff---\nx: 1\n---\n# T\n\n@\n\n## A\n"),
        ("+++\nx = 1\n+++\n## A\n", "+++\nx = 1\n+++\n\n@\n\n## A\n"),
        ("---\n\n## A\n", "@\n\n---\n\n## A\n"),
        ("# T\n<!-- toc -->\n## A\n", "# T\n@\n\n## A\n"),
        ("# T\n\ntext\n\n<!-- TOC -->\n\n## A\n", "# T\n\ntext\n\n<!-- TOC -->@\n\n## A\n"),
    ],
)
@pytest.mark.parametrize("eol", ["\n", "\r\n"])
def test_one_table_goes_behind_the_title_or_where_the_text_begins(
    before: str, after: str, eol: str
) -> None:
    table = "\n\n- [A](#a)\n\n<!-- tocstop -->"
    marker = "" if "<!-- TOC -->@" in after else "<!-- toc -->"
    expected = after.replace("@", marker + table).replace("\n", eol)
    assert with_toc(before.replace("\n", eol)) == expected


@pytest.mark.parametrize(
    ("first", "last"),
    [
        ("<!-- toc -->", "<!-- tocstop -->"),
        ("<!--TOC-->", "<!-- /TOC -->"),
        ("<!-- TOC -->", "<!-- TOC -->"),
        ("<!-- toc depthFrom:2 depthTo:2 -->", "<!-- /toc -->"),
        ("<!-- START doctoc generated TOC -->\n<!-- DON'T EDIT -->", "<!-- END doctoc -->"),
        ("<!-- START doctoc -->\n**Contents** *generated with [x](y)*", "<!-- END doctoc -->"),
        ("<!--ts-->", "<!--te-->"),
    ],
)
@pytest.mark.parametrize("old", ["* [Gone](#gone)\n   * [Too](#too)\n", "* [A](#a)\n", "", "\n"])
def test_only_the_list_between_known_markers_changes(first: str, last: str, old: str) -> None:
    head, tail = f"# T\n\nhand\n\n{first}\n", f"{last}\n\n* [hand](https://a.b)\n\n## A\n## B\n"
    result = with_toc(f"{head}{old}{tail}")
    assert result.startswith(head)
    assert result.endswith(tail)
    between = result[len(head) : -len(tail)].split("\n")
    assert [line for line in between if line] == ["* [A](#a)", "* [B](#b)"]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        # 4.3: anchors by the text that is shown
        ("## [Unreleased]\n\n[Unreleased]: https://a.b", ["- [Unreleased](#unreleased)"]),
        ("## [Unreleased]", [r"- [\[Unreleased\]](#unreleased)"]),
        ("## [a](b) and [c][d]\n\n[d]: e", ["- [a and c](#a-and-c)"]),
        ("## `a_b` _c_ **d** ~~e~~ f_g", ["- [`a_b` c d e f_g](#a_b-c-d-e-f_g)"]),
        ("## ``a`b``", ["- [``a`b``](#ab)"]),
        ("## <https://a.b> &amp; &lt;c&gt;", [r"- [https://a.b & \<c>](#httpsab--c)"]),
        ("## ![logo](x) Name", ["- [logo Name](#-name)"]),
        ('## <a name="x"></a>Old', ["- [Old](#old)"]),
        ("## a\\_b\\*", [r"- [a_b\*](#a_b)"]),
        ("## note[^1]", ["- [note](#note1)"]),
        ("## **重点。**继续", [r"- [\*\*重点。\*\*继续](#重点继续)"]),
        ("## （一）总体", ["- [（一）总体](#一总体)"]),
        ("## ①第一步", ["- [①第一步](#第一步)"]),
        ("## ⚙️ 设置", ["- [⚙️ 设置](#\ufe0f-设置)"]),
        ("## 𝒳 μ ・ b", ["- [𝒳 μ ・ b](#𝒳-μ--b)"]),
        ("## ！？\n## A", ["- ！？", "- [A](#a)"]),
        ("## +\n## A", [r"- \+", "- [A](#a)"]),
        ("## \n## A", ["- [A](#a)"]),
        (
            "## A\n### A\n## A 1\n## A",
            ["- [A](#a)", "  - [A](#a-1)", "- [A 1](#a-1-1)", "- [A](#a-2)"],
        ),
        # closing signs, two lines, no end
        ("## A ##  \n## B#\n## C \\#", ["- [A](#a)", "- [B#](#b)", "- [C #](#c-)"]),
        ("two\nlines\n---", ["- [two lines](#twolines)"]),
        ("## last", ["- [last](#last)"]),
        # what is no heading, or not at the top level
        ("```\n## no\n```\n~~~ a`b\n## no\n~~~\n## A", ["- [A](#a)"]),
        ("````js title='a/b.md'\n```\n## no\n````\n## A", ["- [A](#a)"]),
        ("    ## no\n\n## A", ["- [A](#a)"]),
        ("> ## no\n\n- ## no\n\n## A", ["- [A](#a)"]),
        ("<details>\n## no\n\n</details>\n\n## A", ["- [A](#a)"]),
        ("<!--\n## no\n-->\n## A", ["- [A](#a)"]),
        ("$$\n## no\n$$\nlate\n---\n", ["- [late](#late)"]),
        ("%% hidden\n## no\n%%\n## A", ["- [A](#a)"]),
        ("$$ a $$\n## A\n$$\n", ["- [A](#a)"]),
        ("```\n$$\n```\n## A\n```\n$$\n```", ["- [A](#a)"]),
        ("| a |\n|---|\n| 1 |\n|  |\n\n## A", ["- [A](#a)"]),
        ("#tag\n##二级\n＃ 标题\n#\u3000x\n#\u00a0x\n\n## A", ["- [A](#a)"]),
        ("## A <!-- omit in toc -->\n## B\n## A", ["- [B](#b)", "- [A](#a)"]),
        # levels
        ("### A\n## B\n#### C\n### D", ["- [A](#a)", "- [B](#b)", "  - [C](#c)", "  - [D](#d)"]),
    ],
)
@pytest.mark.parametrize("eol", ["\n", "\r\n"])
def test_what_is_listed_and_how(text: str, lines: list[str], eol: str) -> None:
    assert listed(f"# T\n\n{text}".replace("\n", eol)) == lines


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("---\n# x\nhtml: true\n---\n## A", ["- [A](#a)"]),
        ("\ufeff---\n# x\nhtml: true\n---\n## A", ["- [A](#a)"]),
        ("---\na: 1\n---\n---\nb\n---\n## A", ["- [b](#b)", "- [A](#a)"]),
        ("---\na\n## b\n", ["- [b](#b)"]),
        ("# A\n# B\n", ["- [A](#a)", "- [B](#b)"]),
        ("# A\r# B\r", None),
    ],
)
def test_front_matter_is_no_heading(text: str, lines: list[str] | None) -> None:
    if lines:
        assert listed(text) == lines
    else:
        assert with_toc(text).startswith("<!-- toc -->\r\r- [A](#a)\r- [B](#b)\r\r<!-- tocstop")


@pytest.mark.parametrize(
    ("style", "lines"),
    [
        (Style.GITHUB, ["- [A & B](#a--b)", "  - [A & B](#a--b-1)"]),
        (Style.GITLAB, ["- [A & B](#a-b)", "  - [A & B](#a-b-1)"]),
        (Style.VSCODE, ["- [A & B](#a--b)", "  - [A & B](#a--b-1)"]),
        (Style.OBSIDIAN, ["- [[#A & B]]", "  - [[#A & B#A & B|A & B]]"]),
    ],
)
def test_each_style_links_as_its_page_does(style: Style, lines: list[str]) -> None:
    assert listed("# T\n## A & B\n### A & B\n", style) == lines


@pytest.mark.parametrize(
    ("heading", "line"),
    [
        ("[Unreleased]", "- [[#Unreleased]]"),
        ("a | b: c ^d #e %%f%%", "- [[#a b c d e f]]"),
        ("see [[Note|alias]]", "- [[#see Note alias|see alias]]"),
        ("**bold** `x`", "- [[#**bold** `x`|bold x]]"),
        ("！？", "- [[#！？]]"),
        ("中文 标题", "- [[#中文 标题]]"),
        ("[x](y#z)", "- [[#x (y z)|x]]"),
    ],
)
def test_obsidian_links_are_headings_without_what_breaks_a_link(heading: str, line: str) -> None:
    assert listed(f"# T\n## {heading}\n## Z", Style.OBSIDIAN) == [line, "- [[#Z]]"]


def test_a_table_keeps_the_style_it_has() -> None:
    table = "<!-- toc -->\n\n+ [[#A]]\n    + [[#B]]\n\n<!-- tocstop -->\n\n"
    assert with_toc(f"{table}## A\n### B\n") == f"{table}## A\n### B\n"
    assert "\n+ [[#A]]\n    + [[#B]]\n    + [[#C]]\n" in with_toc(f"{table}## A\n### B\n### C\n")
    numbered = "<!-- toc -->\n1) [A](#a)\n\t2) [B](#b)\n<!-- tocstop -->\n## A\n### B\n"
    assert "-->\n1) [A](#a)\n\t1) [B](#b)\n<!--" in with_toc(numbered)
    # six blanks would make the nested item code
    deep = "<!-- toc -->\n- [A](#a)\n      - [B](#b)\n<!-- tocstop -->\n## A\n### B\n"
    assert "-->\n- [A](#a)\n  - [B](#b)\n<!--" in with_toc(deep)


@pytest.mark.parametrize("bullet", ["-", "*", "+"])
@pytest.mark.parametrize("indent", ["  ", "   ", "    ", "\t"])
def test_a_new_table_is_written_as_the_lists_of_the_document(bullet: str, indent: str) -> None:
    text = f"# T\n## A\n### B\n1. x\n\n{bullet} x\n{indent}{bullet} y\n"
    assert listed(text) == [f"{bullet} [A](#a)", f"{indent}{bullet} [B](#b)"]


def test_levels_that_are_not_listed_count_for_anchors_and_stay_in_the_marker() -> None:
    text = "# T\n## A\n### A\n## A\n"
    assert listed(text, lowest=3) == ["- [A](#a-1)"]
    once = with_toc(text, highest=2)
    assert "<!-- toc depthTo:2 -->\n\n- [A](#a)\n- [A](#a-2)\n\n" in once
    assert toc_edit(once.encode()) is None


def test_the_levels_of_a_marker_count_more_than_those_asked_for() -> None:
    text = "<!-- toc depthFrom:2 depthTo:2 -->\n<!-- tocstop -->\n# A\n## B\n### C\n"
    assert "-->\n\n- [B](#b)\n\n<!--" in with_toc(text, lowest=1, highest=6)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "1:1: no heading"),
        ("text\n", "1:1: no heading"),
        ("# T\n", "2:1: no heading"),
        ("## A\n<!-- toc -->\n", "3:1: no heading"),
        ("<!-- toc -->\n- [a](b.md)\n<!-- tocstop -->\n# A\n", "2:1: the list between"),
        ("<!-- toc -->\n- milk\n- eggs\n<!-- tocstop -->\n# A\n", "2:1: the list between"),
        ("<!-- toc -->\n- [a](#a)\n- [[B]]\n<!-- tocstop -->\n# A\n", "2:1: the list between"),
        ("<!-- toc -->\n\n1. [a](#a) x\n<!-- tocstop -->\n# A\n", "3:1: the list between"),
    ],
)
def test_what_cannot_be_done_is_refused_with_its_place(text: str, message: str) -> None:
    with pytest.raises(TocError, match=f"^{message}"):
        toc_edit(text.encode())


@pytest.mark.parametrize(
    "text",
    [
        # a table with other markers, in code, or none
        "# A\n",
        "[TOC]\n\n# A\n",
        "```\n<!-- toc -->\n<!-- tocstop -->\n```\n# A\n",
        "> <!-- toc -->\n> <!-- tocstop -->\n\n# A\n",
        "`<!-- toc -->`\n\n`<!-- tocstop -->`\n\n# A\n",
        "<!-- tocstop -->\n# A\n",
        "<!-- toc of the book -->\n<!-- tocstop -->\n# A\n",
        # markers that belong to no one table: their lists are not its
        "<!-- toc -->\n# A\n- [a](b)\n\n<!-- tocstop -->\n",
        "<!-- toc -->\n# A\n- [a](#a)\n- [b](c)\n\n<!-- tocstop -->\n",
        "<!-- toc -->\n- [a](#a)\n\n# A\n<!-- tocstop -->\n",
    ],
)
def test_on_save_only_a_table_between_two_markers_is_touched(text: str) -> None:
    assert toc_edit(text.encode(), insert=False) is None


def test_what_else_stands_between_the_markers_stays() -> None:
    text = (
        "<!-- toc -->\n## Contents\n\nsee\n* [A](#a)\n\n* [Old](#old)\nhand-written\n"
        "<!-- tocstop -->\n## A\n"
    )
    assert with_toc(text) == text.replace("\n\n* [Old](#old)", "")
    assert with_toc("<!-- toc -->\nsee\n<!-- tocstop -->\n## A\n") == (
        "<!-- toc -->\nsee\n\n- [A](#a)\n\n<!-- tocstop -->\n## A\n"
    )


def test_a_table_is_emptied_with_its_last_heading() -> None:
    text = "<!-- toc -->\n\n- [A](#a)\n\n<!-- tocstop -->\n\ntext\n"
    assert with_toc(text) == text.replace("- [A](#a)", "")


@given(TEXTS, STYLES, st.integers(1, 6), st.integers(1, 6), st.booleans())
def test_of_any_text_a_second_run_changes_nothing_and_the_first_nothing_outside(
    text: str, style: Style | None, lowest: int, highest: int, insert: bool
) -> None:
    source, options = encoded(text), TocOptions(style, lowest, highest)
    try:
        edit = toc_edit(source, options, insert=insert)
    except TocError:
        return
    if edit is None:
        return
    result = applied(source, [edit])
    assert toc_edit(result, options, insert=insert) is None
    assert kept_outside(source, edit)
    assert result.startswith(source[: edit.start])
    assert result.endswith(source[edit.end :])


def kept_outside(source: bytes, edit: Edit) -> bool:
    """Whether all that an edit takes away is a list between two markers, or nothing."""
    gone = source[edit.start : edit.end]
    before, after = source[: edit.start], source[edit.end :]
    between = b"<!--" in before and b"<!--" in after
    lines = re.split(rb"[\r\n]+", gone)
    items = all(re.match(rb"[ \t]*(?:[-*+]|\d+[.)])(?:[ \t]|$)|$", line) for line in lines)
    return not gone or (between and items)


HEADINGS = st.lists(
    st.tuples(
        st.integers(1, 6),
        st.lists(
            st.sampled_from(
                [
                    *(
                        "Foo",
                        "bar",
                        "1",
                        "中文",
                        "（一）",
                        "①",
                        "🍀",
                        "！",
                        "&",
                        "-",
                        "_",
                        "__",
                        "*",
                    ),
                    *("**b**", "_e_", "`c_d`", "[l](m)", "[r]", "[r][s]", "<i>", "</i>", "<"),
                    *("&lt;", "\\*", "[^1]", "![p](q)", "~~s~~", "É", "e\u0301", "#", "]", "["),
                    *("x<y", "a*b", "http://u.v", "%", "w\u00a0w", "“q”", "**“k”**的", "``g`h``"),
                ]
            ),
            max_size=5,
        ),
        st.sampled_from(["", " ", "  "]),
    ),
    max_size=6,
)


@given(HEADINGS, st.sampled_from(["\n", "\r\n"]))
def test_each_link_is_the_anchor_of_its_heading_and_shows_its_text(
    headings: list[tuple[int, list[str], str]], eol: str
) -> None:
    lines = [f"{'#' * level} {gap.join(parts)}" for level, parts, gap in headings]
    agrees_with_oracle(eol.join(["# T", "text", *lines, "", "[r]: x", "", "[s]: y"]))


def agrees_with_oracle(text: str) -> int:
    """How many entries were compared: another parser and slugger say what they must be."""
    try:
        result = with_toc(text)
    except TocError:
        return 0
    table, headings = oracle(result)
    # what shows nothing cannot be listed, what has no anchor not be linked to
    assert table == [each for each in headings if all(each)]
    return len(headings)


def oracle(text: str) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """(text, anchor) of the table's links, and of the headings below it."""
    body = re.sub(r"\A\ufeff?(?:---\s*\n(?=\S)(?:.*\n)*?(?:---|\.\.\.)\s*\n)?", "", text)
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(body)
    links: list[tuple[str, str]] = []
    headings: list[tuple[str, str]] = []
    taken: Counter[str] = Counter()
    below = inside = False
    for token, content in zip(tokens, [*tokens[1:], None], strict=True):
        if token.type == "html_block" and token.content.strip() in ("<!-- toc -->", STOP):
            below = token.content.strip() == STOP
            inside = not below
        elif token.type == "inline" and inside:
            links += shown_links(token)
        elif token.type == "heading_open" and token.level == 0 and content:
            plain = "".join(visible(content, images=False))
            anchor = slug(plain, taken)
            if below:
                headings.append((" ".join("".join(visible(content, images=True)).split()), anchor))
    return links, headings


def shown_links(token: Token) -> Iterator[tuple[str, str]]:
    children = token.children or []
    assert [child.type for child in children if "link" in child.type] in (
        [],
        ["link_open", "link_close"],
    )
    if children and children[0].type == "link_open":
        text = " ".join("".join(visible(token, images=True)).split())
        yield text, unquote(str(children[0].attrGet("href"))).removeprefix("#")


def visible(token: Token, images: bool) -> Iterator[str]:
    for child in token.children or []:
        if child.type in ("text", "code_inline"):
            yield re.sub(r"\[\^[^\]\s]+\]", "", child.content) if images else child.content
        elif child.type == "image" and images:
            yield from visible(child, images)
        elif images and child.type.endswith("break"):
            yield " "


def slug(text: str, taken: Counter[str]) -> str:
    """GitHub's rule said once more, by the categories of Unicode."""
    kept = [
        sign
        for sign in text.lower()
        if sign in " -"
        or unicodedata.category(sign)[0] in "LM"
        or unicodedata.category(sign) in KEPT
    ]
    base = anchor = "".join(kept).replace(" ", "-")
    while anchor in taken:
        taken[base] += 1
        anchor = f"{base}-{taken[base]}"
    taken[anchor] = 0
    return anchor if base else ""


STOP = "<!-- tocstop -->"
KEPT = ("Nd", "Nl", "Pc")


def markdown_files() -> Iterator[Path]:
    """The Markdown files of the installed packages and of the system's documentation."""
    packages = Path(pytest.__file__).parents[1]
    for folder in (packages, Path("/usr/share/doc"), Path("/usr/lib/node_modules")):
        found = sorted(path for path in folder.rglob("*.md") if path.is_file())
        # of the largest, changelogs, there are many alike: they take minutes
        yield from (path for path in found if path.stat().st_size <= 100_000)


@pytest.mark.slow
def test_on_every_file_found_it_is_idempotent_and_agrees_with_the_oracle() -> None:
    compared = 0
    for path in islice(markdown_files(), 1000):
        source = path.read_bytes()
        try:
            text = source.decode()
        except UnicodeDecodeError:
            continue
        for style in (Style.GITLAB, Style.VSCODE, Style.OBSIDIAN):
            try:
                edit = toc_edit(source, TocOptions(style))
            except TocError:
                continue
            if edit:
                assert toc_edit(applied(source, [edit]), TocOptions(style)) is None, path
        compared += agrees_with_oracle(text)
    assert compared > 0
