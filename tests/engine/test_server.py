"""The server by raw messages: whom it lets in, what it does with nonsense, when it leaves."""

from __future__ import annotations

import asyncio
import os
import stat
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import ClientConnection, connect, unix_connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from clover_engine import session
from clover_engine.address import Note, Place, TcpAddress, UnixAddress
from clover_engine.api import Engine, EngineState, Filled, infill_request
from clover_engine.errors import EngineUnavailable
from clover_engine.fake import FakeEngine
from clover_engine.runner import Runner
from clover_engine.server import EngineServer
from clover_engine.wire import (
    MAX_MESSAGE_BYTES,
    PROTOCOL,
    CancelRequest,
    ClientMessage,
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

WAIT_S = 10.0
HELLO = Hello(PROTOCOL, "1.0")
QUICK = infill_request("total = 1\nto", "")
SLOW = infill_request('clover-fake: {"text": "x", "steps": 10000, "step_ms": 1}\n', "")


class Running:
    """A server in this loop, and a way to talk to it."""

    def __init__(self, runner: Runner, server: EngineServer, place: Place) -> None:
        self.runner = runner
        self.server = server
        self.place = place

    @property
    def note(self) -> Note:
        note = self.place.read()
        assert note is not None
        return note

    def dial(self, **options: Any) -> connect:
        address = self.note.address
        if isinstance(address, UnixAddress):
            return unix_connect(str(address.path), proxy=None, **options)
        return connect(f"ws://{address.host}:{address.port}/", proxy=None, **options)

    async def wait_until(self, holds: Callable[[], bool]) -> None:
        for _ in range(1000):
            if holds():
                return
            await asyncio.sleep(0.01)
        pytest.fail("it did not come about")


@asynccontextmanager
async def running(
    folder: Path,
    *,
    load: Callable[[], Engine] = FakeEngine,
    idle_exit_s: float = 0.0,
    address: TcpAddress | None = None,
) -> AsyncIterator[Running]:
    place = Place(folder, "fake")
    runner = Runner(load, model="fake")
    server = EngineServer(runner, "1.0", idle_exit_s)
    task = asyncio.create_task(server.run(place, address))
    self = Running(runner, server, place)
    try:
        await self.wait_until(lambda: place.read() is not None or task.done())
        yield self
    finally:
        server.stop()
        await asyncio.wait_for(task, WAIT_S)
        await asyncio.to_thread(runner.close)
    assert place.read() is None


async def say(connection: ClientConnection, *messages: ClientMessage) -> None:
    for message in messages:
        await connection.send(encode(message))


async def hear(connection: ClientConnection) -> ServerMessage:
    async with asyncio.timeout(WAIT_S):
        return decode_server(await connection.recv())


async def greet(connection: ClientConnection, hello: Hello = HELLO) -> Welcome:
    await say(connection, hello)
    welcome = await hear(connection)
    assert isinstance(welcome, Welcome)
    return welcome


async def answer(connection: ClientConnection) -> FillAnswer | ErrorAnswer | InfoAnswer:
    """The next message that is no draft."""
    while True:
        message = await hear(connection)
        if isinstance(message, FillAnswer | ErrorAnswer | InfoAnswer):
            return message


async def refused(dialling: connect) -> int:
    with pytest.raises(InvalidStatus) as caught:
        async with dialling:
            pass
    return caught.value.response.status_code


async def test_it_greets_fills_and_informs(tmp_path: Path) -> None:
    async with running(tmp_path) as engine, engine.dial() as connection:
        welcome = await greet(connection)
        assert (welcome.protocol, welcome.version, welcome.info.model) == (PROTOCOL, "1.0", "fake")
        await say(connection, FillRequest(7, QUICK), InfoRequest(8))
        answers = [await answer(connection), await answer(connection)]
        fill = next(each for each in answers if isinstance(each, FillAnswer))
        assert (fill.id, fill.filled.fills[0].text) == (7, "tal = 1")
        assert InfoAnswer(8, FakeEngine().info) in answers


async def test_the_socket_is_its_users_alone(tmp_path: Path) -> None:
    async with running(tmp_path) as engine:
        address = engine.note.address
        assert isinstance(address, UnixAddress)
        assert stat.S_IMODE(address.path.stat().st_mode) == 0o600
        assert engine.note.pid == os.getpid()
    assert not address.path.exists()


async def test_a_socket_left_behind_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "fake.sock").touch()
    async with running(tmp_path) as engine, engine.dial() as connection:
        await greet(connection)


async def test_a_browser_is_refused_on_both_transports(tmp_path: Path) -> None:
    async with running(tmp_path) as engine:
        assert await refused(engine.dial(origin="https://example.org")) == 403
        assert await refused(engine.dial(origin="null")) == 403
    async with running(tmp_path, address=TcpAddress("127.0.0.1", 0)) as engine:
        headers = {"Authorization": f"Bearer {engine.note.token}"}
        assert (
            await refused(engine.dial(origin="http://localhost", additional_headers=headers)) == 403
        )


async def test_tcp_asks_for_the_token(tmp_path: Path) -> None:
    async with running(tmp_path, address=TcpAddress("127.0.0.1", 0)) as engine:
        token = engine.note.token
        assert len(token) >= 32
        for wrong in ("", f"Bearer {token[:-1]}", token, "Bearer é"):
            assert await refused(engine.dial(additional_headers={"Authorization": wrong})) == 401
        assert await refused(engine.dial()) == 401
        async with engine.dial(
            additional_headers={"Authorization": f"Bearer {token}"}
        ) as connection:
            await greet(connection)


