"""Edits of an open document, applied by its editor if the document has not changed meanwhile."""

from __future__ import annotations

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer

from clover_engine.errors import CloverError
from clover_lsp.documents import Document, Documents


class EditRefused(CloverError):
    """The document stays as it is, and why."""


async def apply_edits(
    server: LanguageServer,
    documents: Documents,
    document: Document,
    edits: list[types.TextEdit],
    label: str,
) -> None:
    """Have the editor make `edits` of the snapshot `document` in one step. Raises EditRefused."""
    if documents.get(document.uri) is not document:
        raise EditRefused("the document has changed meanwhile, ask again")
    params = types.ApplyWorkspaceEditParams(_workspace_edit(server, document, edits), label=label)
    try:
        result = await server.workspace_apply_edit_async(params)
    except JsonRpcException as error:
        raise EditRefused("the editor takes no edits") from error
    if not result.applied:
        raise EditRefused(result.failure_reason or "the editor did not take the edit")


def _workspace_edit(
    server: LanguageServer, document: Document, edits: list[types.TextEdit]
) -> types.WorkspaceEdit:
    workspace = server.client_capabilities.workspace
    edit = workspace.workspace_edit if workspace else None
    if not (edit and edit.document_changes):
        return types.WorkspaceEdit(changes={document.uri: edits})
    named = types.OptionalVersionedTextDocumentIdentifier(document.uri, document.version)
    return types.WorkspaceEdit(document_changes=[types.TextDocumentEdit(named, edits)])
