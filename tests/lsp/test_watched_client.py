"""Jobs as an editor is told of them that asked to watch, and only such an editor."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from clover_engine.api import (
    CanvasRequest,
    Decoding,
    Draft,
    Fill,
    Finish,
    Hole,
    Literal,
    Piece,
)
from clover_engine.errors import EngineBusy
from clover_lsp.watched_client import END_CHARS, WatchedClient
from tests.support.session import Engine
from tests.support.wire import Wire

SCRIPTED = '# clover-fake: {"text": "price * count", "steps": 2, "confidence": 0.5}\ntotal = '
METHODS = ("clover/canvas", "clover/draft", "clover/filled")


async def watched(wire: Wire, watch: object, text: str = SCRIPTED) -> list[Any]:
    """What is told of the jobs of one completion."""
    capabilities = {"experimental": {"cloverWatch": watch}}
    await wire.initialize(capabilities=capabilities, initializationOptions={"prefetch": False})
    wire.open(text)
    line = text.count("\n")
    assert await wire.texts(line, len(text.split("\n")[line]), kind=1) == ["price * count"]
    return [each for each in wire.told if each["method"] in METHODS]


async def test_who_watches_is_told_of_the_canvas_each_draft_and_the_end(wire: Wire) -> None:
    told = await watched(wire, "causal")
    assert [each["method"] for each in told] == [*METHODS[:1], *METHODS[1:2] * 2, *METHODS[2:]]
    canvas, first, second, end = (each["params"] for each in told)
    assert len({each["params"]["job"] for each in told}) == 1
    assert [list(part) for part in canvas["segments"]] == [["text"], ["maxTokens"], ["text"]]
    assert canvas["segments"][0]["text"].endswith("\ntotal = ")
    mask = {"text": "", "confidence": 0.0, "settled": False}
    price = {"text": "price", "confidence": 0.5, "settled": True}
    assert first["pieces"] == [price, mask, mask]
    assert (first["text"], first["forwards"], first["hole"]) == ("price", 1, 0)
    assert (second["text"], second["forwards"]) == ("price * count", 2)
    assert end["fills"][0]["text"] == "price * count"
    assert end["stats"]["forwards"] == 2


@pytest.mark.parametrize("watch", [None, False, "all", ["causal"], {"decoding": "causal"}])
async def test_nobody_else_is(wire: Wire, watch: object) -> None:
    assert await watched(wire, watch) == []


class Told:
    """A watched engine that the test drives, and what was told."""

    def __init__(self, decoding: Decoding | None = Decoding.DIFFUSION) -> None:
        self.engine = Engine()
        self.told: list[tuple[str, Any]] = []
        self.client = WatchedClient(
            self.engine, lambda method, params: self.told.append((method, params)), lambda: decoding
        )

    @property
    def methods(self) -> list[str]:
        return [method for method, _ in self.told]


REQUEST = CanvasRequest((Literal("x = "), Hole(8), Literal("\n")))


async def test_what_is_watched_is_written_as_the_editor_says_and_stays_the_same() -> None:
    told = Told()
    drafts: list[Draft] = []
    job = asyncio.create_task(told.client.fill(REQUEST, drafts.append))
    await asyncio.wait_for(told.engine.came.wait(), 5)
    [ask] = told.engine.asks
    assert ask.request == replace(REQUEST, watch=True, decoding=Decoding.DIFFUSION)
    draft = Draft("1", 0, (Piece("1", 0.25), Piece("", 0.0, settled=False)), 3)
    ask.on_draft(draft)
    ask.answer.set_result("12")
    assert (await job).fills == (Fill("12", 1.0, Finish.STOP),)
    assert drafts == [draft]
    assert told.methods == list(METHODS)
    assert told.told[1][1]["forwards"] == 3


async def test_a_job_that_failed_or_was_cancelled_has_an_end_without_a_text() -> None:
    told = Told()
    job = asyncio.create_task(told.client.fill(REQUEST))
    await asyncio.wait_for(told.engine.came.wait(), 5)
    job.cancel()
    with pytest.raises(asyncio.CancelledError):
        await job
    told.engine.came.clear()
    failing = asyncio.create_task(told.client.fill(REQUEST))
    await asyncio.wait_for(told.engine.came.wait(), 5)
    told.engine.asks[1].answer.set_exception(EngineBusy("no"))
    with pytest.raises(EngineBusy):
        await failing
    ends = [params for method, params in told.told if method == "clover/filled"]
    assert ends == [{"job": job, "fills": None, "stats": None} for job in (1, 2)]


@pytest.mark.parametrize(
    "request_",
    [replace(REQUEST, segments=(Hole(0),)), replace(REQUEST, segments=(Hole(unlike=("a",)),))],
)
async def test_neither_reading_nor_a_further_answer_is_told(request_: CanvasRequest) -> None:
    told = Told()
    told.engine.reply = lambda _: "x"
    await told.client.fill(request_)
    assert told.engine.asks[0].request == request_
    assert told.told == []


async def test_of_long_literals_what_stands_at_holes_is_told() -> None:
    told = Told()
    told.engine.reply = lambda _: "x"
    long = "a" * 5000 + "b" * 5000
    parts = (Literal(long), Hole(), Literal(long), Hole(), Literal(long))
    await told.client.fill(CanvasRequest(parts))
    texts = [part.get("text") for part in told.told[0][1]["segments"]]
    ends = ("a" * END_CHARS, "b" * END_CHARS)
    assert texts == [ends[1], None, f"{ends[0]}…{ends[1]}", None, ends[0]]
