"""One worker thread owns the engine: jobs wait their turn, then share its forwards."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from clover_engine.api import (
    CanvasRequest,
    Draft,
    Engine,
    EngineInfo,
    EngineState,
    Result,
)
from clover_engine.documents import of_user
from clover_engine.errors import Cancelled, CloverError, EngineBusy, EngineUnavailable
from clover_engine.job import Job, Outcome, guarded
from clover_engine.turns import Turns

log = logging.getLogger(__name__)

# jobs that share a forward; each holds a cache of its own
MOST_TOGETHER = 8
MAX_WAITING = 64  # of one user
# a load that failed (no model yet, say) is tried again by a job that comes this much later
RELOAD_S = 5.0


class Runner:
    """Loads the engine in its own thread, at once, and drives up to `MOST_TOGETHER` jobs in rounds:
    a round is one forward for all of them.

    Interactive jobs go first; a background job that one of the same user interrupts is begun again
    later, which costs little because what it read stays in the cache. Users are served evenly, and
    documents of one are never those of another. `model` names what is being loaded.
    """

    def __init__(self, load: Callable[[], Engine], model: str = "") -> None:
        self._load = load
        self._info = EngineInfo(model, state=EngineState.LOADING)
        self._turns = Turns()
        self._waiting: list[Job] = []
        self._running: list[Job] = []
        self._closed = False
        # guards the four above
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
            return len(self._all())

    def submit(
        self,
        request: CanvasRequest,
        on_draft: Callable[[Draft], None],
        on_done: Callable[[Outcome], None],
        user: str = "",
    ) -> Job:
        """Queue a job, from any thread; raises EngineBusy when too many of the user's wait.

        `on_done` is called exactly once, from the thread that ends the job, `on_draft` from the
        worker; neither may block or raise. Older jobs that this one supersedes end Cancelled.
        """
        request = replace(request, document=of_user(user, request.document))
        job = Job(user, request, on_draft, on_done, self.cancel)
        with self._changed:
            if self._closed:
                raise EngineUnavailable("the engine is stopping")
            older = [other for other in self._all() if job.supersedes(other)]
            theirs = {other for other in self._waiting if other.user == user}
            if len(theirs.difference(older)) >= MAX_WAITING:
                raise EngineBusy(f"{MAX_WAITING} requests are waiting; try again later")
            self._turns.arrived(user, {other.user for other in self._all()})
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
            if job in self._running:
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
        return [*self._waiting, *self._running]

    def _work(self) -> None:
        engine, loaded_at = self._loaded()
        while self._is_wanted():
            if isinstance(engine, CloverError) and time.monotonic() - loaded_at > RELOAD_S:
                engine, loaded_at = self._loaded()
            if isinstance(engine, CloverError):
                self._refuse(engine)
            else:
                self._round(engine)
        for job in list(self._running):
            self._ended(job, Cancelled("the engine is stopping"))

    def _loaded(self) -> tuple[Engine | CloverError, float]:
        self._info = replace(self._info, state=EngineState.LOADING, detail="")
        engine = guarded(self._load)
        if isinstance(engine, CloverError):
            log.error("the model could not be loaded: %s", engine)
            self._info = replace(self._info, state=EngineState.FAILED, detail=str(engine))
        else:
            self._info = engine.info
        return engine, time.monotonic()

    def _is_wanted(self) -> bool:
        """Wait for something to do; False once the runner is closed."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._running or self._closed)
            return not self._closed

    def _refuse(self, error: CloverError) -> None:
        """Answer the next job with what keeps all of them from being done."""
        if job := self._next():
            self._ended(job, error)

    def _round(self, engine: Engine) -> None:
        """Begin the jobs whose turn has come, and run one forward for all that are under way."""
        self._clear()
        while job := self._next():
            self._ended(job, job.begin(engine))
        for job in [job for job in self._running if job.is_overdue]:
            self._ended(job, job.hurry())
        jobs = list(self._running)
        for job, result in zip(jobs, self._forwarded(engine, jobs), strict=True):
            self._ended(job, result if isinstance(result, CloverError) else job.go_on(result))
        with self._changed:
            self._turns.served([job.user for job in jobs])

    def _clear(self) -> None:
        """Of the running jobs, end the cancelled ones and put off those that give way."""
        with self._changed:
            cancelled = [job for job in self._running if job.cancelled]
            put_off = [job for job in self._running if any(map(job.gives_way_to, self._all()))]
            for job in put_off:
                job.put_off()
            back = [job for job in put_off if not job.cancelled]
            self._running = [job for job in self._running if job not in back]
            self._waiting[:0] = back
        for job in cancelled:
            self._ended(job, Cancelled("the request was cancelled"))

    def _next(self) -> Job | None:
        """Let the most urgent job begin; None when none may."""
        with self._changed:
            if len(self._running) >= MOST_TOGETHER:
                return None
            free = [job for job in self._waiting if not any(map(job.waits_for, self._running))]
            if job := self._turns.first(free, self._running):
                self._waiting.remove(job)
                self._running.append(job)
            return job

    def _forwarded(self, engine: Engine, jobs: Sequence[Job]) -> Sequence[Result | CloverError]:
        """What one forward brings for each of the jobs, or why it failed for it."""
        if not jobs:
            return []
        results = guarded(lambda: engine.forward([job.need for job in jobs]))
        if not isinstance(results, CloverError):
            return results
        if len(jobs) == 1:
            return [results]
        # the fault of one is not that of the others
        return [result for job in jobs for result in self._forwarded(engine, [job])]

    def _ended(self, job: Job, outcome: Outcome | None) -> None:
        """Answer the job, unless it goes on."""
        if outcome is None:
            return
        with self._changed:
            self._running.remove(job)
        job.finish(outcome)
