"""Every request gets exactly one answer, whatever happens to it, its document and the engine."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from random import Random
from typing import Any

import psutil
import pytest

from clover_engine.address import Place, default_place
from tests.support.wire import PATIENCE_S, Wire

# the server as it is, with an engine process of its own that needs no model
PROGRAM = """
import sys
from clover_engine.address import default_place
from clover_engine.client import RemoteClient
from clover_lsp.server import create_server
from clover_write import __version__
command = [sys.executable, "-P", "-m", "clover_write", "engine", "--fake"]
place = default_place("fake")
create_server(lambda: RemoteClient(place, __version__, command), __version__).start_io()
"""
URIS = ["file:///a.py", "untitled:b", "git:/c?ref"]
# some answers come at once, some take their time
TEXT = 'a = 1\na\n# clover-fake: {"text": " = 2", "steps": 3, "step_ms": 15}\n'
REQUESTS = (
    "textDocument/inlineCompletion",
    "textDocument/inlineCompletion",
    "textDocument/completion",
    "textDocument/codeLens",
)


@pytest.fixture
async def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Place]:
    """Where this test's engine is; whatever is left there is ended."""
    monkeypatch.setenv("CLOVER_WRITE_RUNTIME_DIR", str(tmp_path / "run"))
    place = default_place("fake")
    yield place
    kill_engine(place)
    assert await asyncio.to_thread(place.wait_free, PATIENCE_S)


def kill_engine(place: Place) -> bool:
    """End the engine where it stands; False if there is none."""
    note = place.read()
    if note is None or not psutil.pid_exists(note.pid):
        return False
    os.kill(note.pid, signal.SIGKILL)
    return True


class Storm:
    """Random messages of a careless editor; what it has asked and cancelled."""

    def __init__(self, wire: Wire, place: Place, seed: int) -> None:
        self.wire = wire
        self.place = place
        self.draw = Random(seed)
        self.asked: list[int] = []
        self.cancelled: set[int] = set()
        self.versions = dict.fromkeys(URIS, 1)

    async def served(self) -> None:
        """Ask until an engine answers: it takes its time to start, and more when it was lost."""
        self.wire.open(TEXT, URIS[0])
        async with asyncio.timeout(2 * PATIENCE_S):
            while not await self.wire.texts(1, 1, uri=URIS[0], kind=1):  # noqa: ASYNC110
                # each of them takes until the deadline or fails at once
                await asyncio.sleep(0.1)

    def step(self) -> None:
        uri = self.draw.choice(URIS)
        match self.draw.randrange(20):
            case 0:
                self.wire.send("textDocument/didClose", {"textDocument": {"uri": uri}})
            case 1:
                self.versions[uri] = 1
                self.wire.open(TEXT, uri)
            case 2 | 3 | 4 | 5 | 6:
                self.change(uri)
            case 7 | 8 | 9 if self.asked:
                self.cancelled.add(id := self.draw.choice(self.asked[-3:]))
                self.wire.send("$/cancelRequest", {"id": id})
            case _:
                self.ask(uri)

    def change(self, uri: str) -> None:
        # now and then a version that was there already
        self.versions[uri] += self.draw.choice([1, 1, 1, 0])
        at = {"line": self.draw.randrange(4), "character": self.draw.randrange(9)}
        change = {"range": {"start": at, "end": at}, "text": self.draw.choice(["", " ", "=", "q"])}
        identifier = {"uri": uri, "version": self.versions[uri]}
        params = {"textDocument": identifier, "contentChanges": [change]}
        self.wire.send("textDocument/didChange", params)

    def ask(self, uri: str) -> None:
        self.asked.append(id := len(self.asked))
        position = {"line": self.draw.randrange(5), "character": self.draw.randrange(4)}
        params: dict[str, Any] = {"textDocument": {"uri": uri}, "position": position}
        params["context"] = {"triggerKind": self.draw.choice([1, 2, 2])}
        self.wire.send(self.draw.choice(REQUESTS), params, id=id)


@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 2, 3))])
async def test_one_answer_in_a_storm_of_cancels_closes_changes_and_dying_engines(
    place: Place, seed: int
) -> None:
    wire = await Wire.start([sys.executable, "-c", PROGRAM])
    await wire.initialize()
    storm = Storm(wire, place, seed)
    for uri in URIS:
        wire.open(TEXT, uri)
    await storm.served()
    killed = 0
    for number in range(300):
        storm.step()
        if number % 5 == 0:
            # the server gets its turn
            wire.send("textDocument/codeLens", {"textDocument": {"uri": "x"}}, id=f"turn {number}")
            await wire.answer(f"turn {number}")
        if number in (60, 90, 180):
            killed += kill_engine(place)
    assert killed
    for id in storm.asked:
        answer = await wire.answer(id)
        if "error" in answer:
            assert answer["error"]["code"] == -32800
            assert id in storm.cancelled
    await storm.served()
    wire.send("shutdown", id="end")
    assert (await wire.answer("end"))["result"] is None
    assert all(len(answers) == 1 for answers in wire.answers.values())
    assert len(wire.answers) >= len(storm.asked)
    wire.send("exit")
    await wire.end()
