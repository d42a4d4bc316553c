"""What the editor tells of its notebooks."""

from __future__ import annotations

from collections.abc import Sequence

from lsprotocol import types

from clover_lsp.documents import Documents
from clover_lsp.inline_completion import InlineCompletion
from clover_lsp.keep_rate import KeepRate
from clover_lsp.notebooks import Notebooks
from clover_lsp.protocol import CloverServer


def serve_notebooks(
    server: CloverServer,
    documents: Documents,
    notebooks: Notebooks,
    completion: InlineCompletion,
    keep_rate: KeepRate,
) -> None:
    """Serve the messages on notebooks; the text of each cell is a document."""

    def open_cells(cells: Sequence[types.TextDocumentItem]) -> None:
        for cell in cells:
            document = documents.open(cell.uri, cell.language_id, cell.version, cell.text)
            completion.changed(document)

    def close_cells(cells: Sequence[types.TextDocumentIdentifier]) -> None:
        for cell in cells:
            keep_rate.closing(cell.uri)
            documents.close(cell.uri)
            completion.closed(cell.uri)

    @server.feature(types.NOTEBOOK_DOCUMENT_DID_OPEN)
    def did_open(params: types.DidOpenNotebookDocumentParams) -> None:
        notebook = params.notebook_document
        notebooks.open(notebook.uri, notebook.version, notebook.cells)
        open_cells(params.cell_text_documents)
        first = next((documents.get(cell.document) for cell in notebook.cells), None)
        completion.warm(first, types.Position(0, 0))

    @server.feature(types.NOTEBOOK_DOCUMENT_DID_CHANGE)
    def did_change(params: types.DidChangeNotebookDocumentParams) -> None:
        notebook, cells = params.notebook_document, params.change.cells
        if cells is None or not notebooks.change(notebook.uri, notebook.version, cells):
            return
        if cells.structure:
            close_cells(cells.structure.did_close or ())
            open_cells(cells.structure.did_open or ())
        for change in cells.text_content or ():
            cell = change.document
            if document := documents.change(cell.uri, cell.version, change.changes):
                completion.changed(document)

    @server.feature(types.NOTEBOOK_DOCUMENT_DID_CLOSE)
    def did_close(params: types.DidCloseNotebookDocumentParams) -> None:
        notebooks.close(params.notebook_document.uri)
        close_cells(params.cell_text_documents)
