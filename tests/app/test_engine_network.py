"""The network engine as a real process: its users, its log, its end."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from clover_engine.api import infill_request
from clover_engine.errors import EngineUnavailable
from clover_engine.network_client import NetworkClient
from clover_write.cli import main
from clover_write.config import load_config
from clover_write.profiles import Profile

COMMAND = [sys.executable, "-P", "-m", "clover_write", "engine", "--fake"]
TOKEN = "ann-" + "a" * 32
QUICK = infill_request("total = 1\nto", "", document="SecretSentence.md")
SLOW = infill_request('clover-fake: {"text": "x", "steps": 100, "step_ms": 10}\n', "")
WAIT_S = 30.0


class Process:
    """A running engine, and the lines that it logged."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.lines: list[dict[str, Any]] = []

    async def event(self, name: str) -> dict[str, Any]:
        """The next line about that."""
        assert self._process.stderr
        async with asyncio.timeout(WAIT_S):
            while line := await self._process.stderr.readline():
                self.lines.append(json.loads(line))
                if self.lines[-1]["event"] == name:
                    return self.lines[-1]
        pytest.fail(f"it ended before {name}")

    def terminate(self) -> None:
        self._process.send_signal(signal.SIGTERM)

    async def ended(self) -> int:
        return await asyncio.wait_for(self._process.wait(), WAIT_S)


@asynccontextmanager
async def running(*arguments: str) -> AsyncIterator[Process]:
    process = await asyncio.create_subprocess_exec(
        *COMMAND,
        *arguments,
        env={**os.environ, "CLOVER_WRITE_USERS": f"ann {TOKEN}"},
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        yield Process(process)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def test_it_serves_logs_and_leaves_when_all_is_answered() -> None:
    async with running("--listen", "127.0.0.1:0", "--openai", "127.0.0.1:0") as engine:
        urls = [(await engine.event("listening"))["url"] for _ in range(2)]
        ours = next(url for url in urls if url.startswith("ws"))
        api = next(url for url in urls if url.startswith("http"))
        client = NetworkClient(ours, TOKEN, "1.0")
        assert (await client.fill(QUICK)).fills[0].text == "tal = 1"
        async with httpx2.AsyncClient(trust_env=False) as http:
            headers = {"Authorization": f"Bearer {TOKEN}"}
            body = {"prompt": "total = 1\nto"}
            said = await http.post(f"{api}v1/completions", json=body, headers=headers)
            assert said.json()["choices"][0]["text"] == "tal = 1"
            assert (await http.get(f"{api}health")).status_code == 200
        for _ in range(2):
            line = await engine.event("request")
            assert (line["user"], line["outcome"]) == ("ann", "Filled")
        shown = asyncio.Event()
        slow = asyncio.create_task(client.fill(SLOW, lambda _: shown.set()))
        await asyncio.wait_for(shown.wait(), WAIT_S)
        engine.terminate()
        assert (await asyncio.wait_for(slow, WAIT_S)).fills[0].text == "x"
        assert await engine.ended() == 0
        await client.close()
        assert "SecretSentence" not in str(engine.lines)
        assert TOKEN not in str(engine.lines)


async def test_it_says_why_it_does_not_start(tmp_path: Path) -> None:
    for arguments, reason in (
        (("--listen", "0.0.0.0:0"), "allow-host"),
        (("--listen", "nowhere"), "HOST:PORT"),
        (("--listen", "127.0.0.1:0", "--users", str(tmp_path / "none")), "cannot be read"),
        (("--openai", "127.0.0.1:0", "--tls-cert", str(tmp_path / "none")), "cannot be used"),
    ):
        process = await asyncio.create_subprocess_exec(
            *COMMAND,
            *arguments,
            env={**os.environ, "CLOVER_WRITE_USERS": f"ann {TOKEN}"},
            stderr=asyncio.subprocess.PIPE,
        )
        _, said = await asyncio.wait_for(process.communicate(), WAIT_S)
        assert process.returncode == 1
        assert reason in said.decode().splitlines()[-1]


def test_a_new_user_gets_a_token(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["engine", "--new-user", "ann"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    token = first.rpartition(" ")[2]
    assert len(token) > 40
    assert second.startswith("line for the file of users: ann sha256:")
    assert token not in second
    assert main(["engine", "--new-user", "two words"]) == 1


async def test_a_profile_reaches_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from clover_write.app import profile_client

    async with running("--listen", "127.0.0.1:0") as engine:
        url = (await engine.event("listening"))["url"]
        monkeypatch.setenv("OFFICE_TOKEN", TOKEN)
        client = profile_client(Profile("office", url, token="env:OFFICE_TOKEN"))
        assert (await client.fill(QUICK)).fills[0].text == "tal = 1"
        await client.close()
        monkeypatch.setenv("CLOVER_WRITE_REMOTE_TOKEN", TOKEN)
        assert await asyncio.to_thread(main, ["doctor", "--remote", url]) == 0
        assert "fake" in capsys.readouterr().out
        monkeypatch.setenv("OFFICE_TOKEN", TOKEN[:-1])
        client = profile_client(Profile("office", url, token="env:OFFICE_TOKEN"))
        with pytest.raises(EngineUnavailable, match="token"):
            await client.fill(QUICK)
    assert load_config({}).profile == "local"
