"""What users report of such servers as processes: hanging, leaking, dying, staying. By kind."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from itertools import count
from typing import Any

import psutil
import pytest
import pytest_asyncio

from tests.support.scripted_server import WRITTEN
from tests.support.wire import ENDLESS, PATIENCE_S, SERVER, URI, Wire, asking

SCRIPTED = [sys.executable, "-m", "tests.support.scripted_server"]
FILL = {"command": "clover-write.fill", "arguments": [URI, None]}
MIB = 2**20
numbers = count(1)


@pytest.fixture
async def wire() -> AsyncIterator[Wire]:
    wire = await Wire.start()
    yield wire
    await wire.kill()


# what does not end the server shares one, and with it an event loop
shared = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def scripted() -> AsyncIterator[Wire]:
    wire = await Wire.start(SCRIPTED)
    await wire.initialize()
    yield wire
    await wire.kill()


async def ask(wire: Wire, text: str) -> str:
    """Ask at the end of a document that is `text`; the request's id."""
    id = f"asked {next(numbers)}"
    document = {"uri": URI, "languageId": "markdown", "version": 1, "text": text}
    wire.send("textDocument/didOpen", {"textDocument": document})
    lines = text.split("\n")
    wire.send("textDocument/inlineCompletion", asking(len(lines) - 1, len(lines[-1])), id=id)
    return id


async def texts(wire: Wire, id: str) -> list[str]:
    return [item["insertText"] for item in (await wire.answer(id))["result"]["items"]]


async def until_open(wire: Wire, number: int) -> None:
    """Wait until so many jobs run in the backend."""
    async with asyncio.timeout(PATIENCE_S):
        found = -1
        while found != number:
            id = f"open {next(numbers)}"
            wire.send("test/open", {}, id=id)
            found = (await wire.answer(id))["result"]


# reports 28 and 29: the backend works on for nobody


async def cancel(wire: Wire, id: str) -> None:
    wire.send("$/cancelRequest", {"id": id})


async def type_else(wire: Wire, _: str) -> None:
    at = {"line": 0, "character": 0}
    wire.send(
        "textDocument/didChange",
        {
            "textDocument": {"uri": URI, "version": 2},
            "contentChanges": [{"range": {"start": at, "end": at}, "text": "else "}],
        },
    )


async def close_document(wire: Wire, _: str) -> None:
    wire.send("textDocument/didClose", {"textDocument": {"uri": URI}})


async def shut_down(wire: Wire) -> None:
    wire.send("shutdown", id="end")
    await wire.answer("end")


@pytest.mark.parametrize("end", [cancel, type_else, close_document])
@shared
async def test_what_nobody_wants_any_more_is_let_go(
    scripted: Wire, end: Callable[[Wire, str], Any]
) -> None:
    id = await ask(scripted, "hang")
    await until_open(scripted, 1)
    await end(scripted, id)
    await until_open(scripted, 0)
    await scripted.answer(id)
    assert len(scripted.answers[id]) == 1


async def leave(wire: Wire) -> None:
    await shut_down(wire)
    wire.send("exit")


async def hang_up(wire: Wire) -> None:
    assert wire.process.stdin
    wire.process.stdin.close()


@pytest.mark.parametrize("end", [leave, hang_up])
async def test_an_editor_that_leaves_ends_the_work_begun_for_it(
    end: Callable[[Wire], Any],
) -> None:
    scripted = await Wire.start(SCRIPTED)
    await scripted.initialize()
    await ask(scripted, "hang")
    await until_open(scripted, 1)
    await end(scripted)
    logged = await scripted.end()
    assert "hang was let go" in logged
    assert "the backend was closed" in logged


# reports 34, 35 and 40: the backend fails, in whatever way

FAILURES = [
    *("EngineUnavailable", "EngineBusy", "EngineError", "ProtocolMismatch", "ModelError"),
    *("RequestError", "Cancelled", "a bug"),
]


