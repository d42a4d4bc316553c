"""The engine's client for an editor that watches its jobs: it is told what each is made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from itertools import count
from typing import Any

from clover_engine.api import (
    CanvasRequest,
    Decoding,
    Draft,
    EngineClient,
    EngineInfo,
    Filled,
    Hole,
)
from clover_lsp.status import Notify

# a job begins, one of its drafts, its end: `fills` and `stats` are null where it was ended early
CANVAS, DRAFT, FILLED = "clover/canvas", "clover/draft", "clover/filled"
# so much of a literal is told at each of its ends that is at a hole
END_CHARS = 400


class WatchedClient:
    """An `EngineClient` that tells of each job while `decoding` names how holes are written for
    who watches, and is the engine itself while that is None.
    """

    def __init__(
        self, engine: EngineClient, notify: Notify, decoding: Callable[[], Decoding | None]
    ) -> None:
        self._engine = engine
        self._notify = notify
        self._decoding = decoding
        self._numbers = count(1)

    async def fill(
        self, request: CanvasRequest, on_draft: Callable[[Draft], None] | None = None
    ) -> Filled:
        """Fill the canvas."""
        decoding = self._decoding()
        if decoding is None or not _is_told(request):
            return await self._engine.fill(request, on_draft)
        job = next(self._numbers)
        self._notify(CANVAS, {"job": job, "segments": list(_told(request))})

        def show(draft: Draft) -> None:
            self._notify(DRAFT, {"job": job, **asdict(draft)})
            if on_draft:
                on_draft(draft)

        end: dict[str, Any] = {"fills": None, "stats": None}
        try:
            filled = await self._engine.fill(replace(request, watch=True, decoding=decoding), show)
            end = asdict(filled)
            return filled
        finally:
            self._notify(FILLED, {"job": job, **end})

    async def info(self) -> EngineInfo:
        """What the engine is."""
        return await self._engine.info()

    async def close(self) -> None:
        """Let go of the engine."""
        await self._engine.close()


def _is_told(request: CanvasRequest) -> bool:
    """Whether something is to be written that may be shown first: no context that is only read, no
    further answer."""
    holes = [part for part in request.segments if isinstance(part, Hole)]
    return any(hole.max_tokens and not hole.unlike for hole in holes)


def _told(request: CanvasRequest) -> Iterator[dict[str, Any]]:
    """The segments as they are told: holes by their room, literals by their text near holes."""
    last = len(request.segments) - 1
    for place, part in enumerate(request.segments):
        if isinstance(part, Hole):
            yield {"maxTokens": part.max_tokens}
        elif place == 0:
            yield {"text": part.text[-END_CHARS:]}
        elif place == last:
            yield {"text": part.text[:END_CHARS]}
        elif len(part.text) > 2 * END_CHARS:
            yield {"text": f"{part.text[:END_CHARS]}…{part.text[-END_CHARS:]}"}
        else:
            yield {"text": part.text}
