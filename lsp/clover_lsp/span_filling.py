"""Masked spans in the editor: lenses and actions that offer to fill them, and the filling."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from clover_engine.api import CanvasRequest, Draft, Filled, Priority
from clover_engine.errors import Cancelled, CloverError, RequestError
from clover_lsp.documents import Document, Documents
from clover_lsp.exclusions import refusal
from clover_lsp.languages import language
from clover_lsp.lazy_client import LazyClient
from clover_lsp.progress import Report, with_progress
from clover_lsp.settings import Settings
from clover_lsp.workspace_edits import EditRefused, apply_edits
from clover_templates.masked_spans import MaskedSpan, Scan, find_spans, scan_spans
from clover_templates.span_canvas import canvas_request, placed, written

log = logging.getLogger(__name__)

FILL = "clover-write.fill"
KIND = types.CodeActionKind.RefactorRewrite
MARKDOWN = frozenset({"markdown", "mdx", "quarto", "rmd"})
# lenses and actions are asked for all the time: larger documents have the command alone
MAX_CHARS = 256 * 1024


class FillRefused(CloverError):
    """Nothing was filled, and why."""


class SpanFilling:
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
        self._scanned: tuple[Document, Scan] | None = None

    async def lenses(self, document: Document | None) -> list[types.CodeLens]:
        """A lens on each line with spans, for its first, and one for all before them.

        Prose only: in code `{{…}}` mostly belongs to some other language.
        """
        if document is None or not language(document.language).prose:
            return []
        spans = await self._offered(document)
        by_line = {document.content.line_of(span.start): span for span in reversed(spans)}
        ones = [
            types.CodeLens(self._range(document, span), self._fill_this(document, span))
            for span in reversed(by_line.values())
        ]
        if not ones:
            return []
        fill_all = _command(f"Fill all spans ({len(spans)})", document, None)
        return [types.CodeLens(ones[0].range, fill_all), *ones]

    async def actions(
        self,
        document: Document | None,
        selected: types.Range,
        only: Sequence[types.CodeActionKind | str] | None,
    ) -> list[types.CodeAction]:
        """Where a span touches the selection: fill it, or fill all."""
        if document is None or not wanted(only, KIND.value):
            return []
        start = self._documents.offset(document, selected.start)
        end = self._documents.offset(document, selected.end)
        if start is None or end is None:
            return []
        spans = await self._offered(document)
        touched = [span for span in spans if span.start <= end and start <= span.end]
        if not touched:
            return []
        # of two that touch an empty selection, the one that begins there
        span = touched[-1] if start == end else touched[0]
        commands = [
            self._fill_this(document, span),
            _command("Fill all spans", document, None),
        ]
        return [types.CodeAction(each.title, kind=KIND, command=each) for each in commands]

    async def fill(self, uri: str, position: types.Position | None) -> None:
        """Fill the span at `position`, or all, by one edit; tells the user what prevents that."""
        try:
            await self._fill(uri, position)
        except Cancelled as reason:
            log.debug("a fill ended: %s", reason)
        except CloverError as error:
            self._show(str(error))

    async def _fill(self, uri: str, position: types.Position | None) -> None:
        document = self._documents.get(uri)
        if document is None:
            raise FillRefused("nothing was filled: the document is not open")
        if reason := refusal(document, self._settings(document.uri)):
            raise FillRefused(f"nothing was filled: {reason}")
        spans = await self._named(document, position)
        request = canvas_request(
            document.text, spans, document=document.uri, priority=Priority.BACKGROUND
        )
        title = "Filling a span" if position else f"Filling {len(spans)} spans"
        try:
            filled = await with_progress(
                self._server, title, lambda report: self._ask(request, len(spans), report)
            )
        except RequestError as error:
            raise placed(error, document.text, spans) from error
        fills = written(document.text, spans, filled.fills)
        edits = [
            types.TextEdit(self._range(document, span), fill)
            for span, fill in zip(spans, fills, strict=True)
            if fill is not None
        ]
        if not edits:
            raise FillRefused("nothing was filled: the model wrote nothing there")
        try:
            await apply_edits(
                self._server, self._documents, document, edits, label="Fill masked spans"
            )
        except EditRefused as refused:
            raise FillRefused(f"nothing was filled: {refused}") from refused

    async def _ask(self, request: CanvasRequest, total: int, report: Report) -> Filled:
        begun: set[int] = set()

        def show(draft: Draft) -> None:
            if draft.hole not in begun:
                begun.add(draft.hole)
                report(len(begun) / total, f"{len(begun)} of {total}")

        return await self._engine.fill(request, show)

    async def _named(
        self, document: Document, position: types.Position | None
    ) -> tuple[MaskedSpan, ...]:
        """The span at `position`, or all. Raises SpanError and FillRefused."""
        if position is None:
            markdown = document.language in MARKDOWN
            return await asyncio.to_thread(find_spans, document.text, markdown=markdown)
        offset = self._documents.offset(document, position)
        spans = (await self._scan(document)).spans
        at = [span for span in spans if offset is not None and span.start <= offset <= span.end]
        if not at:
            raise FillRefused("nothing was filled: no masked span stands there any more")
        return (at[-1],)

    async def _offered(self, document: Document) -> tuple[MaskedSpan, ...]:
        if refusal(document, self._settings(document.uri)) or len(document.text) > MAX_CHARS:
            return ()
        return (await self._scan(document)).spans

    async def _scan(self, document: Document) -> Scan:
        """The document's spans, read beside the keystrokes; the last document's are kept."""
        if self._scanned is None or self._scanned[0] is not document:
            markdown = document.language in MARKDOWN
            scan = await asyncio.to_thread(scan_spans, document.text, markdown=markdown)
            self._scanned = document, scan
            return scan
        return self._scanned[1]

    def _range(self, document: Document, span: MaskedSpan) -> types.Range:
        return types.Range(
            self._documents.position(document, span.start),
            self._documents.position(document, span.end),
        )

    def _fill_this(self, document: Document, span: MaskedSpan) -> types.Command:
        start = self._documents.position(document, span.start)
        return _command("Fill this span", document, start)


def _command(title: str, document: Document, position: types.Position | None) -> types.Command:
    where = position and {"line": position.line, "character": position.character}
    return types.Command(title, FILL, arguments=[document.uri, where])


def wanted(only: Sequence[types.CodeActionKind | str] | None, kind: str) -> bool:
    """Whether `only` asks for actions of `kind`; None asks for all."""
    kinds = [each.value if isinstance(each, types.CodeActionKind) else each for each in only or ()]
    return only is None or any(f"{kind}.".startswith(f"{each}.") for each in kinds if each)
