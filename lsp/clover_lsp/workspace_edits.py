"""Edits of an open document, applied by its editor if the document has not changed meanwhile."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer

from clover_engine.errors import CloverError
from clover_lsp.documents import Document, Documents
from clover_templates.edit import Edit


class EditRefused(CloverError):
    """The document stays as it is, and why."""


async def apply_edits(
    server: LanguageServer,
    documents: Documents,
    document: Document,
    edits: list[types.TextEdit],
    label: str,
    parts: Sequence[str] = (),
) -> None:
    """Have the editor make `edits` of the snapshot `document` in one step. Raises EditRefused.

    An editor that `takes_annotations` can be told for each edit which part of the whole it
    belongs to; it asks its user about them, and makes those that the user wants.
    """
    if documents.get(document.uri) is not document:
        raise EditRefused("the document has changed meanwhile, ask again")
    edit = workspace_edit(server, document, edits, parts)
    params = types.ApplyWorkspaceEditParams(edit, label=label)
    try:
        result = await server.workspace_apply_edit_async(params)
    except JsonRpcException as error:
        raise EditRefused("the editor takes no edits") from error
    if not result.applied:
        raise EditRefused(result.failure_reason or "the editor did not take the edit")


def text_edits(
    documents: Documents, document: Document, edits: Iterable[Edit]
) -> list[types.TextEdit]:
    """Edits of the document's UTF-8 as its editor takes them, in the order of the text."""
    source = document.text.encode("utf-8", "surrogatepass")
    found: list[types.TextEdit] = []
    read = offset = 0
    for edit in edits:
        ends: list[types.Position] = []
        for at in (edit.start, edit.end):
            offset += len(source[read:at].decode("utf-8", "surrogatepass"))
            read = at
            ends.append(documents.position(document, offset))
        found.append(types.TextEdit(types.Range(*ends), edit.text))
    return found


def takes_annotations(server: LanguageServer) -> bool:
    """Whether the editor shows what each edit is for, and asks its user about them."""
    edit = _capabilities(server)
    return bool(edit and edit.document_changes and edit.change_annotation_support)


def workspace_edit(
    server: LanguageServer,
    document: Document,
    edits: list[types.TextEdit],
    parts: Sequence[str] = (),
) -> types.WorkspaceEdit:
    """The edits of a snapshot as the editor takes them, with its version where that can be."""
    edit = _capabilities(server)
    if not (edit and edit.document_changes):
        return types.WorkspaceEdit(changes={document.uri: edits})
    named = types.OptionalVersionedTextDocumentIdentifier(document.uri, document.version)
    if not parts:
        return types.WorkspaceEdit(document_changes=[types.TextDocumentEdit(named, edits)])
    annotated = [
        types.AnnotatedTextEdit(part, each.range, each.new_text)
        for each, part in zip(edits, parts, strict=True)
    ]
    return types.WorkspaceEdit(
        document_changes=[types.TextDocumentEdit(named, annotated)],
        change_annotations={
            part: types.ChangeAnnotation(part, needs_confirmation=True) for part in parts
        },
    )


def _capabilities(server: LanguageServer) -> types.WorkspaceEditClientCapabilities | None:
    workspace = server.client_capabilities.workspace
    return workspace.workspace_edit if workspace else None
