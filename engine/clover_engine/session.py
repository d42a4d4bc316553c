"""One connected client in the engine process: what it asks for, and what it is told."""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import suppress
from typing import Protocol

from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed
from websockets.frames import CloseCode

from clover_engine.api import Draft, Filled
from clover_engine.errors import CloverError, ProtocolMismatch, RequestError
from clover_engine.inproc import InprocClient
from clover_engine.runner import Runner
from clover_engine.wire import (
    PROTOCOL,
    CancelRequest,
    ClientMessage,
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
    decode_client,
    encode,
)

log = logging.getLogger(__name__)

HELLO_S = 10.0
PROTOCOL_ERROR = 1002


class Host(Protocol):
    """The server that a session belongs to."""

    version: str

    def stop(self) -> None:
        """The client asks the engine to leave. Raises RequestError where it has no right to."""
        ...

    def admit(self, user: str) -> None:
        """The client asks for a fill. Raises EngineBusy or EngineUnavailable where it may not."""
        ...

    def answered(self, user: str, outcome: Filled | CloverError, seconds: float) -> None:
        """A fill of the user's was answered."""
        ...


class Session:
    """Serves one connection until it closes; then ends the fills it still had open."""

    def __init__(
        self, connection: ServerConnection, runner: Runner, host: Host, user: str = ""
    ) -> None:
        self._connection = connection
        self._runner = runner
        self._engine = InprocClient(runner, user)
        self._host = host
        self._user = user
        self._speaks_ours = False
        self._fills: dict[int, asyncio.Task[None]] = {}
        # answers and drafts in the order they arose; one task sends them
        self._outbox: asyncio.Queue[ServerMessage] = asyncio.Queue()
        self._sender: asyncio.Task[None] | None = None

    async def run(self) -> None:
        """Greet, then answer until either side closes the connection."""
        if not await self._greeted():
            await self._connection.close(PROTOCOL_ERROR, "a hello comes first")
            return
        self._sender = asyncio.create_task(self._send())
        try:
            async for text in self._connection:
                self._take(text)
        finally:
            open_tasks = [self._sender, *self._fills.values()]
            for task in open_tasks:
                task.cancel()
            await asyncio.gather(*open_tasks, return_exceptions=True)

    async def drained(self) -> None:
        """Until every open fill is answered, and the answers are sent."""
        await asyncio.gather(*self._fills.values(), return_exceptions=True)
        if self._sender:
            sent = asyncio.create_task(self._outbox.join())
            await asyncio.wait([sent, self._sender], return_when=asyncio.FIRST_COMPLETED)
            sent.cancel()

    async def close(self) -> None:
        """Close the connection: the engine leaves. Open fills end."""
        await self._connection.close(CloseCode.GOING_AWAY)

    async def _greeted(self) -> bool:
        try:
            async with asyncio.timeout(HELLO_S):
                hello = decode_client(await self._connection.recv())
        except (RequestError, TimeoutError):
            return False
        if not isinstance(hello, Hello):
            return False
        log.debug("a client of clover-write %s", hello.version)
        self._speaks_ours = hello.protocol == PROTOCOL
        self._outbox.put_nowait(Welcome(PROTOCOL, self._host.version, self._runner.info))
        return True

    async def _send(self) -> None:
        with suppress(ConnectionClosed):
            while True:
                await self._connection.send(encode(await self._outbox.get()))
                self._outbox.task_done()

    def _take(self, text: str | bytes) -> None:
        try:
            self._handle(decode_client(text))
        except RequestError as error:
            self._outbox.put_nowait(ErrorAnswer.of(0, error))

    def _handle(self, message: ClientMessage) -> None:
        match message:
            case Stop():
                self._host.stop()
            case FillRequest(id=id) if not self._speaks_ours:
                mismatch = ProtocolMismatch(
                    "the engine speaks another protocol: restart the editor"
                )
                self._outbox.put_nowait(ErrorAnswer.of(id, mismatch))
            case FillRequest(id=id) if id in self._fills:
                raise RequestError(f"request {id} is still open")
            case FillRequest(id=id):
                task = asyncio.create_task(self._fill(message))
                self._fills[id] = task
                task.add_done_callback(lambda _: self._fills.pop(id))
            case CancelRequest(id=id):
                if running := self._fills.get(id):
                    running.cancel()
            case InfoRequest(id=id):
                self._outbox.put_nowait(InfoAnswer(id, self._runner.info))
            case Hello():
                raise RequestError("a hello comes once")

    async def _fill(self, message: FillRequest) -> None:
        def show(draft: Draft) -> None:
            self._outbox.put_nowait(DraftEvent(message.id, draft))

        began = time.monotonic()
        outcome: Filled | CloverError
        try:
            self._host.admit(self._user)
            outcome = await self._engine.fill(message.request, show)
            self._outbox.put_nowait(FillAnswer(message.id, outcome))
        except CloverError as error:
            outcome = error
            self._outbox.put_nowait(ErrorAnswer.of(message.id, error))
        self._host.answered(self._user, outcome, time.monotonic() - began)
