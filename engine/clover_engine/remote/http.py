"""HTTP to one remote engine: who answers, how long it may take, what may be tried again."""

from __future__ import annotations

import asyncio
import json
import random
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

from clover_engine.errors import EngineBusy, EngineError, EngineUnavailable

ATTEMPTS = 3
PAUSE_S = 0.2  # before the second attempt, twice as long before the third, and by chance half less
BUSY = (429, 503)
# before a byte of an answer: most often a connection that the server was just closing
CLOSED = (httpx2.RemoteProtocolError, httpx2.ReadError, httpx2.WriteError)
# servers close connections that lay idle for five seconds (llama.cpp, uvicorn)
IDLE_S = 3.0
MAX_EVENT_BYTES = 1 << 20
MAX_ANSWER_BYTES = 8 << 20


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a remote engine is. `ca_file` holds certificates trusted beside the system's;
    `answer_s` bounds an answer from the first byte sent to the last received."""

    url: str
    token: str = field(default="", repr=False)
    ca_file: Path | None = None
    connect_s: float = 4.0
    answer_s: float = 60.0

    @property
    def host(self) -> str:
        """As errors and the status name it."""
        return httpx2.URL(self.url).netloc.decode("ascii", "replace")


class Http:
    """Requests to an endpoint. Proxies are those of the environment; TLS is always verified.

    A request is sent again only where nothing was begun: no connection came about, the server said
    that it is busy, or it closed a connection that lay idle. Errors quote no body, which may hold
    text of a document.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._client: httpx2.AsyncClient | None = None

    async def get(self, path: str) -> Any:
        """The JSON at `path`. Raises EngineError."""
        async with self._response("GET", path, None) as response:
            try:
                return json.loads(await response.aread())
            except ValueError as error:
                raise self._nonsense() from error

    async def events(
        self, path: str, body: Mapping[str, object]
    ) -> AsyncGenerator[dict[str, Any], None]:
        """The JSON objects that a POST is answered with, one by one. Raises EngineError.

        Closing the iterator closes the connection, which ends the work at the other end.
        """
        async with self._response("POST", path, body) as response:
            async for line in self._lines(response):
                text = line.removeprefix(b"data:").strip()
                if text == b"[DONE]":
                    return
                if text.startswith(b"{"):
                    yield self._object(text)

    async def close(self) -> None:
        """Close what is open."""
        if self._client:
            await self._client.aclose()

    @asynccontextmanager
    async def _response(
        self, method: str, path: str, body: Mapping[str, object] | None
    ) -> AsyncIterator[httpx2.Response]:
        response = await self._sent(method, path, body)
        try:
            self._check(response, path)
            yield response
        except httpx2.HTTPError as error:
            raise self._gone(error) from error
        finally:
            await response.aclose()

    async def _sent(
        self, method: str, path: str, body: Mapping[str, object] | None
    ) -> httpx2.Response:
        """The beginning of the answer, after as many attempts as it takes and may take."""
        client = self._made()
        attempt = 0
        while True:
            attempt += 1
            request = client.build_request(method, self._url(path), json=body)
            try:
                response = await client.send(request, stream=True)
            except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
                if attempt == ATTEMPTS:
                    host = self._endpoint.host
                    raise EngineUnavailable(f"{host} cannot be reached: {error}") from error
            except CLOSED as error:
                if attempt > 1:
                    raise self._gone(error) from error
            except httpx2.HTTPError as error:
                raise self._gone(error) from error
            else:
                if response.status_code not in BUSY or attempt == ATTEMPTS:
                    return response
                await response.aclose()
            await asyncio.sleep(PAUSE_S * 2 ** (attempt - 1) * random.uniform(0.5, 1.0))

    def _check(self, response: httpx2.Response, path: str) -> None:
        host, status = self._endpoint.host, response.status_code
        if status in (401, 403):
            raise EngineError(f"{host} refuses the token: check the profile's `token`")
        if status in BUSY:
            raise EngineBusy(f"{host} is busy: try again in a moment")
        if status == 404:
            raise EngineError(f"{host} has no {path}: check the profile's `kind` and `url`")
        if status != 200:
            raise EngineError(f"{host} refused the request with status {status}")

    async def _lines(self, response: httpx2.Response) -> AsyncIterator[bytes]:
        rest, received = b"", 0
        async for some in response.aiter_bytes():
            received += len(some)
            *lines, rest = (rest + some).split(b"\n")
            for line in lines:
                yield line
            if len(rest) > MAX_EVENT_BYTES or received > MAX_ANSWER_BYTES:
                raise self._nonsense()
        yield rest

    def _object(self, text: bytes) -> dict[str, Any]:
        try:
            found = json.loads(text)
        except ValueError as error:
            raise self._nonsense() from error
        if not isinstance(found, dict):
            raise self._nonsense()
        if "error" in found:
            raise EngineError(f"{self._endpoint.host} failed in mid-answer")
        return found

    def _nonsense(self) -> EngineError:
        return EngineError(f"{self._endpoint.host} sends what is no answer: check the profile")

    def _gone(self, error: httpx2.HTTPError) -> EngineUnavailable:
        kind = type(error).__name__
        return EngineUnavailable(f"{self._endpoint.host} went away in mid-answer ({kind})")

    def _url(self, path: str) -> str:
        return self._endpoint.url.rstrip("/") + path

    def _made(self) -> httpx2.AsyncClient:
        if self._client is None:
            endpoint = self._endpoint
            token = {"Authorization": f"Bearer {endpoint.token}"} if endpoint.token else {}
            timeout = httpx2.Timeout(endpoint.answer_s, connect=endpoint.connect_s)
            self._client = httpx2.AsyncClient(
                headers=token,
                timeout=timeout,
                verify=_tls(endpoint),
                limits=httpx2.Limits(keepalive_expiry=IDLE_S),
            )
        return self._client


def _tls(endpoint: Endpoint) -> ssl.SSLContext:
    context = ssl.create_default_context()
    if endpoint.ca_file:
        try:
            context.load_verify_locations(endpoint.ca_file)
        except (OSError, ssl.SSLError) as error:
            raise EngineError(f"{endpoint.ca_file} cannot be used: {error}") from error
    return context
