"""An editor's side of one document over inline completion, and an engine the test drives."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from lsprotocol import types

from clover_engine.api import (
    CanvasRequest,
    Draft,
    EngineInfo,
    Fill,
    Filled,
    Finish,
    Hole,
    Literal,
    Stats,
)
from clover_lsp.client import Client
from clover_lsp.documents import Document, Documents
from clover_lsp.infill import Trigger
from clover_lsp.inline_completion import InlineCompletion
from clover_lsp.lazy_client import LazyClient
from clover_lsp.notebooks import Notebooks
from clover_lsp.settings import Settings
from clover_lsp.status import Status

URI = "file:///notes/a.py"


class Ask:
    """One request that reached the engine."""

    def __init__(self, request: CanvasRequest, on_draft: Callable[[Draft], None] | None) -> None:
        self.request = request
        self.on_draft = on_draft or (lambda _: None)
        self.answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.cancelled = False

    @property
    def hole(self) -> Hole:
        return next(part for part in self.request.segments if isinstance(part, Hole))

    @property
    def left(self) -> str:
        """What stands left of the hole."""
        part = self.request.segments[0]
        assert isinstance(part, Literal)
        return part.text

    @property
    def right(self) -> str:
        """What stands right of the hole."""
        part = self.request.segments[-1]
        assert isinstance(part, Literal)
        return part.text


class Engine:
    """An `EngineClient` whose answers the test gives, one by one or by `reply`."""

    def __init__(self) -> None:
        self.asks: list[Ask] = []
        self.came = asyncio.Event()
        self.reply: Callable[[Hole], str] | None = None
        self.confidence = 1.0
        self.finish = Finish.STOP

    @property
    def open(self) -> list[Ask]:
        return [ask for ask in self.asks if not ask.answer.done()]

    async def fill(
        self, request: CanvasRequest, on_draft: Callable[[Draft], None] | None = None
    ) -> Filled:
        ask = Ask(request, on_draft)
        self.asks.append(ask)
        self.came.set()
        if self.reply:
            ask.answer.set_result(self.reply(ask.hole))
        try:
            stats = Stats(forwards=2, tokens=1, queue_ms=5.0, prefill_ms=15.0, decode_ms=30.0)
            return Filled((Fill(await ask.answer, self.confidence, self.finish),), stats)
        except asyncio.CancelledError:
            ask.cancelled = True
            raise

    async def info(self) -> EngineInfo:
        return EngineInfo("test")

    async def close(self) -> None:
        for ask in self.open:
            ask.answer.cancel()


class Session:
    """An editor's side of one document."""

    def __init__(self, settings: Settings | None = None, editor: str = "") -> None:
        self.engine = Engine()
        self.connections = 0
        self.documents = Documents()
        self.notebooks = Notebooks(self.documents)
        self.told: list[dict[str, Any]] = []
        self.shown: list[str] = []
        # what is written ahead has its own tests
        self.settings = settings or Settings(prefetch=False)
        status = Status(lambda _, params: self.told.append(params), self.shown.append)
        self.feature = InlineCompletion(
            self.documents,
            LazyClient(self._connect),
            status,
            self.notebooks,
            lambda _: self.settings,
        )
        self.feature.client = Client(editor)

    def _connect(self) -> Engine:
        self.connections += 1
        return self.engine

    def open(self, text: str, *, uri: str = URI, language: str = "python") -> Document:
        return self.documents.open(uri, language, 1, text)

    def type(self, at: tuple[int, int], text: str, uri: str = URI) -> None:
        self.replace(at, at, text, uri)

    def replace(
        self, start: tuple[int, int], end: tuple[int, int], text: str, uri: str = URI
    ) -> None:
        before = self.documents.get(uri)
        assert before is not None
        where = types.Range(types.Position(*start), types.Position(*end))
        change = types.TextDocumentContentChangePartial(range=where, text=text)
        changed = self.documents.change(uri, before.version + 1, [change])
        assert changed is not None
        self.feature.changed(changed)

    def accept(self, item: types.InlineCompletionItem) -> None:
        """Put an item's text in, as editors do."""
        assert item.range
        start, end = item.range.start, item.range.end
        self.replace(
            (start.line, start.character), (end.line, end.character), str(item.insert_text)
        )

    def request(
        self,
        at: tuple[int, int],
        trigger: Trigger = Trigger.AUTOMATIC,
        uri: str = URI,
        selected: types.SelectedCompletionInfo | None = None,
    ) -> asyncio.Task[types.InlineCompletionList]:
        document = self.documents.get(uri)
        where = types.Position(*at)
        return asyncio.create_task(self.feature.answer(document, where, trigger, selected))

    async def texts(self, at: tuple[int, int], **more: Any) -> list[str]:
        """The texts of the items at `at`."""
        return [str(item.insert_text) for item in (await self.request(at, **more)).items]

    async def asked(self, number: int) -> Ask:
        """The engine's request of that number (from 1)."""
        async with asyncio.timeout(5):
            while len(self.engine.asks) < number:
                self.engine.came.clear()
                await self.engine.came.wait()
        return self.engine.asks[number - 1]

    async def shows(self, at: tuple[int, int], filled: str, **more: Any) -> str | None:
        """The text shown at `at` when the engine fills in `filled`."""
        request = self.request(at, **more)
        (await self.asked(len(self.engine.asks) + 1)).answer.set_result(filled)
        return inserted(await request)


def inserted(answer: types.InlineCompletionList) -> str | None:
    if not answer.items:
        return None
    text = answer.items[0].insert_text
    assert isinstance(text, str)
    return text
