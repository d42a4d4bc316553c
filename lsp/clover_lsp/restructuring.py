"""Restructuring in the editor: the actions that offer it, the choice of a template, the edit."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from clover_engine.errors import Cancelled, CloverError
from clover_lsp.documents import Document, Documents
from clover_lsp.exclusions import refusal
from clover_lsp.languages import language
from clover_lsp.lazy_client import LazyClient
from clover_lsp.progress import Report, from_threads, with_progress
from clover_lsp.restructure_request import RestructureRequest
from clover_lsp.settings import Settings
from clover_lsp.span_filling import wanted
from clover_lsp.template_shelves import TemplateShelves
from clover_lsp.uris import local_path
from clover_lsp.workspace_edits import apply_edits, takes_annotations, text_edits

# what reads documents is imported where it is used: an editor waits for the server to start
if TYPE_CHECKING:
    from clover_templates.document import Document as Parsed
    from clover_templates.library import Entry
    from clover_templates.restructure import Proposal
    from clover_templates.template import Template

log = logging.getLogger(__name__)

RESTRUCTURE = "clover-write.restructure"
PREVIEW = "clover-write.previewRestructure"
TEMPLATES = "clover-write.templates"
RESTRUCTURE_KIND = "refactor.rewrite.restructure"
_RECENT = 8
_CHOICES = 8  # a message has so many buttons at most
# a thread cannot be ended: what takes longer than seconds is for the command line
MAX_CHARS = 1_000_000
_WRITES = "wording what the template has worded"
_TEMPLATE_LINE = re.compile(r"template[ \t]*:")


class RestructureRefused(CloverError):
    """Nothing was changed, and why."""


@dataclass(frozen=True, slots=True)
class _Outcome:
    """A proposal of a snapshot, with what it is made of."""

    document: Document
    template: Template
    proposal: Proposal


class Restructuring:
    """The feature, over the open documents and an engine. `show` puts a message before the user."""

    def __init__(
        self,
        server: LanguageServer,
        documents: Documents,
        engine: LazyClient,
        settings: Callable[[str], Settings],
        shelves: TemplateShelves,
        show: Callable[[str], None],
    ) -> None:
        self._server = server
        self._documents = documents
        self._engine = engine
        self._settings = settings
        self._shelves = shelves
        self._show = show
        self._recent: list[str] = []  # names of templates, the last one first

    async def actions(
        self,
        document: Document | None,
        selected: types.Range,
        only: Sequence[types.CodeActionKind | str] | None,
    ) -> list[types.CodeAction]:
        """In prose: where asked for by kind, at the very beginning, and on the line of front matter
        that names a template."""
        if document is None or not language(document.language).prose:
            return []
        line = min(selected.start.line, len(document.content.starts) - 1)
        near = line == 0 or bool(_TEMPLATE_LINE.match(document.content.line_content(line)))
        if not (only is not None and wanted(only, RESTRUCTURE_KIND)) and (only or not near):
            return []
        name = await asyncio.to_thread(self._shelves.named, document)
        offered: list[tuple[str, str | None]] = [("Restructure to template…", None)]
        if name:
            offered.insert(0, (f'Restructure to template "{name}"', name))
        return [
            types.CodeAction(
                title,
                RESTRUCTURE_KIND,
                command=types.Command(title, RESTRUCTURE, arguments=[document.uri, name]),
            )
            for title, name in offered
        ]

    async def restructure(self, uri: str, name: object = None, options: object = None) -> None:
        """Bring a document into a template's shape by one edit; tells the user what prevents it."""
        with self._telling():
            request = RestructureRequest.read(uri, name, options)
            outcome = await self._outcome(request)
            if outcome:
                await self._apply(outcome, request)

    async def preview(
        self, uri: str, name: object = None, options: object = None
    ) -> dict[str, Any] | None:
        """What a document would become, as plain data; None where the user was told why not."""
        with self._telling():
            request = RestructureRequest.read(uri, name, options)
            outcome = await self._outcome(request)
            return await asyncio.to_thread(_shown, outcome) if outcome else None
        return None

    async def templates(self, uri: str) -> list[dict[str, str]]:
        """The templates that can be used, those that fit the document best first, as plain data;
        nothing where the user was told why not."""
        with self._telling():
            document = self._open(uri)
            return [
                {
                    "name": entry.template.name,
                    "title": entry.template.title,
                    "description": entry.template.settings.description,
                    "lang": entry.template.settings.lang,
                    "origin": entry.origin,
                }
                for entry in await self._fitting(document)
            ]
        return []

    async def _outcome(self, request: RestructureRequest) -> _Outcome | None:
        """None where the user chose no template. Raises CloverError."""
        document = self._open(request.uri)
        if request.model and (reason := refusal(document, self._settings(request.uri))):
            raise RestructureRefused(reason)
        name = request.template or await self._chosen(document)
        if name is None:
            return None
        self._recent = [name, *(each for each in self._recent if each != name)][:_RECENT]
        return await with_progress(
            self._server,
            f"Restructuring to {name}",
            lambda report: self._proposed(request, document, name, report),
        )

    def _open(self, uri: str) -> Document:
        document = self._documents.get(uri)
        if document is None:
            raise RestructureRefused("the document is not open")
        if len(document.text) > MAX_CHARS:
            raise RestructureRefused(
                "the document is over 1 MB: `clover-write restructure` takes more"
            )
        return document

    async def _fitting(self, document: Document) -> list[Entry]:
        """The templates that can be used, those that fit the document best first."""
        from clover_templates.fitting import fitting

        entries = await asyncio.to_thread(self._shelves.library().entries)
        parsed = await asyncio.to_thread(_parsed, document)
        return await asyncio.to_thread(
            fitting, parsed, entries, recent=self._recent, most=len(entries)
        )

    async def _proposed(
        self, request: RestructureRequest, document: Document, name: str, report: Report
    ) -> _Outcome:
        from clover_lsp.elsewhere import elsewhere
        from clover_templates.builtins import Facts
        from clover_templates.changes import part_of
        from clover_templates.engine_scorer import EngineScorer, Filler
        from clover_templates.on_behalf import OnBehalf
        from clover_templates.prose import Prose
        from clover_templates.restructure import restructure
        from clover_templates.scoring import WordScorer

        template = (await asyncio.to_thread(self._shelves.library().find, name)).template
        parsed = await asyncio.to_thread(_parsed, document)
        path = local_path(request.uri)
        facts = Facts(datetime.now(), path.stem if path else "")
        report = from_threads(report)

        async def by_words(_: Filler) -> Proposal:
            return await restructure(parsed, template, WordScorer(), facts)

        async def by_model(engine: Filler) -> Proposal:
            scorer = EngineScorer(engine, lambda share: report(share, told))
            found = await restructure(parsed, template, scorer, facts)
            writer = Prose(engine, lambda share: report(share, _WRITES))
            return await writer.for_slots(found, template)

        proposal = await elsewhere(self._engine, by_words)
        if request.model:
            told = _told(proposal)
            report(0.0, told)
            proposal = await elsewhere(OnBehalf(self._engine, request.uri), by_model)
        if request.sections is not None:
            proposal = await asyncio.to_thread(part_of, proposal, template, request.sections)
        return _Outcome(document, template, proposal)

    async def _apply(self, outcome: _Outcome, request: RestructureRequest) -> None:
        from clover_templates.changes import changes_of
        from clover_templates.restructure import refusal as fault

        document, template, proposal = outcome.document, outcome.template, outcome.proposal
        if reason := fault(proposal, template):
            raise RestructureRefused(reason)
        if not proposal.edits:
            raise RestructureRefused(f"it has the shape of {template.title} already")
        parts: list[str] = []
        edits = proposal.edits
        if request.preview and takes_annotations(self._server):
            changes = await asyncio.to_thread(changes_of, proposal, template)
            worded = {change.section for change in changes if change.worded}
            names = {section: f"{section} (worded by the model)" for section in worded}
            parts = [names.get(change.section, change.section) for change in changes]
            edits = tuple(change.edit for change in changes)
        await apply_edits(
            self._server,
            self._documents,
            document,
            text_edits(self._documents, document, edits),
            f"Restructure to {template.title}",
            parts,
        )

    async def _chosen(self, document: Document) -> str | None:
        """The name of the template that the user picks, None for none."""
        found = await self._fitting(document)
        names = {
            f"{entry.template.title} ({entry.template.name})": entry for entry in found[:_CHOICES]
        }
        question = (
            f"Restructure to which template? These of {len(found)} fit best; `clover-write"
            " templates list` has all, and front matter can name one (template: adr)"
        )
        answer = await self._server.window_show_message_request_async(
            types.ShowMessageRequestParams(
                types.MessageType.Info, question, [types.MessageActionItem(name) for name in names]
            )
        )
        entry = names.get(answer.title) if answer else None
        return entry.template.name if entry else None

    @contextmanager
    def _telling(self) -> Iterator[None]:
        try:
            yield
        except Cancelled as reason:
            log.debug("a restructuring ended: %s", reason)
        except CloverError as error:
            self._show(f"nothing was changed: {error}")


def _parsed(document: Document) -> Parsed:
    """Raises DocumentError for what is no text or too large."""
    from clover_templates.document import Document as Parsed

    return Parsed.of(document.text.encode("utf-8", "surrogatepass"))


def _told(proposal: Proposal) -> str:
    """What stands where so far, by headings and words, in one line."""
    from collections import Counter

    from clover_templates.report import place_name

    counts = Counter(place_name(one.place) if one.place else "?" for one in proposal.placed)
    return ", ".join(f"{label} {count}" for label, count in counts.items())


def _shown(outcome: _Outcome) -> dict[str, Any]:
    from clover_templates.changes import changes_of
    from clover_templates.diff import unified_diff
    from clover_templates.report import report

    proposal, template = outcome.proposal, outcome.template
    path = local_path(outcome.document.uri)
    name = path.name if path else outcome.document.uri
    output = proposal.output.decode()
    sections = dict.fromkeys(change.section for change in changes_of(proposal, template))
    return {
        "version": outcome.document.version,
        "template": template.name,
        "report": report(proposal, template, name),
        "diff": unified_diff(outcome.document.text, output, name),
        "output": output,
        "breaches": [str(breach) for breach in proposal.breaches],
        "sections": list(sections),
    }
