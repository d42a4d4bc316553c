"""The client of the engine process: connects on first use, starts and replaces the engine."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from clover_engine.address import Place
from clover_engine.api import CanvasRequest, Draft, EngineInfo, Filled
from clover_engine.errors import EngineUnavailable, ProtocolMismatch
from clover_engine.wire import PROTOCOL, Welcome

if TYPE_CHECKING:
    from clover_engine.connection import Connection

log = logging.getLogger(__name__)

START_S = 30.0
STOP_S = 15.0
# an engine lost sooner than this after it was reached counts as a failed start
STABLE_S = 60.0
MAX_DOUBLINGS = 5


class RemoteClient:
    """An `EngineClient` of the engine at `place`, to be used from one event loop.

    Nothing happens before the first request. Without a running engine it starts `command`; an
    engine of an older program version is asked to leave first. After repeated failures it waits
    longer and longer before the next start and answers EngineUnavailable meanwhile.
    """

    def __init__(
        self, place: Place, program_version: str, command: Sequence[str] | None = None
    ) -> None:
        self._place = place
        self._version = program_version
        self._command = command
        self._attempt: asyncio.Task[Connection] | None = None
        self._attempted_at = 0.0
        self._failures = 0

    async def fill(
        self, request: CanvasRequest, on_draft: Callable[[Draft], None] | None = None
    ) -> Filled:
        """As `EngineClient.fill`; EngineUnavailable at once when the engine dies."""
        connection = await self._connected()
        return await connection.fill(request, on_draft)

    async def info(self) -> EngineInfo:
        """What the engine is, also while it still loads."""
        connection = await self._connected()
        return await connection.info()

    async def close(self) -> None:
        """Let go of the engine, which stays alive."""
        attempt, self._attempt = self._attempt, None
        if attempt is None:
            return
        attempt.cancel()
        await asyncio.wait([attempt])
        if not attempt.cancelled() and not attempt.exception():
            await attempt.result().close()

    async def _connected(self) -> Connection:
        """The open connection; all requests share one attempt, which none of them cancels."""
        if self._attempt is None or _is_over(self._attempt):
            self._mind_failures()
            self._attempted_at = time.monotonic()
            self._attempt = asyncio.create_task(self._reach())
            # someone has seen its exception, even if every request was cancelled meanwhile
            self._attempt.add_done_callback(_error)
        return await asyncio.shield(self._attempt)

    def _mind_failures(self) -> None:
        """Count a lost engine; raise its error again while it is too early for a new attempt."""
        if self._attempt is None:
            return
        age = time.monotonic() - self._attempted_at
        failures = self._failures + 1 if age < STABLE_S else 0
        # the first loss is made good at once, later ones after 1, 2, 4 ... seconds
        if failures > 1 and age < 2.0 ** min(failures - 2, MAX_DOUBLINGS):
            error = _error(self._attempt) or EngineUnavailable(
                f"the engine keeps ending; its log: {self._place.log}"
            )
            raise type(error)(str(error))
        self._failures = failures

    async def _reach(self) -> Connection:
        """Connect, starting the engine when none answers and the turn to start it is ours."""
        from clover_engine.spawn import last_words, start_engine

        process, pause, is_my_turn = None, 0.05, False
        give_up_at = time.monotonic() + START_S
        with ExitStack() as held:
            while time.monotonic() < give_up_at:
                is_my_turn = is_my_turn or held.enter_context(self._place.turn())
                if connection := await self._answering():
                    return connection
                if self._command is None:
                    raise EngineUnavailable("no engine runs: start one with clover-write engine")
                if process is None and is_my_turn:
                    process = start_engine(self._command, self._place)
                elif process and process.poll() is not None:
                    reason = last_words(self._place)
                    raise EngineUnavailable(f"the engine did not start: {reason}")
                await asyncio.sleep(pause)
                pause = min(pause * 1.5, 1.0)
        raise EngineUnavailable(
            f"the engine did not answer within {START_S:g} s; its log: {self._place.log}"
        )

    async def _answering(self) -> Connection | None:
        """A connection to an engine of our version; None if none answers or an older one left."""
        from clover_engine.connection import open_connection

        note = self._place.read()
        if note is None:
            return None
        try:
            connection = await open_connection(note, self._version)
        except EngineUnavailable as error:
            log.debug("%s", error)
            return None
        theirs = connection.welcome
        if (theirs.version, theirs.protocol) == (self._version, PROTOCOL):
            return connection
        if self._command is None or not _is_older(theirs, self._version):
            await connection.close()
            raise ProtocolMismatch(
                f"an engine of clover-write {theirs.version} runs, this is {self._version}:"
                " restart the editor, or run clover-write stop"
            )
        log.warning("replacing the engine of clover-write %s by %s", theirs.version, self._version)
        # the new engine waits until the old one is gone
        await connection.stop_engine()
        return None


async def stop_engine(place: Place) -> bool:
    """Ask the engine at `place` to leave and wait until it has; False when none runs.

    Raises EngineUnavailable when it does not answer or does not leave.
    """
    from clover_engine.connection import open_connection

    note = place.read()
    if note is None or await asyncio.to_thread(place.wait_free, 0.0):
        return False
    try:
        connection = await open_connection(note, "")
    except EngineUnavailable as error:
        raise EngineUnavailable(f"the engine does not answer: end process {note.pid}") from error
    await connection.stop_engine()
    if not await asyncio.to_thread(place.wait_free, STOP_S):
        raise EngineUnavailable(f"the engine does not leave: end process {note.pid}")
    return True


def _is_older(theirs: Welcome, version: str) -> bool:
    from packaging.version import InvalidVersion, Version

    try:
        return (Version(theirs.version), theirs.protocol) < (Version(version), PROTOCOL)
    except InvalidVersion:
        return False


def _is_over(attempt: asyncio.Task[Connection]) -> bool:
    """Whether an attempt failed, or its connection is lost again."""
    if not attempt.done():
        return False
    return _error(attempt) is not None or not attempt.result().is_open


def _error(attempt: asyncio.Task[Connection]) -> BaseException | None:
    return None if attempt.cancelled() else attempt.exception()
