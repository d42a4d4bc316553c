"""Restructuring, conformance, and templates as files."""

from __future__ import annotations

import logging
from typing import Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from clover_lsp.configuration import Configuration
from clover_lsp.conformance_diagnostics import SOURCE, ConformanceDiagnostics
from clover_lsp.documents import Documents
from clover_lsp.protocol import CloverServer
from clover_lsp.restructuring import PREVIEW, RESTRUCTURE, TEMPLATES, Restructuring
from clover_lsp.template_files import TemplateFiles

log = logging.getLogger(__name__)


def serve_templates(
    server: CloverServer, restructuring: Restructuring, diagnostics: ConformanceDiagnostics
) -> None:
    """Serve the commands that restructure, and what follows when a template is saved."""

    # clients may leave out what is null
    @server.command(RESTRUCTURE)
    async def restructure(uri: str, *more: Any) -> None:
        await restructuring.restructure(uri, *more)

    @server.command(PREVIEW)
    async def preview(uri: str, *more: Any) -> dict[str, Any] | None:
        return await restructuring.preview(uri, *more)

    @server.command(TEMPLATES)
    async def templates(uri: str) -> list[dict[str, str]]:
        return await restructuring.templates(uri)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    async def did_save(params: types.DidSaveTextDocumentParams) -> None:
        await diagnostics.saved(params.text_document.uri)


def serve_diagnostics(server: CloverServer, diagnostics: ConformanceDiagnostics) -> None:
    """Serve an editor that asks for diagnostics itself."""
    diagnostics.pulled = True
    options = types.DiagnosticOptions(
        inter_file_dependencies=True, workspace_diagnostics=False, identifier=SOURCE
    )

    @server.feature(types.TEXT_DOCUMENT_DIAGNOSTIC, options)
    async def diagnostic(
        params: types.DocumentDiagnosticParams,
    ) -> types.RelatedFullDocumentDiagnosticReport:
        return await diagnostics.report(params.text_document.uri)


def serve_hover(server: CloverServer, documents: Documents, files: TemplateFiles) -> None:
    """Serve hover in templates."""

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    async def hover(params: types.HoverParams) -> types.Hover | None:
        return await files.hover(documents.get(params.text_document.uri), params.position)


async def register_template_files(
    server: CloverServer, documents: Documents, configuration: Configuration, files: TemplateFiles
) -> None:
    """Have the editor ask about template files, where it was not told so when it initialized."""
    client = configuration.client
    selector = [types.TextDocumentFilterPattern(pattern) for pattern in files.patterns()]
    wanted: list[types.Registration] = []
    if client.registers_hover:
        serve_hover(server, documents, files)
        hover = types.HoverRegistrationOptions(selector)
        wanted.append(types.Registration("template hover", types.TEXT_DOCUMENT_HOVER, hover))
    if (
        client.registers_completion
        and types.TEXT_DOCUMENT_COMPLETION not in server.protocol.fm.features
    ):
        serve_template_completion(server, documents, files)
        completion = types.CompletionRegistrationOptions(selector, trigger_characters=["{"])
        wanted.append(
            types.Registration("template completion", types.TEXT_DOCUMENT_COMPLETION, completion)
        )
    if not wanted:
        return
    try:
        await server.client_register_capability_async(types.RegistrationParams(wanted))
    except JsonRpcException as error:
        log.warning("the editor asks nothing about templates: %s", type(error).__name__)


def serve_template_completion(
    server: CloverServer, documents: Documents, files: TemplateFiles
) -> None:
    """Serve completion in templates alone."""

    @server.feature(types.TEXT_DOCUMENT_COMPLETION)
    async def complete(params: types.CompletionParams) -> types.CompletionList:
        document = documents.get(params.text_document.uri)
        found = await files.completions(document, params.position)
        return found or types.CompletionList(is_incomplete=False, items=[])
