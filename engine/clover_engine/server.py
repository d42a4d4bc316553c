"""The engine process: serves one runner to every window of the user, over WebSocket."""

from __future__ import annotations

import asyncio
import hmac
import logging
import os
import secrets
import signal
import socket
from contextlib import suppress
from http import HTTPStatus

from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

from clover_engine.address import Address, Note, Place, TcpAddress, UnixAddress
from clover_engine.api import Filled
from clover_engine.errors import CloverError, EngineUnavailable
from clover_engine.runner import Runner
from clover_engine.session import Session
from clover_engine.wire import MAX_MESSAGE_BYTES

log = logging.getLogger(__name__)
# at its debug level the library logs what it carries: the document
_quiet = logging.getLogger("clover_engine.websockets")
_quiet.setLevel(logging.WARNING)

# a model that loads may starve the event loop for seconds; whoever dies closes its socket anyway
PING_S, PONG_S = 20.0, 120.0
# whoever started the engine is on the way: however short its idle time, it waits that long
FIRST_CLIENT_S = 20.0


class EngineServer:
    """Answers clients until `stop`, or until none was connected for `idle_exit_s` (0: never).

    The first client is given `FIRST_CLIENT_S` to come.
    """

    def __init__(self, runner: Runner, program_version: str, idle_exit_s: float = 0.0) -> None:
        self._runner = runner
        self.version = program_version
        self._idle_exit_s = idle_exit_s
        self._idle: asyncio.TimerHandle | None = None
        self._clients = 0
        self._stopping = asyncio.Event()
        self._token = ""
        self._hosts: tuple[str, ...] = ()

    def stop(self) -> None:
        """Close every connection and let `run` return; call it from the loop's thread."""
        self._stopping.set()

    def admit(self, user: str) -> None:
        """Every request of the user who owns this engine is let in."""

    def answered(self, user: str, outcome: Filled | CloverError, seconds: float) -> None:
        """Nothing is counted: nobody else is served here."""

    async def run(self, place: Place, address: Address | None = None) -> None:
        """Listen at `address`, by default the place's own, and leave a note of it there.

        Raises EngineUnavailable when that address cannot be had.
        """
        listener, bound = _bound(address or place.address())
        if isinstance(bound, TcpAddress):
            self._token = secrets.token_urlsafe(32)
            self._hosts = (f"{bound.host}:{bound.port}", f"localhost:{bound.port}")
        async with serve(
            self._serve,
            sock=listener,
            # a browser names the page it acts for; no page has business here
            origins=[None],
            process_request=self._refusal,
            compression=None,
            max_size=MAX_MESSAGE_BYTES,
            ping_interval=PING_S,
            ping_timeout=PONG_S,
            logger=_quiet,
        ):
            place.write(Note(bound, self._token, os.getpid()))
            log.info("process %d listens at %s", os.getpid(), bound)
            try:
                self._watch_idleness(max(self._idle_exit_s, FIRST_CLIENT_S))
                await self._stopping.wait()
            finally:
                # whoever comes from now on starts another engine
                place.clear()
                if isinstance(bound, UnixAddress):
                    bound.path.unlink(missing_ok=True)

    async def run_until_signal(self, place: Place) -> None:
        """`run` that SIGTERM and Ctrl-C end in good order."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            # Windows has no such handlers: there Ctrl-C cancels this task
            with suppress(NotImplementedError):
                loop.add_signal_handler(number, self.stop)
        await self.run(place)

    async def _serve(self, connection: ServerConnection) -> None:
        self._clients += 1
        self._watch_idleness(self._idle_exit_s)
        try:
            await Session(connection, self._runner, self).run()
        except ConnectionClosed:
            log.debug("a client went away")
        finally:
            self._clients -= 1
            self._watch_idleness(self._idle_exit_s)

    def _watch_idleness(self, patience_s: float) -> None:
        if self._idle:
            self._idle.cancel()
            self._idle = None
        if self._idle_exit_s and not self._clients:
            loop = asyncio.get_running_loop()
            self._idle = loop.call_later(patience_s, self._leave, patience_s)

    def _leave(self, idle_s: float) -> None:
        log.info("no client for %g s: leaving", idle_s)
        self.stop()

    def _refusal(self, connection: ServerConnection, request: Request) -> Response | None:
        """On TCP, refuse who does not know the token or calls this host by another name."""
        if not self._token:
            return None
        hosts = request.headers.get_all("Host")
        if len(hosts) != 1 or hosts[0] not in self._hosts:
            return connection.respond(HTTPStatus.FORBIDDEN, "unknown host\n")
        given = "".join(request.headers.get_all("Authorization"))
        if not hmac.compare_digest(given.encode(), f"Bearer {self._token}".encode()):
            return connection.respond(HTTPStatus.UNAUTHORIZED, "the token is missing or wrong\n")
        return None


def _bound(address: Address) -> tuple[socket.socket, Address]:
    """A socket bound to the address, for its user only, and the address with its real port."""
    try:
        if isinstance(address, TcpAddress):
            listener = socket.create_server((address.host, address.port))
            return listener, TcpAddress(address.host, listener.getsockname()[1])
        # whoever left it is gone: the place is ours
        address.path.unlink(missing_ok=True)
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(str(address.path))
        address.path.chmod(0o600)
    except OSError as error:
        raise EngineUnavailable(f"cannot listen at {address}: {error}") from error
    return listener, address
