"""Work on a document in a thread of its own, so that no keystroke waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, TypeVar

from clover_engine.api import CanvasRequest, Filled
from clover_templates.engine_scorer import Filler

T = TypeVar("T")


async def elsewhere(engine: Filler, work: Callable[[Filler], Coroutine[Any, Any, T]]) -> T:
    """What `work` returns, with the engine as it can be asked from there; the engine itself is
    asked in the caller's loop.

    Cancelled, it ends at once, and so does what the engine was asked. Raises CloverError.
    """
    home = _Home(asyncio.get_running_loop(), engine)
    try:
        return await asyncio.to_thread(lambda: asyncio.run(work(home)))
    finally:
        home.leave()


@dataclass(slots=True)
class _Home:
    """An engine in another thread, which asks the one at home."""

    loop: asyncio.AbstractEventLoop
    engine: Filler
    _left: bool = False
    _asked: list[Future[Filled]] = field(default_factory=list)

    async def fill(self, request: CanvasRequest) -> Filled:
        asked = asyncio.run_coroutine_threadsafe(self.engine.fill(request), self.loop)
        self._asked.append(asked)
        if self._left:
            asked.cancel()
        return await asyncio.wrap_future(asked)

    def leave(self) -> None:
        """Nobody waits for an answer any more."""
        self._left = True
        for asked in self._asked:
            asked.cancel()
