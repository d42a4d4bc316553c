"""The engine as a network service: many users, each known by a token, none of whom may stop it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

from clover_engine.door import Door
from clover_engine.errors import EngineUnavailable
from clover_engine.reception import Reception
from clover_engine.runner import Runner
from clover_engine.session import Session
from clover_engine.users import Users

log = logging.getLogger(__name__)
# at its debug level the library logs what it carries: the document
_quiet = logging.getLogger("clover_engine.websockets")
_quiet.setLevel(logging.WARNING)

PING_S, PONG_S = 20.0, 60.0
OPEN_S = 10.0  # to say who one is


class NetworkServer:
    """Serves one runner to the users at a door, until it is told to leave.

    Beside the protocol, it answers `GET /health` to anybody and `GET /metrics` to users.
    """

    def __init__(self, runner: Runner, reception: Reception, users: Users, door: Door) -> None:
        self._runner = runner
        self._reception = reception
        self._limits = reception.limits
        self._users = users
        self._door = door
        self._names: frozenset[str] = frozenset()
        self._sessions: set[Session] = set()
        self._leaving = asyncio.Event()
        self._hurrying = asyncio.Event()

    def leave(self) -> None:
        """Take no more requests, wait for the open ones, let `run` return; from the loop's thread.
        A second call waits no longer."""
        if self._leaving.is_set():
            self._hurrying.set()
        self._reception.leave()
        self._leaving.set()

    async def run(self, on_ready: Callable[[str], None]) -> None:
        """Listen; `on_ready` is told the URL. Raises EngineUnavailable."""
        server = await self._listen()
        port = server.sockets[0].getsockname()[1]
        self._names = self._door.names(port)
        scheme = "wss" if self._door.certificate else "ws"
        host = f"[{self._door.host}]" if ":" in self._door.host else self._door.host
        on_ready(f"{scheme}://{host}:{port}/")
        await self._leaving.wait()
        server.close(close_connections=False)
        await self._drained()
        await asyncio.gather(*(session.close() for session in self._sessions))
        await server.wait_closed()

    async def _listen(self) -> Server:
        try:
            return await serve(
                self._serve,
                self._door.host,
                self._door.port,
                ssl=self._door.tls(),
                # a browser names the page it acts for; no page has business here
                origins=[None],
                process_request=self._answer,
                open_timeout=OPEN_S,
                compression=None,
                max_size=self._limits.message_bytes,
                ping_interval=PING_S,
                ping_timeout=PONG_S,
                logger=_quiet,
            )
        except OSError as error:
            where = f"{self._door.host}:{self._door.port}"
            raise EngineUnavailable(f"cannot listen at {where}: {error}") from error

    def _answer(self, connection: ServerConnection, request: Request) -> Response | None:
        """The answer to who is not let in, or asks for something else than the protocol."""
        if request.path == "/health":  # what watches over engines knows their addresses only
            return self._health(connection)
        hosts = request.headers.get_all("Host")
        if len(hosts) != 1 or hosts[0] not in self._names:
            return self._refused(connection, HTTPStatus.FORBIDDEN, "unknown host")
        user = self._users.known_by("".join(request.headers.get_all("Authorization")))
        if user is None:
            why = "the token is missing or wrong"
            return self._refused(connection, HTTPStatus.UNAUTHORIZED, why)
        if request.path == "/metrics":
            return connection.respond(HTTPStatus.OK, self._reception.metrics())
        if request.path != "/":
            return self._refused(connection, HTTPStatus.NOT_FOUND, "nothing is there")
        if self._reception.connections.is_full(user):
            why = "too many connections: close some"
            return self._refused(connection, HTTPStatus.TOO_MANY_REQUESTS, why)
        connection.username = user
        return None

    def _health(self, connection: ServerConnection) -> Response:
        ready = self._reception.is_ready
        status = HTTPStatus.OK if ready else HTTPStatus.SERVICE_UNAVAILABLE
        return connection.respond(status, f"{self._reception.state}\n")

    def _refused(self, connection: ServerConnection, status: HTTPStatus, why: str) -> Response:
        self._reception.refused(status, why)
        return connection.respond(status, f"{why}\n")

    async def _serve(self, connection: ServerConnection) -> None:
        user = connection.username
        self._reception.connections.opened(user)
        session = Session(connection, self._runner, self._reception, user)
        self._sessions.add(session)
        try:
            await session.run()
        except ConnectionClosed:
            log.debug("a client went away")
        finally:
            self._sessions.discard(session)
            self._reception.connections.closed(user)

    async def _drained(self) -> None:
        """Until every open request is answered, or for long enough."""
        either: list[asyncio.Future[Any]] = [
            asyncio.gather(*(session.drained() for session in self._sessions)),
            asyncio.create_task(self._hurrying.wait()),
        ]
        limit = self._limits.drain_s
        await asyncio.wait(either, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
        for each in either:
            each.cancel()
