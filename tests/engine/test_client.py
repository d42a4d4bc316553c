"""The client where no engine can be had, or one of another version, or one that misbehaves."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from websockets.asyncio.server import ServerConnection, unix_serve

from clover_engine import client as client_module
from clover_engine.address import Address, Note, Place, TcpAddress, UnixAddress
from clover_engine.api import Draft, EngineInfo, infill_request
from clover_engine.client import RemoteClient, stop_engine
from clover_engine.errors import EngineError, EngineUnavailable, ProtocolMismatch, RequestError
from clover_engine.fake import FakeEngine
from clover_engine.runner import Runner
from clover_engine.server import EngineServer
from clover_engine.wire import (
    MAX_MESSAGE_BYTES,
    PROTOCOL,
    Welcome,
    encode,
)

REQUEST = infill_request("total = 1\nto", "")
SLOW = infill_request('clover-fake: {"text": "x", "steps": 10000, "step_ms": 1}\n', "")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setenv("CLOVER_WRITE_RUNTIME_DIR", str(tmp_path))
    return Place(tmp_path, "fake")


@asynccontextmanager
async def serving(
    place: Place, version: str = "1.0.0", address: Address | None = None
) -> AsyncIterator[None]:
    runner = Runner(FakeEngine)
    server = EngineServer(runner, version)
    task = asyncio.create_task(server.run(place, address))
    for _ in range(1000):
        if place.read() or task.done():
            break
        await asyncio.sleep(0.01)
    try:
        yield
    finally:
        server.stop()
        await task
        await asyncio.to_thread(runner.close)


@asynccontextmanager
async def posing(place: Place, *sayings: str) -> AsyncIterator[None]:
    """Something at the engine's address that says these things whatever it hears."""

    async def handle(connection: ServerConnection) -> None:
        for saying in sayings:
            await connection.recv()
            await connection.send(saying)
        await connection.wait_closed()

    address = place.address()
    assert isinstance(address, UnixAddress)
    async with unix_serve(handle, str(address.path)):
        place.write(Note(address, "", 0))
        yield
    place.clear()


def script(tmp_path: Path, body: str) -> list[str]:
    """A command that counts its starts in a file and then runs `body`."""
    count = f"open({str(tmp_path / 'starts')!r}, 'a').write('x')\n"
    return [sys.executable, "-c", count + body]


def starts(tmp_path: Path) -> int:
    return len((tmp_path / "starts").read_text())


async def test_without_an_engine_or_a_command_it_says_what_to_do(place: Place) -> None:
    client = RemoteClient(place, "1.0.0")
    with pytest.raises(EngineUnavailable, match="start one with clover-write engine"):
        await client.fill(REQUEST)
    await client.close()


async def test_one_connection_serves_many_requests(place: Place) -> None:
    async with serving(place):
        client = RemoteClient(place, "1.0.0")
        drafts: list[Draft] = []
        filled = await asyncio.gather(*(client.fill(REQUEST, drafts.append) for _ in range(20)))
        assert {each.fills[0].text for each in filled} == {"tal = 1"}
        assert drafts.count(Draft("tal = 1")) == 20
        assert (await client.info()).model == "fake"
        await client.close()


async def test_it_shows_the_token_on_tcp(place: Place) -> None:
    async with serving(place, address=TcpAddress("127.0.0.1", 0)):
        client = RemoteClient(place, "1.0.0")
        assert (await client.fill(REQUEST)).fills[0].text == "tal = 1"
        await client.close()
        note = place.read()
        assert note is not None
        place.write(Note(note.address, "guessed", note.pid))
        with pytest.raises(EngineUnavailable):
            await RemoteClient(place, "1.0.0").fill(REQUEST)


async def test_a_draft_that_cannot_be_shown_harms_nobody(place: Place) -> None:
    def broken(_: Draft) -> None:
        raise ValueError("cannot show it")

    raised: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: raised.append(context))
    async with serving(place):
        client = RemoteClient(place, "1.0.0")
        await client.fill(REQUEST, broken)
        assert (await client.fill(REQUEST)).fills[0].text == "tal = 1"
        await client.close()
    assert raised


async def test_errors_arrive_typed(place: Place) -> None:
    async with serving(place):
        client = RemoteClient(place, "1.0.0")
        with pytest.raises(EngineError, match="RuntimeError"):
            await client.fill(infill_request('clover-fake: {"error": "Bug"}', ""))
        with pytest.raises(RequestError, match="send less"):
            await client.fill(infill_request("x" * MAX_MESSAGE_BYTES, ""))
        assert (await client.fill(REQUEST)).fills[0].text == "tal = 1"
        await client.close()


