"""The real server process over stdio with the fake engine, as an editor meets it."""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
import sys
from collections.abc import AsyncIterator
from typing import Any

import pytest
from lsprotocol import types
from pytest_lsp import ClientServerConfig, LanguageClient

from tests.support.wire import PATIENCE_S, SERVER, URI, Wire, asking


@pytest.fixture
async def editor() -> AsyncIterator[LanguageClient]:
    editor = await ClientServerConfig(server_command=SERVER).start()
    assert isinstance(editor, LanguageClient)
    editor.feature("clover/status")(lambda _: None)
    yield editor
    await editor.shutdown_session()
    await editor.stop()  # type: ignore[no-untyped-call]


async def initialize(editor: LanguageClient, *encodings: str) -> types.InitializeResult:
    general = types.GeneralClientCapabilities(position_encodings=list(encodings) or None)
    return await editor.initialize_session(
        types.InitializeParams(
            types.ClientCapabilities(general=general), process_id=os.getpid(), root_uri=None
        )
    )


def opened(editor: LanguageClient, text: str) -> None:
    item = types.TextDocumentItem(URI, "python", 1, text)
    editor.text_document_did_open(types.DidOpenTextDocumentParams(item))


async def completion(editor: LanguageClient, line: int, character: int) -> Any:
    automatic = types.InlineCompletionContext(types.InlineCompletionTriggerKind.Automatic)
    return await editor.text_document_inline_completion_async(
        types.InlineCompletionParams(
            automatic, types.TextDocumentIdentifier(URI), types.Position(line, character)
        )
    )


async def test_an_editor_s_first_minute(editor: LanguageClient) -> None:
    result = await initialize(editor)
    assert result.capabilities.inline_completion_provider == types.InlineCompletionOptions()
    assert isinstance(result.capabilities.text_document_sync, types.TextDocumentSyncOptions)
    opened(editor, "total = price * count\n\ntot")
    [item] = (await completion(editor, 2, 3)).items
    at = types.Position(2, 3)
    assert item == types.InlineCompletionItem("al = price * count", range=types.Range(at, at))
    assert (await completion(editor, 1, 0)).items == ()


@pytest.mark.parametrize(("encoding", "column"), [("utf-8", 8), ("utf-16", 4), ("utf-32", 2)])
async def test_position_encodings(editor: LanguageClient, encoding: str, column: int) -> None:
    result = await initialize(editor, encoding, "utf-16")
    assert result.capabilities.position_encoding == encoding
    opened(editor, "😀😀 = 1\n😀😀")
    [item] = (await completion(editor, 1, column)).items
    assert item.insert_text == " = 1"
    assert item.range == types.Range(types.Position(1, column), types.Position(1, column))


async def test_an_engine_that_fails_is_an_empty_answer_and_a_status(editor: LanguageClient) -> None:
    await initialize(editor)
    opened(editor, '# clover-fake: {"error": "EngineUnavailable"}\nx = ')
    assert (await completion(editor, 1, 4)).items == ()
    assert [message.message for message in editor.messages] == [
        "Clover Write: scripted EngineUnavailable"
    ]
    opened(editor, "x = 1\nx")
    assert len((await completion(editor, 1, 1)).items) == 1


async def test_a_bad_setting_is_reported_and_the_server_starts(editor: LanguageClient) -> None:
    await editor.initialize_session(
        types.InitializeParams(
            types.ClientCapabilities(),
            initialization_options={"enabled": "yes", "secretFiles": ["*.private"]},
        )
    )
    assert "enabled must be true or false" in editor.messages[0].message
    opened(editor, "x = 1\nx")
    assert len((await completion(editor, 1, 1)).items) == 1


@pytest.fixture
async def wire() -> AsyncIterator[Wire]:
    wire = await Wire.start()
    yield wire
    await wire.kill()


async def test_malformed_messages_get_one_answer_and_change_nothing(wire: Wire) -> None:
    await wire.initialize()
    document = {"uri": URI, "languageId": None, "version": 1.0, "text": "x = 1\nx"}
    wire.send("textDocument/didOpen", {"textDocument": document})
    good = asking(1, 1)
    asks: list[tuple[object, list[str]]] = [
        (good, [" = 1"]),
        (asking(1, 1, triggerKind=9), [" = 1"]),
        (good | {"context": {"jsonrpc": "1.0"}}, [" = 1"]),
        (asking(-1, -1), []),
        (asking(2**40, 2**40), []),
        ({"textDocument": {"uri": URI}}, []),
        ({"position": good["position"]}, []),
        ([], []),
        (None, []),
        (good, [" = 1"]),
    ]
    for id, (params, expected) in enumerate(asks):
        wire.send(
            "textDocument/didChange", {"textDocument": {"uri": "file:///other", "version": 2}}
        )
        wire.send("clover/didMoveCursor", {})
        wire.send("textDocument/inlineCompletion", params, id=id)
        result = (await wire.answer(id))["result"]
        assert [item["insertText"] for item in result["items"]] == expected
    wire.send("clover/unknown", {"jsonrpc": {"nested": []}}, id="unknown")
    assert (await wire.answer("unknown"))["error"]["code"] == -32601
    wire.send("shutdown", id="end")
    await wire.answer("end")
    assert all(len(answers) == 1 for answers in wire.answers.values())
    wire.send("exit")
    assert "insertText" not in await wire.end()


