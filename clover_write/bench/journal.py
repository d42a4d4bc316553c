"""Results as they come, one problem a line, so that a long run can be broken off and resumed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from cattrs import Converter
from cattrs.errors import BaseValidationError

from clover_engine.api import Stats
from clover_engine.errors import CloverError


class JournalError(CloverError):
    """The file to resume from does not belong to this run."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one row did in one case of one problem; `passed` and `exact` where tests were run."""

    task_id: str
    row: str
    case: str
    text: str
    ms: float
    stats: Stats
    passed: bool | None = None
    exact: bool | None = None
    reason: str = ""  # why it did not pass


@dataclass(frozen=True, slots=True)
class _Entry:
    task_id: str
    outcomes: list[Outcome]


_CONVERTER = Converter()


class Journal:
    """An append-only file: what is run, then the outcomes of one finished problem a line."""

    def __init__(self, path: Path, plan: dict[str, Any]) -> None:
        """Open or begin the file; a line cut off by an interruption is dropped.

        Raises JournalError for a file that belongs to another plan.
        """
        self.done: dict[str, list[Outcome]] = {}
        lines = path.read_bytes().splitlines(keepends=True) if path.is_file() else []
        whole = [line for line in lines if line.endswith(b"\n")]
        if whole:
            self._load(path, whole, plan)
        self._file = path.open("r+b" if lines else "wb")
        self._file.truncate(sum(map(len, whole)))
        self._file.seek(0, 2)
        if not whole:
            self._write(plan)

    def add(self, task_id: str, outcomes: Sequence[Outcome]) -> None:
        """Keep the outcomes of one problem, on disk at once."""
        self.done[task_id] = list(outcomes)
        self._write({"task_id": task_id, "outcomes": [asdict(outcome) for outcome in outcomes]})

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()

    def _load(self, path: Path, lines: list[bytes], plan: dict[str, Any]) -> None:
        try:
            found, *entries = (json.loads(line) for line in lines)
            for entry in (_CONVERTER.structure(entry, _Entry) for entry in entries):
                self.done[entry.task_id] = entry.outcomes
        except (ValueError, BaseValidationError) as error:
            raise JournalError(f"{path} is no journal of this benchmark: {error}") from error
        if found != plan:
            raise JournalError(f"{path} belongs to another run, {found}: take another file")

    def _write(self, value: dict[str, Any]) -> None:
        self._file.write(json.dumps(value).encode("ascii") + b"\n")
        self._file.flush()
