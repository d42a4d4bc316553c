"""Lets the engine write for one cursor after the other, and tells the editor how that went."""

from __future__ import annotations

import asyncio
import logging
import traceback
from dataclasses import replace
from typing import Any

from clover_engine.api import CanvasRequest, Draft, Fill, Filled, Finish, Hole, Priority, Segment
from clover_engine.errors import Cancelled, CloverError
from clover_lsp.answers import Answer, Answers, Canvas, Written
from clover_lsp.desk import Desk, Job
from clover_lsp.lazy_client import LazyClient
from clover_lsp.offers import Course
from clover_lsp.status import Status

log = logging.getLogger(__name__)

# an engine that is silent this long after a request's deadline is given up on for that request
PATIENCE_S = 0.5
# further answers are shorter, and end where they are when so much time has passed
FURTHER_TOKENS = 48
FURTHER_S = 1.0


class Writer:
    """Jobs on an engine, and the answers they left."""

    def __init__(self, engine: LazyClient, status: Status) -> None:
        self.answers = Answers()
        self._engine = engine
        self._status = status

    async def texts(
        self, desk: Desk, request: CanvasRequest, course: Course, stale: asyncio.Future[None]
    ) -> tuple[Written, ...]:
        """What to write in the request's hole, likeliest first: from an answer, from the job that
        runs or from one begun now. Nothing where that failed, or once `stale` is done."""
        canvas = Canvas.of(request)
        while not stale.done():
            if found := self.answers.find(request.document, canvas):
                return found[1]
            job = desk.job_for(canvas) or self._begin(desk, request, course)
            await self._wait(job, stale)
            if stale.done() or not job.written:
                return ()
            typed = canvas.typed_since(job.canvas)
            if typed is not None and (rest := job.written.rest(typed)):
                return (rest,)
            # it was begun some keystrokes ago and went another way than they did
        return ()

    async def several(
        self,
        desk: Desk,
        request: CanvasRequest,
        course: Course,
        stale: asyncio.Future[None],
        most: int,
    ) -> tuple[Written, ...]:
        """As `texts`, with further answers that begin with another token, up to `most` in all."""
        texts = await self.texts(desk, request, course, stale)
        canvas = Canvas.of(request)
        found = self.answers.find(request.document, canvas)
        if not texts or not texts[0].text or (found and found[0].whole):
            return texts
        until = asyncio.get_running_loop().time() + FURTHER_S
        while len(texts) < most and not stale.done():
            left = int((until - asyncio.get_running_loop().time()) * 1000)
            if left <= 0:
                break
            unlike = _unlike(request, [each.text for each in texts], left)
            job = self._begin(desk, unlike, course)
            await self._wait(job, stale)
            if not job.written or not job.written.text:
                break
            texts = (*texts, job.written)
        if not stale.done():
            self.answers.keep(Answer(request.document, canvas, texts, whole=True))
        return texts

    def look_ahead(self, desk: Desk, request: CanvasRequest, course: Course) -> None:
        """Have the request's hole written when nothing else is to do, unless it is already."""
        canvas = Canvas.of(request)
        if self.answers.find(request.document, canvas):
            return
        if desk.ahead and desk.ahead.canvas == canvas and not desk.ahead.task.done():
            return
        background = replace(request, priority=Priority.BACKGROUND)
        desk.look_ahead(self._started(background, course))

    async def read(self, request: CanvasRequest) -> None:
        """Have the context read into the engine's cache."""
        try:
            await self._engine.fill(request)
            self._status.answered()
        except Cancelled:
            log.debug("a completion was wanted first")
        except CloverError as error:
            self._status.error(str(error))

    async def close(self) -> None:
        """Let go of the engine."""
        await self._engine.close()

    def report(self, task: asyncio.Task[Any]) -> None:
        """A bug is logged and told to the editor, but not thrown at a keystroke."""
        if not task.cancelled() and (error := task.exception()):
            frames = "".join(traceback.format_tb(error.__traceback__))
            # the message of a foreign error may quote the document
            log.error("%s in a completion\n%s", type(error).__name__, frames)
            self._status.error("a completion failed inside the server; its log says where")

    async def _wait(self, job: Job, stale: asyncio.Future[None]) -> None:
        job.askers += 1
        try:
            await asyncio.wait({job.task, stale}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            job.release()

    def _begin(self, desk: Desk, request: CanvasRequest, course: Course) -> Job:
        job = self._started(request, course)
        desk.replace_job(job)
        return job

    def _started(self, request: CanvasRequest, course: Course) -> Job:
        job = Job(Canvas.of(request), course)
        wanted = request.priority is Priority.INTERACTIVE
        job.task = asyncio.create_task(
            self._fill(job, request) if wanted else self._prepare(job, request)
        )
        job.task.add_done_callback(self.report)
        return job

    async def _fill(self, job: Job, request: CanvasRequest) -> None:
        """Let the engine write the job's text; tell the editor how that went."""
        filled: Filled | None = None
        self._status.started()
        try:
            filled = await self._write(job, request)
        except Cancelled:
            log.debug("a newer request took over")
        except TimeoutError:
            self._status.slow("the engine is loading or busy")
        except CloverError as error:
            self._status.error(str(error))
        finally:
            self._status.ended(filled)

    async def _prepare(self, job: Job, request: CanvasRequest) -> None:
        """As `_fill`, for nobody yet: who asks there later is told if it fails again."""
        try:
            await self._write(job, request)
            self._status.answered()
        except (CloverError, TimeoutError) as error:
            log.debug("nothing was written ahead: %s", type(error).__name__)

    async def _write(self, job: Job, request: CanvasRequest) -> Filled:
        """Raises CloverError, TimeoutError when the engine does not answer in time."""

        def show(draft: Draft) -> None:
            job.draft = draft.text

        async with asyncio.timeout((request.deadline_ms or 0) / 1000 + PATIENCE_S):
            filled = await self._engine.fill(request, show)
        fill = filled.fills[0]
        job.draft, job.written = fill.text, Written(fill.text, fill.confidence, fill.finish)
        if job.canvas.hole.unlike:
            return filled
        if _is_final(fill):
            self.answers.keep(Answer(request.document, job.canvas, (job.written,)))
        elif not fill.text:
            raise TimeoutError  # the engine is as late as one that says nothing
        return filled


def _is_final(fill: Fill) -> bool:
    """Whether asking again would bring the same."""
    return fill.finish is not Finish.DEADLINE


def _unlike(request: CanvasRequest, texts: list[str], deadline_ms: int) -> CanvasRequest:
    """The request for another answer than `texts`."""

    def other(segment: Segment) -> Segment:
        if not isinstance(segment, Hole):
            return segment
        most = min(segment.max_tokens, FURTHER_TOKENS)
        return replace(segment, unlike=tuple(texts), max_tokens=most)

    segments = tuple(map(other, request.segments))
    return replace(request, segments=segments, deadline_ms=deadline_ms)
