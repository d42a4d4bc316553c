"""A request in the runner: it waits, its steps are driven, and it is answered exactly once."""

from __future__ import annotations

import logging
import time
import traceback
from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias, TypeVar

from clover_engine.api import (
    CanvasRequest,
    DeadlinePassed,
    Draft,
    Engine,
    Filled,
    Need,
    Priority,
    Result,
    Steps,
)
from clover_engine.errors import Cancelled, CloverError, EngineError

log = logging.getLogger(__name__)

Outcome: TypeAlias = Filled | CloverError
T = TypeVar("T")


class Job:
    """A request of `user`; `cancel` may be called from any thread, more than once.

    While it runs, `need` is what its steps wait for. Only the worker calls what drives them.
    """

    def __init__(
        self,
        user: str,
        request: CanvasRequest,
        on_draft: Callable[[Draft], None],
        on_done: Callable[[Outcome], None],
        on_cancel: Callable[[Job, Cancelled], None],
    ) -> None:
        self.user = user
        self.request = request
        self.cancelled: Cancelled | None = None
        self.need: Need = None
        self._steps: Steps | None = None
        self._on_draft = on_draft
        self._on_done = on_done
        self._on_cancel = on_cancel
        self._submitted = time.monotonic()
        self._queue_ms = 0.0
        self._forwards = 0

    def cancel(self) -> None:
        """End the job: at once if it waits, before its next forward if it runs."""
        self._on_cancel(self, Cancelled("the request was cancelled"))

    def supersedes(self, older: Job) -> bool:
        """Latest wins per document; background work never takes from interactive work."""
        return self._shares_document(older) and (self.is_interactive or not older.is_interactive)

    def waits_for(self, running: Job) -> bool:
        """Whether it may not begin beside `running`: a document has one job at a time, and a user's
        background work gives way to what that user waits for."""
        return self._shares_document(running) or self.gives_way_to(running)

    def gives_way_to(self, other: Job) -> bool:
        """Whether `other` is interactive work for which this background job is put off."""
        return not self.is_interactive and other.is_interactive and self.user == other.user

    @property
    def is_interactive(self) -> bool:
        return self.request.priority is Priority.INTERACTIVE

    @property
    def is_overdue(self) -> bool:
        limit = self.request.deadline_ms
        return limit is not None and self._age_ms() > limit

    def begin(self, engine: Engine) -> Outcome | None:
        """Go on to the first need; the outcome if there is none."""
        self._queue_ms = self._age_ms()
        self._forwards = 0

        def start() -> Outcome | None:
            self._steps = engine.start(self.request)
            return self._until_need(self._steps, lambda steps: next(steps))

        return guarded(start)

    def go_on(self, result: Result) -> Outcome | None:
        """Go on with what a forward brought, up to the next need or the end."""
        self._forwards += 1
        return self._drive(lambda steps: steps.send(result))

    def hurry(self) -> Outcome | None:
        """Its time is up: end with what is clean."""
        return self._drive(lambda steps: steps.throw(DeadlinePassed()))

    def put_off(self) -> None:
        """Stop where it is; it may begin again later."""
        steps, self._steps = self._steps, None
        if steps:
            guarded(steps.close)

    def finish(self, outcome: Outcome) -> None:
        """Answer; the runner does it once."""
        self.put_off()
        if isinstance(outcome, Filled):
            outcome = replace(outcome, stats=replace(outcome.stats, queue_ms=self._queue_ms))
        self._on_done(self.cancelled or outcome)

    def _drive(self, step: Callable[[Steps], Need | Draft]) -> Outcome | None:
        steps = self._steps
        if steps is None:
            raise RuntimeError("a job that does not run is driven")
        return guarded(lambda: self._until_need(steps, step))

    def _until_need(self, steps: Steps, step: Callable[[Steps], Need | Draft]) -> Outcome | None:
        try:
            event = step(steps)
            while isinstance(event, Draft):
                self._show(event)
                event = next(steps)
        except StopIteration as end:
            filled: Filled = end.value
            return filled
        self.need = event
        return None

    def _show(self, draft: Draft) -> None:
        if self.cancelled is None:
            watched = self.request.watch
            self._on_draft(replace(draft, forwards=self._forwards) if watched else draft)

    def _shares_document(self, other: Job) -> bool:
        document = self.request.document
        return document != "" and document == other.request.document

    def _age_ms(self) -> float:
        return (time.monotonic() - self._submitted) * 1000


def guarded(work: Callable[[], T]) -> T | CloverError:
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
