"""A document restructured in a thread of its own, so that no keystroke waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field

from clover_templates.builtins import Facts
from clover_templates.document import Document
from clover_templates.places import Place
from clover_templates.restructure import Proposal, restructure
from clover_templates.scoring import Scorer, Scores
from clover_templates.template import Template


async def restructured(
    document: Document, template: Template, scorer: Scorer, facts: Facts
) -> Proposal:
    """What `restructure` returns; the scorer is asked in the caller's loop.

    Cancelled, it ends at once, and so does what the scorer was asked. Raises CloverError.
    """
    home = _Home(asyncio.get_running_loop(), scorer)
    try:
        return await asyncio.to_thread(
            lambda: asyncio.run(restructure(document, template, home, facts))
        )
    finally:
        home.leave()


@dataclass(slots=True)
class _Home:
    """A scorer in another thread, which asks the one at home."""

    loop: asyncio.AbstractEventLoop
    scorer: Scorer
    _left: bool = False
    _asked: list[Future[Scores]] = field(default_factory=list)

    async def scores(
        self, template: Template, places: Sequence[Place], texts: Sequence[str]
    ) -> Scores:
        asked = asyncio.run_coroutine_threadsafe(
            self.scorer.scores(template, places, texts), self.loop
        )
        self._asked.append(asked)
        if self._left:
            asked.cancel()
        return await asyncio.wrap_future(asked)

    def leave(self) -> None:
        """Nobody waits for an answer any more."""
        self._left = True
        for asked in self._asked:
            asked.cancel()
