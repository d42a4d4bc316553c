"""`textDocument/completion`, for editors that have no inline completion."""

from __future__ import annotations

from typing import Any

import pytest

from clover_lsp.infill import Trigger
from clover_lsp.popup import PopupCompletion
from tests.support.session import URI, Session, inserted
from tests.support.wire import URI as DOCUMENT
from tests.support.wire import Wire

INLINE = {"textDocument": {"inlineCompletion": {"dynamicRegistration": False}}}


@pytest.mark.parametrize(
    ("capabilities", "setting", "offered"),
    [({}, "auto", True), (INLINE, "auto", False), (INLINE, "on", True), ({}, "off", False)],
)
async def test_it_is_offered_to_who_needs_or_wants_it(
    wire: Wire, capabilities: dict[str, Any], setting: str, offered: bool
) -> None:
    options = {"completion": setting}
    found = await wire.initialize(capabilities=capabilities, initializationOptions=options)
    assert ("completionProvider" in found) == offered
    assert "inlineCompletionProvider" in found


async def completed(wire: Wire, line: int, character: int, **more: object) -> Any:
    position = {"line": line, "character": character}
    params = {"textDocument": {"uri": DOCUMENT}, "position": position, **more}
    wire.send("textDocument/completion", params, id=f"{line}:{character}{more}")
    return (await wire.answer(f"{line}:{character}{more}"))["result"]


async def test_an_item_replaces_the_word_it_completes(wire: Wire) -> None:
    await wire.initialize()
    wire.open("a.total = price\na.tot")
    found = await completed(wire, 1, 5, context={"triggerKind": 1})
    assert found["isIncomplete"] is True
    [item] = found["items"]
    line = {"start": {"line": 1, "character": 2}, "end": {"line": 1, "character": 5}}
    assert item["textEdit"] == {"range": line, "newText": "total = price"}
    assert item["label"] == item["filterText"] == "total = price"
    assert item["insertTextFormat"] == 1
    assert "additionalTextEdits" not in item
    assert item["command"]["command"] == "clover.accepted"
    for params in ({"position": None}, {"textDocument": {"uri": "file:///none"}}):
        assert (await completed(wire, 1, 5, **params))["items"] == []


@pytest.mark.parametrize(
    ("text", "written", "put", "label"),
    [
        ("naïve_1", "x", "naïve_1x", "naïve_1x"),
        ("f(", "a", "a", "a"),
        ("文字", "更多", "文字更多", "文字更多"),
        ("- ", "x" * 80, "x" * 80, "x" * 60 + "…"),
    ],
)
async def test_what_stands_in_the_popup(text: str, written: str, put: str, label: str) -> None:
    session = Session()
    session.open(text)
    session.engine.reply = lambda _: written
    popup = PopupCompletion(session.documents, session.feature)
    document = session.documents.get(URI)
    assert document is not None
    position = session.documents.position(document, len(text))
    [item] = (await popup.answer(document, position)).items
    assert item.text_edit
    assert item.text_edit.new_text == put
    assert item.label == label
    await session.feature.close()


async def test_popup_and_ghost_text_share_a_job_and_do_not_end_each_other() -> None:
    session = Session()
    session.open("x = \n")
    popup = PopupCompletion(session.documents, session.feature)
    ghost = session.request((0, 4), Trigger.AUTOMATIC)
    ask = await session.asked(1)
    document = session.documents.get(URI)
    assert document is not None
    position = session.documents.position(document, 4)
    ask.answer.get_loop().call_soon(ask.answer.set_result, "foo")
    assert [item.label for item in (await popup.answer(document, position)).items] == ["foo"]
    assert inserted(await ghost) == "foo"
    assert len(session.engine.asks) == 1
    await session.feature.close()