async def test_only_a_cancelled_request_gets_an_error(wire: Wire) -> None:
    await wire.initialize()
    await wire.generate()
    wire.send("textDocument/inlineCompletion", asking(1, 4, triggerKind=1), id="newer")
    assert (await wire.answer("asked"))["result"] == {"items": []}
    wire.send("$/cancelRequest", {"id": "newer"})
    assert (await wire.answer("newer"))["error"]["code"] == -32800
    wire.send("textDocument/inlineCompletion", asking(1, 4, triggerKind=1), id="last")
    wire.send("shutdown", id="end")
    assert (await wire.answer("last"))["result"] == {"items": []}
    assert (await wire.answer("end"))["result"] is None
    wire.send("textDocument/inlineCompletion", asking(1, 4), id="late")
    assert (await wire.answer("late"))["result"] == {"items": []}
    wire.send("exit")
    await wire.end()


async def test_random_cancels_and_changes_leave_one_answer_each(wire: Wire) -> None:
    draw = random.Random(4)
    await wire.initialize()
    document = {"uri": URI, "languageId": "python", "version": 1, "text": "a = 1\na = 1\na"}
    wire.send("textDocument/didOpen", {"textDocument": document})
    cancelled: set[int] = set()
    for id in range(200):
        line = draw.randrange(3)
        wire.send("textDocument/inlineCompletion", asking(line, 1), id=id)
        if draw.random() < 0.4:
            recent = draw.randint(max(id - 2, 0), id)
            cancelled.add(recent)
            wire.send("$/cancelRequest", {"id": recent})
        if draw.random() < 0.3:
            at = {"line": 2, "character": draw.randrange(3)}
            change = {"range": {"start": at, "end": at}, "text": draw.choice([" ", "b", ""])}
            version = {"uri": URI, "version": id + 2}
            wire.send(
                "textDocument/didChange", {"textDocument": version, "contentChanges": [change]}
            )
    for id in range(200):
        answer = await wire.answer(id)
        assert id in cancelled if "error" in answer else len(answer["result"]["items"]) <= 1
    wire.send("shutdown", id="end")
    await wire.answer("end")
    assert all(len(answers) == 1 for answers in wire.answers.values())


async def test_the_server_leaves_with_its_editor_s_pipe_and_logs_no_text(wire: Wire) -> None:
    await wire.initialize()
    await wire.generate()
    assert wire.process.stdin
    wire.process.stdin.close()
    logged = await wire.end()
    assert "secret plan" not in logged
    assert URI not in logged


async def test_the_server_leaves_when_its_editor_was_killed(wire: Wire) -> None:
    editor = await asyncio.create_subprocess_exec("cat", stdin=subprocess.PIPE)
    await wire.initialize(editor.pid)
    await wire.generate()
    editor.kill()
    await editor.communicate()
    async with asyncio.timeout(PATIENCE_S):
        assert await wire.process.wait() == 1


async def test_initialize_loads_neither_torch_nor_the_engine_s_client() -> None:
    # the command as it is, with one more request to look inside
    program = (
        "import sys\n"
        "from clover_lsp import server\n"
        "from clover_write.cli import main\n"
        "create = server.create_server\n"
        "def spying(*args):\n"
        "    made = create(*args)\n"
        "    made.feature('test/modules')(lambda *_: sorted(sys.modules))\n"
        "    return made\n"
        "server.create_server = spying\n"
        "main(['lsp', '--stdio'])\n"
    )
    wire = await Wire.start([sys.executable, "-c", program])
    await wire.initialize()
    wire.send("test/modules", {}, id="modules")
    loaded = set((await wire.answer("modules"))["result"])
    assert "clover_lsp.inline_completion" in loaded
    assert loaded.isdisjoint({"torch", "triton", "numpy", "websockets", "clover_engine.client"})
    assert wire.process.stdin
    wire.process.stdin.close()
    await wire.end()
