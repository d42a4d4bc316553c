"""LSP over WebSocket, for editors in a browser: every connection has a server of its own."""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import logging
import re
import secrets
import signal
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus

from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response
from websockets.typing import Origin, Subprotocol

from clover_engine.errors import CloverError
from clover_lsp.framing import MAX_BODY_BYTES
from clover_lsp.protocol import CloverServer, report_loop_error

log = logging.getLogger(__name__)
# at its debug level the library logs what it carries: the document
_quiet = logging.getLogger("clover_lsp.websockets")
_quiet.setLevel(logging.WARNING)

# a browser can set no header but this one: it offers both, and is answered with the first
PROTOCOL = Subprotocol("lsp")
TOKEN = "token."
_LOCAL_PAGES = re.compile(r"https?://(localhost|127\.0\.0\.1|\[::1\])(:[0-9]+)?")


class ListenError(CloverError):
    """The address cannot be listened at."""


@dataclass(frozen=True, slots=True)
class Door:
    """Where to listen, and whom to let in.

    `origins` are pages (`https://ide.example`) beside those of this machine; `hosts` are what
    clients may call this server (`ide.example:8000`) beside its address: without one it serves
    this machine alone. Raises ListenError.
    """

    host: str
    port: int
    origins: Sequence[str] = ()
    hosts: Sequence[str] = ()

    def __post_init__(self) -> None:
        try:
            local = ipaddress.ip_address(self.host).is_loopback
        except ValueError as error:
            raise ListenError(f"{self.host!r} is no IP address: write 127.0.0.1:8000") from error
        if not local and not self.hosts:
            raise ListenError(
                f"{self.host} can be reached from other machines: say with --allow-host by what"
                " name, and put TLS before it"
            )

    @classmethod
    def parse(cls, place: str, origins: Sequence[str] = (), hosts: Sequence[str] = ()) -> Door:
        """The door at `HOST:PORT`; port 0 is a free one. Raises ListenError."""
        host, _, port = place.rpartition(":")
        if not (port.isascii() and port.isdigit() and int(port) < 65536):
            raise ListenError(f"{place!r} is no address: write HOST:PORT, as 127.0.0.1:8000")
        host = "127.0.0.1" if host == "localhost" else host.strip("[]")
        return cls(host, int(port), origins, hosts)


class WebSocketServer:
    """Serves editors at a door until the process is told to end.

    With a `site`, which answers what is no WebSocket by its path and the name this host was called
    by, no other page is let in than those of the site itself.
    """

    def __init__(
        self,
        door: Door,
        create: Callable[[], CloverServer],
        site: Callable[[str, str], Response] | None = None,
    ) -> None:
        self._door = door
        self._create = create
        self._site = site
        self._token = secrets.token_urlsafe(32)

    async def run(self, on_ready: Callable[[str], None]) -> None:
        """Listen; `on_ready` is told the URL with its token. Raises ListenError."""
        stopping = asyncio.Event()
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(report_loop_error)
        for number in (signal.SIGTERM, signal.SIGINT):
            # Windows has no such handlers: there Ctrl-C cancels this task
            with suppress(NotImplementedError):
                loop.add_signal_handler(number, stopping.set)
        try:
            server = await self._listen()
        except OSError as error:
            raise ListenError(
                f"cannot listen at {self._door.host}:{self._door.port}: {error}"
            ) from error
        async with server:
            port = server.sockets[0].getsockname()[1]
            scheme = "http" if self._site else "ws"
            on_ready(f"{scheme}://{_bracketed(self._door.host)}:{port}/#token={self._token}")
            await stopping.wait()

    async def _listen(self) -> Server:
        return await serve(
            self._serve,
            self._door.host,
            self._door.port,
            origins=[None, _LOCAL_PAGES, *map(Origin, self._door.origins)],
            subprotocols=[PROTOCOL],
            process_request=self._refusal,
            compression=None,
            max_size=MAX_BODY_BYTES,
            logger=_quiet,
        )

    def _refusal(self, connection: ServerConnection, request: Request) -> Response | None:
        """Answer what is no WebSocket; refuse who calls this host by another name, as a page
        behind a rebound name does, and who does not know the token.
        """
        hosts = request.headers.get_all("Host")
        if len(hosts) != 1 or hosts[0] not in self._hosts(connection):
            return connection.respond(HTTPStatus.FORBIDDEN, "unknown host\n")
        if self._site:
            if "Upgrade" not in request.headers:
                return self._site(request.path, hosts[0])
            if request.headers.get_all("Origin") not in ([], [f"http://{hosts[0]}"]):
                return connection.respond(HTTPStatus.FORBIDDEN, "a page from elsewhere\n")
        offers = ",".join(request.headers.get_all("Sec-WebSocket-Protocol"))
        given = [offer.strip() for offer in offers.split(",") if offer.strip().startswith(TOKEN)]
        if not hmac.compare_digest("".join(given).encode(), f"{TOKEN}{self._token}".encode()):
            return connection.respond(HTTPStatus.UNAUTHORIZED, "the token is missing or wrong\n")
        return None

    def _hosts(self, connection: ServerConnection) -> set[str]:
        port = connection.local_address[1]
        own = ("localhost", _bracketed(self._door.host))
        return {*self._door.hosts, *(f"{name}:{port}" for name in own)}

    async def _serve(self, connection: ServerConnection) -> None:
        server = self._create()
        sending: asyncio.Queue[bytes | None] = asyncio.Queue()
        server.protocol.set_writer(_Writer(sending), include_headers=False)
        server.on_exit = lambda _: sending.put_nowait(None)
        sender = asyncio.create_task(_send(connection, sending))
        try:
            async for message in connection:
                if not server.protocol.receive(message):
                    server.protocol.refuse_unread()
        except ConnectionClosed:
            log.debug("an editor went away")
        finally:
            await server.close()
            sending.put_nowait(None)
            await sender


class _Writer:
    """The connection as pygls writes to it: in order, and never waited for."""

    def __init__(self, sending: asyncio.Queue[bytes | None]) -> None:
        self._sending = sending

    def write(self, data: bytes) -> None:
        self._sending.put_nowait(data)

    def close(self) -> None:
        self._sending.put_nowait(None)


async def _send(connection: ServerConnection, sending: asyncio.Queue[bytes | None]) -> None:
    """Send what is queued, then close the connection."""
    with suppress(ConnectionClosed):
        while (data := await sending.get()) is not None:
            await connection.send(data, text=True)
    await connection.close()


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
