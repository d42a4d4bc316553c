"""LSP on standard input and output: one editor, which ends this process when it leaves."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, BinaryIO

from clover_lsp.framing import Frames
from clover_lsp.lifetime import leave_soon, watch_editor
from clover_lsp.protocol import report_loop_error

if TYPE_CHECKING:
    from clover_lsp.protocol import CloverServer

CHUNK_BYTES = 64 * 1024


def serve_stdio(server: CloverServer, stdin: BinaryIO, stdout: BinaryIO) -> int:
    """Serve until the editor says exit or closes its end; the exit status of the process.

    0 when it said shutdown first, as the protocol has it.
    """
    return asyncio.run(_serve(server, stdin, stdout))


async def _serve(server: CloverServer, stdin: BinaryIO, stdout: BinaryIO) -> int:
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(report_loop_error)
    left: asyncio.Future[int] = loop.create_future()

    def leave(status: int) -> None:
        if not left.done():
            left.set_result(status)

    server.on_editor, server.on_exit = watch_editor, leave
    server.protocol.set_writer(_Stdout(stdout, lambda: leave(1)))
    frames = Frames()

    def take(data: bytes) -> None:
        if not data:
            # after what came before it
            loop.call_soon(leave, 1)
        for body in frames.feed(data):
            if not (server.protocol.receive(body) or frames.put_back(body)):
                server.protocol.refuse_unread()

    # a thread of its own: it reads on while the editor does not take our answers
    args = (loop, stdin.fileno(), take)
    threading.Thread(target=_read, args=args, daemon=True, name="stdin").start()
    status = await left
    leave_soon(status)
    await server.close()
    return status


class _Stdout:
    """Standard output as pygls writes to it."""

    def __init__(self, out: BinaryIO, on_broken: Callable[[], None]) -> None:
        self._out = out
        self._on_broken = on_broken

    def write(self, data: bytes) -> None:
        try:
            self._out.write(data)
            self._out.flush()
        except (OSError, ValueError):
            self._on_broken()

    def close(self) -> None:
        self._out.close()


def _read(loop: asyncio.AbstractEventLoop, descriptor: int, take: Callable[[bytes], None]) -> None:
    """Pass on what comes, an empty chunk at the end. Unbuffered: a lock held here at the end of
    the process would hold that up.
    """
    data = b"-"
    with suppress(RuntimeError):  # the loop is closed: the process leaves
        while data:
            data = os.read(descriptor, CHUNK_BYTES)
            loop.call_soon_threadsafe(take, data)
