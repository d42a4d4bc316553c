"""One worker thread owns the engine: jobs wait their turn, are cancelled, superseded, timed."""

from __future__ import annotations

import logging
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from typing import TypeAlias, TypeVar

from clover_engine.api import (
    CanvasRequest,
    DeadlinePassed,
    Draft,
    Engine,
    EngineInfo,
    EngineState,
    Filled,
    Priority,
)
from clover_engine.errors import Cancelled, CloverError, EngineBusy, EngineError, EngineUnavailable

log = logging.getLogger(__name__)

MAX_WAITING = 64
# a load that failed (no model yet, say) is tried again by a job that comes this much later
RELOAD_S = 5.0

Outcome: TypeAlias = Filled | CloverError
T = TypeVar("T")


class Job:
    """A request in the runner; `cancel` may be called from any thread, more than once."""

    def __init__(
        self,
        runner: Runner,
        request: CanvasRequest,
        on_draft: Callable[[Draft], None],
        on_done: Callable[[Outcome], None],
    ) -> None:
        self.request = request
        self.cancelled: Cancelled | None = None
        self.forwards = 0
        self._runner = runner
        self._on_draft = on_draft
        self._on_done = on_done
        self._submitted = time.monotonic()
        self._queue_ms = 0.0

    def cancel(self) -> None:
        """End the job: at once if it waits, before its next forward if it runs."""
        self._runner.cancel(self, Cancelled("the request was cancelled"))

    def supersedes(self, older: Job) -> bool:
        """Latest wins per document; background work never takes from interactive work."""
        return (
            self.request.document != ""
            and self.request.document == older.request.document
            and (self.is_interactive or not older.is_interactive)
        )

    @property
    def is_interactive(self) -> bool:
        return self.request.priority is Priority.INTERACTIVE

    @property
    def is_overdue(self) -> bool:
        limit = self.request.deadline_ms
        return limit is not None and self._age_ms() > limit

    def begin(self) -> None:
        self._queue_ms = self._age_ms()
        self.forwards = 0

    def show(self, draft: Draft) -> None:
        if self.cancelled is None:
            watched = self.request.watch
            self._on_draft(replace(draft, forwards=self.forwards) if watched else draft)

    def finish(self, outcome: Outcome) -> None:
        if isinstance(outcome, Filled):
            outcome = replace(outcome, stats=replace(outcome.stats, queue_ms=self._queue_ms))
        self._on_done(self.cancelled or outcome)

    def _age_ms(self) -> float:
        return (time.monotonic() - self._submitted) * 1000


