"""The protocol in this process: what it keeps of messages that are done."""

from __future__ import annotations

import asyncio
import gc
import json
from collections import defaultdict
from concurrent.futures import Future
from typing import Any

from clover_lsp.protocol import CloverServer
from clover_lsp.server import create_server
from tests.support.scripted_server import ScriptedClient

START: dict[str, Any] = {
    "id": 0,
    "method": "initialize",
    "params": {"processId": None, "capabilities": {}},
}


class Answers:
    """Takes what a server writes, one message each time."""

    def __init__(self, server: CloverServer) -> None:
        self.came: defaultdict[object, asyncio.Event] = defaultdict(asyncio.Event)
        server.protocol.set_writer(self, include_headers=False)

    def write(self, data: bytes) -> None:
        self.came[json.loads(data).get("id")].set()

    def close(self) -> None:
        """Nothing to close."""


async def test_messages_that_are_done_are_not_kept() -> None:
    server = create_server(ScriptedClient, "0")
    answers = Answers(server)
    server.protocol.handle_message({**START})
    save = {"command": "clover-write.saveCase", "arguments": ["file:///none"]}
    kept = []
    for turn in range(2):
        for number in range(1, 51):
            id = 50 * turn + number
            server.protocol.handle_message({"method": "initialized", "params": {}})
            server.protocol.handle_message(
                {"id": id, "method": "workspace/executeCommand", "params": save}
            )
            await answers.came[id].wait()
        gc.collect()
        kept.append(sum(isinstance(each, (Future, asyncio.Future)) for each in gc.get_objects()))
    assert kept[1] <= kept[0]
    await server.close()


async def test_an_error_in_one_message_does_not_keep_the_next_from_being_read() -> None:
    server = create_server(ScriptedClient, "0")
    answers = Answers(server)
    asyncio.get_running_loop().set_exception_handler(lambda *_: None)
    for message in (
        START,
        {"method": "$/cancelRequest", "params": {"id": ["no", "id"]}},
        {"method": "$/cancelRequest"},
        {"id": 1, "method": "textDocument/codeLens", "params": {"textDocument": {"uri": "a"}}},
    ):
        assert server.protocol.receive(json.dumps(message))
    await answers.came[1].wait()
    await server.close()
