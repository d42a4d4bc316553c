"""The language server: joins pygls, the documents and the features. Wiring only."""

from __future__ import annotations

import logging
import platform
from collections.abc import Callable
from functools import partial
from typing import Any

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from clover_engine.api import EngineClient
from clover_lsp.cases import KIND as SOURCE
from clover_lsp.cases import SAVE, CaseSaving, Recording, changed_settings
from clover_lsp.documents import Documents
from clover_lsp.infill import Trigger
from clover_lsp.informed_client import InformedClient
from clover_lsp.inline_completion import InlineCompletion
from clover_lsp.lazy_client import LazyClient
from clover_lsp.neighbours import Neighbours
from clover_lsp.organising import TAGS, TAGS_KIND, TOC, TOC_KIND, Organising
from clover_lsp.positions import Encoding
from clover_lsp.protocol import DID_MOVE_CURSOR, CloverServer
from clover_lsp.settings import Settings, read_settings
from clover_lsp.span_filling import FILL, KIND, SpanFilling
from clover_lsp.status import Status

NAME = "clover-write"


def create_server(connect: Callable[[], EngineClient], version: str) -> CloverServer:
    """A server for one editor. `connect` makes its engine client when it is first needed."""
    # pygls logs whole messages, and with them the document
    logging.getLogger("pygls").setLevel(logging.CRITICAL)
    server = CloverServer(NAME, version)
    documents = Documents()
    show = partial(_show, server)
    status = Status(server.protocol.notify, show)
    neighbours = Neighbours(lambda _: completion.settings)
    recording = Recording()
    engine = LazyClient(lambda: InformedClient(recording.of(connect()), neighbours))
    completion = InlineCompletion(documents, engine, status)
    filling = SpanFilling(server, documents, engine, lambda: completion.settings, show)
    _serve_session(server, documents, completion)
    _serve_documents(server, documents, completion, neighbours)
    _serve_completion(server, documents, completion)
    organising = Organising(server, documents, lambda _: completion.settings, show)
    cases = CaseSaving(recording, lambda _: _about(server, completion.settings), show)
    _serve_actions(server, documents, filling, organising, cases)
    _serve_organising(server, documents, organising)
    return server


def _serve_session(
    server: CloverServer, documents: Documents, completion: InlineCompletion
) -> None:
    @server.feature(types.INITIALIZE)
    def initialize(params: types.InitializeParams) -> None:
        documents.encoding = Encoding(server.workspace.position_encoding or Encoding.UTF16)
        completion.settings, complaints = read_settings(params.initialization_options)
        completion.keeps_eol = "neovim" not in (params.client_info or _NOBODY).name.lower()
        server.on_editor(params.process_id)
        for complaint in complaints:
            _show(server, complaint)

    @server.feature(types.SHUTDOWN)
    async def shutdown(_: Any = None) -> None:
        await completion.close()


def _serve_documents(
    server: LanguageServer,
    documents: Documents,
    completion: InlineCompletion,
    neighbours: Neighbours,
) -> None:
    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def did_open(params: types.DidOpenTextDocumentParams) -> None:
        opened = params.text_document
        document = documents.open(opened.uri, opened.language_id, opened.version, opened.text)
        neighbours.changed(document)
        completion.changed(document)
        # where editors put the cursor first; it also starts the engine
        completion.warm(document, types.Position(0, 0))

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def did_change(params: types.DidChangeTextDocumentParams) -> None:
        changed = params.text_document
        if document := documents.change(changed.uri, changed.version, params.content_changes):
            neighbours.changed(document)
            completion.changed(document)

    @server.feature(DID_MOVE_CURSOR)
    def did_move_cursor(params: Any) -> None:
        # a method of our own comes as plain objects, named as in the JSON
        position = types.Position(params.position.line, params.position.character)
        completion.warm(documents.get(params.textDocument.uri), position)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def did_close(params: types.DidCloseTextDocumentParams) -> None:
        documents.close(params.text_document.uri)
        neighbours.closed(params.text_document.uri)
        completion.closed(params.text_document.uri)


def _serve_completion(
    server: LanguageServer, documents: Documents, completion: InlineCompletion
) -> None:
    @server.feature(types.TEXT_DOCUMENT_INLINE_COMPLETION, types.InlineCompletionOptions())
    async def inline_completion(params: types.InlineCompletionParams) -> types.InlineCompletionList:
        document = documents.get(params.text_document.uri)
        invoked = params.context.trigger_kind is types.InlineCompletionTriggerKind.Invoked
        trigger = Trigger.INVOKED if invoked else Trigger.AUTOMATIC
        return await completion.answer(document, params.position, trigger)


def _serve_actions(
    server: LanguageServer,
    documents: Documents,
    filling: SpanFilling,
    organising: Organising,
    cases: CaseSaving,
) -> None:
    @server.feature(types.TEXT_DOCUMENT_CODE_LENS)
    async def code_lens(params: types.CodeLensParams) -> list[types.CodeLens]:
        return await filling.lenses(documents.get(params.text_document.uri))

    kinds = types.CodeActionOptions([KIND, TOC_KIND, TAGS_KIND, SOURCE])

    @server.feature(types.TEXT_DOCUMENT_CODE_ACTION, kinds)
    async def code_action(params: types.CodeActionParams) -> list[types.CodeAction]:
        document, only = documents.get(params.text_document.uri), params.context.only
        asked = document, params.range, only
        return [
            *await filling.actions(*asked),
            *organising.actions(*asked),
            *cases.actions(document, only),
        ]

    @server.command(FILL)
    async def fill(uri: str, position: types.Position | None) -> None:
        await filling.fill(uri, position)

    @server.command(SAVE)
    async def save(uri: str) -> str | None:
        return await cases.save(uri)


def _serve_organising(server: LanguageServer, documents: Documents, organising: Organising) -> None:
    @server.feature(types.TEXT_DOCUMENT_WILL_SAVE_WAIT_UNTIL)
    async def will_save(params: types.WillSaveTextDocumentParams) -> list[types.TextEdit]:
        # what an editor saves by itself while its user types is left alone
        if params.reason is types.TextDocumentSaveReason.AfterDelay:
            return []
        return await organising.toc_on_save(documents.get(params.text_document.uri))

    @server.command(TOC)
    async def toc(uri: str) -> None:
        await organising.update_toc(uri)

    @server.command(TAGS)
    async def tags(uri: str, names: list[str] | None) -> None:
        await organising.add_tags(uri, names)


_NOBODY = types.ClientInfo(name="")


def _about(server: CloverServer, settings: Settings) -> dict[str, str]:
    """What may matter to who replays a case of this server."""
    return {
        "clover-write": server.version,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "position encoding": str(server.workspace.position_encoding),
        "settings": changed_settings(settings),
    }


def _show(server: LanguageServer, text: str) -> None:
    server.window_show_message(
        types.ShowMessageParams(type=types.MessageType.Warning, message=f"Clover Write: {text}")
    )
