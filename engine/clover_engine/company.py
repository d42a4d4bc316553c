"""How many jobs share the forwards of an engine, and what that means for each of them."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from functools import partial

from clover_engine.api import DeadlinePassed, Draft, Fill, Stats, Steps
from clover_engine.steps import PREFILL_ROWS, Forward, HoleSteps, Seen

# rows of all long prompts in a forward that others share: nobody waits long for another's prompt
SHARED_ROWS = 64
_FEWEST_ROWS = 16  # of one prompt: fewer take as long


class Company:
    """The jobs under way, and how many of their holes have a long prompt to read."""

    def __init__(self) -> None:
        self._jobs = 0
        self._readers = 0

    def joined(self, steps: Steps) -> Steps:
        """The same steps of a job, which is under way from the first to the last."""
        self._jobs += 1
        try:
            return (yield from steps)
        finally:
            self._jobs -= 1

    @property
    def is_one(self) -> bool:
        """Whether a job has the engine to itself."""
        return self._jobs == 1

    def portions(self, steps: HoleSteps) -> HoleSteps:
        """The same steps; beside other jobs, long prompts are read in more forwards of fewer rows.
        Their stats count those as one."""
        step = partial(next, steps)
        while True:
            try:
                event = step()
            except StopIteration as end:
                written: tuple[Fill, Stats] = end.value
                return written
            try:
                if isinstance(event, Draft):
                    yield event
                    step = partial(next, steps)
                else:
                    seen = yield from self._portions(event)
                    step = partial(steps.send, seen)
            except DeadlinePassed as passed:
                step = partial(steps.throw, passed)

    def _portions(self, forward: Forward) -> Generator[Forward | Draft, Seen | None, Seen | None]:
        if forward.layout or len(forward.tokens) - forward.rows <= _FEWEST_ROWS:
            return (yield forward)
        tokens = forward.tokens
        self._readers += 1
        try:
            while len(tokens) - forward.rows > (size := self._rows()):
                yield Forward(forward.cache, tokens[:size], 0)
                tokens = tokens[size:]
            return (yield replace(forward, tokens=tokens))
        finally:
            self._readers -= 1

    def _rows(self) -> int:
        """How many rows one prompt may have in the next forward."""
        if self.is_one:
            return PREFILL_ROWS
        return max(_FEWEST_ROWS, SHARED_ROWS // self._readers)
