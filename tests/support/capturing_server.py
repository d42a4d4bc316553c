"""The language server on stdio, its engine the fake one, all that reaches the engine in a file."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from clover_engine.api import CanvasRequest, Draft, Filled
from clover_engine.fake import FakeEngine
from clover_engine.inproc import InprocClient
from clover_engine.runner import Runner
from clover_engine.wire import FillRequest, decode_client, encode
from clover_lsp.server import create_server


class CapturingClient(InprocClient):
    """Writes each request down, a line each, before the engine sees it."""

    def __init__(self, log: Path) -> None:
        super().__init__(Runner(FakeEngine))
        self._log = log

    async def fill(
        self, request: CanvasRequest, on_draft: Callable[[Draft], None] | None = None
    ) -> Filled:
        """Fill as the fake engine does."""
        with self._log.open("a", encoding="ascii") as log:
            log.write(encode(FillRequest(0, request)) + "\n")
        return await super().fill(request, on_draft)


def captured(log: Path) -> list[CanvasRequest]:
    """The requests in such a file."""
    lines = log.read_text("ascii").splitlines() if log.exists() else []
    messages = [decode_client(line) for line in lines]
    return [message.request for message in messages if isinstance(message, FillRequest)]


if __name__ == "__main__":
    create_server(lambda: CapturingClient(Path(sys.argv[1])), "test").start_io()
