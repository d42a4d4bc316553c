"""What users of such servers reported about odd documents, switches and leaks.

The numbers are those of the reports in the project's list of public complaints, groups 4d to 4g.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
from lsprotocol import types

from clover_engine.api import Draft
from clover_lsp.exclusions import MAX_TYPED_BYTES
from clover_lsp.infill import Trigger
from clover_lsp.inline_completion import REST_S
from clover_lsp.settings import Mode, Settings
from tests.support.session import URI, Session, inserted
from tests.support.wire import Wire, asking


@pytest.fixture
async def session() -> AsyncIterator[Session]:
    session = Session()
    yield session
    await session.feature.close()


@pytest.mark.parametrize("trigger", Trigger)
@pytest.mark.parametrize(
    "text", ["", " ", "\n  ", "\t\t", "\r\n", "\u3000", "\u00a0", "\u200b", "\ufeff\n", "\u2028"]
)
@pytest.mark.parametrize("line", ["x = ", "f(", ""])
async def test_what_nobody_can_see_is_not_offered(
    session: Session, trigger: Trigger, text: str, line: str
) -> None:
    # 37
    session.open(f"{line}\n")
    session.engine.reply = lambda _: text
    assert await session.texts((0, len(line)), trigger=trigger) == []


async def test_too_large_a_document_is_told_once_and_never_by_a_message(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    # 42
    monkeypatch.setattr("clover_lsp.exclusions.MAX_BYTES", 1000)
    session.open("é" * 501)
    for column in range(30):
        session.type((0, column), "x")
        assert await session.texts((0, column + 1)) == []
    assert [told["kind"] for told in session.told] == ["Inactive"]
    assert session.shown == []
    assert session.connections == 0


@pytest.mark.parametrize("line", ["x = 1\n", "# 二兆字节的注释\n"])
async def test_in_a_large_document_nothing_comes_unasked_and_one_status_says_so(
    session: Session, line: str
) -> None:
    # 42
    text = line * (MAX_TYPED_BYTES // len(line.encode()))
    spare = MAX_TYPED_BYTES - len(text.encode())
    session.open("x" * spare + text, language="python")
    session.engine.reply = lambda hole: "" if hole.unlike else "y = 2"
    assert await session.texts((0, 0), trigger=Trigger.INVOKED) == ["y = 2"]
    assert await session.texts((1, 0)) == ["y = 2"]
    told, asked = len(session.told), len(session.engine.asks)
    for column in range(5):
        session.type((1, column), "z")
        assert await session.texts((1, column + 1)) == []
    assert [told["kind"] for told in session.told[told:]] == ["Inactive"]
    assert "2 MB" in session.told[-1]["message"]
    assert (len(session.engine.asks), session.shown) == (asked, [])
    assert await session.texts((1, 5), trigger=Trigger.INVOKED) == ["y = 2"]
    assert session.told[-1]["kind"] == "Normal"


URIS = [
    "untitled:U1",
    "untitled:Untitled-1?a=b#c",
    "git:/x/y.py?%7B%22ref%22%3A%22HEAD%22%7D",
    "vscode-notebook-cell:/w/n.ipynb#W0sZmlsZQ%3D%3D",
    "vscode-userdata:/settings.json",
    "file:///c%3A/Users/a%20b/x.py",
    "file:///C:/Users/x.py",
    "file://server/share/x.py",
    "file:///a b/中文/x.py",
    "file:///%E4%B8%AD/%00/x.py",
    "file:///lone/\ud83d.py",
    "inmemory://model/1",
    "x",
    "",
]


@pytest.mark.parametrize("workspace", [{}, {"rootUri": None, "workspaceFolders": None}])
async def test_documents_of_any_name_are_served_without_a_workspace(
    wire: Wire, workspace: dict[str, Any]
) -> None:
    # 43, 44, 45
    await wire.initialize(**workspace)
    for number, uri in enumerate(URIS):
        wire.open("total = 1\nto", uri)
        assert await wire.texts(1, 2, uri=uri) == ["tal = 1"], uri
        identifier, changes = {"uri": uri, "version": 2}, [{"text": "a=1\na"}]
        wire.send("textDocument/didChange", {"textDocument": identifier, "contentChanges": changes})
        assert await wire.texts(1, 1, uri=uri) == ["=1"], uri
        wire.send("textDocument/didClose", {"textDocument": {"uri": uri}})
        params = asking(1, 1) | {"textDocument": {"uri": uri}}
        wire.send("textDocument/inlineCompletion", params, id=number)
        assert (await wire.answer(number))["result"] == {"items": []}


OFF = {
    "all": Settings(enabled=False),
    "a language": Settings(languages={"markdown": Mode.OFF}),
    "all languages": Settings(languages={"*": Mode.OFF}),
    "an excluded language": Settings(excluded_languages=("markdown",)),
}


@pytest.mark.parametrize("live", [False, True])
@pytest.mark.parametrize("way", OFF)
async def test_switched_off_no_engine_is_asked_for_anything(way: str, live: bool) -> None:
    # 48
    session = Session(Settings() if live else OFF[way])
    session.open("# Title\n\nText \n", language="markdown")
    if live:
        # a job runs, one ahead of it too
        request = session.request((2, 5))
        (await session.asked(1)).answer.set_result("goes on")
        await request
        await session.asked(2)
        session.settings = OFF[way]
        session.feature.reconsider()
        await asyncio.sleep(0)
        assert session.engine.asks[1].cancelled
    asks = len(session.engine.asks)
    session.engine.reply = lambda _: "text"
    session.feature.warm(session.documents.get(URI), types.Position(0, 0))
    for trigger in Trigger:
        assert await session.texts((2, 5), trigger=trigger) == []
        assert await session.texts((0, 7), trigger=trigger) == []
    await asyncio.sleep(REST_S + 0.05)
    assert len(session.engine.asks) == asks
    await session.feature.close()


async def test_switched_on_again_it_goes_on(session: Session) -> None:
    # 48
    session.settings = replace(session.settings, enabled=False)
    session.open("x = \n")
    assert await session.texts((0, 4)) == []
    session.settings = replace(session.settings, enabled=True)
    session.feature.reconsider()
    assert await session.shows((0, 4), "1") == "1"


SPECIALS = [
    "<|im_end|>",
    "<|endoftext|>",
    "<|fim_middle|>",
    "<|file_sep|>",
    "<|mask|>",
    "</tool_call>",
]


@pytest.mark.parametrize("special", SPECIALS)
@pytest.mark.parametrize("trigger", Trigger)
async def test_a_special_token_never_reaches_the_editor_in_whatever_pieces_it_comes(
    session: Session, special: str, trigger: Trigger
) -> None:
    # 50
    session.open("x = \n")
    request = session.request((0, 4), trigger)
    ask = await session.asked(1)
    session.engine.reply = lambda _: f"{special}other"
    for cut in range(len(special)):
        ask.on_draft(Draft("a" + special[:cut]))
    ask.answer.set_result(f"a{special}b")
    assert [item.insert_text for item in (await request).items] == ["a"]
    session.type((0, 4), "a")
    session.engine.reply = lambda _: special
    assert inserted(await session.request((0, 5))) is None
