"""The engine as a real process: started on demand, shared, killed, replaced, stopped."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from clover_engine.address import Place, default_place
from clover_engine.api import CanvasRequest, EngineState, infill_request
from clover_engine.client import RemoteClient, stop_engine
from clover_engine.errors import EngineUnavailable, ModelError, ProtocolMismatch
from clover_write import __version__
from clover_write.cli import main

COMMAND = [sys.executable, "-P", "-m", "clover_write", "engine", "--fake"]
QUICK = infill_request("total = 1\nto", "")
# a minute long: whoever waits behind it fails the test
SLOW = infill_request('clover-fake: {"text": "x", "steps": 6000, "step_ms": 10}\n', "")
WAIT_S = 20.0


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """A place of this test's own; whatever engine is left there is ended."""
    monkeypatch.setenv("CLOVER_WRITE_RUNTIME_DIR", str(tmp_path / "run"))
    place = default_place("fake")
    yield place
    if note := place.read():
        psutil.Process(note.pid).kill()
    assert place.wait_free(WAIT_S)


def window(place: Place, version: str = __version__, command: list[str] = COMMAND) -> RemoteClient:
    return RemoteClient(place, version, command)


def pid(place: Place) -> int:
    note = place.read()
    assert note is not None
    return note.pid


def engines() -> list[psutil.Process]:
    """The living engine processes that this test process started."""
    return [
        child
        for child in psutil.Process().children()
        if child.status() != psutil.STATUS_ZOMBIE and "engine" in child.cmdline()
    ]


async def answers(client: RemoteClient, request: CanvasRequest = QUICK) -> bool:
    async with asyncio.timeout(WAIT_S):
        return (await client.fill(request)).fills[0].text == "tal = 1"


async def test_windows_share_one_engine_that_outlives_them(place: Place) -> None:
    windows = [window(place) for _ in range(4)]
    assert all(await asyncio.gather(*map(answers, windows)))
    assert [engine.pid for engine in engines()] == [pid(place)]
    for each in windows:
        await each.close()
    later = window(place)
    assert await answers(later)
    assert [engine.pid for engine in engines()] == [pid(place)]
    await later.close()


async def test_killed_in_mid_request_it_fails_at_once_and_is_started_again(place: Place) -> None:
    client = window(place)
    shown = asyncio.Event()
    slow = [asyncio.create_task(client.fill(SLOW, lambda _: shown.set())) for _ in range(3)]
    await asyncio.wait_for(shown.wait(), WAIT_S)
    killed = pid(place)
    os.kill(killed, signal.SIGKILL)
    for outcome in await asyncio.wait_for(asyncio.gather(*slow, return_exceptions=True), WAIT_S):
        assert isinstance(outcome, EngineUnavailable)
    assert await answers(client)
    assert pid(place) != killed
    await client.close()


async def test_an_upgrade_replaces_it(place: Place) -> None:
    pose = "import clover_write; clover_write.__version__ = '0.0.1'"
    code = f"{pose}; from clover_write.cli import main; main(['engine', '--fake'])"
    old = window(place, "0.0.1", [sys.executable, "-c", code])
    assert await answers(old)
    old_pid = pid(place)
    new = [window(place), window(place)]
    assert all(await asyncio.gather(*map(answers, new)))
    assert pid(place) != old_pid
    assert not psutil.pid_exists(old_pid) or psutil.Process(old_pid).status() == "zombie"
    with pytest.raises(ProtocolMismatch):
        await old.fill(QUICK)
    for client in (old, *new):
        await client.close()


@pytest.mark.parametrize("seed", [0])
async def test_five_hundred_requests_with_random_cancels_leave_nothing(
    place: Place, seed: int
) -> None:
    client = window(place)
    assert await answers(client)
    engine = psutil.Process(pid(place))
    before = engine.memory_info().rss
    chance = random.Random(seed)
    context = "x = 1\n" * 2000

    async def request(number: int) -> None:
        document = f"file:///{number % 7}" if number % 2 else ""
        marked = f'{context}clover-fake: {{"text": "y", "steps": 6000, "step_ms": 10}}\n'
        task = asyncio.create_task(client.fill(infill_request(marked, context, document=document)))
        await asyncio.sleep(chance.random() * 0.03)
        task.cancel()
        await asyncio.wait([task])

    for start in range(0, 500, 25):
        await asyncio.gather(*map(request, range(start, start + 25)))
    assert await answers(client)
    assert engine.memory_info().rss - before < 50 * 2**20
    await client.close()


