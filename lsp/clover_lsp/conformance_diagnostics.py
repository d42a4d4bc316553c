"""Live diagnostics of conformance: an editor that pulls them is answered, others are told."""

from __future__ import annotations

import asyncio
import logging
import re

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer

from clover_lsp.conformance import Checked, Conformance
from clover_lsp.documents import Document, Documents
from clover_lsp.template_shelves import TemplateShelves

log = logging.getLogger(__name__)

SOURCE = "clover-write"
_LINE = re.compile(r"[^\r\n]*")
_NAMED = re.compile(r"^template[ \t]*:[^\r\n]*", re.MULTILINE)


class ConformanceDiagnostics:
    """The feature. With `pulled` the editor asks for diagnostics itself."""

    def __init__(
        self,
        server: LanguageServer,
        documents: Documents,
        shelves: TemplateShelves,
        conformance: Conformance,
    ) -> None:
        self.pulled = False
        self._server = server
        self._documents = documents
        self._shelves = shelves
        self._conformance = conformance
        self._telling: dict[str, asyncio.Task[None]] = {}
        self._told: set[str] = set()
        self._refreshing: asyncio.Task[None] | None = None

    def changed(self, document: Document) -> None:
        """A document was opened or edited: its editor is told about it once it rests."""
        if not self.pulled and document.uri not in self._telling:
            task = asyncio.create_task(self._tell(document.uri))
            self._telling[document.uri] = task
            task.add_done_callback(lambda _: self._telling.pop(document.uri, None))

    def closed(self, uri: str) -> None:
        """Nothing is to be said about a document any more."""
        self._conformance.forget(uri)
        if uri in self._told:
            self._told.remove(uri)
            self._publish(uri, [])

    async def saved(self, uri: str) -> None:
        """A template may have been saved: all that follows it is looked at again."""
        if await asyncio.to_thread(self._shelves.holds, uri):
            self.reconsider()

    def reconsider(self) -> None:
        """Templates or settings are not what they were: everything is looked at again."""
        self._conformance.forget()
        for each in self._documents:
            self.changed(each)
        if self.pulled:
            self._refreshing = asyncio.create_task(self._refresh())

    async def _refresh(self) -> None:
        try:
            await self._server.workspace_diagnostic_refresh_async(None)
        except JsonRpcException as error:
            log.info("the editor does not ask again: %s", type(error).__name__)

    async def report(self, uri: str) -> types.RelatedFullDocumentDiagnosticReport:
        """The answer to an editor that pulls: what is found in the text that rests at last."""
        checked = await self._conformance.rested(uri)
        found = self.diagnostics(checked) if checked else []
        return types.RelatedFullDocumentDiagnosticReport(found)

    async def _tell(self, uri: str) -> None:
        checked = await self._conformance.rested(uri)
        while checked and checked.document is not self._documents.get(uri):
            checked = await self._conformance.rested(uri)
        found = self.diagnostics(checked) if checked else []
        if found or uri in self._told:
            self._told.add(uri)
            self._publish(uri, found, checked.document.version if checked else None)

    def diagnostics(self, checked: Checked) -> list[types.Diagnostic]:
        """The findings as an editor shows them, each on the first line of what it is about."""
        text = checked.document.text
        if checked.problem:
            named = _NAMED.search(text)
            place = self._range(checked.document, *(named.span() if named else (0, 0)))
            kind = types.DiagnosticSeverity.Information
            return [types.Diagnostic(place, checked.problem, kind, source=SOURCE)]
        found: list[types.Diagnostic] = []
        for finding in checked.findings:
            line = _LINE.match(text, finding.start)
            end = min(finding.end, line.end() if line else finding.end)
            kinds = types.DiagnosticSeverity
            diagnostic = types.Diagnostic(
                self._range(checked.document, finding.start, max(end, finding.start)),
                finding.message,
                kinds.Warning if finding.severity == "warning" else kinds.Error,
                str(finding.code),
                source=SOURCE,
            )
            if checked.entry and finding.rule:
                diagnostic.related_information = [_rule(checked, finding.rule)]
            found.append(diagnostic)
        return found

    def _range(self, document: Document, start: int, end: int) -> types.Range:
        return types.Range(
            self._documents.position(document, start), self._documents.position(document, end)
        )

    def _publish(self, uri: str, found: list[types.Diagnostic], version: int | None = None) -> None:
        params = types.PublishDiagnosticsParams(uri, found, version)
        self._server.text_document_publish_diagnostics(params)


def _rule(checked: Checked, line: int) -> types.DiagnosticRelatedInformation:
    """The line of the template that a finding is about, from 1."""
    assert checked.entry
    template, path = checked.entry.template, checked.entry.path
    text = template.text.splitlines()[line - 1]
    place = types.Range(types.Position(line - 1, 0), types.Position(line - 1, 0))
    location = types.Location(path.resolve().as_uri(), place)
    return types.DiagnosticRelatedInformation(location, text)