async def test_closing_ends_open_requests(place: Place) -> None:
    async with serving(place):
        client = RemoteClient(place, "1.0.0")
        shown = asyncio.Event()
        open_fill = asyncio.create_task(client.fill(SLOW, lambda _: shown.set()))
        await shown.wait()
        await client.close()
        with pytest.raises(EngineUnavailable):
            await open_fill


@pytest.mark.parametrize("version", ["1.0.1", "2.0", "1.0.0.post1", "nonsense"])
async def test_an_engine_that_is_not_older_is_left_alone(place: Place, version: str) -> None:
    async with serving(place, version):
        client = RemoteClient(place, "1.0.0", script(place.folder, ""))
        with pytest.raises(ProtocolMismatch, match="restart the editor"):
            await client.fill(REQUEST)
        await client.close()
        same = RemoteClient(place, version)
        await same.fill(REQUEST)
        await same.close()
    assert not (place.folder / "starts").exists()


@pytest.mark.parametrize("version", ["0.9", "1.0.0rc1", "1.0.0.dev3"])
async def test_an_older_engine_is_asked_to_leave(place: Place, version: str) -> None:
    async with serving(place, version):
        client = RemoteClient(place, "1.0.0", script(place.folder, "raise SystemExit('started')"))
        with pytest.raises(EngineUnavailable, match="started"):
            await client.fill(REQUEST)
        assert place.read() is None
        await client.close()


@pytest.mark.parametrize(
    "sayings",
    [
        ["nonsense"],
        [encode(Welcome(PROTOCOL, "1.0.0", EngineInfo("x"))), "nonsense"],
        [encode(Welcome(PROTOCOL, "1.0.0", EngineInfo("x"))), '{"type":"Welcome"}'],
    ],
)
async def test_an_engine_that_talks_nonsense_is_no_engine(place: Place, sayings: list[str]) -> None:
    async with posing(place, *sayings):
        client = RemoteClient(place, "1.0.0")
        with pytest.raises(EngineUnavailable):
            await client.fill(REQUEST)
        await client.close()


async def test_a_failed_start_tells_why_and_is_not_repeated_on_every_keystroke(
    place: Place,
) -> None:
    command = script(place.folder, "raise SystemExit('the sky is falling')")
    client = RemoteClient(place, "1.0.0", command)
    for _ in range(20):
        with pytest.raises(EngineUnavailable, match="the sky is falling"):
            await client.fill(REQUEST)
    assert starts(place.folder) == 2
    await client.close()


async def test_it_starts_again_after_a_while(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_module, "STABLE_S", 0.0)
    client = RemoteClient(place, "1.0.0", script(place.folder, "raise SystemExit('no')"))
    for _ in range(4):
        with pytest.raises(EngineUnavailable):
            await client.fill(REQUEST)
    assert starts(place.folder) == 4
    await client.close()


async def test_a_command_that_does_not_exist_is_an_error(place: Place) -> None:
    client = RemoteClient(place, "1.0.0", [str(place.folder / "missing")])
    with pytest.raises(EngineUnavailable, match="cannot be started"):
        await client.fill(REQUEST)
    await client.close()


async def test_an_engine_that_never_answers_is_given_up(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_module, "START_S", 0.2)
    client = RemoteClient(place, "1.0.0", script(place.folder, "import time; time.sleep(2)"))
    with pytest.raises(EngineUnavailable, match="did not answer"):
        await client.fill(REQUEST)
    await client.close()


async def test_a_cancelled_request_does_not_stop_the_others_from_connecting(place: Place) -> None:
    async with serving(place):
        client = RemoteClient(place, "1.0.0")
        tasks = [asyncio.create_task(client.fill(REQUEST)) for _ in range(3)]
        await asyncio.sleep(0)
        tasks[0].cancel()
        answers = await asyncio.gather(*tasks, return_exceptions=True)
        assert isinstance(answers[0], asyncio.CancelledError)
        assert not any(isinstance(answer, BaseException) for answer in answers[1:])
        await client.close()


async def test_stopping_where_nothing_runs(place: Place) -> None:
    assert not await stop_engine(place)
    place.write(Note(place.address(), "", 1))
    assert not await stop_engine(place)


def test_the_client_is_light() -> None:
    heavy = ("torch", "numpy", "cattrs", "websockets", "filelock")
    code = f"import sys, clover_engine.client; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