@pytest.mark.parametrize("failure", [*(f"raise {name}" for name in FAILURES), "hang", "empty"])
@shared
async def test_after_a_failure_the_status_is_not_busy_and_the_next_request_works(
    scripted: Wire, failure: str
) -> None:
    assert await texts(scripted, await ask(scripted, failure)) == []
    assert await texts(scripted, await ask(scripted, f"write {next(numbers)}")) == [WRITTEN]
    states = [told["params"] for told in scripted.told if told["method"] == "clover/status"]
    assert states[-1]["kind"] == "Normal"
    assert not states[-1]["busy"]


@shared
async def test_a_failure_that_comes_again_is_shown_once(scripted: Wire) -> None:
    for _ in range(6):
        assert await texts(scripted, await ask(scripted, "raise another bug")) == []
    messages = [told["params"] for told in scripted.told if "showMessage" in told["method"]]
    texts_shown = [message["message"] for message in messages]
    assert len(texts_shown) == len(set(texts_shown))
    assert await texts(scripted, await ask(scripted, f"write {next(numbers)}")) == [WRITTEN]


@shared
@pytest.mark.parametrize(
    "params",
    [
        {"command": "clover-write.fill"},
        {"command": "clover-write.fill", "arguments": [1, 2, 3]},
        {"command": "clover-write.fill", "arguments": [{"jsonrpc": "2.0"}, {"line": "x"}]},
        {"command": "clover-write.saveCase", "arguments": [None]},
        {"command": "no.such.command", "arguments": []},
    ],
)
async def test_a_command_that_fails_is_answered_and_the_process_stays(
    scripted: Wire, params: dict[str, Any]
) -> None:
    for _ in range(6):
        id = f"bad {next(numbers)}"
        scripted.send("workspace/executeCommand", params, id=id)
        await scripted.answer(id)
    assert await texts(scripted, await ask(scripted, f"write {next(numbers)}")) == [WRITTEN]


# report 39: answers to requests that are no longer waited for


@pytest.mark.parametrize("reply", [{"result": None}, {"error": {"code": -1, "message": "no"}}])
async def test_late_and_double_answers_to_the_server_change_nothing(
    wire: Wire, reply: dict[str, Any]
) -> None:
    capabilities = {"window": {"workDoneProgress": True}}
    wire.send("initialize", {"processId": None, "capabilities": capabilities}, id="init")
    await wire.answer("init")
    await wire.answer(await ask(wire, "x = ____\nx"))
    wire.send("workspace/executeCommand", FILL, id="fill")
    create = await wire.heard("window/workDoneProgress/create")
    wire.send("$/cancelRequest", {"id": "fill"})
    assert (await wire.answer("fill"))["error"]["code"] == -32800
    token = create["params"]["token"]
    wire.send("window/workDoneProgress/cancel", {"token": token})
    for _ in range(2):
        wire.reply(create["id"], **reply)
    wire.send("window/workDoneProgress/cancel", {"token": token})
    assert await texts(wire, await ask(wire, "y = 1\ny")) == [" = 1"]


# report 38: a server that outlives its editor


async def kill_editor(wire: Wire, editor: asyncio.subprocess.Process) -> None:
    editor.kill()
    await editor.communicate()


async def close_stdin(wire: Wire, _: asyncio.subprocess.Process) -> None:
    await hang_up(wire)


async def say_exit(wire: Wire, _: asyncio.subprocess.Process) -> None:
    wire.send("exit")


async def say_shutdown_and_exit(wire: Wire, _: asyncio.subprocess.Process) -> None:
    await leave(wire)


async def leave_in_a_hurry(wire: Wire, _: asyncio.subprocess.Process) -> None:
    await leave(wire)
    await hang_up(wire)


async def hang_up_after_shutdown(wire: Wire, _: asyncio.subprocess.Process) -> None:
    await shut_down(wire)
    await hang_up(wire)


ENDS = [
    (kill_editor, 1),
    (close_stdin, 1),
    (say_exit, 1),
    (say_shutdown_and_exit, 0),
    (leave_in_a_hurry, 0),
    (hang_up_after_shutdown, 1),
]


