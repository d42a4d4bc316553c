"""The language server on standard input and output, over a backend that does what lines say.

The last line before the cursor is the script: `hang` never answers, `raise NAME` raises that error,
`empty` writes nothing, anything else the same text. The request `test/open` tells how many run.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Callable

from clover_engine import errors
from clover_engine.api import CanvasRequest, Draft, EngineInfo, Fill, Filled, Finish, Literal
from clover_lsp.server import create_server

log = logging.getLogger("backend")
WRITTEN = "as the script has it"


class ScriptedClient:
    """An engine client without an engine."""

    def __init__(self) -> None:
        self.open = 0

    async def fill(
        self, request: CanvasRequest, on_draft: Callable[[Draft], None] | None = None
    ) -> Filled:
        left = request.segments[0]
        assert isinstance(left, Literal)
        word, _, rest = left.text.rpartition("\n")[2].partition(" ")
        self.open += 1
        try:
            if word == "hang":
                await asyncio.Event().wait()
            if word == "raise":
                raise getattr(errors, rest, RuntimeError)(f"scripted {rest}")
            return Filled((Fill("" if word == "empty" else WRITTEN, 1.0, Finish.STOP),))
        finally:
            self.open -= 1
            log.info("%s was let go", word)

    async def info(self) -> EngineInfo:
        return EngineInfo("scripted")

    async def close(self) -> None:
        log.info("the backend was closed")


def main() -> None:
    """Serve."""
    logging.basicConfig(level=logging.DEBUG, stream=sys.stderr)
    client = ScriptedClient()
    server = create_server(lambda: client, "0")
    server.feature("test/open")(lambda *_: client.open)
    server.start_io()


if __name__ == "__main__":
    main()
