"""A TCP proxy that does harm: between a client and a server, as bad networks do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from enum import StrEnum


class Fault(StrEnum):
    """What becomes of what the server says."""

    NONE = "none"
    DELAY = "delay"  # every piece comes late
    CUT = "cut"  # the connection ends after a few bytes
    GARBAGE = "garbage"  # other bytes come
    HALF_OPEN = "half-open"  # nothing comes, and the connection stays
    SLOW = "slow"  # a byte at a time
    REFUSE = "refuse"  # nobody is there


class FaultyProxy:
    """Forwards to the port `to`; `fault` holds from the next connection on."""

    def __init__(self) -> None:
        self.port = 0
        self.to = 0
        self.fault = Fault.NONE
        self._open: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        self._open[task] = writer
        with suppress(ConnectionError):
            if self.fault is not Fault.REFUSE:
                await self._forward(reader, writer)
        writer.close()
        del self._open[task]

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", self.to)
        ways = [
            asyncio.create_task(_carry(reader, back, Fault.NONE)),
            asyncio.create_task(_carry(there, writer, self.fault)),
        ]
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        for way in ways:
            way.cancel()
        await asyncio.gather(*ways, return_exceptions=True)
        back.close()

    async def close(self) -> None:
        """End every connection."""
        for writer in self._open.values():
            writer.transport.abort()
        await asyncio.gather(*self._open)


async def _carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, fault: Fault) -> None:
    carried = 0
    with suppress(ConnectionError):
        while some := await reader.read(4096):
            match fault:
                case Fault.DELAY:
                    await asyncio.sleep(0.05)
                case Fault.CUT:
                    some = some[: max(80 - carried, 0)]
                case Fault.GARBAGE:
                    some = bytes((byte * 7 + 13) % 256 for byte in some)
                case Fault.HALF_OPEN:
                    continue
                case Fault.SLOW:
                    for byte in some:
                        writer.write(bytes([byte]))
                        await asyncio.sleep(0.05)
                    continue
            if not some:
                return
            carried += len(some)
            writer.write(some)
            await writer.drain()


@asynccontextmanager
async def faulty_proxy() -> AsyncIterator[FaultyProxy]:
    """A proxy at a free loopback port."""
    proxy = FaultyProxy()
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    proxy.port = server.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        server.close()
        await proxy.close()
