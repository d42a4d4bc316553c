"""The engine as a network service: whom it lets in, what it tells, how it leaves."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from clover_engine.api import Draft, Engine, EngineState, infill_request
from clover_engine.door import Door
from clover_engine.errors import EngineBusy, EngineUnavailable, ProtocolMismatch
from clover_engine.fake import FakeEngine
from clover_engine.limits import Limits, RateLimit
from clover_engine.network import NetworkServer
from clover_engine.network_client import NetworkClient
from clover_engine.reception import Reception
from clover_engine.runner import Runner
from clover_engine.users import SHORTEST, Users, UsersError, new_token
from clover_engine.wire import PROTOCOL, FillRequest, Hello, Stop, decode_server, encode
from tests.support.certificates import self_signed

WAIT_S = 10.0
ANN, BOB = "ann-" + "a" * 32, "bob-" + "b" * 32
USERS = Users.parse([f"ann {ANN}", f"bob {BOB}"])
QUICK = infill_request("total = 1\nto", "")
SLOW = infill_request('clover-fake: {"text": "x", "steps": 100, "step_ms": 5}\n', "")
SECRET = "SecretSentence"


class Running:
    """A server in this loop."""

    def __init__(self, server: NetworkServer, runner: Runner, url: str) -> None:
        self.server = server
        self.runner = runner
        self.url = url
        self.clients: list[NetworkClient] = []

    @property
    def http(self) -> str:
        return self.url.replace("ws", "http", 1)

    def client(self, token: str = ANN, **options: Any) -> NetworkClient:
        self.clients.append(NetworkClient(self.url, token, "1.0", **options))
        return self.clients[-1]

    def dial(self, token: str = ANN, **options: Any) -> connect:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        return connect(self.url, additional_headers=headers, proxy=None, **options)

    async def get(self, path: str, **headers: str) -> httpx2.Response:
        async with httpx2.AsyncClient() as client:
            return await client.get(self.http + path, headers=headers)


@asynccontextmanager
async def serving(
    limits: Limits | None = None,
    door: Door | None = None,
    load: Callable[[], Engine] = FakeEngine,
) -> AsyncIterator[Running]:
    runner = Runner(load, "fake")
    door = door or Door("127.0.0.1", 0)
    server = NetworkServer(runner, Reception(runner, "1.0", limits), USERS, door)
    ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    task = asyncio.create_task(server.run(ready.set_result))
    self = Running(server, runner, await asyncio.wait_for(ready, WAIT_S))
    try:
        yield self
    finally:
        for client in self.clients:
            await client.close()
        server.leave()
        server.leave()
        await asyncio.wait_for(task, WAIT_S)
        await asyncio.to_thread(runner.close)


async def status(dialling: connect) -> int:
    with pytest.raises(InvalidStatus) as caught:
        async with dialling:
            pass
    return caught.value.response.status_code


async def greet(connection: ClientConnection) -> None:
    await connection.send(encode(Hello(PROTOCOL, "1.0")))
    await connection.recv()


async def test_users_with_tokens_are_served() -> None:
    async with serving() as engine:
        drafts: list[Draft] = []
        for token in (ANN, BOB):
            filled = await engine.client(token).fill(QUICK, drafts.append)
            assert filled.fills[0].text == "tal = 1"
        assert drafts
        assert (await engine.client().info()).model == "fake"


@pytest.mark.parametrize(
    "token", ["", "wrong" * 8, ANN[:-1], ANN + "x", "ann", "é" * 30, f"{ANN}, Bearer {BOB}"]
)
async def test_others_are_not(token: str) -> None:
    async with serving() as engine:
        assert await status(engine.dial(token)) == 401
        with pytest.raises(EngineUnavailable, match="token"):
            await engine.client(token).fill(QUICK)


async def test_pages_and_other_names_are_refused() -> None:
    async with serving() as engine:
        assert await status(engine.dial(origin="https://example.org")) == 403
        assert await status(engine.dial(origin="null")) == 403
        port = int(engine.url.rstrip("/").rpartition(":")[2])
        rebound = connect(
            f"ws://evil.example:{port}/",
            host="127.0.0.1",
            port=port,
            proxy=None,
            additional_headers={"Authorization": f"Bearer {ANN}"},
        )
        assert await status(rebound) == 403
        for path in ("etc/passwd", "../users.txt", "metrics/../../users", "%2e%2e/health"):
            response = await engine.get(path, Authorization=f"Bearer {ANN}")
            assert response.status_code == 404


async def test_health_is_for_all_and_metrics_for_users() -> None:
    gate = asyncio.Event()
    loop = asyncio.get_running_loop()

    def load() -> Engine:
        asyncio.run_coroutine_threadsafe(gate.wait(), loop).result(WAIT_S)
        return FakeEngine()

    async with serving(load=load) as engine:
        assert (await engine.get("health")).status_code == 503
        gate.set()
        await engine.client().fill(QUICK)
        healthy = await engine.get("health")
        assert (healthy.status_code, healthy.text) == (200, "ready\n")
        assert (await engine.get("metrics")).status_code == 401
        await engine.client("wrong" * 8).close()
        metrics = (await engine.get("metrics", Authorization=f"Bearer {ANN}")).text
        assert 'clover_requests_total{outcome="Filled",user="ann"} 1.0' in metrics
        assert "clover_connections 1.0" in metrics
        assert "clover_ready 1.0" in metrics
        assert 'clover_refused_total{reason="the token is missing or wrong"} 1.0' in metrics


async def test_no_user_can_stop_it() -> None:
    async with serving() as engine, engine.dial() as connection:
        await greet(connection)
        await connection.send(encode(Stop()))
        said = decode_server(await connection.recv())
        assert "stopped by who runs it" in str(said)
        assert (await engine.client().fill(QUICK)).fills[0].text == "tal = 1"


async def test_limits_hold_for_each_user() -> None:
    limits = Limits(rate=0.001, burst=2, connections=2, message_bytes=5000)
    async with serving(limits) as engine:
        client = engine.client()
        for _ in range(2):
            await client.fill(QUICK)
        with pytest.raises(EngineBusy, match="less often"):
            await client.fill(QUICK)
        assert (await engine.client(BOB).fill(QUICK)).fills[0].text == "tal = 1"
        async with engine.dial() as connection:
            assert await status(engine.dial()) == 429
            await greet(connection)
            await connection.send("x" * 5001)
            with pytest.raises(ConnectionClosed) as caught:
                await connection.recv()
            assert caught.value.rcvd is not None
            assert caught.value.rcvd.code == 1009


def test_a_bucket_fills_with_time() -> None:
    now = [0.0]
    rate = RateLimit(Limits(rate=2.0, burst=3), lambda: now[0])
    for _ in range(3):
        rate.take("ann")
    with pytest.raises(EngineBusy):
        rate.take("ann")
    rate.take("bob")
    now[0] += 0.5
    rate.take("ann")
    with pytest.raises(EngineBusy):
        rate.take("ann")
    now[0] += 1000
    for _ in range(3):
        rate.take("ann")
    with pytest.raises(EngineBusy):
        rate.take("ann")


async def test_it_leaves_when_what_is_open_is_answered() -> None:
    async with serving() as engine:
        client = engine.client()
        shown = asyncio.Event()
        open_fill = asyncio.create_task(client.fill(SLOW, lambda _: shown.set()))
        await asyncio.wait_for(shown.wait(), WAIT_S)
        engine.server.leave()
        with pytest.raises(EngineUnavailable, match="restarted"):
            await client.fill(QUICK)
        with pytest.raises(EngineUnavailable):
            await engine.client(BOB).fill(QUICK)
        assert (await asyncio.wait_for(open_fill, WAIT_S)).fills[0].text == "x"


async def test_told_twice_it_waits_no_longer() -> None:
    async with serving(Limits(drain_s=600.0)) as engine:
        endless = infill_request('clover-fake: {"text": "x", "steps": 100000, "step_ms": 5}\n', "")
        shown = asyncio.Event()
        open_fill = asyncio.create_task(engine.client().fill(endless, lambda _: shown.set()))
        await asyncio.wait_for(shown.wait(), WAIT_S)
        engine.server.leave()
        await asyncio.sleep(0)
        engine.server.leave()
        with pytest.raises(EngineUnavailable):
            await asyncio.wait_for(open_fill, WAIT_S)


async def test_a_client_connects_again_after_the_engine_was_restarted() -> None:
    async with serving() as first:
        client = first.client()
        await client.fill(QUICK)
        port = int(first.url.rstrip("/").rpartition(":")[2])
    with pytest.raises(EngineUnavailable):
        await client.fill(QUICK)
    async with serving(door=Door("127.0.0.1", port)):
        assert (await client.fill(QUICK)).fills[0].text == "tal = 1"
        await client.close()


async def test_logs_hold_neither_text_nor_tokens(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with serving() as engine:
        await engine.client().fill(infill_request(f"{SECRET} ", f" {SECRET}", document=SECRET))
        marked = f'clover-fake: {{"text": "x", "error": "{SECRET}"}}\n'
        with pytest.raises(Exception, match="failed"):
            await engine.client().fill(infill_request(marked, ""))
        assert await status(engine.dial(BOB + "x")) == 401
    said = "\n".join(f"{record.getMessage()} {record.__dict__}" for record in caplog.records)
    ours = [line for line in said.splitlines() if "clover_engine" in line]
    assert any("'user': 'ann'" in line for line in ours)
    assert not any(SECRET in line or ANN in line or BOB in line for line in ours)


async def test_tls_is_verified(tmp_path: Path) -> None:
    certificate, key = self_signed(tmp_path)
    door = Door("127.0.0.1", 0, certificate=certificate, key=key)
    async with serving(door=door) as engine:
        assert engine.url.startswith("wss://")
        with pytest.raises(EngineUnavailable, match="certificate"):
            await engine.client().fill(QUICK)
        trusting = engine.client(ca_file=certificate)
        assert (await trusting.fill(QUICK)).fills[0].text == "tal = 1"


async def test_another_protocol_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving() as engine:
        monkeypatch.setattr("clover_engine.network_client.PROTOCOL", PROTOCOL + 1)
        with pytest.raises(ProtocolMismatch, match="up to date"):
            await engine.client().fill(QUICK)


async def test_a_client_that_goes_away_takes_its_fills_along() -> None:
    async with serving() as engine, engine.dial() as connection:
        await greet(connection)
        await connection.send(encode(FillRequest(1, SLOW)))
        await connection.recv()
        connection.transport.abort()
        for _ in range(1000):
            if not engine.runner.jobs:
                break
            await asyncio.sleep(0.01)
        assert engine.runner.jobs == 0
        assert (await engine.client().info()).state is EngineState.READY


def test_a_door_to_other_machines_needs_a_name_and_tls(tmp_path: Path) -> None:
    for bad in ("8443", "gpu.example:8443", "0.0.0.0:70000", "0.0.0.0:x", ":::"):
        with pytest.raises(EngineUnavailable):
            Door.parse(bad, ["gpu.example"], behind_proxy=True)
    with pytest.raises(EngineUnavailable, match="allow-host"):
        Door.parse("0.0.0.0:8443", behind_proxy=True)
    with pytest.raises(EngineUnavailable, match="tls-cert"):
        Door.parse("0.0.0.0:8443", ["gpu.example"])
    door = Door.parse("0.0.0.0:8443", ["gpu.example:443"], behind_proxy=True)
    assert "gpu.example:443" in door.names(8443)
    assert Door.parse("localhost:0").host == "127.0.0.1"
    with pytest.raises(EngineUnavailable, match="cannot be used"):
        Door("127.0.0.1", 0, certificate=tmp_path / "missing.pem").tls()


def test_users_are_read_without_being_quoted(tmp_path: Path) -> None:
    token, line = new_token("ann@example.org")
    file = tmp_path / "users.txt"
    file.write_text(f"# those of the office\n\n{line}\nbob {BOB}\n")
    users = Users.read(file)
    assert token not in line
    assert len(users) == 2
    assert users.known_by(f"Bearer {token}") == "ann@example.org"
    assert users.known_by(f"bearer {BOB}") == "bob"
    for wrong in (token, f"Basic {token}", "Bearer ", "Bearer " + line.split(":")[1], ""):
        assert users.known_by(wrong) is None
    for bad in (
        [f"ann {BOB} more"],
        [BOB],
        [f"a\0b {BOB}"],
        ["ann short"],
        [f"ann {'x' * (SHORTEST - 1)}"],
        [],
    ):
        with pytest.raises(UsersError) as caught:
            Users.parse(bad)
        assert BOB not in str(caught.value)
    with pytest.raises(UsersError):
        new_token("two words")
    with pytest.raises(UsersError):
        Users.read(tmp_path / "missing")
