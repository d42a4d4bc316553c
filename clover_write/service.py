"""`clover-write engine --listen`: the engine as a network service, and what it logs."""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from clover_engine.users import Users, UsersError
from clover_write import __version__
from clover_write.commands.engine import USERS

if TYPE_CHECKING:
    from clover_engine.api import Engine
    from clover_engine.door import Door
    from clover_engine.network import NetworkServer

CLOSE_S = 5.0


@dataclass(frozen=True, slots=True)
class Service:
    """What is served, to whom and where."""

    load: Callable[[], Engine]
    model: str
    users: Users
    door: Door

    def run(self) -> None:
        """Serve until the process is told to end. Raises EngineUnavailable."""
        from clover_engine.network import NetworkServer
        from clover_engine.runner import Runner

        runner = Runner(self.load, self.model)
        asyncio.run(self._serve(NetworkServer(runner, __version__, self.users, self.door)))
        if not runner.close(CLOSE_S):
            os._exit(0)  # the thread is deep in the model: leaving in good order waits for it

    async def _serve(self, server: NetworkServer) -> None:
        def ready(url: str) -> None:
            fields = {"url": url, "model": self.model, "users": len(self.users)}
            logging.getLogger("clover_engine.service").info("listening", extra={"fields": fields})

        await server.run_until_signal(ready)


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
