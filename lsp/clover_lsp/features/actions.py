"""Lenses, code actions and commands: spans to fill, notes to organise, cases to save."""

from __future__ import annotations

from lsprotocol import types

from clover_lsp.cases import KIND as CASE_KIND
from clover_lsp.cases import SAVE, CaseSaving
from clover_lsp.conformance_fixes import KIND as QUICK_FIX
from clover_lsp.conformance_fixes import ConformanceFixes
from clover_lsp.documents import Documents
from clover_lsp.organising import TAGS, TAGS_KIND, TOC, TOC_KIND, Organising
from clover_lsp.protocol import CloverServer
from clover_lsp.restructuring import Restructuring
from clover_lsp.rewording import REWORD, SelectionRewording
from clover_lsp.span_filling import FILL, KIND, SpanFilling


def serve_actions(
    server: CloverServer,
    documents: Documents,
    filling: SpanFilling,
    organising: Organising,
    cases: CaseSaving,
    restructuring: Restructuring,
    rewording: SelectionRewording,
    fixes: ConformanceFixes,
) -> None:
    """Serve what is offered in a document, and the commands to fill spans and save cases."""

    @server.feature(types.TEXT_DOCUMENT_CODE_LENS)
    async def code_lens(params: types.CodeLensParams) -> list[types.CodeLens]:
        return await filling.lenses(documents.get(params.text_document.uri))

    kinds = types.CodeActionOptions([QUICK_FIX, KIND, TOC_KIND, TAGS_KIND, CASE_KIND])

    @server.feature(types.TEXT_DOCUMENT_CODE_ACTION, kinds)
    async def code_action(params: types.CodeActionParams) -> list[types.CodeAction]:
        document, only = documents.get(params.text_document.uri), params.context.only
        asked = document, params.range, only
        return [
            *await filling.actions(*asked),
            *organising.actions(*asked),
            *cases.actions(document, only),
            *await restructuring.actions(*asked),
            *rewording.actions(*asked),
            *await fixes.actions(document, params.range, params.context),
        ]

    @server.command(FILL)
    async def fill(uri: str, position: types.Position | None) -> None:
        await filling.fill(uri, position)

    @server.command(SAVE)
    async def save(uri: str) -> str | None:
        return await cases.save(uri)


def serve_organising(server: CloverServer, documents: Documents, organising: Organising) -> None:
    """Serve the table of contents and the tags."""

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


def serve_rewording(server: CloverServer, rewording: SelectionRewording) -> None:
    """Serve the command that words a selection again."""

    @server.command(REWORD)
    async def reword(uri: str, selected: types.Range, name: str) -> None:
        await rewording.reword(uri, selected, name)
