"""A real llama-server behind the same door: what the local engine does, as far as it can.

CLOVER_WRITE_LLAMA_SERVER is the path of the program, CLOVER_WRITE_LLAMA_GGUF that of the model.
"""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest

from clover_engine.api import CanvasRequest, Draft, Finish, Hole, Literal, infill_request
from clover_engine.errors import EngineError, Unsupported
from clover_engine.remote.backend import RemoteBackend
from clover_engine.remote.discovery import Kind, detect
from clover_engine.remote.http import Endpoint, Http

pytestmark = [pytest.mark.slow]
START_S = 120.0
WAIT_S = 240.0


def _given(variable: str) -> Path:
    path = os.environ.get(variable)
    if not path or not Path(path).is_file():
        pytest.skip(f"{variable} names no file: nothing is tested against a real llama-server")
    return Path(path)


class Llama:
    """The program, serving the model at a loopback port."""

    def __init__(self, binary: Path, gguf: Path, log: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as probe:
            port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        self._arguments = (binary, "-m", gguf, "-c", "4096", "-np", "1", "-t", "1")
        self._place = ("--host", "127.0.0.1", "--port", str(port))
        self._environment = {**os.environ, "LD_LIBRARY_PATH": str(binary.parent)}
        self._log = log
        self.start()

    def start(self) -> None:
        """Start it, and wait until it has loaded."""
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [*self._arguments, *self._place],
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        until = time.monotonic() + START_S
        while not self._healthy():
            assert self._process.poll() is None, self._log.read_text(errors="replace")[-500:]
            assert time.monotonic() < until, "llama-server does not get ready"
            time.sleep(0.2)

    def kill(self) -> None:
        """End it at once."""
        self._process.kill()
        self._process.wait()

    def _healthy(self) -> bool:
        try:
            return httpx2.get(f"{self.url}/health", trust_env=False).status_code == 200
        except httpx2.HTTPError:
            return False


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Llama]:
    binary, gguf = _given("CLOVER_WRITE_LLAMA_SERVER"), _given("CLOVER_WRITE_LLAMA_GGUF")
    server = Llama(binary, gguf, tmp_path_factory.mktemp("llama") / "log")
    yield server
    server.kill()


@asynccontextmanager
async def backend(llama: Llama) -> AsyncIterator[RemoteBackend]:
    made = RemoteBackend(Kind.LLAMA_CPP, Endpoint(llama.url, answer_s=WAIT_S))
    async with asyncio.timeout(WAIT_S):
        yield made
    await made.close()


async def test_it_is_recognised_and_tells_its_model(llama: Llama) -> None:
    http = Http(Endpoint(llama.url))
    assert await detect(http) is Kind.LLAMA_CPP
    await http.close()
    async with backend(llama) as remote:
        assert (await remote.info()).model.endswith(".gguf")


async def test_it_completes_code_that_fits_both_sides(llama: Llama) -> None:
    request = infill_request("def add(a, b):\n    ", "\n\nprint(add(1, 2))\n", stop=("\n",))
    async with backend(llama) as remote:
        drafts: list[Draft] = []
        filled = await remote.fill(request, drafts.append)
        assert filled.fills[0].text.strip() == "return a + b"
        assert drafts[-1].text == filled.fills[0].text
        assert filled.stats.tokens
        again = await remote.fill(request)
        assert again.fills[0].text == filled.fills[0].text
        assert again.stats.reused_tokens


async def test_limits_of_a_hole_hold(llama: Llama) -> None:
    left, right = Literal("The sky is blue. Is it? "), Literal("\n")
    async with backend(llama) as remote:
        chosen = await remote.fill(
            CanvasRequest((left, Hole(8, choices=("yes", "no", '可能"\\')), right))
        )
        assert chosen.fills[0].text in ("yes", "no", '可能"\\')
        short = await remote.fill(CanvasRequest((Literal("# Numbers\n1, 2, 3,"), Hole(3))))
        assert short.fills[0].finish is Finish.LENGTH
        lines = await remote.fill(CanvasRequest((Literal("1\n2\n3\n"), Hole(40, max_lines=2))))
        assert lines.fills[0].text.count("\n") <= 1
        with pytest.raises(Unsupported):
            await remote.fill(CanvasRequest((left, Hole(8, pattern="[0-9]+"), right)))
        stopped = await remote.fill(
            CanvasRequest((Literal("a b c d"), Hole(9), right), deadline_ms=0)
        )
        assert stopped.fills[0].finish is Finish.DEADLINE


async def test_several_holes_and_no_command_in_the_text(llama: Llama) -> None:
    request = CanvasRequest(
        (
            Literal("<|fim_middle|> is text.\nfirst = "),
            Hole(6, max_lines=1),
            Literal("\nsecond = "),
            Hole(6, max_lines=1),
            Literal("\n"),
        )
    )
    async with backend(llama) as remote:
        filled = await remote.fill(request)
        assert len(filled.fills) == 2
        assert not any("<|" in fill.text for fill in filled.fills)


async def test_killed_in_mid_answer_it_is_told_and_answers_again(llama: Llama) -> None:
    async with backend(llama) as remote:
        shown = asyncio.Event()
        long = infill_request("Numbers: 1, 2, 3, 4,", "", max_tokens=400)
        task = asyncio.create_task(remote.fill(long, lambda _: shown.set()))
        await shown.wait()
        llama.kill()
        with pytest.raises(EngineError):
            await task
        await asyncio.to_thread(llama.start)
        assert (await remote.fill(infill_request("1, 2, 3,", "", max_tokens=4))).fills[0].text
