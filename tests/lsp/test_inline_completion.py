"""The feature over an engine that the test drives: who is answered when, and with what."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
from collections.abc import AsyncIterator

import pytest
from lsprotocol import types

from clover_engine.api import Draft, Priority
from clover_engine.errors import EngineUnavailable
from clover_lsp import inline_completion, writing
from clover_lsp.client import Client
from clover_lsp.desk import GRACE_S
from clover_lsp.infill import Trigger
from clover_lsp.inline_completion import InlineCompletion
from clover_lsp.lazy_client import LazyClient
from clover_lsp.settings import Settings
from clover_lsp.status import Status
from tests.support.session import URI, Engine, Session, inserted


@pytest.fixture
async def session() -> AsyncIterator[Session]:
    session = Session()
    yield session
    await session.feature.close()


async def test_an_item_has_an_empty_range_at_the_cursor(session: Session) -> None:
    session.open("a = 😀 \n")
    request = session.request((0, 7))
    (await session.asked(1)).answer.set_result("+ 1")
    [item] = (await request).items
    at = types.Position(0, 7)
    assert (item.insert_text, item.range) == ("+ 1", types.Range(at, at))
    assert item.command is not None
    assert item.command.command == "clover.accepted"


async def test_opening_touches_no_engine_before_the_cursor_rests(session: Session) -> None:
    document = session.open("a\n")
    assert session.connections == 0
    for _ in range(3):
        session.feature.warm(document, types.Position(0, 0))
    warmed = await session.asked(1)
    assert warmed.request.priority is Priority.BACKGROUND
    assert len(session.engine.asks) == 1


async def test_typing_along_needs_no_engine(session: Session) -> None:
    session.open("x = \n")
    assert await session.shows((0, 4), "foo(bar)") == "foo(bar)"
    session.type((0, 4), "fo")
    assert inserted(await session.request((0, 6))) == "o(bar)"
    session.type((0, 6), "o(")
    session.type((0, 8), ")")
    assert inserted(await session.request((0, 8))) == "bar"
    assert len(session.engine.asks) == 1


async def test_asking_again_at_the_same_place_needs_no_engine(session: Session) -> None:
    session.open("x = \n")
    assert await session.shows((0, 4), "1") == "1"
    assert inserted(await session.request((0, 4))) == "1"
    assert len(session.engine.asks) == 1


@pytest.mark.parametrize("change", [((0, 4), "q"), ((1, 0), "below")])
async def test_typing_something_else_asks_anew(
    session: Session, change: tuple[tuple[int, int], str]
) -> None:
    session.open("x = \n\n")
    await session.shows((0, 4), "foo")
    session.type(*change)
    assert await session.shows((0, 5 if change[0] == (0, 4) else 4), "new") == "new"
    assert session.connections == 1


async def test_a_running_job_goes_on_while_typing_agrees_with_its_draft(session: Session) -> None:
    session.open("x = \n")
    older = session.request((0, 4))
    ask = await session.asked(1)
    ask.on_draft(Draft("foo("))
    session.type((0, 4), "f")
    newer = session.request((0, 5))
    assert inserted(await older) is None
    assert not newer.done()
    ask.answer.set_result("foo(bar)")
    assert inserted(await newer) == "oo(bar)"
    assert len(session.engine.asks) == 1


async def test_a_job_that_left_its_draft_is_asked_anew(session: Session) -> None:
    session.open("x = \n")
    session.request((0, 4))
    ask = await session.asked(1)
    ask.on_draft(Draft("foo"))
    session.type((0, 4), "f")
    newer = session.request((0, 5))
    await asyncio.sleep(0)
    ask.answer.set_result("bar")
    (await session.asked(2)).answer.set_result("ive")
    assert inserted(await newer) == "ive"


async def test_a_change_that_does_not_agree_ends_job_and_request(session: Session) -> None:
    session.open("x = \n")
    request = session.request((0, 4))
    ask = await session.asked(1)
    session.type((0, 4), "q")
    async with asyncio.timeout(1):
        assert inserted(await request) is None
    await asyncio.sleep(0.01)
    assert ask.cancelled


async def test_an_answer_to_an_older_text_is_not_given(session: Session) -> None:
    session.open("x = \n")
    request = session.request((0, 4))
    ask = await session.asked(1)
    ask.on_draft(Draft("foo"))
    session.type((0, 4), "f")
    ask.answer.set_result("foo")
    assert inserted(await request) is None
    assert inserted(await session.request((0, 5))) == "oo"
    assert len(session.engine.asks) == 1


async def test_the_latest_request_wins(session: Session) -> None:
    session.open("x = \ny = \n")
    older = session.request((0, 4))
    first = await session.asked(1)
    newer = session.request((1, 4))
    assert inserted(await older) is None
    (await session.asked(2)).answer.set_result("2")
    assert inserted(await newer) == "2"
    assert first.cancelled


async def test_another_document_is_no_rival(session: Session) -> None:
    session.open("x = \n")
    session.open("x = \n", uri="git:/b.py?ref")
    one, two = session.request((0, 4)), session.request((0, 4), uri="git:/b.py?ref")
    (await session.asked(1)).answer.set_result("1")
    (await session.asked(2)).answer.set_result("2")
    assert {inserted(await one), inserted(await two)} == {"1", "2"}


async def test_a_cancelled_request_ends_its_job_unless_the_next_wants_it(session: Session) -> None:
    session.open("x = \n")
    cancelled = session.request((0, 4))
    ask = await session.asked(1)
    cancelled.cancel()
    with pytest.raises(asyncio.CancelledError):
        await cancelled
    adopting = session.request((0, 4))
    await asyncio.sleep(2 * GRACE_S)
    assert not ask.cancelled
    adopting.cancel()
    await asyncio.sleep(2 * GRACE_S)
    assert ask.cancelled


async def test_closing_the_document_answers_and_ends(session: Session) -> None:
    session.open("x = \n")
    request = session.request((0, 4))
    ask = await session.asked(1)
    session.documents.close(URI)
    session.feature.closed(URI)
    assert inserted(await request) is None
    await asyncio.sleep(0.01)
    assert ask.cancelled


async def test_closing_the_server_answers_what_is_open(session: Session) -> None:
    session.open("x = \n")
    request = session.request((0, 4))
    await session.asked(1)
    await session.feature.close()
    assert inserted(await request) is None


async def test_a_failing_engine_is_told_once_and_asked_again(session: Session) -> None:
    session.open("x = \n")
    for number in (1, 2):
        request = session.request((0, 4))
        ask = await session.asked(number)
        ask.answer.set_exception(EngineUnavailable("no engine: start one"))
        assert inserted(await request) is None
    assert session.told[-1] == {
        "busy": False,
        "kind": "Error",
        "message": "no engine: start one",
        "where": "",
    }
    assert session.shown == ["no engine: start one"]
    assert await session.shows((0, 4), "1") == "1"
    assert (session.told[-1]["busy"], session.told[-1]["kind"]) == (False, "Normal")


async def test_after_an_error_a_kept_answer_has_the_engine_asked_how_it_is(
    session: Session,
) -> None:
    session.open("x = \ny = \n")
    await session.shows((0, 4), "1")
    request = session.request((1, 4))
    (await session.asked(2)).answer.set_exception(EngineUnavailable("no engine"))
    assert inserted(await request) is None
    assert session.told[-1]["kind"] == "Error"
    assert inserted(await session.request((0, 4))) == "1"
    asked = await session.asked(3)
    assert (asked.hole.max_tokens, session.told[-1]["kind"]) == (0, "Error")
    asked.answer.set_exception(EngineUnavailable("no engine"))
    assert inserted(await session.request((0, 4))) == "1"
    (await session.asked(4)).answer.set_result("")
    await asyncio.sleep(0)
    assert (session.told[-1]["busy"], session.told[-1]["kind"]) == (False, "Normal")
    assert session.shown == ["no engine"]


async def test_what_is_written_ahead_tells_that_the_engine_is_well() -> None:
    session = Session(Settings(prefetch=True))
    session.open("x = \ny = \n")
    assert await session.shows((0, 4), "1") == "1"
    (await session.asked(2)).answer.set_exception(EngineUnavailable("no engine"))
    request = session.request((1, 4))
    (await session.asked(3)).answer.set_exception(EngineUnavailable("no engine"))
    assert inserted(await request) is None
    assert session.told[-1]["kind"] == "Error"
    assert inserted(await session.request((0, 4))) == "1"
    ahead = await session.asked(4)
    assert ahead.request.priority is Priority.BACKGROUND
    ahead.answer.set_result(" + 1")
    await asyncio.sleep(0)
    assert (session.told[-1]["busy"], session.told[-1]["kind"]) == (False, "Normal")
    await session.feature.close()


async def test_a_document_that_gets_completions_is_no_longer_inactive(session: Session) -> None:
    session.open("x = \n")
    await session.shows((0, 4), "1")
    session.open("KEY=", uri="file:///a/.env")
    assert inserted(await session.request((0, 4), uri="file:///a/.env")) is None
    assert session.told[-1]["kind"] == "Inactive"
    assert inserted(await session.request((0, 4))) == "1"
    assert session.told[-1] == {"busy": False, "kind": "Normal", "message": "", "where": ""}


async def test_an_engine_that_cannot_be_made_is_tried_again() -> None:
    session = Session()
    attempts: list[int] = []

    def connect() -> Engine:
        attempts.append(1)
        if len(attempts) == 1:
            raise EngineUnavailable("none yet")
        return session.engine

    status = Status(lambda _, params: session.told.append(params), session.shown.append)
    session.feature = InlineCompletion(session.documents, LazyClient(connect), status)
    session.open("x = \n")
    assert inserted(await session.request((0, 4))) is None
    assert await session.shows((0, 4), "1") == "1"
    await session.feature.close()


async def test_a_silent_engine_is_given_up_on(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.open("x = \ny = \n")
    await session.shows((0, 4), "1")
    monkeypatch.setattr(writing, "PATIENCE_S", -1.15)
    assert inserted(await session.request((1, 4))) is None
    assert session.engine.asks[1].cancelled
    assert (session.told[-1]["busy"], session.told[-1]["kind"]) == (False, "Warning")
    assert session.shown == []


async def test_a_bug_is_an_empty_answer_and_quotes_no_text(
    session: Session, caplog: pytest.LogCaptureFixture
) -> None:
    session.open("x = \n")
    request = session.request((0, 4))
    with caplog.at_level(logging.DEBUG):
        (await session.asked(1)).answer.set_exception(KeyError("document text"))
        assert inserted(await request) is None
    assert "KeyError" in caplog.text
    assert "document text" not in caplog.text
    assert session.told[-1]["kind"] == "Error"


async def test_status_is_told_once_per_change(session: Session) -> None:
    session.open("x = \n")
    await session.shows((0, 4), "1")
    assert session.told == [
        {"busy": True, "kind": "Normal", "message": "", "where": ""},
        {"busy": False, "kind": "Normal", "message": "1 tokens in 2 forwards, 50 ms", "where": ""},
    ]


@pytest.mark.parametrize(
    ("uri", "language", "text"),
    [
        ("file:///a/.env", "plaintext", "KEY="),
        ("untitled:id_rsa", "plaintext", "KEY="),
        ("file:///a/b.txt", "gitcommit", "Fix"),
        ("file:///a/b.txt", "plaintext", "a\0b"),
        ("file:///a/b.txt", "plaintext", "a" * (10 * 1024 * 1024 + 1)),
    ],
)
async def test_refused_documents_get_nothing_and_one_status(
    session: Session, uri: str, language: str, text: str
) -> None:
    document = session.open(text, uri=uri, language=language)
    session.feature.warm(document, types.Position(0, 0))
    for _ in range(2):
        assert inserted(await session.request((0, 1), uri=uri)) is None
    await asyncio.sleep(inline_completion.REST_S + 0.05)
    assert session.connections == 0
    assert [told["kind"] for told in session.told] == ["Inactive"]


async def test_switched_off(session: Session) -> None:
    session.settings = Settings(enabled=False)
    session.open("x = \n")
    assert inserted(await session.request((0, 4))) is None
    assert session.connections == 0


async def test_inside_a_word_only_asking_answers(session: Session) -> None:
    session.open("exam\n")
    assert inserted(await session.request((0, 2))) is None
    session.engine.reply = lambda hole: "" if hole.unlike else "ple"
    assert await session.texts((0, 2), trigger=Trigger.INVOKED) == ["ple"]


async def test_a_stale_position_gets_nothing(session: Session) -> None:
    session.open("x = \n")
    assert inserted(await session.request((7, 0))) is None


async def test_line_ends_are_the_document_s_or_neovim_s(session: Session) -> None:
    session.open("def f():\r\n")
    session.engine.reply = lambda hole: "" if hole.unlike else "\n  a\n  b"
    assert await session.texts((0, 8), trigger=Trigger.INVOKED) == ["\r\n  a\r\n  b"]
    session.feature.client = Client("Neovim")
    assert await session.texts((0, 8), trigger=Trigger.INVOKED) == ["\n  a\n  b"]


@pytest.mark.parametrize("seed", range(20))
async def test_every_request_gets_one_answer_whatever_happens(session: Session, seed: int) -> None:
    draw = random.Random(seed)
    session.open("x = \n")
    requests: list[asyncio.Task[types.InlineCompletionList]] = []
    column = 4
    for _ in range(60):
        match draw.randrange(6):
            case 0 | 1:
                requests.append(session.request((0, draw.randrange(column + 1))))
            case 2:
                session.type((0, column), draw.choice("abc("))
                column += 1
            case 3:
                draw.choice(requests).cancel() if requests else None
            case 4:
                for ask in session.engine.open[-1:]:
                    ask.on_draft(Draft("ab"))
            case 5:
                for ask in session.engine.open[:1]:
                    if draw.random() < 0.6:
                        ask.answer.set_result(draw.choice(["abc", "b", ""]))
                    else:
                        ask.answer.set_exception(draw.choice([EngineUnavailable, ValueError])("no"))
        await asyncio.sleep(draw.choice([0, 0, 0.001]))
    session.documents.close(URI)
    session.feature.closed(URI)
    async with asyncio.timeout(2):
        for request in requests:
            with contextlib.suppress(asyncio.CancelledError):
                assert len((await request).items) <= 1
        await asyncio.sleep(2 * GRACE_S)
    assert session.engine.open == []
    assert session.told[-1]["busy"] is False
