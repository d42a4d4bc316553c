"""LSP over WebSocket: a server for each connection, behind a token that a browser can send."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import psutil
import pytest
import pytest_asyncio
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.typing import Origin, Subprotocol

from clover_lsp.framing import MAX_BODY_BYTES
from clover_lsp.websocket import Door, ListenError
from tests.support.wire import ENDLESS, PATIENCE_S, URI, Wire, asking

COMMAND = [sys.executable, "-m", "clover_write", "-v", "lsp", "--engine", "fake"]
LISTEN = [*COMMAND, "--websocket", "127.0.0.1:0", "--allow-origin", "https://ide.example"]


class Browser:
    """One connection, as a page has it."""

    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection
        self.told: list[Any] = []

    async def request(self, id: str, method: str, params: object = None) -> Any:
        await self.notify(method, params, id=id)
        while (message := await self.next()).get("id") != id:
            self.told.append(message)
        return message

    async def notify(self, method: str, params: object = None, **more: object) -> None:
        message = {"jsonrpc": "2.0", "method": method, "params": params, **more}
        await self.connection.send(json.dumps(message))

    async def next(self) -> Any:
        async with asyncio.timeout(PATIENCE_S):
            return json.loads(await self.connection.recv(decode=True))

    async def open(self, text: str) -> None:
        await self.request("init", "initialize", {"processId": None, "capabilities": {}})
        document = {"uri": URI, "languageId": "python", "version": 1, "text": text}
        await self.notify("textDocument/didOpen", {"textDocument": document})

    async def completion(self, line: int, character: int) -> list[str]:
        answer = await self.request("ask", "textDocument/inlineCompletion", asking(line, character))
        return [item["insertText"] for item in answer["result"]["items"]]


# most tests share a server, and with it an event loop
shared = pytest.mark.asyncio(loop_scope="module")


async def listening(server: Wire) -> str:
    """The URL that a started server prints."""
    assert server.process.stdout
    line = (await server.process.stdout.readline()).decode().strip()
    assert re.fullmatch(r"ws://127\.0\.0\.1:\d+/#token=[\w-]{40,}", line)
    return line


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server() -> AsyncIterator[Wire]:
    server = await Wire.start(LISTEN)
    yield server
    await server.kill()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def url(server: Wire) -> str:
    return await listening(server)


def entering(url: str, **more: Any) -> connect:
    address, token = url.split("#token=")
    offers = [Subprotocol("lsp"), Subprotocol(f"token.{token}")]
    return connect(address, subprotocols=offers, **more)


async def drained(connection: ClientConnection) -> None:
    """Read to the end of the connection. Raises ConnectionClosed."""
    while True:
        await connection.recv()


@shared
async def test_two_browsers_have_nothing_in_common(url: str, server: Wire) -> None:
    async with entering(url) as one, entering(url) as other:
        assert one.subprotocol == "lsp"
        first, second = Browser(one), Browser(other)
        await first.open("alpha = 1\nalpha")
        await second.open("beta = 2\nbeta")
        assert await first.completion(1, 5) == [" = 1"]
        assert await second.completion(1, 4) == [" = 2"]
        await first.notify("textDocument/didClose", {"textDocument": {"uri": URI}})
        assert await first.completion(1, 5) == []
        assert await second.completion(1, 4) == [" = 2"]
        assert "alpha" not in json.dumps(second.told)
    assert "alpha" not in server.logged()


@shared
async def test_who_leaves_takes_only_their_own_server_along(url: str, server: Wire) -> None:
    async with entering(url) as one, entering(url) as other:
        leaving, staying = Browser(one), Browser(other)
        await staying.open("beta = 2\nbeta")
        await leaving.open(ENDLESS + "x = ")
        await leaving.notify("textDocument/inlineCompletion", asking(1, 4, triggerKind=1), id="a")
        assert (await leaving.request("end", "shutdown"))["result"] is None
        while not any(told.get("id") == "a" for told in leaving.told):
            leaving.told.append(await leaving.next())
        await leaving.notify("exit")
        with pytest.raises(ConnectionClosed):
            await leaving.next()
        assert await staying.completion(1, 4) == [" = 2"]
    assert server.process.returncode is None


@shared
async def test_a_lost_connection_leaves_no_thread_behind(url: str, server: Wire) -> None:
    process = psutil.Process(server.process.pid)
    async with entering(url) as kept:
        staying = Browser(kept)
        await staying.open("beta = 2\nbeta")
        await staying.completion(1, 4)
        threads = process.num_threads()
        for _ in range(8):
            async with entering(url) as lost:
                browser = Browser(lost)
                await browser.open(ENDLESS + "x = ")
                await browser.notify("textDocument/inlineCompletion", asking(1, 4), id="a")
                while (await browser.next()).get("method") != "clover/status":
                    continue
                lost.transport.abort()
        async with asyncio.timeout(PATIENCE_S):
            # asyncio's pool, which engines are made and closed in, may grow to a few
            while process.num_threads() > threads + 6:
                await staying.completion(1, 4)


@shared
async def test_what_is_no_json_is_answered_and_the_connection_stays(url: str) -> None:
    async with entering(url) as one:
        browser = Browser(one)
        await one.send("{oops")
        assert (await browser.next())["error"]["code"] == -32700
        await browser.open("x = 1\nx")
        assert await browser.completion(1, 1) == [" = 1"]


@shared
async def test_a_message_that_is_too_large_ends_its_connection_alone(url: str) -> None:
    sending = await entering(url)
    async with entering(url) as other:
        staying = Browser(other)
        await staying.open("beta = 2\nbeta")
        with suppress(ConnectionClosed):
            await sending.send("x" * (MAX_BODY_BYTES + 1))
        with pytest.raises(ConnectionClosed):
            await drained(sending)
        assert await staying.completion(1, 4) == [" = 2"]


@pytest.mark.parametrize(
    ("origin", "let_in"),
    [
        (None, True),
        ("http://localhost:5173", True),
        ("https://127.0.0.1", True),
        ("http://[::1]:3000", True),
        ("https://ide.example", True),
        ("https://evil.example", False),
        ("http://localhost.evil.example", False),
        ("https://ide.example.evil.example", False),
        ("null", False),
    ],
)
@shared
async def test_pages_from_elsewhere_stay_out(url: str, origin: str | None, let_in: bool) -> None:
    entry = entering(url, origin=Origin(origin) if origin else None)
    if let_in:
        async with entry as connection:
            assert connection.subprotocol == "lsp"
    else:
        with pytest.raises(InvalidStatus) as refused:
            await entry
        assert refused.value.response.status_code == 403


@pytest.mark.parametrize("host", ["evil.example", "evil.example:{port}", "127.0.0.1", "0.0.0.0:1"])
@shared
async def test_a_rebound_name_stays_out(url: str, host: str) -> None:
    port = url.split(":")[2].split("/")[0]
    named = url.replace("127.0.0.1", "localhost")
    async with entering(named, host="127.0.0.1"):
        pass
    with pytest.raises(InvalidStatus) as refused:
        await entering(
            f"ws://{host.format(port=port)}/#token={url.split('=')[1]}",
            host="127.0.0.1",
            port=int(port),
        )
    assert refused.value.response.status_code == 403


@pytest.mark.parametrize("offers", [["lsp"], ["lsp", "token."], ["lsp", "token.wrong"], []])
@shared
async def test_without_the_token_nobody_comes_in(url: str, offers: list[str]) -> None:
    with pytest.raises(InvalidStatus) as refused:
        await connect(url.split("#")[0], subprotocols=[Subprotocol(offer) for offer in offers])
    assert refused.value.response.status_code == 401


async def test_sigterm_closes_the_connections() -> None:
    server = await Wire.start(LISTEN)
    url = await listening(server)
    async with entering(url) as one:
        browser = Browser(one)
        await browser.open(ENDLESS + "x = ")
        server.process.terminate()
        with pytest.raises(ConnectionClosed):
            await drained(one)
        await server.end()
    assert server.process.returncode == 0


@pytest.mark.parametrize(
    ("place", "complaint"),
    [
        ("0.0.0.0:8000", "other machines"),
        ("[::]:8000", "other machines"),
        ("ide.example:8000", "no IP address"),
        ("127.0.0.1", "no address"),
        ("127.0.0.1:99999", "no address"),
    ],
)
def test_this_machine_alone_is_served_unless_told(place: str, complaint: str) -> None:
    with pytest.raises(ListenError, match=complaint):
        Door.parse(place)


def test_told_it_serves_others() -> None:
    assert Door.parse("0.0.0.0:8000", hosts=["ide.example"]).host == "0.0.0.0"
    assert Door.parse("localhost:0").host == "127.0.0.1"
    assert Door.parse("[::1]:0").host == "::1"
