"""What users of such servers reported about stale answers, flicker, cancelling and hanging.

The numbers are those of the reports in the project's list of public complaints, group 4c and 54.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest
from lsprotocol import types

from clover_engine import errors
from clover_engine.api import Draft, Finish
from clover_lsp import writing
from clover_lsp.desk import GRACE_S
from clover_lsp.infill import Trigger
from clover_lsp.settings import Ranges, Settings
from tests.support.session import URI, Session, inserted
from tests.support.wire import URI as DOCUMENT
from tests.support.wire import Wire, asking

Change = Callable[[Session], None]


@pytest.fixture
async def session() -> AsyncIterator[Session]:
    session = Session()
    yield session
    await session.feature.close()


def text_of(session: Session) -> str:
    document = session.documents.get(URI)
    assert document is not None
    return document.text


@pytest.mark.parametrize("draft", ["", "l", "llo", "y"])
async def test_an_answer_that_comes_late_doubles_nothing(session: Session, draft: str) -> None:
    # 25: asked at `he`, `l` typed meanwhile
    session.open("he\n")
    older = session.request((0, 2), Trigger.INVOKED)
    ask = await session.asked(1)
    ask.on_draft(Draft(draft))
    session.type((0, 2), "l")
    newer = session.request((0, 3))
    session.engine.reply = lambda _: "lo"
    await asyncio.sleep(0)
    if not ask.answer.done():
        ask.answer.set_result("llo")
    for request in (older, newer):
        for item in (await request).items:
            session.accept(item)
    assert text_of(session) == "hello\n"


@pytest.mark.parametrize("trigger", Trigger)
@pytest.mark.parametrize("ranges", Ranges)
@pytest.mark.parametrize(
    ("text", "at"), [("", (0, 0)), ("a\n", (1, 0)), ("f()\n", (0, 2)), ("a b\r\n\r\nc", (1, 0))]
)
async def test_every_item_has_a_range_on_the_line_of_the_cursor(
    trigger: Trigger, ranges: Ranges, text: str, at: tuple[int, int]
) -> None:
    # 26
    session = Session(Settings(prefetch=False, ranges=ranges))
    session.open(text)
    session.engine.reply = lambda hole: "other" if hole.unlike else "answer"
    items = (await session.request(at, trigger)).items
    assert items
    for item in items:
        assert item.range
        assert item.range.start == types.Position(*at)
        assert item.range.end.line == at[0]
    await session.feature.close()


async def test_edits_while_a_request_runs_are_no_error(wire: Wire) -> None:
    # 27
    await wire.initialize()
    await wire.generate()
    for version in range(2, 12):
        at = {"line": 1, "character": version}
        identifier = {"uri": DOCUMENT, "version": version}
        change = {"range": {"start": at, "end": at}, "text": "x"}
        wire.send(
            "textDocument/didChange", {"textDocument": identifier, "contentChanges": [change]}
        )
        wire.send("textDocument/inlineCompletion", asking(1, version + 1), id=version)
    wire.send("textDocument/didClose", {"textDocument": {"uri": DOCUMENT}})
    for id in ("asked", *range(2, 12)):
        assert (await wire.answer(id))["result"] == {"items": []}
    assert not [each for each in wire.told if each["method"] == "window/showMessage"]


@pytest.mark.parametrize("trigger", Trigger)
@pytest.mark.parametrize("end", ["cancelled", "closed", "left", "superseded", "contradicted"])
async def test_a_job_nobody_wants_ends_in_the_engine(
    session: Session, trigger: Trigger, end: str
) -> None:
    # 28, 29
    session.open("x = \ny = \n")
    request = session.request((0, 4), trigger)
    ask = await session.asked(1)
    match end:
        case "cancelled":
            request.cancel()
        case "closed":
            session.documents.close(URI)
            session.feature.closed(URI)
        case "left":
            await session.feature.close()
        case "superseded":
            session.request((1, 4), trigger)
        case _:
            session.type((0, 4), "q")
    await asyncio.sleep(2 * GRACE_S)
    assert ask.cancelled


CHANGES: dict[str, Change] = {
    "a line deleted": lambda session: session.replace((1, 0), (2, 0), ""),
    "a line added": lambda session: session.type((1, 0), "more\n"),
    "the next word changed": lambda session: session.replace((1, 0), (1, 1), "Y"),
    "the end changed": lambda session: session.type((3, 0), "end"),
    "text put right of the cursor": lambda session: session.type((0, 4), " if a"),
    "the line above changed": lambda session: session.type((0, 0), "\n"),
}


@pytest.mark.parametrize("change", CHANGES)
async def test_the_same_prefix_before_another_suffix_is_asked_anew(
    session: Session, change: str
) -> None:
    # 30
    session.open("x = \nyes\nno\n")
    session.engine.reply = lambda _: "old"
    assert await session.texts((0, 4)) == ["old"]
    CHANGES[change](session)
    session.engine.reply = lambda _: "new"
    at = (1, 4) if change == "the line above changed" else (0, 4)
    assert await session.texts(at) == ["new"]


async def test_after_moving_away_and_back_the_answer_stands_where_the_cursor_is(
    session: Session,
) -> None:
    # 31
    session.open("x = \n\ny = \n")
    replies = iter(["1", "2"])
    session.engine.reply = lambda _: next(replies)
    for at, text in [((0, 4), "1"), ((2, 4), "2"), ((0, 4), "1"), ((2, 4), "2")]:
        [item] = (await session.request(at)).items
        where = types.Position(*at)
        assert (item.insert_text, item.range) == (text, types.Range(where, where))


@pytest.mark.parametrize("text", ["one two three", "今天天气很好。", "f(a, b) + g(c)", "a  b\tc"])
@pytest.mark.parametrize("size", [1, 3, 5])
async def test_after_a_part_was_taken_the_rest_is_the_same_text(
    session: Session, text: str, size: int
) -> None:
    # 32
    session.open("x = \n")
    session.engine.reply = lambda _: text
    assert await session.texts((0, 4)) == [text]
    session.engine.reply = lambda _: "something else"
    for taken in range(size, len(text), size):
        session.type((0, 4 + taken - size), text[taken - size : taken])
        assert await session.texts((0, 4 + taken)) == [text[taken:]]
    assert len(session.engine.asks) == 1


async def test_typing_alone_asks_no_engine(session: Session) -> None:
    # 33: what a keystroke costs is a new text and no more
    session.open("x = \n")
    for column in range(300):
        session.type((0, 4 + column), "y")
    assert session.connections == 0
    session.engine.reply = lambda _: " + z"
    assert await session.texts((0, 304)) == [" + z"]


FAILURES = [
    errors.EngineUnavailable("refused"),
    errors.EngineError("HTTP 500"),
    errors.ModelError("404"),
    errors.RequestError("no such thing"),
    KeyError("content"),
    ValueError("<html>"),
]


@pytest.mark.parametrize("failure", FAILURES, ids=lambda failure: type(failure).__name__)
async def test_an_engine_that_fails_leaves_nothing_busy_and_is_asked_again(
    session: Session, failure: Exception
) -> None:
    # 34, 35
    session.open("x = \n")
    for number in range(1, 4):
        request = session.request((0, 4))
        (await session.asked(number)).answer.set_exception(failure)
        assert inserted(await request) is None
        assert session.told[-1]["busy"] is False
        assert session.told[-1]["kind"] == "Error"
    assert len(session.shown) == 1
    assert await session.shows((0, 4), "1") == "1"
    assert (session.told[-1]["busy"], session.told[-1]["kind"]) == (False, "Normal")


async def test_an_engine_that_hangs_leaves_nothing_busy_and_is_asked_again(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    # 34
    session.open("x = \n")
    monkeypatch.setattr(writing, "PATIENCE_S", -1.15)
    assert inserted(await session.request((0, 4))) is None
    assert (session.told[-1]["busy"], session.told[-1]["kind"]) == (False, "Warning")
    monkeypatch.undo()
    assert await session.shows((0, 4), "1") == "1"


async def test_an_engine_that_was_late_is_told_to_answer_again_though_nobody_types(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    # 34
    session.open("x = \n")
    monkeypatch.setattr(writing, "PATIENCE_S", -1.15)
    assert inserted(await session.request((0, 4))) is None
    assert session.told[-1]["kind"] == "Warning"
    (await session.asked(2)).answer.set_result("")
    # the reading ends in a few steps of the loop
    await asyncio.sleep(0.01)
    assert session.told[-1]["message"] == "the engine answers again"


async def test_an_engine_that_had_no_time_to_write_anything_was_late(session: Session) -> None:
    # 34
    session.open("x = \n")
    session.engine.finish = Finish.DEADLINE
    request = session.request((0, 4))
    (await session.asked(1)).answer.set_result("")
    assert inserted(await request) is None
    assert (session.told[-1]["busy"], session.told[-1]["kind"]) == (False, "Warning")
    (await session.asked(2)).answer.set_result("")
    await asyncio.sleep(0.01)
    assert session.told[-1]["message"] == "the engine answers again"


@pytest.mark.parametrize("trigger", Trigger)
@pytest.mark.parametrize("change", ["typed", "deleted", "elsewhere", "whole"])
async def test_an_answer_to_an_older_version_is_thrown_away(
    session: Session, trigger: Trigger, change: str
) -> None:
    # 54
    session.open("x = \nend\n")
    request = session.request((0, 4), trigger)
    ask = await session.asked(1)
    ask.on_draft(Draft("foo"))
    # with the change and before the editor asks again, the answer comes
    match change:
        case "typed":
            session.type((0, 4), "f")
        case "deleted":
            session.replace((0, 3), (0, 4), "")
        case "elsewhere":
            session.type((1, 0), "the ")
        case _:
            session.replace((0, 0), (2, 0), "x = \nend\n")
    if not ask.answer.done():
        ask.answer.set_result("foo")
    session.engine.reply = lambda _: ""
    assert inserted(await request) is None