@pytest.mark.slow
async def test_a_missing_model_is_told_to_every_request(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLOVER_WRITE_CACHE_DIR", str(tmp_path / "empty"))
    real = default_place("coder-0.5b", "int8")
    client = window(real, command=[argument for argument in COMMAND if argument != "--fake"])
    for _ in range(2):
        with pytest.raises(ModelError, match="models pull"):
            await client.fill(QUICK)
    assert (await client.info()).state is EngineState.FAILED
    await client.close()
    assert await stop_engine(real)


@pytest.mark.slow
async def test_it_sleeps_when_there_is_nothing_to_do(place: Place) -> None:
    client = window(place)
    assert await answers(client)
    engine = psutil.Process(pid(place))

    def spent() -> float:
        times = engine.cpu_times()
        return times.user + times.system

    before, began = spent(), time.monotonic()
    await asyncio.sleep(4)
    assert spent() - before < 0.01 * (time.monotonic() - began)
    await client.close()


async def test_stop_waits_until_it_is_gone(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    client = window(place)
    assert await answers(client)
    engine = psutil.Process(pid(place))
    slow = asyncio.create_task(client.fill(SLOW))
    assert await asyncio.to_thread(main, ["stop"]) == 0
    assert capsys.readouterr().out == "stopped the engine of fake\n"
    assert engine.wait(WAIT_S) in (0, None)
    assert sorted(path.suffix for path in place.folder.iterdir()) == [".lock", ".lock", ".log"]
    with pytest.raises(EngineUnavailable):
        await slow
    assert await asyncio.to_thread(main, ["stop"]) == 0
    assert capsys.readouterr().out == "no engine runs\n"
    assert await answers(client)
    await client.close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_ends_it_in_good_order(place: Place, number: signal.Signals) -> None:
    client = window(place)
    assert await answers(client)
    engine = psutil.Process(pid(place))
    engine.send_signal(number)
    assert await asyncio.to_thread(engine.wait, WAIT_S) in (0, None)
    assert place.read() is None
    await client.close()


async def test_it_leaves_when_idle(place: Place) -> None:
    client = window(place, command=[*COMMAND, "--idle-exit", "0.2"])
    assert await answers(client)
    engine = psutil.Process(pid(place))
    await client.close()
    await asyncio.to_thread(engine.wait, WAIT_S)
    assert place.read() is None


async def test_a_second_one_is_refused(place: Place) -> None:
    client = window(place)
    assert await answers(client)
    second = await asyncio.create_subprocess_exec(*COMMAND, stderr=asyncio.subprocess.PIPE)
    _, said = await asyncio.wait_for(second.communicate(), WAIT_S)
    assert second.returncode == 1
    assert said.decode().startswith("clover-write: an engine already runs")
    assert said.count(b"\n") == 1
    assert await answers(client)
    await client.close()


async def test_one_that_hangs_is_named(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clover_engine.connection.OPEN_S", 0.2)
    client = window(place)
    assert await answers(client)
    hung = psutil.Process(pid(place))
    hung.suspend()
    with pytest.raises(EngineUnavailable, match=f"end process {hung.pid}"):
        await stop_engine(place)
    hung.resume()
    assert await stop_engine(place)
    await client.close()


@pytest.mark.model
@pytest.mark.slow
async def test_the_real_one_survives_500_cancels(
    real_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLOVER_WRITE_RUNTIME_DIR", str(tmp_path / "run"))
    place = default_place("coder-0.5b", "int8")
    client = window(place, command=[*COMMAND[:-1], "--model", "coder-0.5b"])
    chance = random.Random(0)

    def request(number: int) -> CanvasRequest:
        left = f"def total_{number % 6}(items):\n" + "    items = list(items)\n" * (number % 60)
        return infill_request(left, "\n\nprint(1)\n", document=f"document {number % 6}")

    async def cancelled(number: int) -> None:
        asked = asyncio.create_task(client.fill(request(number)))
        await asyncio.sleep(chance.random() * 0.12)
        asked.cancel()
        await asyncio.gather(asked, return_exceptions=True)

    # the caches up to their bound and the code for each number of rows come first
    for number in range(0, 360, 7):
        await client.fill(request(number))
    engine = psutil.Process(pid(place))
    before = engine.memory_info().rss
    for number in range(500):
        await cancelled(number)
    filled = await asyncio.wait_for(client.fill(infill_request("total = 1\nto", "\n")), WAIT_S)
    assert filled.fills[0].text.startswith("tal")
    assert filled.stats.queue_ms < 1000  # nothing was left running before it
    assert engine.memory_info().rss - before < 50 << 20
    await asyncio.sleep(1)
    times, began = engine.cpu_times(), time.monotonic()
    await asyncio.sleep(4)
    spent = sum(engine.cpu_times()[:2]) - sum(times[:2])
    assert spent < 0.01 * (time.monotonic() - began)
    await client.close()
    assert await stop_engine(place)
