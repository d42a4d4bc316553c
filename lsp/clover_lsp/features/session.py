"""The beginning and end of a session, and its settings."""

from __future__ import annotations

from typing import Any

from lsprotocol import types

from clover_lsp.configuration import Configuration
from clover_lsp.conformance_diagnostics import ConformanceDiagnostics
from clover_lsp.documents import Documents
from clover_lsp.features.completion import serve_popup
from clover_lsp.features.templates import (
    register_template_files,
    serve_diagnostics,
    serve_hover,
)
from clover_lsp.inline_completion import InlineCompletion
from clover_lsp.keep_rate import KeepRate
from clover_lsp.popup import PopupCompletion
from clover_lsp.positions import Encoding
from clover_lsp.protocol import CloverServer
from clover_lsp.template_files import TemplateFiles


def serve_session(
    server: CloverServer,
    documents: Documents,
    configuration: Configuration,
    completion: InlineCompletion,
    keep_rate: KeepRate,
    diagnostics: ConformanceDiagnostics,
    template_files: TemplateFiles,
) -> None:
    """Serve initialize and shutdown."""
    popup = PopupCompletion(documents, completion)

    @server.feature(types.INITIALIZE)
    def initialize(params: types.InitializeParams) -> None:
        documents.encoding = Encoding(server.workspace.position_encoding or Encoding.UTF16)
        settings = configuration.initialize(params)
        completion.client = client = configuration.client
        # what is registered before this returns is advertised
        if client.wants_popup(settings):
            serve_popup(server, documents, configuration, popup, template_files)
        if client.pulls_diagnostics:
            serve_diagnostics(server, diagnostics)
        if not client.registers_hover:
            serve_hover(server, documents, template_files)
        server.on_editor(params.process_id)

    @server.feature(types.SHUTDOWN)
    async def shutdown(_: Any = None) -> None:
        keep_rate.close()
        await completion.close()


def serve_configuration(
    server: CloverServer,
    documents: Documents,
    configuration: Configuration,
    template_files: TemplateFiles,
) -> None:
    """Serve what changes the settings, and what is registered once the session runs."""

    @server.feature(types.INITIALIZED)
    async def initialized(_: Any = None) -> None:
        await configuration.subscribe()
        await register_template_files(server, documents, configuration, template_files)

    @server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
    async def did_change_configuration(params: types.DidChangeConfigurationParams) -> None:
        configuration.push(params.settings)

    @server.feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    async def did_change_folders(_: types.DidChangeWorkspaceFoldersParams) -> None:
        configuration.pull()
