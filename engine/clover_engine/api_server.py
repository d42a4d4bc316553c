"""The engine for editors that speak OpenAI's or llama.cpp's completion routes only."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from clover_engine.api import Filled
from clover_engine.api_requests import Completions, Infill, Style
from clover_engine.door import Door
from clover_engine.errors import (
    Cancelled,
    CloverError,
    EngineBusy,
    EngineUnavailable,
    ModelError,
    RequestError,
)
from clover_engine.inproc import InprocClient
from clover_engine.lanes import Lanes
from clover_engine.reception import Reception
from clover_engine.runner import Runner
from clover_engine.users import Users


class _TooLarge(RequestError):
    """A request is longer than the engine takes."""


_STATUS = (
    (_TooLarge, 413),
    (RequestError, 400),
    (Cancelled, 409),
    (EngineBusy, 429),
    (EngineUnavailable, 503),
    (ModelError, 503),
)


class ApiServer:
    """`/v1/completions` with `suffix`, `/infill`, `/v1/models`, `/health`, over one runner.

    A token is always asked for; whoever comes from a web page, or calls the engine by another name,
    is refused. A streamed answer is one event: what is shown early may still change.
    """

    def __init__(self, runner: Runner, reception: Reception, users: Users, door: Door) -> None:
        self._runner = runner
        self._reception = reception
        self._limits = reception.limits
        self._users = users
        self._door = door
        self._lanes = Lanes()
        self._names: frozenset[str] = frozenset()
        self._server = _Server(self._config())

    def leave(self) -> None:
        """Answer what is open, then let `run` return; a second call waits no longer."""
        self._reception.leave()
        self._server.force_exit = self._server.should_exit
        self._server.should_exit = True

    async def run(self, on_ready: Callable[[str], None]) -> None:
        """Serve; `on_ready` is told the URL. Raises EngineUnavailable when it cannot listen."""
        self._door.tls()  # uvicorn reads the files itself, and says less where it cannot
        try:
            listener = self._server.config.bind_socket()
        except SystemExit as error:
            where = f"{self._door.host}:{self._door.port}"
            raise EngineUnavailable(f"cannot listen at {where}") from error
        port = listener.getsockname()[1]
        self._names = self._door.names(port)
        scheme = "https" if self._door.certificate else "http"
        on_ready(f"{scheme}://{self._door.host}:{port}/")
        await self._server.serve([listener])

    def _config(self) -> uvicorn.Config:
        door = self._door
        routes = [
            Route("/v1/completions", self._filling(Completions()), methods=["POST"]),
            Route("/infill", self._filling(Infill()), methods=["POST"]),
            Route("/v1/models", self._models),
            Route("/health", self._health),
            Route("/metrics", self._metrics),
        ]
        return uvicorn.Config(
            Starlette(routes=routes),
            host=door.host,
            port=door.port,
            ssl_certfile=door.certificate,
            ssl_keyfile=door.key,
            log_config=None,
            access_log=False,
            server_header=False,
            ws="none",
            timeout_graceful_shutdown=int(self._limits.drain_s),
        )

    async def _models(self, request: Request) -> Response:
        user = self._user(request)
        if isinstance(user, Response):
            return user
        model = {"id": self._runner.info.model, "object": "model", "owned_by": "clover-write"}
        return JSONResponse({"object": "list", "data": [model]})

    async def _health(self, _: Request) -> Response:
        if self._reception.is_ready:
            return JSONResponse({"status": "ok"})
        return JSONResponse({"status": self._reception.state}, 503)

    async def _metrics(self, request: Request) -> Response:
        user = self._user(request)
        return user if isinstance(user, Response) else PlainTextResponse(self._reception.metrics())

    def _filling(self, style: Style) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            user = self._user(request)
            if isinstance(user, Response):
                return user
            try:
                body = await self._body(request)
            except RequestError as error:
                return _error(error)
            return await self._filled(style, user, body, request)

        return answer

    async def _filled(
        self, style: Style, user: str, body: dict[str, Any], request: Request
    ) -> Response:
        began = time.monotonic()
        outcome: Filled | CloverError
        with self._lanes.taken(user) as lane:
            try:
                self._reception.admit(user)
                canvas = style.request(body, lane)
                fill = asyncio.create_task(InprocClient(self._runner, user).fill(canvas))
                outcome = await _unless_gone(fill, request)
            except CloverError as error:
                outcome = error
        self._reception.answered(user, outcome, time.monotonic() - began)
        if isinstance(outcome, CloverError):
            return _error(outcome)
        answer = style.answer(outcome, self._runner.info.model)
        return _streamed(answer) if body.get("stream") is True else JSONResponse(answer)

    def _user(self, request: Request) -> str | Response:
        """Who asks, or the answer to who may not."""
        hosts = request.headers.getlist("host")
        if len(hosts) != 1 or hosts[0] not in self._names:
            return self._refused(403, "unknown host")
        if "origin" in request.headers:
            return self._refused(403, "no web page has business here")
        user = self._users.known_by(request.headers.get("authorization", ""))
        return user or self._refused(401, "the token is missing or wrong")

    def _refused(self, status: int, why: str) -> Response:
        self._reception.refused(status, why)
        return _refusal(status, why)

    async def _body(self, request: Request) -> dict[str, Any]:
        data = bytearray()
        try:
            async for some in request.stream():
                data += some
                if len(data) > (most := self._limits.message_bytes):
                    raise _TooLarge(f"a request has at most {most:,} bytes")
        except ClientDisconnect:
            raise RequestError("the request broke off") from None
        try:
            body = json.loads(data)
        except ValueError as error:
            raise RequestError("the request is no JSON") from error
        if not isinstance(body, dict):
            raise RequestError("the request is no JSON object")
        return body


class _Server(uvicorn.Server):
    """Whose signals are its owner's."""

    def capture_signals(self) -> AbstractContextManager[None]:  # type: ignore[override]
        return nullcontext()


async def _unless_gone(fill: asyncio.Task[Filled], request: Request) -> Filled:
    """The canvas filled; cancelled when the client goes away first. Raises CloverError."""
    gone = asyncio.ensure_future(request.receive())
    try:
        await asyncio.wait({fill, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not fill.done():
            raise Cancelled("the client went away")
        return fill.result()
    finally:
        fill.cancel()
        gone.cancel()


def _streamed(answer: dict[str, Any]) -> Response:
    text = f"data: {json.dumps(answer)}\n\ndata: [DONE]\n\n"
    return PlainTextResponse(text, media_type="text/event-stream")


def _error(error: CloverError) -> Response:
    status = next((status for kind, status in _STATUS if isinstance(error, kind)), 500)
    return _refusal(status, str(error))


def _refusal(status: int, message: str) -> Response:
    return JSONResponse({"error": {"message": message, "type": "clover", "code": status}}, status)
