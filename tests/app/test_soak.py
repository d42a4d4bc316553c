"""Many editors type at one engine that is killed now and then: every request is answered once."""

from __future__ import annotations

import asyncio
import os
import random
import socket
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import quantiles
from typing import Any

import psutil
import pytest

from clover_engine.api import Draft, infill_request
from clover_engine.errors import Cancelled, EngineError
from clover_engine.network_client import NetworkClient
from clover_write import __version__

EDITORS = 32
USERS = [(f"user{number}", f"token-{number}-" + "x" * 24) for number in range(8)]
KILLS_EVERY_S = 5.0
# after a fault the next request succeeds within this, plus the time that a process takes to start
RECOVERY_S = 5.0
START_S = 20.0
MIB = 1 << 20


class Engine:
    """The process at one port, started again after it was killed."""

    def __init__(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as probe:
            self.port = probe.getsockname()[1]
        self._process: asyncio.subprocess.Process | None = None

    @property
    def url(self) -> str:
        return f"ws://127.0.0.1:{self.port}/"

    @property
    def rss(self) -> int:
        assert self._process
        rss: int = psutil.Process(self._process.pid).memory_info().rss
        return rss

    async def start(self) -> None:
        """Start it, and wait until it answers."""
        users = ",".join(" ".join(user) for user in USERS)
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "clover_write", "engine", "--fake"),
            *("--listen", f"127.0.0.1:{self.port}"),
            env={**os.environ, "CLOVER_WRITE_USERS": users},
            stderr=asyncio.subprocess.DEVNULL,
        )
        client = NetworkClient(self.url, USERS[0][1], __version__)
        async with asyncio.timeout(START_S):
            while True:
                try:
                    await client.info()
                    break
                except EngineError:
                    await asyncio.sleep(0.05)
        await client.close()

    async def kill(self) -> None:
        """End it at once."""
        assert self._process
        self._process.kill()
        await self._process.wait()


@dataclass
class Editor:
    """Types into its document, a request a keystroke, the one before given up where it is late."""

    number: int
    client: NetworkClient
    outcomes: Counter[str] = field(default_factory=Counter)
    late: list[float] = field(default_factory=list)
    asked: int = 0

    async def type_until(self, end: float) -> None:
        chance = random.Random(self.number)
        text = "total = 1\n"
        running: list[asyncio.Task[None]] = []
        while time.monotonic() < end:
            text += chance.choice(("to", "x", "\n", "total "))
            if running and chance.random() < 0.3:
                running[-1].cancel()
            self.asked += 1
            running.append(asyncio.create_task(self._ask(text[-2000:])))
            await asyncio.sleep(chance.uniform(0.1, 0.5))
        await asyncio.gather(*running, return_exceptions=True)
        self.outcomes["given up"] += sum(task.cancelled() for task in running)

    async def _ask(self, text: str) -> None:
        answers = 0
        began = time.monotonic()

        def show(_: Draft) -> None:
            assert not answers, "a draft came behind the answer"

        script = 'clover-fake: {"text": "x y z", "steps": 3, "step_ms": 2}\n'
        request = infill_request(script + text, "", document=f"document {self.number}")
        try:
            async with asyncio.timeout(RECOVERY_S + START_S):
                await self.client.fill(request, show)
            self.late.append(time.monotonic() - began)
            outcome = "filled"
        except (Cancelled, EngineError) as error:
            outcome = type(error).__name__
        answers += 1
        self.outcomes[outcome] += 1


async def kills(engine: Engine, end: float) -> int:
    """Kill the engine and start it again, until then; how often."""
    count = 0
    while time.monotonic() + KILLS_EVERY_S < end:
        await asyncio.sleep(KILLS_EVERY_S)
        await engine.kill()
        await engine.start()
        count += 1
        probe = NetworkClient(engine.url, USERS[0][1], __version__)
        async with asyncio.timeout(RECOVERY_S):
            await probe.fill(infill_request("total = 1\nto", ""))
        await probe.close()
    return count


def told(editors: Sequence[Editor]) -> Counter[str]:
    """What came of all their requests."""
    return sum((editor.outcomes for editor in editors), Counter[str]())


@pytest.mark.slow
async def test_editors_type_while_the_engine_is_killed(
    request: pytest.FixtureRequest, record_property: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    seconds: float = request.config.option.soak_seconds
    engine, me = Engine(), psutil.Process()
    await engine.start()
    editors = [
        Editor(number, NetworkClient(engine.url, USERS[number % len(USERS)][1], __version__))
        for number in range(EDITORS)
    ]
    tasks, mine = len(asyncio.all_tasks()), me.memory_info().rss
    end = time.monotonic() + seconds
    *_, killed = await asyncio.gather(
        *(editor.type_until(end) for editor in editors), kills(engine, end)
    )
    stormy, fresh = told(editors), engine.rss
    for editor in editors:
        editor.outcomes.clear()
    calm = time.monotonic() + seconds / 3
    await asyncio.gather(*(editor.type_until(calm) for editor in editors))
    outcomes = told(editors)
    assert stormy.total() + outcomes.total() == sum(editor.asked for editor in editors)
    assert set(stormy) <= {"filled", "given up", "Cancelled", "EngineUnavailable"}
    # the first request after a fault finds the engine again, and so do all others
    assert set(outcomes) <= {"filled", "given up", "Cancelled"}
    assert outcomes["filled"]
    assert engine.rss - fresh < 30 * MIB
    assert me.memory_info().rss - mine < 60 * MIB
    for editor in editors:
        await editor.client.close()
    await asyncio.sleep(0)
    assert len(asyncio.all_tasks()) <= tasks + 4
    late = [each for editor in editors for each in editor.late]
    p95 = quantiles(late, n=20)[-1]
    figures = f"{dict(stormy)} with {killed} kills, {dict(outcomes)} after them, p95 {p95:.3f} s"
    record_property("soak", figures)
    with capsys.disabled():
        sys.stdout.write(f"\n{figures}\n")
    await engine.kill()
