"""Bad networks: every request ends, with an answer or one line, and the next one succeeds."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import psutil
import pytest

from clover_engine import connection as connection_module
from clover_engine.api import EngineClient, Filled, infill_request
from clover_engine.door import Door
from clover_engine.errors import EngineError
from clover_engine.fake import FakeEngine
from clover_engine.network import NetworkServer
from clover_engine.network_client import NetworkClient
from clover_engine.reception import Reception
from clover_engine.remote import http as http_module
from clover_engine.remote.backend import RemoteBackend
from clover_engine.remote.discovery import Kind
from clover_engine.remote.http import Endpoint
from clover_engine.runner import Runner
from clover_engine.users import Users
from tests.support.faulty_proxy import Fault, FaultyProxy, faulty_proxy
from tests.support.http_peer import http_peer

TOKEN = "ann-" + "a" * 32
QUICK = infill_request("total = 1\nto", "", document="a")
# far more than a request may take here, so that one which hangs fails the test
WAIT_S = 20.0

Made = tuple[EngineClient, FaultyProxy]


@asynccontextmanager
async def engine_behind_proxy() -> AsyncIterator[Made]:
    """A client of our own protocol."""
    runner = Runner(FakeEngine, "fake")
    async with faulty_proxy() as proxy:
        # the proxy's port is the one that clients name
        door = Door("127.0.0.1", 0, hosts=(f"127.0.0.1:{proxy.port}",))
        users = Users.parse([f"ann {TOKEN}"])
        server = NetworkServer(runner, Reception(runner, "1.0"), users, door)
        ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        task = asyncio.create_task(server.run(ready.set_result))
        proxy.to = urlsplit(await ready).port or 0
        client = NetworkClient(f"ws://127.0.0.1:{proxy.port}/", TOKEN, "1.0")
        yield client, proxy
        await client.close()
        server.leave()
        server.leave()
        await asyncio.wait_for(task, WAIT_S)
    await asyncio.to_thread(runner.close)


@asynccontextmanager
async def remote_behind_proxy() -> AsyncIterator[Made]:
    """A remote backend."""

    def answer(_: object) -> list[object]:
        return [
            {"choices": [{"text": text, "finish_reason": reason}]}
            for text, reason in (("tal", None), (" = 1", None), ("", "stop"))
        ]

    async with (
        http_peer({"/v1/completions": answer}) as peer,
        faulty_proxy() as proxy,
    ):
        proxy.to = peer.port
        endpoint = Endpoint(f"http://127.0.0.1:{proxy.port}", answer_s=0.5)
        client = RemoteBackend(Kind.OPENAI, endpoint, "model")
        yield client, proxy
        await client.close()


@pytest.fixture(params=[engine_behind_proxy, remote_behind_proxy], ids=["engine", "remote"])
async def made(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Made]:
    """Each kind of client, with little patience."""
    monkeypatch.setattr(http_module, "PAUSE_S", 0.01)
    monkeypatch.setattr(connection_module, "OPEN_S", 0.5)
    async with request.param() as pair:
        yield pair


async def answered(client: EngineClient) -> str:
    """The text of a hole, or the line that says why there is none."""
    async with asyncio.timeout(WAIT_S):
        [outcome] = await asyncio.gather(client.fill(QUICK), return_exceptions=True)
    if isinstance(outcome, EngineError):
        assert "\n" not in str(outcome)
        assert TOKEN not in str(outcome)
        return type(outcome).__name__
    assert isinstance(outcome, Filled), outcome
    return outcome.fills[0].text


async def test_a_late_answer_is_an_answer(made: Made) -> None:
    client, proxy = made
    proxy.fault = Fault.DELAY
    assert await answered(client) == "tal = 1"


@pytest.mark.parametrize(
    "fault", [Fault.CUT, Fault.GARBAGE, Fault.HALF_OPEN, Fault.SLOW, Fault.REFUSE]
)
async def test_a_fault_ends_in_one_line_and_the_next_request_succeeds(
    made: Made, fault: Fault
) -> None:
    client, proxy = made
    proxy.fault = fault
    assert await answered(client) in ("EngineUnavailable", "EngineError")
    proxy.fault = Fault.NONE
    assert await answered(client) == "tal = 1"


async def test_many_faults_leave_nothing_open(made: Made) -> None:
    client, proxy = made
    process = psutil.Process()
    assert await answered(client) == "tal = 1"
    tasks, sockets = len(asyncio.all_tasks()), len(process.net_connections())
    for _ in range(3):
        for fault in (Fault.CUT, Fault.GARBAGE, Fault.REFUSE):
            proxy.fault = fault
            await proxy.close()
            await answered(client)
    proxy.fault = Fault.NONE
    assert await answered(client) == "tal = 1"
    assert len(asyncio.all_tasks()) <= tasks + 2
    assert len(process.net_connections()) <= sockets + 4
