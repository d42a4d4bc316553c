"""Tells the editor how the server fares: `clover/status`, once per change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any, TypeAlias

from clover_engine.api import Filled

METHOD = "clover/status"

Notify: TypeAlias = Callable[[str, dict[str, Any]], None]


class Kind(StrEnum):
    """How grave the message is; the names are those of Copilot's `didChangeStatus`."""

    NORMAL = "Normal"
    INACTIVE = "Inactive"  # this document gets no completions
    WARNING = "Warning"  # the engine is late
    ERROR = "Error"  # the engine could not answer


@dataclass(frozen=True, slots=True)
class _State:
    busy: bool = False
    kind: Kind = Kind.NORMAL
    message: str = ""
    where: str = ""  # the engine that text was last sent to; none: it stayed on this machine


class Status:
    """What was last told. `notify` sends a notification; `show` puts a message before the user."""

    def __init__(self, notify: Notify, show: Callable[[str], None]) -> None:
        self._notify = notify
        self._show = show
        self._state = _State()
        self._jobs = 0
        self._shown: set[str] = set()

    def started(self) -> None:
        """One more job runs."""
        self._jobs += 1
        self._tell(replace(self._state, busy=True))

    def ended(self, filled: Filled | None = None) -> None:
        """One job less runs; `filled` is what the engine answered: what it cost, where it was."""
        self._jobs -= 1
        state = replace(self._state, busy=self._jobs > 0)
        if filled is not None:
            stats = filled.stats
            took = stats.queue_ms + stats.prefill_ms + stats.decode_ms
            forwards = f" in {stats.forwards} forwards" if stats.forwards else ""
            there = f", by {filled.where}" if filled.where else ""
            message = f"{stats.tokens} tokens{forwards}, {took:.0f} ms{there}"
            state = replace(state, kind=Kind.NORMAL, message=message, where=filled.where)
        self._tell(state)

    @property
    def is_failing(self) -> bool:
        """Whether the engine was last seen late or unable to answer."""
        return self._state.kind in (Kind.WARNING, Kind.ERROR)

    def answered(self) -> None:
        """The engine answered, though nobody waited for that."""
        if self.is_failing:
            self._tell(replace(self._state, kind=Kind.NORMAL, message="the engine answers again"))

    def active(self) -> None:
        """The document gets completions."""
        if self._state.kind is Kind.INACTIVE:
            self._tell(replace(self._state, kind=Kind.NORMAL, message=""))

    def inactive(self, message: str) -> None:
        """The document gets no completions, and why."""
        self._tell(replace(self._state, kind=Kind.INACTIVE, message=message))

    def slow(self, message: str) -> None:
        """The engine did not answer in time."""
        self._tell(replace(self._state, kind=Kind.WARNING, message=message))

    def error(self, message: str) -> None:
        """The engine could not answer; the user is shown a message once."""
        self._tell(replace(self._state, kind=Kind.ERROR, message=message))
        if message not in self._shown:
            self._shown.add(message)
            self._show(message)

    def _tell(self, state: _State) -> None:
        if state != self._state:
            self._state = state
            self._notify(METHOD, asdict(state))
