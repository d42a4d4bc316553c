"""A remote engine as an `EngineClient`: its holes are filled one after the other."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field, replace

from clover_engine.api import (
    CanvasRequest,
    Draft,
    Ends,
    EngineInfo,
    Fill,
    Filled,
    Finish,
    Hole,
    Stats,
)
from clover_engine.canvas import Canvas
from clover_engine.ending import Ending
from clover_engine.errors import EngineError, RequestError, Unsupported
from clover_engine.remote.dialect import Ask, Chunk, Dialect
from clover_engine.remote.discovery import Kind, Remote, discover
from clover_engine.remote.http import Endpoint, Http
from clover_engine.remote.instruct import Instruct, bare
from clover_engine.windows import Windows

# what a remote does not tell of its texts: how likely they are
_UNKNOWN = 1.0


class RemoteBackend:
    """Asks the engine of `kind` at `endpoint`. Nothing is sent before the first request.

    A hole ends at its stop strings, its lines, where the right text begins again, or where the
    model ends it. What a limit does not allow is not taken: that hole stays empty.
    """

    def __init__(self, kind: Kind, endpoint: Endpoint, model: str = "", path: str = "") -> None:
        self._kind = kind
        self._endpoint = endpoint
        self._model = model
        self._path = path
        self._http = Http(endpoint)
        self._windows = Windows()
        self._remote: Remote | None = None
        self._discovering = asyncio.Lock()

    async def fill(
        self, request: CanvasRequest, on_draft: Callable[[Draft], None] | None = None
    ) -> Filled:
        """Fill the canvas. Raises Unsupported before anything is sent, or EngineError."""
        canvas = Canvas.of(request)
        dialect = (await self._discovered()).dialect
        for hole in canvas.holes:
            _check(hole, dialect, self._endpoint.host)
        until = _deadline(request)
        fills: dict[int, Fill] = {}
        stats = Stats()
        for number, hole in enumerate(canvas.holes):
            ask = self._ask(request, canvas, number, fills)
            writing = _Writing(ask, number, on_draft)
            wanted = hole.max_tokens or dialect.capabilities.warming
            # none of them can be asked for another answer than those at hand
            if wanted and not hole.unlike:
                await self._written(dialect, writing, until)
            fills[number] = writing.fill()
            stats += writing.stats()
        return Filled(tuple(fills[number] for number in range(len(fills))), stats)

    async def info(self) -> EngineInfo:
        """What answers there. Raises EngineError."""
        remote = await self._discovered()
        can = f"{remote.dialect.path}; {remote.dialect.capabilities}"
        return EngineInfo(remote.model, "", f"{self._kind} at {self._endpoint.host}", can)

    async def close(self) -> None:
        """Close the connections."""
        await self._http.close()

    async def _discovered(self) -> Remote:
        async with self._discovering:
            if self._remote is None:
                self._remote = await discover(self._kind, self._http, self._model, self._path)
            return self._remote

    def _ask(
        self, request: CanvasRequest, canvas: Canvas, number: int, fills: Mapping[int, Fill]
    ) -> Ask:
        left, right = canvas.asked_of(number, fills), canvas.right_of(number)
        left, right = self._windows.cut(request.document, left, right)
        return Ask(left, right, canvas.holes[number], request.context)

    async def _written(self, dialect: Dialect, writing: _Writing, until: float | None) -> None:
        """Let the remote write until the hole ends or time is up."""
        within = min(until or float("inf"), time.monotonic() + self._endpoint.answer_s)
        try:
            async with (
                asyncio.timeout(within - time.monotonic()),
                aclosing(self._http.events(dialect.path, dialect.body(writing.ask))) as events,
            ):
                async for event in events:
                    try:
                        chunk = dialect.read(event)
                    except (KeyError, TypeError, IndexError, ValueError) as error:
                        host = self._endpoint.host
                        raise EngineError(f"{host} sends what is no answer") from error
                    writing.take(chunk)
                    if writing.is_cut:
                        break  # nothing more is wanted: the connection is closed
        except TimeoutError:
            if within != until:
                host, limit = self._endpoint.host, self._endpoint.answer_s
                raise EngineError(f"{host} did not answer within {limit:g} s") from None
            writing.finish = Finish.DEADLINE
        if writing.finish is None:
            raise EngineError(f"{self._endpoint.host} broke off in mid-answer")
        if isinstance(dialect, Instruct):
            writing.text = bare(writing.text, writing.ask.left, writing.ask.right)


@dataclass(slots=True)
class _Writing:
    """The text of one hole as it comes."""

    ask: Ask
    number: int
    on_draft: Callable[[Draft], None] | None
    text: str = ""
    finish: Finish | None = None
    is_cut: bool = False
    _last: Chunk = field(default_factory=Chunk)
    _chunks: int = 0
    _began: float = field(default_factory=time.monotonic)
    _first: float = 0.0

    def take(self, chunk: Chunk) -> None:
        """Add what an event brought, and see whether the hole ends with it."""
        self._first = self._first or time.monotonic()
        self._chunks += bool(chunk.text)
        self._last = replace(
            chunk,
            tokens=chunk.tokens or self._last.tokens,
            prompt_tokens=chunk.prompt_tokens or self._last.prompt_tokens,
            reused_tokens=chunk.reused_tokens or self._last.reused_tokens,
        )
        self.finish = chunk.finish or self.finish
        if not self.ask.hole.max_tokens:
            return
        self.text = chunk.text if chunk.whole else self.text + chunk.text
        if (end := self._end()) is not None:
            self.text, self.finish, self.is_cut = self.text[:end], Finish.STOP, True
        if chunk.text and self.on_draft:
            self.on_draft(Draft(self.text, self.number))

    def fill(self) -> Fill:
        """The hole's text; none where it is not what the hole allows."""
        hole, text = self.ask.hole, self.text
        finish = self.finish or Finish.STOP
        refused = finish is not Finish.DEADLINE and not _allows(hole, text)
        return Fill("" if refused else text, _UNKNOWN, finish)

    def stats(self) -> Stats:
        """What it cost, as far as that is known here."""
        now = time.monotonic()
        first = self._first or now
        return Stats(
            tokens=self._last.tokens or self._chunks,
            prompt_tokens=self._last.prompt_tokens,
            reused_tokens=self._last.reused_tokens,
            prefill_ms=(first - self._began) * 1000,
            decode_ms=(now - first) * 1000,
        )

    def _end(self) -> int | None:
        """Where the text ends, if it does."""
        hole, text = self.ask.hole, self.text
        found = [text.find(stop) for stop in hole.stop]
        if hole.max_lines is not None:
            lines = text.split("\n")
            over = len(lines) > hole.max_lines
            found.append(len("\n".join(lines[: hole.max_lines])) if over else -1)
        if hole.choices is None and hole.pattern is None:
            ending = Ending(self.ask.left, self.ask.right, Ends.RULES)
            ends = (ending.by_rule(text), ending.by_scope(text))
            found += [end for end in ends if end is not None]
        return min((place for place in found if place >= 0), default=None)


def _check(hole: Hole, dialect: Dialect, host: str) -> None:
    """Raises Unsupported for a hole that this remote cannot fill."""
    can = dialect.capabilities
    if hole.choices is not None and not can.choices:
        raise Unsupported(f"{host} cannot keep to the choices of a hole")
    if hole.pattern is not None and not can.pattern:
        raise Unsupported(f"{host} cannot keep to the pattern of a hole")
    if hole.scored:
        raise Unsupported(f"{host} does not tell how likely the choices of a hole are")


def _allows(hole: Hole, text: str) -> bool:
    import re2

    if hole.choices is not None:
        return text in hole.choices
    if hole.pattern is None or not hole.max_tokens:
        return True
    try:
        return re2.fullmatch(hole.pattern, text) is not None
    except re2.error as error:
        raise RequestError(f"the pattern of a hole cannot be read: {error}") from error


def _deadline(request: CanvasRequest) -> float | None:
    if request.deadline_ms is None:
        return None
    return time.monotonic() + request.deadline_ms / 1000
