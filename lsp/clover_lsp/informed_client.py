"""The engine's client whose requests say what other open files tell."""

from __future__ import annotations

from collections.abc import Callable

from clover_engine.api import CanvasRequest, Draft, EngineClient, EngineInfo, Filled
from clover_lsp.neighbours import Neighbours


class InformedClient:
    """An `EngineClient` whose requests go out with what the neighbours tell."""

    def __init__(self, engine: EngineClient, neighbours: Neighbours) -> None:
        self._engine = engine
        self._neighbours = neighbours

    async def fill(
        self, request: CanvasRequest, on_draft: Callable[[Draft], None] | None = None
    ) -> Filled:
        """Fill the canvas."""
        return await self._engine.fill(await self._neighbours.equip(request), on_draft)

    async def info(self) -> EngineInfo:
        """What the engine is."""
        return await self._engine.info()

    async def close(self) -> None:
        """Let go of the engine."""
        await self._engine.close()
