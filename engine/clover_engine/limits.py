"""How much one user may ask of a network engine."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from clover_engine.errors import EngineBusy


@dataclass(frozen=True, slots=True)
class Limits:
    """Of each user: `rate` requests a second after a burst of `burst`, `connections` at once;
    `message_bytes` of one request; seconds that a leaving engine waits for open requests."""

    rate: float = 20.0
    burst: int = 60
    connections: int = 16
    message_bytes: int = 1 << 20
    drain_s: float = 30.0


class RateLimit:
    """Buckets of `burst` tokens, one a user, filled by `rate` tokens a second."""

    def __init__(self, limits: Limits, clock: Callable[[], float] = time.monotonic) -> None:
        self._limits = limits
        self._clock = clock
        self._buckets: dict[str, tuple[float, float]] = {}

    def take(self, user: str) -> None:
        """Count one request. Raises EngineBusy when the user asks too often."""
        now = self._clock()
        left, since = self._buckets.get(user, (float(self._limits.burst), now))
        left = min(left + (now - since) * self._limits.rate, self._limits.burst)
        if left < 1:
            self._buckets[user] = left, now
            raise EngineBusy(f"more than {self._limits.rate:g} requests a second: ask less often")
        self._buckets[user] = left - 1, now


class Connections:
    """How many connections each user has open."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._open: Counter[str] = Counter()

    @property
    def total(self) -> int:
        """Those of all users."""
        return self._open.total()

    def is_full(self, user: str) -> bool:
        """Whether the user may open no more."""
        return self._open[user] >= self._limits.connections

    def opened(self, user: str) -> None:
        self._open[user] += 1

    def closed(self, user: str) -> None:
        self._open[user] -= 1
