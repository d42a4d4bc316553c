"""The file of counts: per day and language, shared by every window of the user."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import TypeAlias

from clover_engine.errors import CloverError
from clover_lsp.state_file import write_state

log = logging.getLogger(__name__)

# the file's name in the state folder
KEEP_RATE = "keep-rate.json"
KEPT_DAYS = 365
# another window writes for milliseconds only
PATIENCE_S = 5.0
# a language id is a word; what a client sends in its place is not kept whole
LANGUAGE_CHARS = 40


class LedgerError(CloverError):
    """The file of counts cannot be read."""


@dataclass(frozen=True, slots=True)
class Count:
    """Suggestions that were shown, accepted, and still there a minute later."""

    shown: int = 0
    accepted: int = 0
    kept: int = 0

    def __add__(self, other: Count) -> Count:
        return Count(
            self.shown + other.shown, self.accepted + other.accepted, self.kept + other.kept
        )


Counts: TypeAlias = Mapping[str, Count]


class Ledger:
    """Counts by day and language in one JSON file; days older than a year are dropped."""

    def __init__(self, path: Path, today: Callable[[], date] = date.today) -> None:
        self._path = path
        self._today = today

    def add(self, counts: Counts) -> None:
        """Add to today's counts. Blocks; a file that cannot be had or read costs these counts."""
        from filelock import FileLock, Timeout

        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with FileLock(self._path.with_suffix(".lock"), timeout=PATIENCE_S):
                self._write(counts)
        except (OSError, Timeout, LedgerError) as error:
            log.warning("the keep-rate could not be counted: %s", error)

    def days(self) -> dict[date, dict[str, Count]]:
        """All counts. Raises LedgerError."""
        try:
            days = json.loads(self._path.read_text(encoding="utf-8"))
            return {
                date.fromisoformat(day): {name: Count(**count) for name, count in counts.items()}
                for day, counts in days.items()
            }
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, TypeError, AttributeError) as error:
            raise LedgerError(f"{self._path} cannot be read, remove it: {error}") from error

    def _write(self, counts: Counts) -> None:
        days, today = self.days(), self._today()
        counted = days.setdefault(today, {})
        for name, count in counts.items():
            language = name[:LANGUAGE_CHARS]
            counted[language] = counted.get(language, Count()) + count
        oldest = today - timedelta(days=KEPT_DAYS)
        kept = {
            day.isoformat(): {name: asdict(count) for name, count in sorted(counts.items())}
            for day, counts in sorted(days.items())
            if day > oldest
        }
        write_state(self._path, json.dumps(kept, indent=1) + "\n")
