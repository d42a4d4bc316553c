"""An editor as a benchmark needs it: a server process, raw messages, the time each answer came."""

from __future__ import annotations

import asyncio
import json
import time
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, TypeAlias

from clover_engine.errors import CloverError

Json: TypeAlias = dict[str, Any]
# nothing takes that long unless the server is gone or stuck
PATIENCE_S = 120.0


class ServerGone(CloverError):
    """The server ended, or does not answer."""


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to a request, and the milliseconds from the request sent to its whole receipt."""

    message: Json
    ms: float


class Editor:
    """A context manager: the server started and initialized, ended at the end."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command = command
        self._process: Process
        self._reader: asyncio.Task[None]
        self._asked: dict[int, tuple[float, asyncio.Future[Reply]]] = {}
        self._asks = 0

    @property
    def pid(self) -> int:
        """The server's process."""
        return self._process.pid

    async def __aenter__(self) -> Editor:
        self._process = await asyncio.create_subprocess_exec(
            *self._command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL
        )
        self._reader = asyncio.create_task(self._read())
        await self.request("initialize", {"processId": None, "capabilities": {}})
        self.notify("initialized", {})
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._process.returncode is None:
            self._process.kill()
        await self._process.wait()
        await self._reader

    def notify(self, method: str, params: object) -> None:
        """Send a notification."""
        self._send({"method": method, "params": params})

    def ask(self, method: str, params: object) -> tuple[int, asyncio.Future[Reply]]:
        """Send a request: its id, and its reply when that comes."""
        self._asks += 1
        reply: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._asked[self._asks] = time.perf_counter(), reply
        self._send({"id": self._asks, "method": method, "params": params})
        return self._asks, reply

    async def request(self, method: str, params: object) -> Reply:
        """Send a request and wait for the reply. Raises ServerGone."""
        _, reply = self.ask(method, params)
        try:
            async with asyncio.timeout(PATIENCE_S):
                return await reply
        except TimeoutError as error:
            raise ServerGone(f"the server does not answer {method}") from error

    def open(self, uri: str, text: str, language: str = "python") -> None:
        """Open a document at version 0."""
        document = {"uri": uri, "languageId": language, "version": 0, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": document})

    def close(self, uri: str) -> None:
        """Close a document."""
        self.notify("textDocument/didClose", {"textDocument": {"uri": uri}})

    def _send(self, message: Json) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self._process.stdin
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))

    async def _read(self) -> None:
        stream = self._process.stdout
        assert stream
        try:
            while True:
                header = await stream.readuntil(b"\r\n\r\n")
                length = int(header.partition(b"Content-Length:")[2].split(b"\r\n")[0])
                self._take(json.loads(await stream.readexactly(length)))
        except asyncio.IncompleteReadError:
            for _, reply in self._asked.values():
                if not reply.done():
                    reply.set_exception(ServerGone("the server ended: run it by hand to see why"))

    def _take(self, message: Json) -> None:
        if "method" in message or message["id"] not in self._asked:
            return
        sent, reply = self._asked.pop(message["id"])
        if not reply.done():
            reply.set_result(Reply(message, (time.perf_counter() - sent) * 1000))
