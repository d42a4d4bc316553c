"""Work that takes seconds: the editor shows how far it is, and the user can end it there."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias, TypeVar

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer

from clover_engine.errors import Cancelled

log = logging.getLogger(__name__)

T = TypeVar("T")
# told what share is under way, 0 to 1, and what there is to say about it
Report: TypeAlias = Callable[[float, str], None]


async def with_progress(
    server: LanguageServer, title: str, work: Callable[[Report], Coroutine[Any, Any, T]]
) -> T:
    """What `work` returns; it runs unseen in an editor that shows no progress.

    Raises what `work` raises, and Cancelled when the user ended it.
    """
    token = await _begin(server, title)
    progress = server.work_done_progress

    def report(share: float, message: str) -> None:
        # what is told late, by a thread that nobody waits for, is not shown
        if token and token in progress.tokens:
            value = types.WorkDoneProgressReport(message=message, percentage=round(100 * share))
            progress.report(token, value)

    job = asyncio.create_task(work(report))
    if token:
        progress.tokens[token].add_done_callback(lambda _: job.cancel())
    try:
        await asyncio.wait({job})
        if job.cancelled():
            raise Cancelled("the user ended it")
        return job.result()
    finally:
        job.cancel()
        if token:
            progress.end(token, types.WorkDoneProgressEnd())
            del progress.tokens[token]


def from_threads(report: Report) -> Report:
    """A report that any thread may make to this loop."""
    loop = asyncio.get_running_loop()

    def later(share: float, message: str) -> None:
        loop.call_soon_threadsafe(report, share, message)

    return later


async def _begin(server: LanguageServer, title: str) -> str | None:
    """The token of a new progress; None where the editor shows none."""
    window = server.client_capabilities.window
    if not (window and window.work_done_progress):
        return None
    token = str(uuid.uuid4())
    try:
        await server.work_done_progress.create_async(token)
    except JsonRpcException as error:
        log.warning("the editor begins no progress: %s", type(error).__name__)
        return None
    value = types.WorkDoneProgressBegin(title=title, cancellable=True, percentage=0)
    server.work_done_progress.begin(token, value)
    return token
