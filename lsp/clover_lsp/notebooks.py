"""The open notebooks: which cells they hold, in order, and what a cell sees of the others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lsprotocol import types

from clover_lsp import languages
from clover_lsp.documents import Document, Documents
from clover_lsp.postprocess import with_newlines

# what a cell is shown of those before and behind it
BEFORE_CHARS = 32 * 1024
AFTER_CHARS = 16 * 1024
_BREAK = "\n\n"


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell's document, and whether it holds code."""

    uri: str
    is_code: bool

    @classmethod
    def of(cls, cell: types.NotebookCell) -> Cell:
        """The cell as the editor names it."""
        return cls(cell.document, cell.kind is types.NotebookCellKind.Code)


@dataclass(frozen=True, slots=True)
class _Notebook:
    version: int
    cells: tuple[Cell, ...]
    applied: types.NotebookDocumentCellChanges | None = None  # the last change


class Notebooks:
    """The store of open notebooks by URI; the text of their cells is with the documents."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents
        self._open: dict[str, _Notebook] = {}
        self._of_cell: dict[str, str] = {}

    def open(self, uri: str, version: int, cells: Iterable[types.NotebookCell]) -> None:
        """Take up a notebook; one already open starts afresh with these cells."""
        self._put(uri, _Notebook(version, tuple(map(Cell.of, cells))))

    def change(self, uri: str, version: int, change: types.NotebookDocumentCellChanges) -> bool:
        """Apply a change of the cells' order or kind; False if it was applied already."""
        notebook = self._open.get(uri)
        # VS Code names the version before the change, which at first is that it was opened with
        if notebook is None or (version, change) == (notebook.version, notebook.applied):
            return False
        if version < notebook.version:
            return False
        cells = list(notebook.cells)
        if change.structure:
            array = change.structure.array
            cells[array.start : array.start + array.delete_count] = map(Cell.of, array.cells or ())
        newer = {cell.document: Cell.of(cell) for cell in change.data or ()}
        cells = [newer.get(cell.uri, cell) for cell in cells]
        self._put(uri, _Notebook(version, tuple(cells), change))
        return True

    def close(self, uri: str) -> None:
        """Forget a notebook."""
        self._open.pop(uri, None)
        self._of_cell = {cell: of for cell, of in self._of_cell.items() if of != uri}

    def notebook_of(self, uri: str) -> str | None:
        """The notebook that holds the cell `uri`, None for a document that is no cell."""
        return self._of_cell.get(uri)

    def around(self, document: Document) -> tuple[str, str]:
        """What stands before and behind a cell, as its own language would have it: other code as
        it is, prose as comments; among prose, code in fences. Nothing for a document of its own.
        """
        notebook = self._open.get(self._of_cell.get(document.uri, ""))
        if notebook is None:
            return "", ""
        at = next(n for n, cell in enumerate(notebook.cells) if cell.uri == document.uri)
        asking = notebook.cells[at]
        before = self._shown(document, asking, notebook.cells[:at][::-1], BEFORE_CHARS)
        after = self._shown(document, asking, notebook.cells[at + 1 :], AFTER_CHARS)
        return "".join(each + _BREAK for each in before[::-1]), "".join(_BREAK + a for a in after)

    def _shown(
        self, document: Document, asking: Cell, cells: Sequence[Cell], room: int
    ) -> list[str]:
        """The nearest cells first, as many as there is room for."""
        shown: list[str] = []
        for cell in cells:
            other = self._documents.get(cell.uri)
            if other is None or not other.text.strip():
                continue
            text = _beside(other, cell.is_code, document.language, asking.is_code)
            room -= len(text)
            if room < 0:
                break
            shown.append(text)
        return shown

    def _put(self, uri: str, notebook: _Notebook) -> None:
        self.close(uri)
        self._open[uri] = notebook
        self._of_cell.update((cell.uri, uri) for cell in notebook.cells)


def _beside(other: Document, is_code: bool, language: str, for_code: bool) -> str:
    text = other.text.strip("\r\n")
    if is_code == for_code and (not is_code or other.language == language):
        return text
    if not for_code:
        return f"```{other.language}\n{text}\n```"
    # a cell of another language is no code here
    comment = languages.language(language).line_comment or "#"
    return "\n".join(f"{comment} {line}".rstrip() for line in with_newlines(text).split("\n"))
