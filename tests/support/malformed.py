"""Messages no client should send, and some that come out of order: the same for the same seed."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any

from tests.support.wire import frame

URI = "file:///elsewhere/notes.md"
DOCUMENT = {"uri": URI, "version": 2}
AT = {"line": 0, "character": 1}
RANGE = {"start": AT, "end": AT}
# what a message may hold where it should not
JUNK: list[Any] = [
    None,
    True,
    -1,
    1.5,
    2**31,
    2**64,
    10**400,
    float("nan"),
    float("-inf"),
    "",
    "\0",
    "\ud83d",
    "x" * 5000,
    [],
    [[]],
    {},
    {"jsonrpc": "1.0", "id": 1},
    {"start": {"line": {}}},
]
VALID: list[dict[str, Any]] = [
    {
        "method": "textDocument/didOpen",
        "params": {"textDocument": {**DOCUMENT, "text": "a ____\n"}},
    },
    {
        "method": "textDocument/didChange",
        "params": {"textDocument": DOCUMENT, "contentChanges": [{"range": RANGE, "text": "b"}]},
    },
    {"method": "textDocument/didClose", "params": {"textDocument": DOCUMENT}},
    {
        "method": "textDocument/inlineCompletion",
        "params": {"textDocument": DOCUMENT, "position": AT, "context": {"triggerKind": 1}},
    },
    {"method": "textDocument/codeLens", "params": {"textDocument": DOCUMENT}},
    {
        "method": "textDocument/codeAction",
        "params": {"textDocument": DOCUMENT, "range": RANGE, "context": {"diagnostics": []}},
    },
    {
        "method": "workspace/executeCommand",
        "params": {"command": "clover-write.fill", "arguments": [URI, AT]},
    },
    {"method": "initialize", "params": {"processId": None, "capabilities": {}}},
    {"method": "initialized", "params": {}},
    {"method": "$/cancelRequest", "params": {"id": 7}},
    {"method": "$/setTrace", "params": {"value": "off"}},
    {"method": "window/workDoneProgress/cancel", "params": {"token": "t"}},
    {"method": "workspace/didChangeConfiguration", "params": {"settings": None}},
    {"method": "workspace/didChangeWatchedFiles", "params": {"changes": []}},
    {
        "method": "workspace/didChangeWorkspaceFolders",
        "params": {"event": {"added": [{"uri": URI, "name": "n"}], "removed": []}},
    },
    {
        "method": "notebookDocument/didOpen",
        "params": {"notebookDocument": DOCUMENT, "cellTextDocuments": []},
    },
    {
        "method": "notebookDocument/didChange",
        "params": {
            "notebookDocument": DOCUMENT,
            "change": {"cells": {"structure": {"array": {"start": 0, "deleteCount": 1}}}},
        },
    },
    {"method": "notebookDocument/didClose", "params": {"notebookDocument": DOCUMENT}},
    {"method": "textDocument/completion", "params": {"textDocument": DOCUMENT, "position": AT}},
    {
        "method": "workspace/executeCommand",
        "params": {"command": "clover.accepted", "arguments": [1]},
    },
    {"method": "workspace/executeCommand", "params": {"command": "clover-write.saveCase"}},
    {"method": "clover/didShow", "params": {"id": 1}},
    {"method": "clover/didPartiallyAccept", "params": {"id": 1, "acceptedLength": 2}},
    {"method": "clover/didMoveCursor", "params": {"textDocument": DOCUMENT, "position": AT}},
    {"method": "clover/nextEdit", "params": {}},
    {"method": "no/such/method", "params": [1]},
    {"id": 3, "result": {"applied": True}},
    {"id": 3, "error": {"code": -1, "message": "no"}},
]


def malformed(seed: int, count: int) -> Iterator[bytes]:
    """`count` pieces of a stream; each is over when it ends, or with the next message at most."""
    draw = random.Random(seed)
    for _ in range(count):
        yield draw.choice(KINDS)(draw)


def _wrong_value(draw: random.Random) -> bytes:
    """One value at any depth replaced, or taken away."""
    message = _message(draw)
    holders = list(_holders(message))
    holder, key = draw.choice(holders)
    if draw.random() < 0.3:
        del holder[key]
    else:
        holder[key] = deepcopy(draw.choice(JUNK))
    return frame(message)


def _well_formed(draw: random.Random) -> bytes:
    return frame(_message(draw))


def _no_object(draw: random.Random) -> bytes:
    return frame(draw.choice([*JUNK, [_message(draw), _message(draw)]]))


def _broken_json(draw: random.Random) -> bytes:
    body = bytearray(json.dumps(_message(draw)).encode())
    for _ in range(draw.randint(1, 4)):
        body[draw.randrange(len(body))] = draw.choice(b'{}[]",:\\x\xff\x00')
    return _framed(bytes(body[: draw.randint(1, len(body))]))


def _deep(draw: random.Random) -> bytes:
    depth = draw.choice([500, 5000, 100_000])
    opened, closed = draw.choice([(b"[", b"]"), (b'{"a":', b"}")])
    nested = opened * depth + b"1" + closed * depth
    return _framed(b'{"jsonrpc":"2.0","id":5,"method":"no/such","params":' + nested + b"}")


def _digits(draw: random.Random) -> bytes:
    number = b"9" * draw.choice([20, 400, 6000])
    return _framed(b'{"jsonrpc":"2.0","id":' + number + b',"method":"textDocument/codeLens"}')


def _wrong_length(draw: random.Random) -> bytes:
    body = json.dumps(_message(draw)).encode()
    length = max(len(body) + draw.choice([-9, -3, -1, 1, 2, 5, 14, 16, 18]), 1)
    return b"Content-Length: %d\r\n\r\n%s" % (length, body)


def _headers(draw: random.Random) -> bytes:
    body = json.dumps(_message(draw)).encode()
    header = draw.choice(
        [
            b"content-length:%d\r\n\r\n",
            b"Content-Type: text; charset=utf-8\r\nContent-Length: %d\r\n\r\n",
            b"Content-Length: 5000000000000000000000000%d\r\n\r\n",
            b"Content-Length: -%d\r\n\r\n",
            b"Content-Length: 0%d\r\n\r\n",
            b"X-Length: %d\r\n\r\n",
            b"noise without an end %d",
            b"\r\n\r\n\r\nContent-Length: %d\r\n\r\n",
        ]
    )
    return header % len(body) + body


KINDS: list[Callable[[random.Random], bytes]] = [
    *[_wrong_value] * 8,
    *[_well_formed] * 2,
    _no_object,
    _broken_json,
    _deep,
    _digits,
    _wrong_length,
    _headers,
]


def _message(draw: random.Random) -> dict[str, Any]:
    message = {"jsonrpc": "2.0", **deepcopy(draw.choice(VALID))}
    if "method" in message and draw.random() < 0.5:
        message["id"] = draw.choice([1, 2, "2", 2.0, None, [], {"id": 1}, -(2**40)])
    return message


def _holders(value: Any) -> Iterator[tuple[Any, Any]]:
    members = value.items() if isinstance(value, dict) else enumerate(value)
    for key, member in list(members):
        yield value, key
        if isinstance(member, (dict, list)):
            yield from _holders(member)


def _framed(body: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
