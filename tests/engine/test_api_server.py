"""The routes for editors that speak OpenAI's or llama.cpp's completions only."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest

from clover_engine.api import infill_request
from clover_engine.api_requests import Completions, Infill
from clover_engine.api_server import ApiServer
from clover_engine.door import Door
from clover_engine.errors import RequestError
from clover_engine.fake import FakeEngine
from clover_engine.lanes import Lanes
from clover_engine.limits import Limits
from clover_engine.reception import Reception
from clover_engine.remote.backend import RemoteBackend
from clover_engine.remote.discovery import Kind
from clover_engine.remote.http import Endpoint
from clover_engine.runner import Runner
from clover_engine.users import Users

WAIT_S = 10.0
TOKEN = "ann-" + "a" * 32
SECRET = "SecretSentence"
QUICK = {"prompt": "total = 1\nto", "suffix": "\n"}
SLOW = 'clover-fake: {"text": "x", "steps": 2000, "step_ms": 5}\n'


class Running:
    """A server in this loop."""

    def __init__(self, server: ApiServer, runner: Runner, url: str) -> None:
        self.server = server
        self.runner = runner
        self.url = url.rstrip("/")
        self.http = httpx2.AsyncClient(
            headers={"Authorization": f"Bearer {TOKEN}"}, trust_env=False, timeout=WAIT_S
        )

    async def post(self, path: str, body: object, **headers: str) -> httpx2.Response:
        return await self.http.post(self.url + path, json=body, headers=headers)


@asynccontextmanager
async def serving(limits: Limits | None = None) -> AsyncIterator[Running]:
    runner = Runner(FakeEngine, "fake")
    reception = Reception(runner, "1.0", limits or Limits(drain_s=5.0))
    server = ApiServer(runner, reception, Users.parse([f"ann {TOKEN}"]), Door("127.0.0.1", 0))
    ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    task = asyncio.create_task(server.run(ready.set_result))
    self = Running(server, runner, await asyncio.wait_for(ready, WAIT_S))
    try:
        yield self
    finally:
        await self.http.aclose()
        server.leave()
        server.leave()
        await asyncio.wait_for(task, WAIT_S)
        await asyncio.to_thread(runner.close)


async def test_completions_with_a_suffix() -> None:
    async with serving() as engine:
        said = (await engine.post("/v1/completions", {**QUICK, "max_tokens": 8})).json()
        assert said["object"] == "text_completion"
        assert said["choices"][0]["text"] == "tal = 1"
        assert said["choices"][0]["finish_reason"] == "stop"
        assert said["usage"]["total_tokens"] > said["usage"]["completion_tokens"] > 0
        short = (await engine.post("/v1/completions", {**QUICK, "max_tokens": 1})).json()
        assert short["choices"][0]["finish_reason"] == "length"


async def test_streamed_answers_are_events() -> None:
    async with serving() as engine:
        response = await engine.post("/v1/completions", {**QUICK, "stream": True})
        assert response.headers["content-type"].startswith("text/event-stream")
        first, last = response.text.strip().split("\n\n")
        assert json.loads(first.removeprefix("data: "))["choices"][0]["text"] == "tal = 1"
        assert last == "data: [DONE]"


async def test_infill_as_llama_vim_asks() -> None:
    body = {
        "input_prefix": "total = 1\n",
        "prompt": "to",
        "input_suffix": "\n",
        "input_extra": [{"filename": "a.py", "text": "x = 1\n"}, {"text": "y" * 5000}],
        "n_predict": 128,
        "samplers": ["top_k", "infill"],
        "cache_prompt": True,
        "t_max_predict_ms": 5000,
        "stream": False,
    }
    async with serving() as engine:
        said = (await engine.post("/infill", body)).json()
        assert (said["content"], said["stop"], said["stop_type"]) == ("tal = 1", True, "eos")


@pytest.mark.parametrize("kind", [Kind.LLAMA_CPP, Kind.OPENAI])
async def test_our_own_backends_understand_it(kind: Kind) -> None:
    async with serving() as engine:
        backend = RemoteBackend(kind, Endpoint(engine.url, TOKEN), model="fake")
        filled = await backend.fill(infill_request("total = 1\nto", "\n", max_tokens=8))
        assert filled.fills[0].text == "tal = 1"
        await backend.close()


async def test_who_may_not_is_refused() -> None:
    async with serving() as engine:
        for headers, status in (
            ({"Authorization": "Bearer wrong"}, 401),
            ({"Authorization": ""}, 401),
            ({"Origin": "https://example.org"}, 403),
            ({"Origin": "null"}, 403),
            ({"Host": "evil.example"}, 403),
        ):
            for path in ("/v1/completions", "/infill"):
                assert (await engine.post(path, QUICK, **headers)).status_code == status
        assert (await engine.http.get(f"{engine.url}/v1/models")).json()["data"][0]["id"] == "fake"
        anybody = httpx2.AsyncClient(trust_env=False)
        assert (await anybody.get(f"{engine.url}/health")).json() == {"status": "ok"}
        for path in ("/v1/models", "/metrics"):
            assert (await anybody.get(engine.url + path)).status_code == 401
        assert (await anybody.get(f"{engine.url}/../../etc/passwd")).status_code == 404
        await anybody.aclose()
        counted = (await engine.http.get(f"{engine.url}/metrics")).text
        assert 'reason="no web page has business here"' in counted


@pytest.mark.parametrize(
    "body",
    [
        [],
        {"prompt": 5},
        {"prompt": "a", "suffix": ["b"]},
        {"prompt": "a", "max_tokens": "many"},
        {"prompt": "a", "max_tokens": 100_000},
        {"prompt": "a", "stop": [5]},
        {"prompt": "a", "stop": ""},
    ],
)
async def test_what_is_malformed_is_told(body: object) -> None:
    async with serving() as engine:
        response = await engine.post("/v1/completions", body)
        good = isinstance(body, dict) and body.get("stop") == ""
        assert response.status_code == (200 if good else 400)
        if not good:
            assert response.json()["error"]["message"]


async def test_too_much_is_refused_in_size_and_number() -> None:
    async with serving(Limits(rate=0.001, burst=1, message_bytes=1000, drain_s=1.0)) as engine:
        big = await engine.post("/v1/completions", {"prompt": SECRET * 1000})
        assert big.status_code == 413
        assert SECRET not in big.text
        assert (await engine.post("/v1/completions", QUICK)).status_code == 200
        assert (await engine.post("/v1/completions", QUICK)).status_code == 429


async def test_who_goes_away_takes_the_job_along() -> None:
    async with serving() as engine:
        task = asyncio.create_task(engine.post("/v1/completions", {"prompt": SLOW}))
        for _ in range(1000):
            if engine.runner.jobs:
                break
            await asyncio.sleep(0.01)
        assert engine.runner.jobs == 1
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        for _ in range(1000):
            if not engine.runner.jobs:
                break
            await asyncio.sleep(0.01)
        assert engine.runner.jobs == 0


def test_lanes_are_shared_in_turn_but_not_at_once() -> None:
    lanes = Lanes()
    with lanes.taken("ann") as first:
        with lanes.taken("ann") as second, lanes.taken("bob") as other:
            assert first == other != second
        with lanes.taken("ann") as third:
            assert third == second
    with lanes.taken("ann") as again:
        assert again == first


def test_extras_beyond_what_a_context_takes_are_left_out() -> None:
    pieces: list[dict[str, Any]] = [{"filename": f"{n}.py", "text": "x" * 300} for n in range(9)]
    context = Infill().request({"input_extra": pieces}, "").context
    assert context is not None
    assert 0 < len(context.snippets) < 9
    with pytest.raises(RequestError):
        Infill().request({"input_extra": "text"}, "")
    assert Completions().request({"prompt": "a"}, "lane 0").document == "lane 0"
