"""Inline completion: one answer to every request, the latest wins, typing along keeps the job."""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections import defaultdict
from typing import Any

from lsprotocol import types

from clover_engine.api import CanvasRequest, Draft, Stats
from clover_engine.errors import Cancelled, CloverError
from clover_lsp import infill
from clover_lsp.desk import Canvas, Desk, Job
from clover_lsp.documents import Document, Documents
from clover_lsp.exclusions import refusal
from clover_lsp.infill import Trigger
from clover_lsp.lazy_client import LazyClient
from clover_lsp.settings import Settings
from clover_lsp.status import Status

log = logging.getLogger(__name__)

# an engine that is silent this long after a request's deadline is given up on for that request
PATIENCE_S = 0.5
# opened files and cursor moves come in bursts: only where the cursor rests is read ahead
REST_S = 0.15
# an editor does not wait long for its server to leave
LEAVE_S = 0.5


class InlineCompletion:
    """The feature, over the open documents and an engine."""

    def __init__(self, documents: Documents, engine: LazyClient, status: Status) -> None:
        self.settings = Settings()
        # Neovim's buffers hold no "\r": there every answer keeps its "\n"
        self.keeps_eol = True
        self._documents = documents
        self._engine = engine
        self._status = status
        self._desks: defaultdict[str, Desk] = defaultdict(Desk)
        self._answers: set[asyncio.Task[types.InlineCompletionItem | None]] = set()
        self._warming: asyncio.Task[None] | None = None

    async def answer(
        self, document: Document | None, position: types.Position, trigger: Trigger
    ) -> types.InlineCompletionList:
        """The completion at `position` of `document` as it was when the request came.

        Raises nothing but CancelledError: a failure is an empty list and a status.
        """
        if document is None:
            return types.InlineCompletionList([])
        task = asyncio.create_task(self._item(document, position, trigger))
        self._answers.add(task)
        task.add_done_callback(self._answers.discard)
        task.add_done_callback(self._report)
        try:
            await asyncio.wait({task})
        finally:
            task.cancel()
        failed = task.cancelled() or task.exception()
        item = None if failed else task.result()
        return types.InlineCompletionList([item] if item else [])

    def changed(self, document: Document) -> None:
        """The document changed: a job whose draft does not agree with that ends now."""
        if desk := self._desks.get(document.uri):
            desk.changed(document)

    def closed(self, uri: str) -> None:
        """The document was closed: what goes on in it ends."""
        if desk := self._desks.pop(uri, None):
            desk.clear()

    def warm(self, document: Document | None, position: types.Position) -> None:
        """Read the text around `position` into the cache, once the cursor rests there."""
        if self._warming:
            self._warming.cancel()
        if document is not None:
            self._warming = asyncio.create_task(self._warm(document.uri, position))
            self._warming.add_done_callback(self._report)

    async def close(self) -> None:
        """Answer what is open with nothing, end the jobs, let go of the engine."""
        for task in self._answers:
            task.cancel()
        for uri in list(self._desks):
            self.closed(uri)
        if self._warming:
            self._warming.cancel()
        try:
            async with asyncio.timeout(LEAVE_S):
                await self._engine.close()
        except TimeoutError:
            log.warning("the engine did not let go in time")

    async def _item(
        self, document: Document, position: types.Position, trigger: Trigger
    ) -> types.InlineCompletionItem | None:
        if self._documents.get(document.uri) is not document:
            return None
        if reason := refusal(document, self.settings, trigger):
            self._status.inactive(reason)
            return None
        stale = self._desks[document.uri].open_request()
        offset = self._documents.offset(document, position)
        if offset is None:
            return None
        text = await self._text(document, offset, trigger, stale)
        # an answer to an older text would stand in the wrong place
        if not text or self._documents.get(document.uri) is not document:
            return None
        cursor = self._documents.position(document, offset)
        if self.keeps_eol:
            text = text.replace("\n", document.eol)
        return types.InlineCompletionItem(insert_text=text, range=types.Range(cursor, cursor))

    async def _text(
        self, document: Document, offset: int, trigger: Trigger, stale: asyncio.Future[None]
    ) -> str | None:
        """What to insert at `offset`; None for nothing, or once `stale` is done."""
        if trigger is Trigger.AUTOMATIC and infill.inside_word(document.text, offset):
            return None
        request = infill.plan(
            document.text, offset, document.language, trigger=trigger, document=document.uri
        )
        canvas = Canvas.of(request)
        desk = self._desks[document.uri]
        while not stale.done():
            job = desk.job_for(canvas) or self._begin(desk, request, document, offset)
            job.askers += 1
            try:
                await asyncio.wait({job.task, stale}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                job.release()
            if stale.done() or not job.written:
                return None
            # a job begun some keystrokes ago may have gone another way than they did
            if (rest := job.rest(canvas)) is not None:
                return infill.settle(
                    document.text, offset, rest, document.language, trigger=trigger
                )
        return None

    def _begin(self, desk: Desk, request: CanvasRequest, document: Document, offset: int) -> Job:
        job = Job(Canvas.of(request), document, offset)
        job.task = asyncio.create_task(self._fill(job, request))
        job.task.add_done_callback(self._report)
        desk.replace_job(job)
        return job

    async def _fill(self, job: Job, request: CanvasRequest) -> None:
        """Let the engine write the job's text; tell the editor how that went."""

        def show(draft: Draft) -> None:
            job.text = draft.text

        stats: Stats | None = None
        self._status.started()
        try:
            async with asyncio.timeout((request.deadline_ms or 0) / 1000 + PATIENCE_S):
                filled = await self._engine.fill(request, show)
            job.finish(filled.fills[0].text)
            stats = filled.stats
        except Cancelled:
            log.debug("a newer request took over")
        except TimeoutError:
            self._status.slow("the engine is loading or busy")
        except CloverError as error:
            self._status.error(str(error))
        finally:
            self._status.ended(stats)

    async def _warm(self, uri: str, position: types.Position) -> None:
        await asyncio.sleep(REST_S)
        document = self._documents.get(uri)
        if document is None or refusal(document, self.settings, Trigger.AUTOMATIC):
            return
        offset = self._documents.offset(document, position) or 0
        try:
            await self._engine.fill(infill.warm(document.text, offset, document=uri))
        except Cancelled:
            log.debug("a completion was wanted first")
        except CloverError as error:
            self._status.error(str(error))

    def _report(self, task: asyncio.Task[Any]) -> None:
        """A bug is logged and told to the editor, but not thrown at a keystroke."""
        if not task.cancelled() and (error := task.exception()):
            frames = "".join(traceback.format_tb(error.__traceback__))
            # the message of a foreign error may quote the document
            log.error("%s in a completion\n%s", type(error).__name__, frames)
            self._status.error("a completion failed inside the server; its log says where")
