"""The client of an engine on the network: connects on first use, and again when that broke."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from clover_engine.api import CanvasRequest, Draft, EngineInfo, Filled
from clover_engine.errors import EngineUnavailable, ProtocolMismatch
from clover_engine.wire import PROTOCOL

if TYPE_CHECKING:
    from clover_engine.connection import Connection


class NetworkClient:
    """An `EngineClient` of the engine at `url`, to be used from one event loop.

    Its program may be of another version than ours: only the protocol must be the same. `ca_file`
    holds certificates trusted beside the system's.
    """

    def __init__(self, url: str, token: str, version: str, ca_file: Path | None = None) -> None:
        self._url = url
        self._token = token
        self._version = version
        self._ca_file = ca_file
        self._connection: Connection | None = None
        self._connecting = asyncio.Lock()

    async def fill(
        self, request: CanvasRequest, on_draft: Callable[[Draft], None] | None = None
    ) -> Filled:
        """As `EngineClient.fill`; EngineUnavailable at once when the engine goes away."""
        connection = await self._connected()
        return await connection.fill(request, on_draft)

    async def info(self) -> EngineInfo:
        """What the engine is, also while it still loads."""
        connection = await self._connected()
        return await connection.info()

    async def close(self) -> None:
        """Close the connection."""
        if self._connection:
            await self._connection.close()

    async def _connected(self) -> Connection:
        async with self._connecting:
            if self._connection is None or not self._connection.is_open:
                self._connection = await self._open()
            return self._connection

    async def _open(self) -> Connection:
        from clover_engine.connection import open_network

        connection = await open_network(self._url, self._token, self._version, self._tls())
        theirs = connection.welcome
        if theirs.protocol == PROTOCOL:
            return connection
        await connection.close()
        raise ProtocolMismatch(
            f"{self._url} runs clover-write {theirs.version}, this is {self._version}:"
            " bring the older one up to date"
        )

    def _tls(self) -> ssl.SSLContext:
        context = ssl.create_default_context()
        if self._ca_file:
            try:
                context.load_verify_locations(self._ca_file)
            except (OSError, ssl.SSLError) as error:
                raise EngineUnavailable(f"{self._ca_file} cannot be used: {error}") from error
        return context
