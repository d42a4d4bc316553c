"""The server process and raw messages, well-formed or not."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from typing import IO, Any

SERVER = [sys.executable, "-m", "clover_write", "lsp", "--stdio", "--engine", "fake"]
VERBOSE = [*SERVER[:3], "-v", *SERVER[3:]]
URI = "untitled:Untitled-1"
ENDLESS = '# clover-fake: {"text": "secret plan", "steps": 600, "step_ms": 50}\n'
# nothing here waits that long unless something is broken
PATIENCE_S = 20


class Wire:
    """The server process and raw messages, well-formed or not."""

    def __init__(self, process: asyncio.subprocess.Process, log: IO[bytes]) -> None:
        self.process = process
        self._log = log
        self._asked = 0
        self.answers: dict[object, list[Any]] = {}
        self.told: list[Any] = []

    @classmethod
    async def start(cls, command: Sequence[str] = VERBOSE, **environment: str) -> Wire:
        # a pipe that nobody reads would fill, and stop the server; both ends of this have a place
        log = tempfile.TemporaryFile("a+b")  # noqa: SIM115
        pipe = subprocess.PIPE
        return cls(
            await asyncio.create_subprocess_exec(
                *command, stdin=pipe, stdout=pipe, stderr=log, env={**os.environ, **environment}
            ),
            log,
        )

    def write(self, data: bytes) -> None:
        """Any bytes."""
        assert self.process.stdin
        self.process.stdin.write(data)

    def send(self, method: str, params: object = None, **more: object) -> None:
        self.write(frame({"jsonrpc": "2.0", "method": method, "params": params, **more}))

    async def answer(self, id: object) -> Any:
        """The whole answer to a request; messages before it are kept."""
        async with asyncio.timeout(PATIENCE_S):
            while id not in self.answers:
                await self._read()
        return self.answers[id][0]

    async def _read(self) -> None:
        assert self.process.stdout
        header = await self.process.stdout.readuntil(b"\r\n\r\n")
        length = int(header.split(b"Content-Length: ")[1].split(b"\r\n")[0])
        message = json.loads(await self.process.stdout.readexactly(length))
        if "method" in message:
            self.told.append(message)
        else:
            self.answers.setdefault(message["id"], []).append(message)

    async def initialize(self, process_id: int | None = None, **params: object) -> Any:
        """The server's capabilities."""
        params = {"processId": process_id, "capabilities": {}, **params}
        self.send("initialize", params, id="init")
        capabilities = (await self.answer("init"))["result"]["capabilities"]
        self.send("initialized", {})
        return capabilities

    async def heard(self, method: str, number: int = 1) -> Any:
        """The server's message of that method and number (from 1), a request or notification."""
        async with asyncio.timeout(PATIENCE_S):
            while len(heard := [each for each in self.told if each["method"] == method]) < number:
                await self._read()
        return heard[number - 1]

    def reply(self, id: object, **reply: object) -> None:
        """Answer a request of the server's."""
        self.write(frame({"jsonrpc": "2.0", "id": id, **reply}))

    def open(self, text: str, uri: str = URI, language: str = "python", version: int = 1) -> None:
        document = {"uri": uri, "languageId": language, "version": version, "text": text}
        self.send("textDocument/didOpen", {"textDocument": document})

    async def texts(self, line: int, character: int, uri: str = URI, kind: int = 2) -> list[str]:
        """The texts of the items there."""
        params = asking(line, character, triggerKind=kind) | {"textDocument": {"uri": uri}}
        self._asked += 1
        id = f"asking {self._asked}"
        self.send("textDocument/inlineCompletion", params, id=id)
        return [item["insertText"] for item in (await self.answer(id))["result"]["items"]]

    async def generate(self, text: str = ENDLESS) -> None:
        """Open a document and ask in it; returns once the engine is at work."""
        self.open(text + "x = ")
        self.send("textDocument/inlineCompletion", asking(1, 4, triggerKind=1), id="asked")
        await self.heard("clover/status")

    async def end(self) -> str:
        """What was logged, once the process has ended."""
        async with asyncio.timeout(PATIENCE_S):
            await self.process.communicate()
        return self.logged()

    def logged(self) -> str:
        """What was logged so far."""
        self._log.seek(0)
        return self._log.read().decode()

    async def kill(self) -> None:
        """End the process if it still runs."""
        if self.process.returncode is None:
            self.process.kill()
        await self.process.communicate()
        self._log.close()


def frame(message: object) -> bytes:
    """The message as it goes over the wire."""
    body = json.dumps(message).encode()
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


def asking(line: int, character: int, **context: object) -> dict[str, Any]:
    return {
        "textDocument": {"uri": URI},
        "position": {"line": line, "character": character},
        **({"context": context} if context else {}),
    }
