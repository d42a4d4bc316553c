"""What the ways to a shared engine have in common: who is admitted, what is counted and logged."""

from __future__ import annotations

import logging

from clover_engine.api import EngineState, Filled
from clover_engine.errors import CloverError, EngineUnavailable, RequestError
from clover_engine.limits import Connections, Limits, RateLimit
from clover_engine.metrics import Metrics
from clover_engine.runner import Runner

# records with fields, one JSON object a line in the end; no text of documents, no tokens
log = logging.getLogger("clover_engine.service")

LEAVING = "the engine is being restarted: ask again in a moment"


class Reception:
    """The `session.Host` of users who share a runner: none of them may stop it."""

    def __init__(self, runner: Runner, version: str, limits: Limits | None = None) -> None:
        self.version = version
        self.limits = limits or Limits()
        self.connections = Connections(self.limits)
        self._runner = runner
        self._rate = RateLimit(self.limits)
        self._metrics = Metrics(
            lambda: runner.jobs, lambda: self.connections.total, lambda: runner.info.state
        )
        self._leaving = False

    @property
    def state(self) -> str:
        """As health checks are told it: "ready", or why not."""
        return "leaving" if self._leaving else str(self._runner.info.state)

    @property
    def is_ready(self) -> bool:
        """Whether requests are answered now."""
        return self.state == EngineState.READY

    def leave(self) -> None:
        """Admit no more requests."""
        self._leaving = True

    def stop(self) -> None:
        """Raises RequestError: who runs this engine stops it."""
        raise RequestError("an engine on the network is stopped by who runs it")

    def admit(self, user: str) -> None:
        """Let a request in. Raises EngineBusy or EngineUnavailable."""
        if self._leaving:
            raise EngineUnavailable(LEAVING)
        self._rate.take(user)

    def answered(self, user: str, outcome: Filled | CloverError, seconds: float) -> None:
        """Count and log what came of a request."""
        self._metrics.answered(user, outcome, seconds)
        said: dict[str, object] = {"user": user, "ms": round(seconds * 1000)}
        if isinstance(outcome, Filled):
            stats = outcome.stats
            said |= {
                "outcome": "Filled",
                "tokens": stats.tokens,
                "prompt_tokens": stats.prompt_tokens,
                "reused_tokens": stats.reused_tokens,
                "forwards": stats.forwards,
                "queue_ms": round(stats.queue_ms),
            }
        else:
            said["outcome"] = type(outcome).__name__
        log.info("request", extra={"fields": said})

    def refused(self, status: int, why: str) -> None:
        """Somebody was not let in."""
        self._metrics.refused(why)
        log.warning("refused", extra={"fields": {"status": status, "reason": why}})

    def metrics(self) -> str:
        """In the text format of Prometheus."""
        return self._metrics.text()