@pytest.mark.parametrize(
    ("text", "end", "status"),
    [
        *((ENDLESS + "x = ", *end) for end in ENDS),
        *(pytest.param("x = 1\nx", *end, marks=pytest.mark.slow) for end in ENDS),
    ],
)
async def test_the_server_never_outlives_its_editor(
    wire: Wire, text: str, end: Callable[[Wire, asyncio.subprocess.Process], Any], status: int
) -> None:
    editor = await asyncio.create_subprocess_exec("cat", stdin=asyncio.subprocess.PIPE)
    await wire.initialize(editor.pid)
    await ask(wire, text)
    await wire.heard("clover/status")
    await end(wire, editor)
    await wire.end()
    assert wire.process.returncode == status
    if editor.returncode is None:
        editor.kill()
    await editor.communicate()


@pytest.mark.skipif(os.name != "posix", reason="there are no such signals")
async def test_an_editor_killed_before_its_server_was_initialized_is_noticed() -> None:
    # the pipe is all the server has of its editor then
    launch = f"import subprocess, sys; p = subprocess.Popen({SERVER!r}, stdin=subprocess.PIPE)"
    wait = "print(p.pid, flush=True); p.wait()"
    editor = await asyncio.create_subprocess_exec(
        sys.executable, "-c", f"{launch}; {wait}", stdout=asyncio.subprocess.PIPE
    )
    assert editor.stdout
    server = psutil.Process(int(await editor.stdout.readline()))
    editor.send_signal(signal.SIGKILL)
    await editor.wait()
    await asyncio.to_thread(server.wait, PATIENCE_S)


# report 41: memory


@pytest.mark.slow
async def test_many_requests_in_many_documents_leave_no_memory_behind(wire: Wire) -> None:
    await wire.initialize()
    process = psutil.Process(wire.process.pid)
    before = 0
    for number in range(220):
        if number == 20:
            before = process.memory_info().rss
        uri = f"file:///many/{number}.py"
        text = f"# {number}\n" + "value = compute(1, 2)\n" * 500 + "value"
        document = {"uri": uri, "languageId": "python", "version": 1, "text": text}
        wire.send("textDocument/didOpen", {"textDocument": document})
        for line in range(10):
            id = f"{number} {line}"
            params = asking(501 - line * 50, 3, triggerKind=1) | {"textDocument": {"uri": uri}}
            wire.send("textDocument/inlineCompletion", params, id=id)
            await wire.answer(id)
        wire.send("textDocument/didClose", {"textDocument": {"uri": uri}})
    assert process.memory_info().rss - before < 50 * MIB


# what is logged holds nothing of the user's


async def test_at_its_most_talkative_the_log_holds_no_document_text(wire: Wire) -> None:
    await wire.initialize()
    canary = "canary"
    script = '# clover-fake: {"text": "canary", "error": "a bug"}\n'
    at = {"line": 0, "character": 0}
    span = {"start": at, "end": at}
    change = {"range": span, "text": canary}
    for version, changes in enumerate(
        [[change], [{**change, "range": canary}], [{"text": [canary]}], canary, [canary]], start=2
    ):
        await ask(wire, f"{script}canary ____ canary")
        wire.send(
            "textDocument/didChange",
            {"textDocument": {"uri": URI, "version": version}, "contentChanges": changes},
        )
    wire.send("textDocument/codeLens", {"textDocument": {"uri": URI, "canary": canary}}, id="lens")
    wire.send("textDocument/codeAction", {"range": canary}, id="action")
    wire.send("workspace/executeCommand", FILL, id="fill")
    wire.send("workspace/executeCommand", {"command": canary, "arguments": [canary]}, id="what")
    wire.send("workspace/executeCommand", {"command": FILL["command"], "arguments": [canary]})
    wire.send("clover/canary", canary, id="unknown")
    wire.send("clover/didMoveCursor", {"textDocument": canary})
    wire.write(b'Content-Length: 8\r\n\r\n"canary')
    for id in ("lens", "action", "fill", "what", "unknown"):
        await wire.answer(id)
    await leave(wire)
    logged = await wire.end()
    assert "DEBUG" in logged
    assert [line for line in logged.splitlines() if canary in line] == []
