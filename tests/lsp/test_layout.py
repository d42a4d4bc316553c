"""Answers of the real server are laid out as the project asks, and end with whole words."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.wire import Wire

AUTOMATIC, INVOKED = 2, 1


def scripted(text: str) -> str:
    return f"# clover-fake: {json.dumps({'text': text})}\n"


@pytest.mark.parametrize(
    ("asked", "line", "kind", "shown"),
    [
        ("indent_style = tab", "", AUTOMATIC, "\tif a:"),
        ("indent_style = tab", "", INVOKED, "\tif a:\n\t\tb()"),
        ("indent_style = tab", "\t", INVOKED, "if a:\n\t\tb()"),
        ("indent_style = space\nindent_size = 2", "  ", INVOKED, "if a:\n    b()"),
        ("charset = utf-8", "", INVOKED, "    if a:\n        b()"),
    ],
)
async def test_a_document_that_shows_no_indentation_gets_the_project_s(
    wire: Wire, tmp_path: Path, asked: str, line: str, kind: int, shown: str
) -> None:
    (tmp_path / ".editorconfig").write_text(f"root = true\n[*.py]\n{asked}\n", "utf-8")
    uri = (tmp_path / "a.py").as_uri()
    await wire.initialize()
    wire.open(scripted("    if a:\n        b()") + f"def f():\n{line}", uri)
    assert await wire.texts(2, len(line), uri=uri, kind=kind) == [shown]


async def test_what_the_document_shows_counts_more_than_the_project(
    wire: Wire, tmp_path: Path
) -> None:
    (tmp_path / ".editorconfig").write_text("root = true\n[*]\nindent_style = tab\n", "utf-8")
    uri = (tmp_path / "a.py").as_uri()
    await wire.initialize()
    wire.open(scripted("    return 1") + "def f():\n    return 0\n\ndef g():\n", uri)
    assert await wire.texts(5, 0, uri=uri) == ["    return 1"]


async def test_half_a_word_is_dropped_where_the_tokens_ended(wire: Wire) -> None:
    # the engine writes so many words while one types prose
    words = [f"word{number}" for number in range(40)]
    await wire.initialize()
    wire.open(scripted(" " + " ".join(words)) + "Once", language="plaintext")
    assert await wire.texts(1, 4) == [" " + " ".join(words[:31])]
