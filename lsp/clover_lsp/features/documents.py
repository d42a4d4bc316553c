"""What the editor tells of its documents."""

from __future__ import annotations

from typing import Any

from lsprotocol import types

from clover_lsp.conformance_diagnostics import ConformanceDiagnostics
from clover_lsp.documents import Documents
from clover_lsp.inline_completion import InlineCompletion
from clover_lsp.keep_rate import KeepRate
from clover_lsp.neighbours import Neighbours
from clover_lsp.protocol import DID_MOVE_CURSOR, CloverServer


def serve_documents(
    server: CloverServer,
    documents: Documents,
    completion: InlineCompletion,
    neighbours: Neighbours,
    keep_rate: KeepRate,
    diagnostics: ConformanceDiagnostics,
) -> None:
    """Serve the messages on text documents, and on where the cursor is."""

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def did_open(params: types.DidOpenTextDocumentParams) -> None:
        opened = params.text_document
        document = documents.open(opened.uri, opened.language_id, opened.version, opened.text)
        neighbours.changed(document)
        completion.changed(document)
        diagnostics.changed(document)
        # where editors put the cursor first; it also starts the engine
        completion.warm(document, types.Position(0, 0))

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def did_change(params: types.DidChangeTextDocumentParams) -> None:
        changed = params.text_document
        if document := documents.change(changed.uri, changed.version, params.content_changes):
            neighbours.changed(document)
            completion.changed(document)
            diagnostics.changed(document)

    @server.feature(DID_MOVE_CURSOR)
    def did_move_cursor(params: Any) -> None:
        # a method of our own comes as plain objects, named as in the JSON
        position = types.Position(params.position.line, params.position.character)
        completion.warm(documents.get(params.textDocument.uri), position)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def did_close(params: types.DidCloseTextDocumentParams) -> None:
        keep_rate.closing(params.text_document.uri)
        documents.close(params.text_document.uri)
        neighbours.closed(params.text_document.uri)
        completion.closed(params.text_document.uri)
        diagnostics.closed(params.text_document.uri)
