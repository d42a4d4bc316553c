"""Completions, and what the editor tells of those it got."""

from __future__ import annotations

from typing import Any

from lsprotocol import types

from clover_lsp.configuration import Configuration
from clover_lsp.documents import Documents
from clover_lsp.infill import Trigger
from clover_lsp.inline_completion import ACCEPTED, InlineCompletion
from clover_lsp.keep_rate import KeepRate
from clover_lsp.popup import PopupCompletion
from clover_lsp.protocol import DID_PARTIALLY_ACCEPT, DID_SHOW, CloverServer
from clover_lsp.template_files import TemplateFiles


def serve_completion(
    server: CloverServer,
    documents: Documents,
    configuration: Configuration,
    completion: InlineCompletion,
    keep_rate: KeepRate,
) -> None:
    """Serve inline completion and the signals on its items."""

    @server.feature(types.TEXT_DOCUMENT_INLINE_COMPLETION, types.InlineCompletionOptions())
    async def inline_completion(params: types.InlineCompletionParams) -> types.InlineCompletionList:
        document = documents.get(params.text_document.uri)
        invoked = params.context.trigger_kind is types.InlineCompletionTriggerKind.Invoked
        trigger = Trigger.INVOKED if invoked else Trigger.AUTOMATIC
        selected = params.context.selected_completion_info
        await configuration.known()
        return await completion.answer(document, params.position, trigger, selected)

    @server.command(ACCEPTED)
    def accepted(id: int) -> None:
        completion.offers.accept(id)
        keep_rate.accepted(id)

    @server.feature(DID_SHOW)
    def did_show(params: Any) -> None:
        completion.offers.show(params.id)

    @server.feature(DID_PARTIALLY_ACCEPT)
    def did_partially_accept(params: Any) -> None:
        completion.offers.accept(params.id, params.acceptedLength)
        keep_rate.accepted(params.id, params.acceptedLength)


def serve_popup(
    server: CloverServer,
    documents: Documents,
    configuration: Configuration,
    popup: PopupCompletion,
    template_files: TemplateFiles,
) -> None:
    """Serve completion in a menu: in a template what can stand there, elsewhere ghost text."""

    @server.feature(types.TEXT_DOCUMENT_COMPLETION, types.CompletionOptions())
    async def complete(params: types.CompletionParams) -> types.CompletionList:
        document = documents.get(params.text_document.uri)
        if found := await template_files.completions(document, params.position):
            return found
        await configuration.known()
        return await popup.answer(document, params.position)