async def test_tcp_refuses_other_names_for_this_host(tmp_path: Path) -> None:
    async with running(tmp_path, address=TcpAddress("127.0.0.1", 0)) as engine:
        address = engine.note.address
        assert isinstance(address, TcpAddress)
        rebound = connect(
            f"ws://evil.example:{address.port}/",
            host=address.host,
            port=address.port,
            proxy=None,
            additional_headers={"Authorization": f"Bearer {engine.note.token}"},
        )
        assert await refused(rebound) == 403


@pytest.mark.parametrize("first", ["{", '{"type":"Stop"}', b"\x00"])
async def test_who_does_not_greet_is_sent_away(tmp_path: Path, first: str | bytes) -> None:
    async with running(tmp_path) as engine:
        async with engine.dial() as connection:
            await connection.send(first)
            with pytest.raises(ConnectionClosed) as caught:
                await connection.recv()
            assert caught.value.rcvd is not None
            assert caught.value.rcvd.code == session.PROTOCOL_ERROR
        async with engine.dial() as connection:
            await greet(connection)


async def test_who_says_nothing_is_sent_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "HELLO_S", 0.01)
    async with running(tmp_path) as engine, engine.dial() as connection:
        with pytest.raises(ConnectionClosed):
            await connection.recv()


async def test_nonsense_is_answered_and_forgiven(tmp_path: Path) -> None:
    async with running(tmp_path) as engine, engine.dial() as connection:
        await greet(connection)
        too_much = encode(FillRequest(1, QUICK)).replace('"max_tokens":64', '"max_tokens":9999')
        for nonsense in ("", "{", "[1]", '{"type":"Nonsense"}', b"\xff", too_much, encode(HELLO)):
            await connection.send(nonsense)
            said = await answer(connection)
            assert isinstance(said, ErrorAnswer)
            assert (said.id, said.error) == (0, "RequestError")
        await say(connection, FillRequest(1, QUICK))
        assert isinstance(await answer(connection), FillAnswer)


async def test_an_oversize_message_ends_that_connection_only(tmp_path: Path) -> None:
    async with running(tmp_path) as engine, engine.dial() as other:
        await greet(other)
        connection = await engine.dial()
        await greet(connection)
        await connection.send("x" * (MAX_MESSAGE_BYTES + 1))
        with pytest.raises(ConnectionClosed) as caught:
            await connection.recv()
        assert caught.value.rcvd is not None
        assert caught.value.rcvd.code == 1009
        await say(other, FillRequest(1, QUICK))
        assert isinstance(await answer(other), FillAnswer)


async def test_another_protocol_may_only_ask_it_to_leave(tmp_path: Path) -> None:
    async with running(tmp_path) as engine, engine.dial() as connection:
        await greet(connection, Hello(PROTOCOL + 1, "2.0"))
        await say(connection, FillRequest(1, QUICK))
        said = await answer(connection)
        assert isinstance(said, ErrorAnswer)
        assert said.error == "ProtocolMismatch"
        await say(connection, Stop())
        with pytest.raises(ConnectionClosed):
            await connection.recv()


async def test_a_cancelled_fill_frees_the_engine(tmp_path: Path) -> None:
    async with running(tmp_path) as engine, engine.dial() as connection:
        await greet(connection)
        await say(connection, FillRequest(1, SLOW), FillRequest(1, SLOW))
        reused = await answer(connection)
        assert isinstance(reused, ErrorAnswer)
        assert "still open" in reused.message
        await say(connection, CancelRequest(1), CancelRequest(99), FillRequest(2, QUICK))
        said = await answer(connection)
        assert isinstance(said, FillAnswer)
        assert said.id == 2
        assert engine.runner.jobs == 0


async def test_a_client_that_goes_away_takes_its_fills_along(tmp_path: Path) -> None:
    async with running(tmp_path) as engine, engine.dial() as connection:
        await greet(connection)
        await say(connection, *(FillRequest(id, SLOW) for id in range(1, 5)))
        await engine.wait_until(lambda: engine.runner.jobs == 4)
        connection.transport.abort()
        await engine.wait_until(lambda: engine.runner.jobs == 0)


async def test_it_answers_while_the_model_loads(tmp_path: Path) -> None:
    loaded = threading.Event()

    def load() -> Engine:
        loaded.wait(WAIT_S)
        return FakeEngine()

    async with running(tmp_path, load=load) as engine, engine.dial() as connection:
        assert (await greet(connection)).info.state is EngineState.LOADING
        await say(connection, FillRequest(1, QUICK), InfoRequest(2))
        said = await answer(connection)
        assert isinstance(said, InfoAnswer)
        assert said.info.state is EngineState.LOADING
        loaded.set()
        said = await answer(connection)
        assert isinstance(said, FillAnswer)
        assert isinstance(said.filled, Filled)


async def test_it_leaves_when_nobody_has_been_there_for_a_while(tmp_path: Path) -> None:
    async with running(tmp_path, idle_exit_s=0.2) as engine:
        async with engine.dial() as connection:
            await greet(connection)
            await asyncio.sleep(0.4)
            await say(connection, InfoRequest(1))
            await answer(connection)
        await engine.wait_until(lambda: engine.place.read() is None)


async def test_whoever_started_it_finds_it_however_short_its_idle_time(tmp_path: Path) -> None:
    async with running(tmp_path, idle_exit_s=0.01) as engine:
        await asyncio.sleep(0.2)
        async with engine.dial() as connection:
            await greet(connection)


async def test_an_address_that_cannot_be_had_is_an_error(tmp_path: Path) -> None:
    runner = Runner(FakeEngine)
    for address in (TcpAddress("203.0.113.1", 0), UnixAddress(tmp_path / "missing" / "x.sock")):
        with pytest.raises(EngineUnavailable, match="cannot listen"):
            await EngineServer(runner, "1.0").run(Place(tmp_path, "fake"), address)
    await asyncio.to_thread(runner.close)
