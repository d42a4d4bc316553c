"""llama.cpp's server as a peer: an external program, given by its path, run beside ours."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clover_engine.api import Hole, Literal, Stats
from clover_engine.engine import FAMILY
from clover_engine.errors import CloverError
from clover_engine.family import load_family
from clover_engine.prompt import PromptBuilder
from clover_engine.tokenizer import TextTokenizer
from clover_engine.weights import load_vocabulary
from clover_engine.windows import Windows
from clover_write.bench.cases import SEED, Ask
from clover_write.bench.rows import Answer
from clover_write.config import Config
from clover_write.store import Store

HOST = "127.0.0.1"
START_S = 120.0
ANSWER_S = 120.0
COMMON = ("-np", "1", "-c", "4096")
# what its preset for editors (--fim-qwen-1.5b-default) sets beside the model
AS_USERS_RUN_IT = ("-b", "1024", "-ub", "1024", "--cache-reuse", "256")
# what llama.vim asks for; time limits left out, so that every row writes all of its line
AS_USERS_ASK = {"samplers": ["top_k", "top_p", "infill"], "top_k": 40, "top_p": 0.99, "seed": SEED}

INFILL = "llama.cpp /infill"
SAME_PROMPT = "llama.cpp same prompt"
SAME_PROMPT_Q4_0 = "llama.cpp same prompt, Q4_0"

Body = Callable[[Ask, str], dict[str, object]]


class PeerError(CloverError):
    """The peer could not be started, or did not answer."""


@dataclass(frozen=True, slots=True)
class Program:
    """A llama-server binary; its libraries lie beside it."""

    binary: Path

    @property
    def environment(self) -> dict[str, str]:
        """The environment it needs to find its libraries."""
        return {**os.environ, "LD_LIBRARY_PATH": str(self.binary.parent)}

    def requantised(self, gguf: Path, folder: Path) -> Path | None:
        """The model in Q4_0, made by the llama-quantize beside the binary; None without one."""
        quantize = self.binary.with_name("llama-quantize")
        if not quantize.is_file():
            return None
        made = folder / "q4_0.gguf"
        done = subprocess.run(
            [quantize, "--allow-requantize", gguf, made, "Q4_0"],
            env=self.environment,
            capture_output=True,
            check=False,
        )
        if done.returncode:
            raise PeerError(f"{quantize} failed: {_last_line(done.stderr)}")
        return made


class Server:
    """A running llama-server."""

    def __init__(
        self, program: Program, gguf: Path, threads: int, flags: Sequence[str] = ()
    ) -> None:
        port = _free_port()
        where = ("--host", HOST, "--port", str(port))
        options = ("-t", str(threads), *COMMON, *flags)
        self.command = " ".join((program.binary.name, "-m", gguf.name, *options))
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the server
        self._process = subprocess.Popen(
            [program.binary, "-m", gguf, *options, *where],
            env=program.environment,
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self._connection = http.client.HTTPConnection(HOST, port, timeout=ANSWER_S)

    def wait(self) -> None:
        """Until the model is loaded. Raises PeerError when that does not happen."""
        until = time.monotonic() + START_S
        while not self._healthy():
            if self._process.poll() is not None:
                self._log.seek(0)
                raise PeerError(f"llama-server ended at once: {_last_line(self._log.read())}")
            if time.monotonic() > until:
                raise PeerError(f"llama-server was not ready after {START_S:.0f} s")
            time.sleep(0.1)

    def post(self, path: str, body: Mapping[str, object]) -> tuple[dict[str, Any], float]:
        """The reply, and the milliseconds until all of it was here. Raises PeerError."""
        data = json.dumps(body).encode("ascii")
        headers = {"Content-Type": "application/json"}
        try:
            # it closes connections that idle while other rows work; connecting is not timed
            self._connection.close()
            self._connection.connect()
            start = time.perf_counter()
            self._connection.request("POST", path, data, headers)
            response = self._connection.getresponse()
            reply = json.loads(response.read())
            ms = (time.perf_counter() - start) * 1000
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise PeerError(f"llama-server did not answer {path}: {error!r}") from error
        if response.status != 200:
            raise PeerError(f"llama-server refused {path}: {reply}")
        return reply, ms

    def close(self) -> None:
        """End the server, by force when it does not leave."""
        self._connection.close()
        self._process.terminate()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._log.close()

    def _healthy(self) -> bool:
        try:
            self._connection.request("GET", "/health")
            response = self._connection.getresponse()
            response.read()
        except (OSError, http.client.HTTPException):
            self._connection.close()
            return False
        return response.status == 200


@dataclass(frozen=True, slots=True)
class PeerRow:
    """One way of asking one server."""

    name: str
    server: Server
    path: str
    body: Body
    ours: bool = False

    async def answer(self, document: str, ask: Ask, *, fresh: bool) -> Answer:
        """Fill the hole; its one cache is left unused for a fresh document."""
        body = self.body(ask, document) | _limits(ask.hole) | {"cache_prompt": not fresh}
        reply, ms = await asyncio.to_thread(self.server.post, self.path, body)
        return Answer(reply["content"], ms, _stats(reply["timings"]))

    async def about(self) -> str:
        """The server's command line and where it is asked."""
        return f"{self.server.command}, asked at {self.path}"

    async def close(self) -> None:
        """End the server."""
        await asyncio.to_thread(self.server.close)


