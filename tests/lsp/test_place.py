"""Where a cursor stands: kinds of lines, fences, front matter, comments; `‖` is the cursor."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clover_lsp.languages import language, language_of
from clover_lsp.place import NEAR_CHARS, Kind, place_at
from tests.support.cursor import at_cursor


def kind_at(marked: str, name: str = "markdown") -> Kind:
    return place_at(*at_cursor(marked), name).kind


@pytest.mark.parametrize(
    ("marked", "kind"),
    [
        ("te‖xt", Kind.PARAGRAPH),
        ("‖", Kind.PARAGRAPH),
        ("- ‖", Kind.LIST),
        ("  * a‖", Kind.LIST),
        ("12. 项目‖", Kind.LIST),
        ("- [x] a‖", Kind.LIST),
        ("（1）项目‖", Kind.LIST),
        ("-a‖", Kind.PARAGRAPH),
        ("3.5‖", Kind.PARAGRAPH),
        ("## ‖", Kind.HEADING),
        ("#tag‖", Kind.PARAGRAPH),
        ("> a‖", Kind.QUOTE),
        ("| a ‖ |", Kind.TABLE),
        ("| a |\n‖", Kind.TABLE),
        ("| a |\n\n‖", Kind.PARAGRAPH),
        ("---\ntitle: ‖\n---\ntext", Kind.FRONT_MATTER),
        ("---\ntitle: ‖", Kind.FRONT_MATTER),
        ("---\r\ntitle: ‖\r\n---\r\n", Kind.FRONT_MATTER),
        ("+++\ntitle = ‖\n+++\n", Kind.FRONT_MATTER),
        ("---\ntitle: a\n---\ntext‖", Kind.PARAGRAPH),
        ("---\ntitle: a\n\ntext‖", Kind.PARAGRAPH),
        ("text\n---\ntext‖\n---\n", Kind.PARAGRAPH),
    ],
)
def test_lines_of_prose(marked: str, kind: Kind) -> None:
    assert kind_at(marked) is kind


@pytest.mark.parametrize("name", ["python", "c", "", "nothing known"])
def test_code_is_code(name: str) -> None:
    assert kind_at("# ‖", name) is Kind.CODE


@pytest.mark.parametrize(
    ("marked", "fence"),
    [
        ("```python\nx‖\n```", "```"),
        ("```\r\nx‖\r\n", "```"),
        ("```\rx‖", "```"),
        ("  ~~~\nx‖", "~~~"),
        ("> ```\n> x‖", "```"),
        ("````\n```\nx‖\n```\n````", "````"),
        ("```\n~~~\nx‖", "```"),
        ("```\nx\n```\ny‖", ""),
        ("```\nx\n````  \ny‖", ""),
        ("````\nx\n```\ny‖", "````"),
        ("```\nx\n```sh\ny‖", "```"),
        ("```sh\nx\n```\n```py\ny\n```\nz‖", ""),
        ("```\nx\n```\n```py\ny‖", "```"),
        ("````\n```sh\nx\n```\n````\ny‖", ""),
        ("~~~\n```sh\nx\n~~~\ny‖", ""),
        ("say ``` and\nx‖", ""),
        ("```a`b```\nx‖", ""),
        ("```\nx\n```‖", "```"),
        ("```‖", ""),
    ],
)
def test_fences(marked: str, fence: str) -> None:
    place = place_at(*at_cursor(marked), "markdown")
    assert place.fence == fence
    assert place.is_prose is not bool(fence)


def test_a_block_of_code_has_a_language() -> None:
    place = place_at(*at_cursor("```{python}\n# ‖"), "markdown")
    assert place.language == language("python")


@pytest.mark.parametrize(
    ("marked", "name", "comment", "closed"),
    [
        ("/* a ‖ */ b", "c", ("/*", "*/"), True),
        ("/* a ‖\n/* b */", "c", ("/*", "*/"), False),
        ("/* a */ b‖", "c", None, False),
        ("glob('src/*‖')", "javascript", None, False),
        ('"""A ‖"""', "python", ('"""', '"""'), True),
        ('x = """a""" + ‖"""b"""', "python", None, False),
        ("'''A ‖", "python", ("'''", "'''"), False),
        ("<!-- a ‖ -->", "html", ("<!--", "-->"), True),
        ("/* a ‖", "", None, False),
    ],
)
def test_block_comments(
    marked: str, name: str, comment: tuple[str, str] | None, closed: bool
) -> None:
    place = place_at(*at_cursor(marked), name)
    assert (place.comment, place.closed) == (comment, closed)


@given(
    before=st.text(st.sampled_from("ab`~>-#|. \r\n"), max_size=60),
    after=st.text(st.sampled_from("ab`~ \r\n"), max_size=20),
)
@settings(max_examples=200, deadline=None)
def test_the_lines_around_are_those_of_the_text(before: str, after: str) -> None:
    place = place_at(before + after, len(before), "markdown")
    assert place.above + place.before == before.replace("\r\n", "\n").replace("\r", "\n")
    assert "\n" not in place.before + place.rest
    assert "\r" not in place.before + place.rest


def test_what_is_near_begins_with_a_whole_line() -> None:
    place = place_at("0123456789\n" * 1000, 5505, "python")
    assert place.before == "01234"
    assert place.above.startswith("0123456789\n")
    assert NEAR_CHARS - 11 <= len(place.above) <= NEAR_CHARS


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("a.py", "python"),
        ("笔记.md", "markdown"),
        ("a.tsx", "typescriptreact"),
        ("a", ""),
        (".x", ""),
    ],
)
def test_files_no_editor_names_the_language_of(name: str, known: str) -> None:
    assert language_of(Path(name)) == known
