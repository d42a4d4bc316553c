"""The language server: joins pygls, the documents and the features. Wiring only."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from clover_engine.api import EngineClient
from clover_lsp.configuration import Configuration
from clover_lsp.documents import Documents
from clover_lsp.infill import Trigger
from clover_lsp.informed_client import InformedClient
from clover_lsp.inline_completion import ACCEPTED, InlineCompletion
from clover_lsp.lazy_client import LazyClient
from clover_lsp.lifetime import leave_soon, watch_editor
from clover_lsp.neighbours import Neighbours
from clover_lsp.notebooks import Notebooks
from clover_lsp.organising import TAGS, TAGS_KIND, TOC, TOC_KIND, Organising
from clover_lsp.popup import PopupCompletion
from clover_lsp.positions import Encoding
from clover_lsp.protocol import DID_MOVE_CURSOR, DID_PARTIALLY_ACCEPT, DID_SHOW, CloverServer
from clover_lsp.span_filling import FILL, KIND, SpanFilling
from clover_lsp.status import Status

NAME = "clover-write"


def create_server(connect: Callable[[], EngineClient], version: str) -> LanguageServer:
    """A server for one editor. `connect` makes its engine client when it is first needed."""
    # pygls logs whole messages, and with them the document
    logging.getLogger("pygls").setLevel(logging.CRITICAL)
    server = CloverServer(NAME, version)
    documents = Documents()
    notebooks = Notebooks(documents)
    status = Status(server.protocol.notify, server.warn)
    configuration = Configuration(server, notebooks.notebook_of, server.warn)
    neighbours = Neighbours(configuration.of)
    engine = LazyClient(lambda: InformedClient(connect(), neighbours))
    completion = InlineCompletion(documents, engine, status, notebooks, configuration.of)
    configuration.on_change = completion.reconsider
    filling = SpanFilling(server, documents, engine, configuration.of, server.warn)
    _serve_session(server, documents, configuration, completion)
    _serve_configuration(server, configuration)
    _serve_documents(server, documents, completion, neighbours)
    _serve_notebooks(server, documents, notebooks, completion)
    _serve_completion(server, documents, configuration, completion)
    organising = Organising(server, documents, configuration.of, server.warn)
    _serve_actions(server, documents, filling, organising)
    _serve_organising(server, documents, organising)
    return server


def _serve_session(
    server: LanguageServer,
    documents: Documents,
    configuration: Configuration,
    completion: InlineCompletion,
) -> None:
    popup = PopupCompletion(documents, completion)

    @server.feature(types.INITIALIZE)
    def initialize(params: types.InitializeParams) -> None:
        documents.encoding = Encoding(server.workspace.position_encoding or Encoding.UTF16)
        settings = configuration.initialize(params)
        completion.client = configuration.client
        if completion.client.wants_popup(settings):
            # what is registered before this returns is advertised
            _serve_popup(server, documents, configuration, popup)
        watch_editor(params.process_id)

    @server.feature(types.SHUTDOWN)
    async def shutdown(_: Any = None) -> None:
        await completion.close()

    @server.feature(types.EXIT)
    def leave(_: Any = None) -> None:
        leave_soon()


def _serve_configuration(server: LanguageServer, configuration: Configuration) -> None:
    @server.feature(types.INITIALIZED)
    async def initialized(_: Any = None) -> None:
        await configuration.subscribe()

    @server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
    async def did_change_configuration(params: types.DidChangeConfigurationParams) -> None:
        configuration.push(params.settings)

    @server.feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    async def did_change_folders(_: types.DidChangeWorkspaceFoldersParams) -> None:
        configuration.pull()


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


def _serve_notebooks(
    server: LanguageServer,
    documents: Documents,
    notebooks: Notebooks,
    completion: InlineCompletion,
) -> None:
    def open_cells(cells: Sequence[types.TextDocumentItem]) -> None:
        for cell in cells:
            document = documents.open(cell.uri, cell.language_id, cell.version, cell.text)
            completion.changed(document)

    def close_cells(cells: Sequence[types.TextDocumentIdentifier]) -> None:
        for cell in cells:
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


def _serve_completion(
    server: LanguageServer,
    documents: Documents,
    configuration: Configuration,
    completion: InlineCompletion,
) -> None:
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

    @server.feature(DID_SHOW)
    def did_show(params: Any) -> None:
        completion.offers.show(params.id)

    @server.feature(DID_PARTIALLY_ACCEPT)
    def did_partially_accept(params: Any) -> None:
        completion.offers.accept(params.id, params.acceptedLength)


def _serve_popup(
    server: LanguageServer,
    documents: Documents,
    configuration: Configuration,
    popup: PopupCompletion,
) -> None:
    @server.feature(types.TEXT_DOCUMENT_COMPLETION, types.CompletionOptions())
    async def complete(params: types.CompletionParams) -> types.CompletionList:
        document = documents.get(params.text_document.uri)
        await configuration.known()
        return await popup.answer(document, params.position)


def _serve_actions(
    server: LanguageServer, documents: Documents, filling: SpanFilling, organising: Organising
) -> None:
    @server.feature(types.TEXT_DOCUMENT_CODE_LENS)
    async def code_lens(params: types.CodeLensParams) -> list[types.CodeLens]:
        return await filling.lenses(documents.get(params.text_document.uri))

    kinds = types.CodeActionOptions([KIND, TOC_KIND, TAGS_KIND])

    @server.feature(types.TEXT_DOCUMENT_CODE_ACTION, kinds)
    async def code_action(params: types.CodeActionParams) -> list[types.CodeAction]:
        asked = documents.get(params.text_document.uri), params.range, params.context.only
        return [*await filling.actions(*asked), *organising.actions(*asked)]

    @server.command(FILL)
    async def fill(uri: str, position: types.Position | None) -> None:
        await filling.fill(uri, position)


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
