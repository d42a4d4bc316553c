"""The engine in this process: a client over a runner."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from clover_engine.api import CanvasRequest, Draft, EngineInfo, Filled
from clover_engine.errors import CloverError
from clover_engine.job import Outcome
from clover_engine.runner import Runner

T = TypeVar("T")


class InprocClient:
    """An `EngineClient` whose runner lives in this process; closing it ends the runner. Its
    requests are those of `user`."""

    def __init__(self, runner: Runner, user: str = "") -> None:
        self._runner = runner
        self._user = user

    async def fill(
        self, request: CanvasRequest, on_draft: Callable[[Draft], None] | None = None
    ) -> Filled:
        """Fill the canvas; raises CloverError. Cancelling the task cancels the job."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[Outcome] = loop.create_future()

        def settle(outcome: Outcome) -> None:
            if not done.done():
                done.set_result(outcome)

        def show(draft: Draft) -> None:
            if on_draft and not done.done():
                on_draft(draft)

        job = self._runner.submit(
            request,
            on_draft=lambda draft: _post(loop, show, draft),
            on_done=lambda outcome: _post(loop, settle, outcome),
            user=self._user,
        )
        try:
            outcome = await done
        finally:
            job.cancel()
        if isinstance(outcome, CloverError):
            # the same error may answer many jobs: without this its traceback would grow
            raise outcome.with_traceback(None)
        return outcome

    async def info(self) -> EngineInfo:
        """What the engine is, also while it still loads."""
        return self._runner.info

    async def close(self) -> None:
        """Cancel what runs and end the runner."""
        await asyncio.to_thread(self._runner.close)


def _post(loop: asyncio.AbstractEventLoop, call: Callable[[T], None], value: T) -> None:
    try:
        loop.call_soon_threadsafe(call, value)
    except RuntimeError:
        # the loop is closed: whoever waited is gone
        if not loop.is_closed():
            raise
