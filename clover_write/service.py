"""`clover-write engine --listen`: the engine as a network service, and what it logs."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from clover_engine.users import Users, UsersError
from clover_write import __version__

if TYPE_CHECKING:
    from clover_engine.api import Engine
    from clover_engine.door import Door
    from clover_engine.reception import Reception
    from clover_engine.runner import Runner

# where no file names the users: the same lines, or with commas between them
USERS = "CLOVER_WRITE_USERS"
CLOSE_S = 5.0

log = logging.getLogger("clover_engine.service")


class Server(Protocol):
    """One way to the engine."""

    async def run(self, on_ready: Callable[[str], None]) -> None:
        """Serve until told to leave."""
        ...

    def leave(self) -> None:
        """Answer what is open and let `run` return; told twice, at once."""
        ...


@dataclass(frozen=True, slots=True)
class Service:
    """What is served, to whom, and at which doors: that of our own protocol, and that of editors
    which speak OpenAI's or llama.cpp's routes."""

    load: Callable[[], Engine]
    model: str
    users: Users
    door: Door | None
    api_door: Door | None

    def run(self) -> None:
        """Serve until the process is told to end. Raises EngineUnavailable."""
        from clover_engine.reception import Reception
        from clover_engine.runner import Runner

        runner = Runner(self.load, self.model)
        servers = list(self._servers(runner, Reception(runner, __version__)))
        asyncio.run(self._serve(servers))
        if not runner.close(CLOSE_S):
            os._exit(0)  # the thread is deep in the model: leaving in good order waits for it

    def _servers(self, runner: Runner, reception: Reception) -> Iterator[Server]:
        if self.door:
            from clover_engine.network import NetworkServer

            yield NetworkServer(runner, reception, self.users, self.door)
        if self.api_door:
            from clover_engine.api_server import ApiServer

            yield ApiServer(runner, reception, self.users, self.api_door)

    async def _serve(self, servers: Sequence[Server]) -> None:
        def leave() -> None:
            for server in servers:
                server.leave()

        def ready(url: str) -> None:
            fields = {"url": url, "model": self.model, "users": len(self.users)}
            log.info("listening", extra={"fields": fields})

        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            # Windows has no such handlers: there Ctrl-C cancels this task
            with suppress(NotImplementedError):
                loop.add_signal_handler(number, leave)
        await asyncio.gather(*(server.run(ready) for server in servers))


class JsonLines(logging.Formatter):
    """A record as one JSON object: time, level, event, and the fields it was logged with."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        said = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        return json.dumps(said, ensure_ascii=False)


def read_users(path: Path | None) -> Users:
    """The users in the file, or in the environment. Raises UsersError."""
    if path:
        return Users.read(path)
    if lines := os.environ.get(USERS):
        return Users.parse(lines.replace(",", "\n").splitlines())
    raise UsersError(f"say who may use this engine: --users FILE, or {USERS} in the environment")
