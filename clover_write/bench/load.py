"""What large documents, many documents and idleness cost the server, beside a bare pygls."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import psutil

from clover_write.bench.editor import PATIENCE_S, Editor, Json, Reply
from clover_write.bench.typing_session import spread

INVOKED = {"triggerKind": 1}
IDLE_S = 10.0
WARM_DOCUMENTS = 10
MIB = 1024 * 1024


async def handlers(
    ours: Editor, peer: Editor, documents: Mapping[str, str], keystrokes: int
) -> dict[str, Any]:
    """For each document, `keystrokes` single letters typed and erased in its middle, one to each
    server in turn: milliseconds from the change sent to the answer of a request that follows it.

    That includes the round trip, which "probe alone" shows without a change.
    """
    return {
        name: await _handled(ours, peer, f"file:///bench/large{number}.py", text, keystrokes)
        for number, (name, text) in enumerate(documents.items())
    }


async def _handled(
    ours: Editor, peer: Editor, uri: str, text: str, keystrokes: int
) -> dict[str, Any]:
    line = text.count("\n") // 2
    times: dict[Editor, list[float]] = {ours: [], peer: []}
    alone: list[float] = []
    for editor in times:
        editor.open(uri, text)
        await _probe(editor)
    for version in range(1, keystrokes + 1):
        for editor, taken in times.items():
            editor.notify("textDocument/didChange", _keystroke(uri, version, line))
            taken.append((await _probe(editor)).ms)
        alone.append((await _probe(ours)).ms)
    cached = await _cached(ours, uri, text, keystrokes // 4)
    for editor in times:
        editor.close(uri)
    mine, theirs = spread(times[ours]), spread(times[peer])
    return {
        "didChange": mine,
        "bare pygls": theirs,
        "ratio": mine["p50 ms"] / theirs["p50 ms"],
        "probe alone": spread(alone),
        "cached answer": cached,
    }


async def _cached(editor: Editor, uri: str, text: str, places: int) -> dict[str, float]:
    """Ask at places all over the document, everywhere twice: the second answers that hold text."""
    times: list[float] = []
    lines = text.split("\n")
    step = max(len(lines) // max(places, 1), 1)
    for line in range(step - 1, len(lines), step):
        at = {"line": line, "character": len(lines[line]) // 2}
        for repeated in (False, True):
            reply = await _completion(editor, uri, at)
            if repeated and reply.message["result"]["items"]:
                times.append(reply.ms)
    return spread(times)


async def growth(editor: Editor, text: str, requests: int, documents: int) -> dict[str, float]:
    """Resident memory in MiB before and after `requests` in `documents`, opened and closed."""
    process = psutil.Process(editor.pid)
    lines = text.split("\n")
    before = 0
    for number in range(WARM_DOCUMENTS + documents):
        if number == WARM_DOCUMENTS:
            before = process.memory_info().rss
        uri = f"file:///bench/many{number}.py"
        editor.open(uri, f"# {number}\n{text}")
        for asked in range(requests // documents):
            line = (asked * 7 + number) % len(lines)
            await _completion(editor, uri, {"line": line + 1, "character": len(lines[line]) // 2})
        editor.close(uri)
    after = process.memory_info().rss
    return {
        "documents": documents,
        "requests": requests,
        "before MiB": before / MIB,
        "after MiB": after / MIB,
        "growth MiB": (after - before) / MIB,
    }


async def wait_for_engine(editor: Editor) -> None:
    """Ask until something is answered: the model is loaded then. Raises ServerGone."""
    uri = "file:///bench/first.py"
    editor.open(uri, "first = 1\nsecond = 2\nfirst")
    async with asyncio.timeout(PATIENCE_S):
        reply = await _completion(editor, uri, {"line": 2, "character": 5})
        while not reply.message["result"]["items"]:
            await asyncio.sleep(1)
            reply = await _completion(editor, uri, {"line": 2, "character": 5})
    editor.close(uri)


async def idle(editor: Editor) -> dict[str, float]:
    """The share of one core that the server takes while nothing happens."""
    process = psutil.Process(editor.pid)
    before = cpu_seconds(process)
    await asyncio.sleep(IDLE_S)
    return {"seconds": IDLE_S, "cpu": (cpu_seconds(process) - before) / IDLE_S}


def cpu_seconds(process: psutil.Process) -> float:
    """What the process has taken so far."""
    times = process.cpu_times()
    return times.user + times.system


async def _probe(editor: Editor) -> Reply:
    """A request that needs no work, answered once all before it is done."""
    return await editor.request("textDocument/codeLens", {"textDocument": {"uri": "bench:none"}})


async def _completion(editor: Editor, uri: str, at: Json) -> Reply:
    return await editor.request(
        "textDocument/inlineCompletion",
        {"textDocument": {"uri": uri}, "position": at, "context": INVOKED},
    )


def _keystroke(uri: str, version: int, line: int) -> Json:
    """Type a letter in column 0, and erase it with the next keystroke."""
    typed = version % 2 == 1
    start, end = {"line": line, "character": 0}, {"line": line, "character": 0 if typed else 1}
    return {
        "textDocument": {"uri": uri, "version": version},
        "contentChanges": [
            {"range": {"start": start, "end": end}, "text": "x" if typed else ""},
        ],
    }