class Runner:
    """Loads the engine in its own thread, at once, and drives one job after the other.

    Interactive jobs go first; a background job that one interrupts is begun again later, which
    costs little because what it read stays in the cache. `model` names what is being loaded.
    """

    def __init__(self, load: Callable[[], Engine], model: str = "") -> None:
        self._load = load
        self._info = EngineInfo(model, state=EngineState.LOADING)
        self._waiting: list[Job] = []
        self._running: Job | None = None
        self._closed = False
        # guards the three above
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._work, name="clover-engine", daemon=True)
        self._thread.start()

    @property
    def info(self) -> EngineInfo:
        """What the engine is; its state tells whether it is loading, ready or failed."""
        return self._info

    @property
    def jobs(self) -> int:
        """How many jobs wait or run."""
        with self._changed:
            return len(self._waiting) + (self._running is not None)

    def submit(
        self,
        request: CanvasRequest,
        on_draft: Callable[[Draft], None],
        on_done: Callable[[Outcome], None],
    ) -> Job:
        """Queue a job, from any thread; raises EngineBusy when too many wait.

        `on_done` is called exactly once, from the thread that ends the job, `on_draft` from the
        worker; neither may block or raise. Older jobs that this one supersedes end Cancelled.
        """
        job = Job(self, request, on_draft, on_done)
        with self._changed:
            if self._closed:
                raise EngineUnavailable("the engine is stopping")
            older = [other for other in self._all() if job.supersedes(other)]
            if len({*self._waiting}.difference(older)) >= MAX_WAITING:
                raise EngineBusy(f"{MAX_WAITING} requests are waiting; try again later")
            self._waiting.append(job)
            self._changed.notify()
        for other in older:
            self.cancel(other, Cancelled("a newer request of the same document took over"))
        return job

    def cancel(self, job: Job, why: Cancelled) -> None:
        """End a job that waits now, and one that runs before its next forward."""
        with self._changed:
            if job.cancelled is not None or job not in self._all():
                return
            job.cancelled = why
            if job is self._running:
                return
            self._waiting.remove(job)
        job.finish(why)

    def close(self, timeout: float | None = None) -> bool:
        """Cancel every job and end the thread; False when it still runs after `timeout` seconds."""
        with self._changed:
            self._closed = True
            left = self._all()
            self._changed.notify()
        for job in left:
            self.cancel(job, Cancelled("the engine is stopping"))
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def _all(self) -> list[Job]:
        return [*self._waiting, self._running] if self._running else list(self._waiting)

    def _work(self) -> None:
        engine, loaded_at = self._loaded()
        while job := self._next():
            if isinstance(engine, CloverError) and time.monotonic() - loaded_at > RELOAD_S:
                engine, loaded_at = self._loaded()
            outcome = self._drive(engine, job) if not isinstance(engine, CloverError) else engine
            self._ended(job, outcome)

    def _loaded(self) -> tuple[Engine | CloverError, float]:
        self._info = replace(self._info, state=EngineState.LOADING, detail="")
        engine = _guarded(self._load)
        if isinstance(engine, CloverError):
            log.error("the model could not be loaded: %s", engine)
            self._info = replace(self._info, state=EngineState.FAILED, detail=str(engine))
        else:
            self._info = engine.info
        return engine, time.monotonic()

    def _next(self) -> Job | None:
        """Wait for the most urgent job; None once the runner is closed."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._closed)
            if self._closed:
                return None
            # the first of the interactive ones, else the first
            job = min(self._waiting, key=lambda waiting: not waiting.is_interactive)
            self._waiting.remove(job)
            self._running = job
            return job

    def _ended(self, job: Job, outcome: Outcome | None) -> None:
        """Answer the job, or put it back first in the queue when it only made way."""
        with self._changed:
            self._running = None
            if outcome is None and not job.cancelled and not self._closed:
                self._waiting.insert(0, job)
                return
        job.finish(outcome or Cancelled("the engine is stopping"))

    def _drive(self, engine: Engine, job: Job) -> Outcome | None:
        """Run a job to its end; None when it made way for an interactive one."""
        job.begin()
        return _guarded(lambda: self._steps(engine, job))

    def _steps(self, engine: Engine, job: Job) -> Outcome | None:
        with closing(engine.start(job.request)) as steps:
            try:
                event = next(steps)
                while True:
                    if isinstance(event, Draft):
                        job.show(event)
                        event = next(steps)
                    elif job.cancelled:
                        return job.cancelled
                    elif self._makes_way(job):
                        return None
                    elif job.is_overdue:
                        event = steps.throw(DeadlinePassed())
                    else:
                        [result] = engine.forward([event])
                        job.forwards += 1
                        event = steps.send(result)
            except StopIteration as end:
                filled: Filled = end.value
                return filled

    def _makes_way(self, job: Job) -> bool:
        with self._changed:
            return not job.is_interactive and any(other.is_interactive for other in self._waiting)


def _guarded(work: Callable[[], T]) -> T | CloverError:
    """What `work` returns, or its error: typed, whatever it was, so that the worker lives on."""
    try:
        return work()
    except CloverError as error:
        return error
    except Exception as error:  # noqa: BLE001 - a bug in one job must not end all others
        name = type(error).__name__
        # the message of an unknown error may quote the document: only its place is logged
        log.error("%s in the engine:\n%s", name, "".join(traceback.format_tb(error.__traceback__)))
        return EngineError(f"the engine failed with {name}; its log says where")
