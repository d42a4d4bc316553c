"""What a network engine counts, for Prometheus: no text, no document names."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from clover_engine.api import EngineState, Filled
from clover_engine.errors import CloverError

SECONDS = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6)


class Metrics:
    """Counters of one engine; `jobs`, `connections` and `state` are asked when they are read."""

    def __init__(
        self,
        jobs: Callable[[], int],
        connections: Callable[[], int],
        state: Callable[[], EngineState],
    ) -> None:
        self._registry = registry = CollectorRegistry()
        self._requests = Counter(
            "clover_requests", "Requests answered.", ["user", "outcome"], registry=registry
        )
        self._refused = Counter(
            "clover_refused", "Connections refused.", ["reason"], registry=registry
        )
        self._tokens = Counter("clover_tokens", "Tokens written.", ["user"], registry=registry)
        self._prompt = Counter("clover_prompt_tokens", "Tokens of prompts.", registry=registry)
        self._reused = Counter(
            "clover_reused_tokens", "Tokens of prompts found in the cache.", registry=registry
        )
        self._seconds = Histogram(
            "clover_request_seconds", "From a request to its answer.", buckets=SECONDS,
            registry=registry,
        )  # fmt: skip
        self._queue = Histogram(
            "clover_queue_seconds", "From a request to its beginning.", buckets=SECONDS,
            registry=registry,
        )  # fmt: skip
        gauge = Gauge("clover_jobs", "Jobs that wait or run.", registry=registry)
        gauge.set_function(jobs)
        gauge = Gauge("clover_connections", "Open connections.", registry=registry)
        gauge.set_function(connections)
        gauge = Gauge("clover_ready", "1 when the model is loaded.", registry=registry)
        gauge.set_function(lambda: state() is EngineState.READY)

    def answered(self, user: str, outcome: Filled | CloverError, seconds: float) -> None:
        """A request was answered."""
        self._requests.labels(user, _name(outcome)).inc()
        self._seconds.observe(seconds)
        if isinstance(outcome, Filled):
            stats = outcome.stats
            self._tokens.labels(user).inc(stats.tokens)
            self._prompt.inc(stats.prompt_tokens)
            self._reused.inc(stats.reused_tokens)
            self._queue.observe(stats.queue_ms / 1000)

    def refused(self, reason: str) -> None:
        """Somebody was not let in."""
        self._refused.labels(reason).inc()

    def text(self) -> str:
        """All of them, in the text format of Prometheus."""
        return generate_latest(self._registry).decode()


def _name(outcome: Filled | CloverError) -> str:
    return "Filled" if isinstance(outcome, Filled) else type(outcome).__name__
