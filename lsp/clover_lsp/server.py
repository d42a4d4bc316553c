"""The language server: joins pygls, the documents and the features. Wiring only."""

from __future__ import annotations

import asyncio
import logging
import platform
from collections.abc import Callable
from pathlib import Path

from clover_engine.api import EngineClient
from clover_lsp.cases import CaseSaving, Recording, changed_settings
from clover_lsp.confidentiality import DiscreetClient
from clover_lsp.configuration import Configuration
from clover_lsp.conformance import Conformance
from clover_lsp.conformance_diagnostics import ConformanceDiagnostics
from clover_lsp.conformance_fixes import ConformanceFixes
from clover_lsp.documents import Documents
from clover_lsp.features.actions import serve_actions, serve_organising, serve_rewording
from clover_lsp.features.completion import serve_completion
from clover_lsp.features.documents import serve_documents
from clover_lsp.features.notebooks import serve_notebooks
from clover_lsp.features.session import serve_configuration, serve_session
from clover_lsp.features.templates import serve_templates
from clover_lsp.informed_client import InformedClient
from clover_lsp.inline_completion import InlineCompletion
from clover_lsp.keep_rate import KeepRate
from clover_lsp.lazy_client import LazyClient
from clover_lsp.ledger import KEEP_RATE, Counts, Ledger
from clover_lsp.neighbours import Neighbours
from clover_lsp.notebooks import Notebooks
from clover_lsp.organising import Organising
from clover_lsp.protocol import CloverServer
from clover_lsp.restructuring import Restructuring
from clover_lsp.rewording import SelectionRewording
from clover_lsp.settings import Settings
from clover_lsp.span_filling import SpanFilling
from clover_lsp.state_file import state_dir
from clover_lsp.status import Status
from clover_lsp.template_files import TemplateFiles
from clover_lsp.template_shelves import TemplateShelves
from clover_lsp.watched_client import WatchedClient

NAME = "clover-write"


def create_server(
    connect: Callable[[], EngineClient],
    version: str,
    template_folder: Callable[[], Path | None] = lambda: None,
) -> CloverServer:
    """A server for one editor. `connect` makes its engine client when it is first needed.

    `template_folder` says where the user's templates lie.
    """
    # pygls logs whole messages, and with them the document
    logging.getLogger("pygls").setLevel(logging.CRITICAL)
    server = CloverServer(NAME, version)
    documents = Documents()
    notebooks = Notebooks(documents)
    status = Status(server.protocol.notify, server.warn)
    configuration = Configuration(server, notebooks.notebook_of, server.warn)
    neighbours = Neighbours(configuration.of)
    recording = Recording()

    def engine_client() -> EngineClient:
        notify, watches = server.protocol.notify, lambda: configuration.client.watches
        watched = WatchedClient(connect(), notify, watches)
        informed = InformedClient(recording.of(watched), neighbours)
        return DiscreetClient(informed, documents.text_of)

    engine = LazyClient(engine_client)
    keep_rate = _keep_rate(documents)
    completion = InlineCompletion(documents, engine, status, notebooks, configuration.of)
    completion.on_offer = keep_rate.shown
    filling = SpanFilling(server, documents, engine, configuration.of, server.warn)
    rewording = SelectionRewording(server, documents, engine, configuration.of, server.warn)
    organising = Organising(server, documents, configuration.of, server.warn)
    cases = CaseSaving(recording, lambda uri: _about(server, configuration.of(uri)), server.warn)

    shelves = TemplateShelves(server, configuration.of, template_folder)
    restructuring = Restructuring(server, documents, engine, configuration.of, shelves, server.warn)
    conformance = Conformance(documents, shelves)
    diagnostics = ConformanceDiagnostics(server, documents, shelves, conformance)
    fixes = ConformanceFixes(server, documents, conformance, diagnostics)
    template_files = TemplateFiles(documents, shelves)

    def reconsider() -> None:
        completion.reconsider()
        diagnostics.reconsider()

    configuration.on_change = reconsider

    serve_session(
        server, documents, configuration, completion, keep_rate, diagnostics, template_files
    )
    serve_configuration(server, documents, configuration, template_files)
    serve_documents(server, documents, completion, neighbours, keep_rate, diagnostics)
    serve_notebooks(server, documents, notebooks, completion, keep_rate)
    serve_completion(server, documents, configuration, completion, keep_rate)
    serve_actions(server, documents, filling, organising, cases, restructuring, rewording, fixes)
    serve_organising(server, documents, organising)
    serve_rewording(server, rewording)
    serve_templates(server, restructuring, diagnostics)
    return server


def _keep_rate(documents: Documents) -> KeepRate:
    """Counts in the state folder's file, which is written beside the keystrokes."""

    def later(seconds: float, call: Callable[[], None]) -> None:
        asyncio.get_running_loop().call_later(seconds, call)

    def save(counts: Counts) -> None:
        ledger = Ledger(state_dir() / KEEP_RATE)
        asyncio.get_running_loop().run_in_executor(None, ledger.add, counts)

    return KeepRate(documents.text_of, later, save)


def _about(server: CloverServer, settings: Settings) -> dict[str, str]:
    """What may matter to who replays a case of this server."""
    return {
        "clover-write": server.version,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "position encoding": str(server.workspace.position_encoding),
        "settings": changed_settings(settings),
    }
