"""Notebooks: a cell sees the cells around it in order, and an answer stays in its own cell."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lsprotocol import types

from clover_lsp.documents import Documents
from clover_lsp.notebooks import BEFORE_CHARS, Notebooks
from tests.support.session import Session
from tests.support.wire import Wire

NOTEBOOK = "file:///notes/n.ipynb"
CODE, PROSE = types.NotebookCellKind.Code, types.NotebookCellKind.Markup


def uri(number: int) -> str:
    return f"vscode-notebook-cell:/notes/n.ipynb#W{number}"


def cell(number: int, kind: types.NotebookCellKind = CODE) -> types.NotebookCell:
    return types.NotebookCell(kind=kind, document=uri(number))


def opened(session: Session, *cells: tuple[str, str]) -> None:
    """A notebook of cells of these languages and texts."""
    kinds = [PROSE if language == "markdown" else CODE for language, _ in cells]
    session.notebooks.open(NOTEBOOK, 1, [cell(n, kind) for n, kind in enumerate(kinds)])
    for number, (language, text) in enumerate(cells):
        session.open(text, uri=uri(number), language=language)


@pytest.fixture
async def session() -> AsyncIterator[Session]:
    session = Session()
    session.engine.reply = lambda hole: "" if hole.unlike else "answer"
    yield session
    await session.feature.close()


async def test_code_sees_code_as_it_is_and_prose_as_comments(session: Session) -> None:
    cells = [
        ("markdown", "# Title\r\n\r\nText"),
        ("python", "import os\n"),
        ("python", "x = "),
        ("sql", "SELECT 1"),
        ("python", "print(x)"),
    ]
    opened(session, *cells)
    [item] = (await session.request((0, 4), uri=uri(2))).items
    at = types.Position(0, 4)
    assert item.range == types.Range(at, at)
    [ask] = session.engine.asks
    assert ask.left == "# # Title\n#\n# Text\n\nimport os\n\nx = "
    assert ask.right == "\n\n# SELECT 1\n\nprint(x)"


async def test_prose_sees_code_in_fences(session: Session) -> None:
    opened(session, ("markdown", "First"), ("python", "x = 1"), ("markdown", "So "), ("python", ""))
    assert await session.texts((0, 3), uri=uri(2)) == ["answer"]
    assert session.engine.asks[0].left == "First\n\n```python\nx = 1\n```\n\nSo "
    assert session.engine.asks[0].right == ""


async def test_comments_are_those_of_the_language(session: Session) -> None:
    opened(session, ("markdown", "Text"), ("typescript", "x = "))
    await session.texts((0, 4), uri=uri(1))
    assert session.engine.asks[0].left == "// Text\n\nx = "


async def test_what_is_typed_in_another_cell_counts_at_once(session: Session) -> None:
    opened(session, ("python", "a = 1"), ("python", "x = "))
    await session.texts((0, 4), uri=uri(1))
    session.type((0, 5), "0", uri=uri(0))
    await session.texts((0, 3), uri=uri(1))
    assert [ask.left for ask in session.engine.asks] == ["a = 1\n\nx = ", "a = 10\n\nx ="]


async def test_far_cells_are_left_out(session: Session) -> None:
    opened(
        session,
        ("python", "far = 1"),
        ("python", "y" * (BEFORE_CHARS - 10)),
        ("python", "near = 1"),
        ("python", "x = "),
    )
    await session.texts((0, 4), uri=uri(3))
    assert "near = 1" in session.engine.asks[0].left
    assert "far = 1" not in session.engine.asks[0].left


splices = st.tuples(st.integers(0, 5), st.integers(0, 2), st.integers(0, 2), st.booleans())


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 4), st.lists(splices, max_size=8))
def test_cells_stand_in_the_order_the_editor_has_them(
    count: int, script: Sequence[tuple[int, int, int, bool]]
) -> None:
    documents = Documents()
    notebooks = Notebooks(documents)
    expected = list(range(count))
    for number in range(100):
        documents.open(uri(number), "python", 1, f"cell{number}")
    notebooks.open(NOTEBOOK, 0, map(cell, expected))
    fresh = count
    # the first change names the version that was opened, as VS Code does
    for version, (start, deleted, added, again) in enumerate(script):
        start = min(start, len(expected))
        new = list(range(fresh, fresh + added))
        fresh += added
        array = types.NotebookCellArrayChange(start, deleted, [*map(cell, new)])
        change = types.NotebookDocumentCellChanges(
            structure=types.NotebookDocumentCellChangeStructure(array)
        )
        for _ in range(1 + again):
            notebooks.change(NOTEBOOK, version, change)
        expected[start : start + deleted] = new
    for at, number in enumerate(expected):
        document = documents.get(uri(number))
        assert document is not None
        before, after = notebooks.around(document)
        assert before.split() == [f"cell{n}" for n in expected[:at]]
        assert after.split() == [f"cell{n}" for n in expected[at + 1 :]]
    assert {n for n in range(fresh) if notebooks.notebook_of(uri(n))} == set(expected)


async def test_a_notebook_in_the_editor(wire: Wire) -> None:
    capabilities: dict[str, object] = {"notebookDocument": {"synchronization": {}}}
    offered = await wire.initialize(capabilities=capabilities)
    assert offered["notebookDocumentSync"] == {"notebookSelector": [{"notebook": "*"}]}

    def text(number: int, content: str, language: str = "python") -> dict[str, object]:
        return {"uri": uri(number), "languageId": language, "version": 1, "text": content}

    def named(number: int, kind: int = 2) -> dict[str, object]:
        return {"kind": kind, "document": uri(number)}

    notebook = {"uri": NOTEBOOK, "notebookType": "jupyter-notebook", "version": 1}
    opening = {
        "notebookDocument": notebook | {"cells": [named(0), named(1)]},
        "cellTextDocuments": [text(0, "total = 1"), text(1, "t")],
    }
    wire.send("notebookDocument/didOpen", opening)
    assert await wire.texts(0, 1, uri=uri(1)) == ["otal = 1"]
    identifier = {"uri": NOTEBOOK, "version": 2}
    typed = {
        "document": {"uri": uri(1), "version": 2},
        "changes": [
            {
                "range": {
                    "start": {"line": 0, "character": 0},
                    "end": {"line": 0, "character": 1},
                },
                "text": "tempo",
            }
        ],
    }
    structure = {
        "array": {"start": 0, "deleteCount": 1, "cells": [named(2)]},
        "didOpen": [text(2, "tempo = 3")],
        "didClose": [{"uri": uri(0)}],
    }
    cells = {"structure": structure, "textContent": [typed]}
    # an editor that sends it twice means it once
    for _ in range(2):
        params = {"notebookDocument": identifier, "change": {"cells": cells}}
        wire.send("notebookDocument/didChange", params)
    assert await wire.texts(0, 5, uri=uri(1)) == [" = 3"]
    assert await wire.texts(0, 0, uri=uri(0)) == []
    closing = {
        "notebookDocument": {"uri": NOTEBOOK},
        "cellTextDocuments": [{"uri": uri(1)}, {"uri": uri(2)}],
    }
    wire.send("notebookDocument/didClose", closing)
    assert await wire.texts(0, 5, uri=uri(1)) == []
