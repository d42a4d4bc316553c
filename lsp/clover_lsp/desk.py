"""What goes on in one document: open requests, the job that runs, the one ahead, the offers."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from clover_lsp.answers import Canvas, Written
from clover_lsp.documents import Document
from clover_lsp.offers import Course, Offer, Offers

# how long a job nobody waits for may go on: the next keystroke's request may still want it
GRACE_S = 0.08


@dataclass(slots=True, eq=False)
class Job:
    """A fill that runs. `draft` is its text so far, `written` the whole once it is done.

    `course` has the document's text around the hole; its own text stands right before the hole, and
    may still be missing from the document.
    """

    canvas: Canvas
    course: Course
    task: asyncio.Task[None] = field(init=False)
    draft: str = ""
    written: Written | None = None
    ended: bool = False
    askers: int = 0

    def goes_on(self, canvas: Canvas) -> bool:
        """Whether the job still runs and its draft agrees with what was typed at its hole."""
        if self.ended or self.task.done():
            return False
        typed = canvas.typed_since(self.canvas)
        return typed is not None and self.draft.startswith(typed)

    def allows(self, document: str) -> bool:
        """Whether the document's text can still become what the job writes for."""
        return replace(self.course, text=self.course.text + self.draft).allows(document)

    def release(self) -> None:
        """One asker less; with none left the job ends after the grace time."""
        self.askers -= 1
        if not self.task.done():
            asyncio.get_running_loop().call_later(GRACE_S, self._end_unwanted)

    def end(self) -> None:
        """Cancel the job unless it is done."""
        if not self.task.done():
            self.ended = True
            self.task.cancel()

    def _end_unwanted(self) -> None:
        if not self.askers:
            self.end()


@dataclass(slots=True, eq=False)
class Desk:
    """The latest request wins: opening one ends the older of its kind."""

    job: Job | None = None
    ahead: Job | None = None
    offers: Sequence[Offer] = ()
    _open: dict[str, asyncio.Future[None]] = field(default_factory=dict)

    @property
    def is_busy(self) -> bool:
        """Whether a job runs."""
        return any(job and not job.task.done() for job in (self.job, self.ahead))

    def open_request(self, kind: str) -> asyncio.Future[None]:
        """A future for a new request, done once a newer one or a change takes its place."""
        if older := self._open.get(kind):
            _done(older)
        self._open[kind] = asyncio.get_running_loop().create_future()
        return self._open[kind]

    def job_for(self, canvas: Canvas) -> Job | None:
        """The running job, or the one ahead, that goes on from what was typed since it began."""
        for job in (self.job, self.ahead):
            if job and job.goes_on(canvas):
                if job is self.ahead:
                    self.replace_job(job)
                    self.ahead = None
                return job
        return None

    def replace_job(self, job: Job) -> None:
        """`job` begins; the one before ends."""
        if self.job:
            self.job.end()
        self.job = job

    def look_ahead(self, job: Job | None) -> None:
        """`job` begins behind what was offered; the one before ends."""
        if self.ahead:
            self.ahead.end()
        self.ahead = job

    def changed(self, document: Document, offers: Offers) -> None:
        """The document changed: what does not agree with that ends, offers are dismissed."""
        if self.job and not self.job.task.done() and not self.job.allows(document.text):
            self.job.end()
            self.end_requests()
        if self.ahead and not self.ahead.allows(document.text):
            self.look_ahead(None)
        text = document.text
        if any(offer.course.is_run(text) for offer in self.offers):
            self.offers = ()
        left = [offer for offer in self.offers if offer.allows(text)]
        # of several only the first was surely seen
        if self.offers and not left and self.offers[0].is_left(text):
            offers.dismiss(self.offers[0])
        self.offers = left

    def clear(self) -> None:
        """Everything ends: the document was closed, or gets no more completions."""
        if self.job:
            self.job.end()
        self.look_ahead(None)
        self.end_requests()
        self.offers = ()

    def end_requests(self) -> None:
        """The open requests are to be answered with nothing."""
        for request in self._open.values():
            _done(request)


def _done(request: asyncio.Future[None]) -> None:
    if not request.done():
        request.set_result(None)
