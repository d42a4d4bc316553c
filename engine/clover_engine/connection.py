"""One open connection to an engine process, shared by all requests of a window."""

from __future__ import annotations

import asyncio
import itertools
import logging
import ssl
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from websockets.asyncio.client import ClientConnection, connect, unix_connect
from websockets.exceptions import ConnectionClosed, InvalidStatus, WebSocketException

from clover_engine.address import Note, TcpAddress
from clover_engine.api import CanvasRequest, Draft, EngineInfo, Filled
from clover_engine.errors import CloverError, EngineUnavailable, RequestError
from clover_engine.wire import (
    MAX_MESSAGE_BYTES,
    PROTOCOL,
    CancelRequest,
    DraftEvent,
    ErrorAnswer,
    FillAnswer,
    FillRequest,
    Hello,
    InfoAnswer,
    InfoRequest,
    ServerMessage,
    Stop,
    Welcome,
    decode_server,
    encode,
)

log = logging.getLogger(__name__)
# at its debug level the library logs what it carries: the document
_quiet = logging.getLogger("clover_engine.websockets")
_quiet.setLevel(logging.WARNING)

OPEN_S = 10.0
# a window that closes does not wait for an engine that hangs
CLOSE_S = 1.0
LEAVE_S = 5.0
PING_S, PONG_S = 20.0, 120.0
GONE = "the engine went away in mid-request; the next request starts it again"
T = TypeVar("T")
_OPTIONS: dict[str, Any] = {
    "compression": None,
    "max_size": MAX_MESSAGE_BYTES,
    "ping_interval": PING_S,
    "ping_timeout": PONG_S,
    "close_timeout": CLOSE_S,
    "logger": _quiet,
}


@dataclass(frozen=True, slots=True)
class _Waiter:
    """Who waits for the answer of one request, and what to do with its drafts."""

    answer: asyncio.Future[Any]
    on_draft: Callable[[Draft], None] | None = None


class Connection:
    """Sends requests and hands each its answer; made by `open_connection`."""

    def __init__(self, socket: ClientConnection, welcome: Welcome) -> None:
        self.welcome = welcome
        self._socket = socket
        self._ids = itertools.count(1)
        self._waiters: dict[int, _Waiter] = {}
        # one task sends, so that a cancelled request can still say so
        self._outbox: asyncio.Queue[str] = asyncio.Queue()
        self._sender = asyncio.create_task(self._send())
        self._receiver = asyncio.create_task(self._receive())

    @property
    def is_open(self) -> bool:
        """Whether requests can still be answered here."""
        return not self._receiver.done()

    async def fill(
        self, request: CanvasRequest, on_draft: Callable[[Draft], None] | None = None
    ) -> Filled:
        """As `EngineClient.fill`; EngineUnavailable at once when the engine dies."""
        id = next(self._ids)
        text = encode(FillRequest(id, request))
        try:
            filled: Filled = await self._answer(id, text, on_draft)
        except asyncio.CancelledError:
            self._outbox.put_nowait(encode(CancelRequest(id)))
            raise
        return filled

    async def info(self) -> EngineInfo:
        """As `EngineClient.info`."""
        id = next(self._ids)
        info: EngineInfo = await self._answer(id, encode(InfoRequest(id)))
        return info

    async def stop_engine(self) -> None:
        """Ask the engine to leave; wait until it has closed the connection, or for long enough."""
        self._outbox.put_nowait(encode(Stop()))
        await asyncio.wait([self._receiver], timeout=LEAVE_S)
        await self.close()

    async def close(self) -> None:
        """Close this side; open requests end with EngineUnavailable."""
        if self.is_open:
            await self._socket.close()
            await asyncio.wait([self._receiver])

    async def _answer(
        self, id: int, text: str, on_draft: Callable[[Draft], None] | None = None
    ) -> Any:
        if not self.is_open:
            raise EngineUnavailable(GONE)
        waiter = _Waiter(asyncio.get_running_loop().create_future(), on_draft)
        self._waiters[id] = waiter
        self._outbox.put_nowait(text)
        try:
            return await waiter.answer
        finally:
            del self._waiters[id]

    async def _send(self) -> None:
        with suppress(ConnectionClosed):
            while True:
                await self._socket.send(await self._outbox.get())

    async def _receive(self) -> None:
        try:
            async for text in self._socket:
                self._take(decode_server(text))
        except ConnectionClosed as error:
            log.info("the connection to the engine broke: %s", error)
        except RequestError as error:
            log.error("the engine sent what is no message: %s", error)
            await self._socket.close()
        finally:
            self._sender.cancel()
            for waiter in self._waiters.values():
                _fail(waiter, EngineUnavailable(GONE))

    def _take(self, message: ServerMessage) -> None:
        match message:
            case DraftEvent(id=id, draft=draft):
                if (waiter := self._waiters.get(id)) and waiter.on_draft:
                    # not called here: what it raises must not end the connection
                    asyncio.get_running_loop().call_soon(waiter.on_draft, draft)
            case FillAnswer(id=id, filled=answer) | InfoAnswer(id=id, info=answer):
                if (waiter := self._waiters.get(id)) and not waiter.answer.done():
                    waiter.answer.set_result(answer)
            case ErrorAnswer(id=id):
                if waiter := self._waiters.get(id):
                    _fail(waiter, message.exception())
                else:
                    log.warning("the engine could not take a message: %s", message.message)
            case Welcome():
                log.warning("the engine greeted twice")


async def open_connection(note: Note, version: str) -> Connection:
    """Connect and greet; raises EngineUnavailable when no engine of ours answers there."""
    return await _greeted(_connect(note), str(note.address), version)


async def open_network(
    url: str, token: str, version: str, tls: ssl.SSLContext | None = None
) -> Connection:
    """Connect to an engine on the network (`wss://…`), through the environment's proxy, and greet.
    `tls` is made by `ssl.create_default_context`. Raises EngineUnavailable."""
    options = {**_OPTIONS, "proxy": True, "ssl": tls if url.startswith("wss:") else None}
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return await _greeted(connect(url, additional_headers=headers, **options), url, version)


async def _greeted(dialling: Awaitable[ClientConnection], where: str, version: str) -> Connection:
    try:
        async with asyncio.timeout(OPEN_S):
            socket = await dialling
            try:
                await socket.send(encode(Hello(PROTOCOL, version)))
                welcome = decode_server(await socket.recv())
            except BaseException:
                await socket.close()
                raise
    except InvalidStatus as error:
        said = error.response.body.decode("utf-8", "replace").strip() if error.response.body else ""
        raise EngineUnavailable(f"{where} lets nobody in like this: {said or error}") from error
    except (OSError, TimeoutError, WebSocketException, RequestError) as error:
        raise EngineUnavailable(f"no engine answers at {where}: {error}") from error
    if not isinstance(welcome, Welcome):
        await socket.close()
        raise EngineUnavailable(f"no engine answers at {where}: it does not greet")
    return Connection(socket, welcome)


async def _connect(note: Note) -> ClientConnection:
    options = {**_OPTIONS, "proxy": None}
    if isinstance(note.address, TcpAddress):
        headers = {"Authorization": f"Bearer {note.token}"}
        uri = f"ws://{note.address.host}:{note.address.port}/"
        return await connect(uri, additional_headers=headers, **options)
    return await unix_connect(str(note.address.path), **options)


def _fail(waiter: _Waiter, error: CloverError) -> None:
    if not waiter.answer.done():
        waiter.answer.set_exception(error)
