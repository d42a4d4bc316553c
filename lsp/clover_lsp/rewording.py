"""A selection in other words: the actions that offer it, and the one edit that makes it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from clover_engine.errors import Cancelled, CloverError
from clover_lsp.documents import Document, Documents
from clover_lsp.exclusions import refusal
from clover_lsp.languages import language
from clover_lsp.lazy_client import LazyClient
from clover_lsp.progress import Report, from_threads, with_progress
from clover_lsp.settings import Settings
from clover_lsp.span_filling import KIND, wanted
from clover_lsp.workspace_edits import apply_edits, text_edits

if TYPE_CHECKING:
    from clover_templates.rewording import Rewording
    from clover_templates.wordings import Wording

log = logging.getLogger(__name__)

REWORD = "clover-write.reword"
MAX_CHARS = 20_000  # of a selection: more would take minutes


class RewordingRefused(CloverError):
    """Nothing was changed, and why."""


class SelectionRewording:
    """The feature, over the open documents and an engine. `show` puts a message before the user."""

    def __init__(
        self,
        server: LanguageServer,
        documents: Documents,
        engine: LazyClient,
        settings: Callable[[str], Settings],
        show: Callable[[str], None],
    ) -> None:
        self._server = server
        self._documents = documents
        self._engine = engine
        self._settings = settings
        self._show = show

    def actions(
        self,
        document: Document | None,
        selected: types.Range,
        only: Sequence[types.CodeActionKind | str] | None,
    ) -> list[types.CodeAction]:
        """Where something is selected in prose: every way to word it."""
        if document is None or not language(document.language).prose:
            return []
        if selected.start == selected.end or not wanted(only, KIND.value):
            return []
        from clover_templates.language import language_of
        from clover_templates.wordings import rewordings

        text = self._selected(document, selected)
        if not text.strip() or refusal(document, self._settings(document.uri)):
            return []
        where = {
            end: {"line": place.line, "character": place.character}
            for end, place in (("start", selected.start), ("end", selected.end))
        }
        return [
            types.CodeAction(
                each.title,
                kind=KIND,
                command=types.Command(
                    each.title, REWORD, arguments=[document.uri, where, each.name]
                ),
            )
            for each in rewordings(language_of(text))
        ]

    async def reword(self, uri: str, selected: types.Range, name: str) -> None:
        """Word a selection again by one edit; tells the user what prevents it."""
        try:
            await self._reword(uri, selected, name)
        except Cancelled as reason:
            log.debug("a rewording ended: %s", reason)
        except CloverError as error:
            self._show(f"nothing was changed: {error}")

    async def _reword(self, uri: str, selected: types.Range, name: str) -> None:
        from clover_templates.language import language_of
        from clover_templates.wordings import rewording

        document = self._documents.get(uri)
        if document is None:
            raise RewordingRefused("the document is not open")
        if reason := refusal(document, self._settings(uri)):
            raise RewordingRefused(reason)
        text = self._selected(document, selected)
        if len(text) > MAX_CHARS:
            raise RewordingRefused(f"over {MAX_CHARS:,} characters are selected: select less")
        how = rewording(name, language_of(text))
        outcome = await with_progress(
            self._server, how.title, lambda report: self._asked(document, selected, how, report)
        )
        if not outcome.edits:
            raise RewordingRefused(_why(outcome))
        edits = text_edits(self._documents, document, outcome.edits)
        await apply_edits(self._server, self._documents, document, edits, how.title)
        if outcome.refused:
            kept = len(outcome.refused)
            self._show(f"{kept} of {outcome.sentences} sentences stay as they are: {_why(outcome)}")

    async def _asked(
        self, document: Document, selected: types.Range, how: Wording, report: Report
    ) -> Rewording:
        from clover_lsp.elsewhere import elsewhere
        from clover_templates.document import Document as Parsed
        from clover_templates.engine_scorer import Filler
        from clover_templates.on_behalf import OnBehalf
        from clover_templates.prose import Prose
        from clover_templates.rewording import reword
        from clover_templates.source import Span

        start, end = self._ends(document, selected)
        before, inside = document.text[:start], document.text[start:end]
        at = len(before.encode("utf-8", "surrogatepass"))
        span = Span(at, at + len(inside.encode("utf-8", "surrogatepass")))
        data = document.text.encode("utf-8", "surrogatepass")
        report = from_threads(report)

        async def work(engine: Filler) -> Rewording:
            writer = Prose(engine, lambda share: report(share, ""))
            return await reword(Parsed.of(data), span, how, writer)

        return await elsewhere(OnBehalf(self._engine, document.uri), work)

    def _selected(self, document: Document, selected: types.Range) -> str:
        start, end = self._ends(document, selected)
        return document.text[start:end]

    def _ends(self, document: Document, selected: types.Range) -> tuple[int, int]:
        """Where a selection begins and ends in the text; empty where it is stale."""
        start = self._documents.offset(document, selected.start)
        end = self._documents.offset(document, selected.end)
        return (start, end) if start is not None and end is not None and start < end else (0, 0)


def _why(outcome: Rewording) -> str:
    """Why sentences stay, by the first of the reasons."""
    if not outcome.sentences:
        return "no sentence of prose is selected"
    if not outcome.refused:
        return "the model had no other words for it"
    more = len(outcome.refused) - 1
    return f"{outcome.refused[0]}" + (f" (and {more} more)" if more else "")
