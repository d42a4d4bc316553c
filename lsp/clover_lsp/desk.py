"""What goes on in one document: the open request, and the job that runs or ran last."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from clover_engine.api import CanvasRequest, Hole, Literal
from clover_lsp.documents import Document

# how long a job nobody waits for may go on: the next keystroke's request may still want it
GRACE_S = 0.08


@dataclass(frozen=True, slots=True)
class Canvas:
    """The two literals a hole stands between, and the hole."""

    left: str
    hole: Hole
    right: str

    @classmethod
    def of(cls, request: CanvasRequest) -> Canvas:
        """The canvas of an infill request."""
        match request.segments:
            case (Literal(left), Hole() as hole, Literal(right)):
                return cls(left, hole, right)
            case _:
                raise ValueError("an infill canvas is literal, hole, literal")

    def typed_since(self, earlier: Canvas) -> str | None:
        """What was typed at the hole since `earlier`; None if anything else changed."""
        if self.hole != earlier.hole or self.right != earlier.right:
            return None
        return self.left[len(earlier.left) :] if self.left.startswith(earlier.left) else None


@dataclass(slots=True, eq=False)
class Job:
    """A fill begun at `offset` of `document`. `text` is its draft, once `written` the whole."""

    canvas: Canvas
    document: Document
    offset: int
    task: asyncio.Task[None] = field(init=False)
    text: str = ""
    written: bool = False
    ended: bool = False
    askers: int = 0

    def finish(self, text: str) -> None:
        """The engine wrote `text`."""
        self.text, self.written = text, True

    def rest(self, canvas: Canvas) -> str | None:
        """The text left after what was typed between this job's canvas and `canvas`.

        None if something else was typed or the job was given up, or, once the job is done, if it
        failed or nothing is left.
        """
        typed = canvas.typed_since(self.canvas)
        if self.ended or typed is None or not self.text.startswith(typed):
            return None
        rest = self.text[len(typed) :]
        return rest if not self.task.done() or (self.written and (rest or not typed)) else None

    def agrees_with(self, text: str) -> bool:
        """Whether `text` is the job's document with a beginning of the draft typed at the hole."""
        left, right = self.document.text[: self.offset], self.document.text[self.offset :]
        typed = text[len(left) : len(text) - len(right)]
        if not self.text.startswith(typed) or len(text) < len(left) + len(right):
            return False
        return text.startswith(left) and text.endswith(right)

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
    """The latest request wins: opening one ends the older. The last job is kept when it is done,
    so that typing along its text, or asking again, needs no engine.
    """

    job: Job | None = None
    _open: asyncio.Future[None] | None = None

    def open_request(self) -> asyncio.Future[None]:
        """A future for a new request, done once a newer one or a change takes its place."""
        self.end_request()
        self._open = asyncio.get_running_loop().create_future()
        return self._open

    def end_request(self) -> None:
        """The open request, if any, is to be answered with nothing."""
        if self._open and not self._open.done():
            self._open.set_result(None)

    def job_for(self, canvas: Canvas) -> Job | None:
        """The job if its text, as far as it is known, goes on from what was typed since."""
        return self.job if self.job and self.job.rest(canvas) is not None else None

    def replace_job(self, job: Job) -> None:
        """`job` begins; the one before ends."""
        if self.job:
            self.job.end()
        self.job = job

    def changed(self, document: Document) -> None:
        """The document changed: a running job that does not agree with that ends."""
        if self.job and not self.job.task.done() and not self.job.agrees_with(document.text):
            self.job.end()
            self.end_request()

    def clear(self) -> None:
        """The document was closed: everything ends."""
        if self.job:
            self.job.end()
        self.end_request()
