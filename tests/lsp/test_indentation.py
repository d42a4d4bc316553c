"""How documents indent, and what becomes of answers that do it otherwise."""

from __future__ import annotations

import pytest

from clover_lsp.postprocess.indentation import (
    Indentation,
    continued,
    indentation_of,
    indented_as,
)

TABS = Indentation(tabs=True)
TWO, FOUR = Indentation(tabs=False, width=2), Indentation(tabs=False, width=4)


@pytest.mark.parametrize(
    ("text", "style"),
    [
        ("if a:\n    b\n    c\n", FOUR),
        ("if a:\n  b\n  if c:\n    d\n", TWO),
        ("if a:\n\tb\n    c\n\td\n", TABS),
        ("class A:\n    def f(\n            self,\n            x):\n        y\n", FOUR),
        ("a\n b\n", None),
        ("a\nb\n", None),
        ("", None),
    ],
)
def test_most_lines_tell(text: str, style: Indentation | None) -> None:
    assert indentation_of(text.split("\n")) == style


@pytest.mark.parametrize(
    ("before", "answer", "style", "kept"),
    [
        ("", " - b", TABS, "\t- b"),
        ("", "    - b", TABS, "\t- b"),
        ("\tif a:", "\n        b", TABS, "\n\t\tb"),
        ("if a:", "\n  b\n  if c:\n    d", TABS, "\n\tb\n\tif c:\n\t\td"),
        ("\t/**", "\n\t * text", TABS, "\n\t * text"),
        ("if a:", "\n\tb", FOUR, "\n    b"),
        ("if a:", "\n  b\n  if c:\n    d", FOUR, "\n    b\n    if c:\n        d"),
        ("    if a:", "\n      b", FOUR, "\n        b"),
        ("if a:", "\n    b", TWO, "\n  b"),
        ("- a", "\n  - b", FOUR, "\n    - b"),
        ("x = foo(a,", "\n        b)", FOUR, "\n        b)"),
        ("x = foo(", "\n        b)", FOUR, "\n        b)"),
        ("def f():", "\n    x = foo(a,\n            b)", FOUR, "\n    x = foo(a,\n            b)"),
        ("", "```\n\tx\n```\n\ty", FOUR, "```\n\tx\n```\n    y"),
        ("x = ", "1", TABS, "1"),
        (" ", "* text", TABS, "* text"),
        ("int f(int a,", "\n\t\t     int b)", FOUR, "\n\t\t     int b)"),
        ("if a:", "\n  b", None, "\n  b"),
    ],
)
def test_blocks_are_indented_as_the_document_is(
    before: str, answer: str, style: Indentation | None, kept: str
) -> None:
    assert indented_as(answer, before, style) == kept


@pytest.mark.parametrize(
    ("above", "before", "answer", "kept"),
    [
        ("def f():\n", "    ", "    return x", "return x"),
        ("def f():\n", "    ", "return x", "return x"),
        ("    x = 1\n", "    ", "    return x", "return x"),
        ("    if a:\n", "    ", "    return x", "    return x"),
        ("    if a:\n", "    ", "        return x", "    return x"),
        ("\tif a:\n", "\t", "\t\treturn x", "\treturn x"),
        ("    x = 1\n\n", "  ", "  return x", "  return x"),
        ("def f():\n", "", "    return x", "    return x"),
        ("x\n", "a ", "  b", "  b"),
    ],
)
def test_indentation_is_neither_doubled_nor_lost(
    above: str, before: str, answer: str, kept: str
) -> None:
    assert continued(answer, before, above, FOUR if "\t" not in before else TABS) == kept
