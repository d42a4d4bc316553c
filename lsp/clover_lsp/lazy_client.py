"""The engine client, made on first use: nothing of the engine is touched while an editor starts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from clover_engine.api import CanvasRequest, Draft, EngineClient, Filled
from clover_engine.errors import EngineUnavailable


class LazyClient:
    """Makes its client with `connect` when the first job comes; a failed attempt is made again."""

    def __init__(self, connect: Callable[[], EngineClient]) -> None:
        self._connect = connect
        self._client: EngineClient | None = None
        self._connecting = asyncio.Lock()
        self._closed = False

    async def fill(
        self, request: CanvasRequest, on_draft: Callable[[Draft], None] | None = None
    ) -> Filled:
        """Fill the canvas. Raises CloverError, also where no client can be made."""
        client = await self._made()
        return await client.fill(request, on_draft)

    async def close(self) -> None:
        """Let go of the client; jobs that come later are refused."""
        self._closed = True
        if self._client is not None:
            await self._client.close()

    async def _made(self) -> EngineClient:
        async with self._connecting:
            if self._closed:
                raise EngineUnavailable("the server is leaving")
            if self._client is None:
                # its imports take longer than a keystroke may
                self._client = await asyncio.to_thread(self._connect)
            return self._client
