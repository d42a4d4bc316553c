"""A small HTTP server for tests, which answers as the published interfaces of engines say."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, TypeAlias

Answer: TypeAlias = "int | Mapping[str, Any] | Iterable[Any] | None"
"""A status, an object, or events: objects, or texts that are sent as they are. None: the connection
is closed without an answer."""


@dataclass
class HttpPeer:
    """Its routes by path, what it was asked (path, body, headers), whether somebody left early."""

    routes: dict[str, Callable[[dict[str, Any]], Answer]]
    port: int = 0
    asked: list[tuple[str, dict[str, Any], dict[str, str]]] = field(default_factory=list)
    broken_off: asyncio.Event = field(default_factory=asyncio.Event)
    pause_s: float = 0.0
    _open: dict[Any, asyncio.StreamWriter] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def bodies(self, path: str) -> list[dict[str, Any]]:
        """What was posted there."""
        return [body for asked, body, _ in self.asked if asked == path]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open[asyncio.current_task()] = writer
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            while head := await reader.readuntil(b"\r\n\r\n"):
                await self._answer(head.decode("latin-1"), reader, writer)
        writer.close()

    async def close(self) -> None:
        """Close every connection."""
        for writer in self._open.values():
            writer.close()
        await asyncio.gather(*self._open)
        self._open.clear()

    async def _answer(
        self, head: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        first, *lines = head.strip().split("\r\n")
        path = first.split(" ")[1]
        headers = {
            name.lower(): value.strip() for name, _, value in (x.partition(":") for x in lines)
        }
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        parsed = json.loads(body) if body else {}
        self.asked.append((path, parsed, headers))
        route = self.routes.get(path)
        answer = route(parsed) if route else 404
        if answer is None:
            raise ConnectionResetError
        if isinstance(answer, int):
            writer.write(b"HTTP/1.1 %d X\r\nContent-Length: 2\r\n\r\n{}" % answer)
        elif isinstance(answer, Mapping):
            data = json.dumps(answer).encode()
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(data), data))
        else:
            await self._stream(answer, reader, writer)
        await writer.drain()

    async def _stream(
        self, events: Iterable[Any], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        for event in events:
            data = event if isinstance(event, str) else f"data: {json.dumps(event)}\n\n"
            writer.write(b"%x\r\n%s\r\n" % (len(data.encode()), data.encode()))
            await writer.drain()
            await asyncio.sleep(self.pause_s)
            if reader.at_eof():
                self.broken_off.set()
                raise ConnectionResetError
        writer.write(b"0\r\n\r\n")


@asynccontextmanager
async def http_peer(
    routes: dict[str, Callable[[dict[str, Any]], Answer]],
) -> AsyncIterator[HttpPeer]:
    """A peer at a free loopback port."""
    peer = HttpPeer(routes)
    server = await asyncio.start_server(peer.serve, "127.0.0.1", 0)
    peer.port = server.sockets[0].getsockname()[1]
    try:
        yield peer
    finally:
        server.close()
        await peer.close()