def as_its_users(ask: Ask, document: str) -> dict[str, object]:
    """What llama.vim sends: the lines above, the cursor's line as prompt, what follows."""
    above, newline, line = ask.left.rpartition("\n")
    place = {"input_prefix": above + newline, "prompt": line, "input_suffix": ask.right}
    return {**place, **AS_USERS_ASK}


def with_our_prompt(config: Config) -> Body:
    """Exactly the tokens our engine reads, cut by windows of the same history; greedy."""
    folder = Store(config.cache_dir, config.sources).require(config.model)
    tokenizer = TextTokenizer(folder / "tokenizer.json")
    builder = PromptBuilder(load_family(FAMILY), tokenizer, load_vocabulary(folder))
    windows = Windows()

    def body(ask: Ask, document: str) -> dict[str, object]:
        texts = [part.text for part in ask.canvas.segments if isinstance(part, Literal)]
        prompt = builder.infill(*windows.cut(document, *texts))
        # it heals no tokens: it gets those that our engine writes again
        return {"prompt": [*prompt.tokens, *prompt.removed], "temperature": 0.0}

    return body


def start_peers(
    program: Program, gguf: Path, q4_gguf: Path | None, threads: int, same: Body
) -> list[PeerRow]:
    """Start the servers of all peer rows; without a Q4_0 file there is no such row."""
    for path in (program.binary, gguf, q4_gguf):
        if path and not path.is_file():
            raise PeerError(f"{path} is no file: give the paths of llama-server and of its model")
    started: list[PeerRow] = []
    try:
        server = Server(program, gguf, threads, AS_USERS_RUN_IT)
        started.append(PeerRow(INFILL, server, "/infill", as_its_users))
        server = Server(program, gguf, threads)
        started.append(PeerRow(SAME_PROMPT, server, "/completion", same))
        if q4_gguf:
            server = Server(program, q4_gguf, threads)
            started.append(PeerRow(SAME_PROMPT_Q4_0, server, "/completion", same))
        for row in started:
            row.server.wait()
    except BaseException:
        for row in started:
            row.server.close()
        raise
    return started


def _limits(hole: Hole) -> dict[str, object]:
    return {"n_predict": hole.max_tokens, "stop": list(hole.stop), "stream": False}


def _stats(timings: Mapping[str, Any]) -> Stats:
    """Its timings under our names; it decodes one token a forward."""
    reused = int(timings.get("cache_n", 0))
    return Stats(
        forwards=int(timings["predicted_n"]),
        tokens=int(timings["predicted_n"]),
        prompt_tokens=int(timings["prompt_n"]) + reused,
        reused_tokens=reused,
        prefill_ms=float(timings["prompt_ms"]),
        decode_ms=float(timings["predicted_ms"]),
    )


def _free_port() -> int:
    with socket.create_server((HOST, 0)) as probe:
        return int(probe.getsockname()[1])


def _last_line(output: bytes) -> str:
    lines = output.decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else "no message"
