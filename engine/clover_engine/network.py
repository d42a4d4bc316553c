"""The engine as a network service: many users, each known by a token, none of whom may stop it."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus

from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

from clover_engine.api import EngineState, Filled
from clover_engine.door import Door
from clover_engine.errors import CloverError, EngineUnavailable, RequestError
from clover_engine.limits import Connections, Limits, RateLimit
from clover_engine.metrics import Metrics
from clover_engine.runner import Runner
from clover_engine.session import Session
from clover_engine.users import Users

# one JSON object a line, made by the program; no text of documents, no tokens
log = logging.getLogger("clover_engine.service")
# at its debug level the library logs what it carries: the document
_quiet = logging.getLogger("clover_engine.websockets")
_quiet.setLevel(logging.WARNING)

PING_S, PONG_S = 20.0, 60.0
OPEN_S = 10.0  # to say who one is
LEAVING = "the engine is being restarted: ask again in a moment"


class NetworkServer:
    """Serves one runner to the users at a door, until it is told to leave.

    Beside the protocol, it answers `GET /health` to anybody and `GET /metrics` to users.
    """

    def __init__(
        self, runner: Runner, version: str, users: Users, door: Door, limits: Limits | None = None
    ) -> None:
        self.version = version
        self._runner = runner
        self._users = users
        self._door = door
        self._limits = limits or Limits()
        self._rate = RateLimit(self._limits)
        self._connections = Connections(self._limits)
        self._metrics = Metrics(
            lambda: runner.jobs, lambda: self._connections.total, lambda: runner.info.state
        )
        self._names: frozenset[str] = frozenset()
        self._sessions: set[Session] = set()
        self._leaving = asyncio.Event()
        self._hurrying = asyncio.Event()

    def leave(self) -> None:
        """Take no more requests, wait for the open ones, let `run` return; from the loop's thread.
        A second call waits no longer."""
        if self._leaving.is_set():
            self._hurrying.set()
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

    async def run_until_signal(self, on_ready: Callable[[str], None]) -> None:
        """`run` that SIGTERM and Ctrl-C end in good order."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            # Windows has no such handlers: there Ctrl-C cancels this task
            with suppress(NotImplementedError):
                loop.add_signal_handler(number, self.leave)
        await self.run(on_ready)

    def stop(self) -> None:
        """Raises RequestError: who runs this engine stops it."""
        raise RequestError("an engine on the network is stopped by who runs it")

    def admit(self, user: str) -> None:
        """Let a request in. Raises EngineBusy or EngineUnavailable."""
        if self._leaving.is_set():
            raise EngineUnavailable(LEAVING)
        self._rate.take(user)

    def answered(self, user: str, outcome: Filled | CloverError, seconds: float) -> None:
        """Count and log what came of a request."""
        self._metrics.answered(user, outcome, seconds)
        said: dict[str, object] = {"user": user, "ms": round(seconds * 1000)}
        if isinstance(outcome, Filled):
            stats = outcome.stats
            said |= {
                "outcome": "Filled",
                "tokens": stats.tokens,
                "prompt_tokens": stats.prompt_tokens,
                "reused_tokens": stats.reused_tokens,
                "forwards": stats.forwards,
                "queue_ms": round(stats.queue_ms),
            }
        else:
            said["outcome"] = type(outcome).__name__
        log.info("request", extra={"fields": said})

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
            return connection.respond(HTTPStatus.OK, self._metrics.text())
        if request.path != "/":
            return self._refused(connection, HTTPStatus.NOT_FOUND, "nothing is there")
        if self._connections.is_full(user):
            why = "too many connections: close some"
            return self._refused(connection, HTTPStatus.TOO_MANY_REQUESTS, why)
        connection.username = user
        return None

    def _health(self, connection: ServerConnection) -> Response:
        state = self._runner.info.state
        ready = state is EngineState.READY and not self._leaving.is_set()
        status = HTTPStatus.OK if ready else HTTPStatus.SERVICE_UNAVAILABLE
        return connection.respond(status, f"{'leaving' if self._leaving.is_set() else state}\n")

    def _refused(self, connection: ServerConnection, status: HTTPStatus, why: str) -> Response:
        self._metrics.refused(why)
        log.warning("refused", extra={"fields": {"status": int(status), "reason": why}})
        return connection.respond(status, f"{why}\n")

    async def _serve(self, connection: ServerConnection) -> None:
        user = connection.username
        self._connections.opened(user)
        session = Session(connection, self._runner, self, user)
        self._sessions.add(session)
        try:
            await session.run()
        except ConnectionClosed:
            log.debug("a client went away")
        finally:
            self._sessions.discard(session)
            self._connections.closed(user)

    async def _drained(self) -> None:
        """Until every open request is answered, or for long enough."""
        drained = asyncio.gather(*(session.drained() for session in self._sessions))
        hurried = asyncio.create_task(self._hurrying.wait())
        await asyncio.wait(
            {drained, hurried},
            timeout=self._limits.drain_s,
            return_when=asyncio.FIRST_COMPLETED,
        )
        drained.cancel()
        hurried.cancel()
