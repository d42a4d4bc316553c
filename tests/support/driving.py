"""The smallest driver of an engine: one job, one forward after the other."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from clover_engine.api import CanvasRequest, DeadlinePassed, Draft, Engine, Filled
from clover_engine.steps import Forward


@dataclass(slots=True)
class Run:
    """A job driven to its end: what it answered, asked for, all its holes together, and showed."""

    filled: Filled
    needs: list[Forward] = field(default_factory=list)
    shown: list[Draft] = field(default_factory=list)

    @property
    def drafts(self) -> list[str]:
        """The texts that were shown."""
        return [draft.text for draft in self.shown]

    @property
    def text(self) -> str:
        """The text of the hole."""
        return self.filled.fills[0].text


def run(engine: Engine, request: CanvasRequest, deadline_at: int | None = None) -> Run:
    """Drive a job; its time is up before forward number `deadline_at`."""
    steps = engine.start(request)
    needs: list[Forward] = []
    shown: list[Draft] = []
    rounds = 0
    try:
        event = next(steps)
        while True:
            if isinstance(event, Draft):
                shown.append(event)
                event = next(steps)
            elif rounds == deadline_at:
                event = steps.throw(DeadlinePassed())
            else:
                needs.extend(event)
                rounds += 1
                event = steps.send(engine.forward([event])[0])
    except StopIteration as end:
        return Run(end.value, needs, shown)


def close_at(engine: Engine, request: CanvasRequest, place: int, *, computed: bool) -> bool:
    """Close a job at its event number `place`; False when it ended before.

    With `computed`, the forward it asks for there still runs, but its result never arrives.
    """
    steps = engine.start(request)
    try:
        event = next(steps)
        for _ in range(place):
            shown = isinstance(event, Draft)
            event = next(steps) if shown else steps.send(engine.forward([event])[0])
    except StopIteration:
        return False
    if computed and not isinstance(event, Draft):
        engine.forward([event])
    steps.close()
    return True


def random_document(seed: int) -> tuple[str, str]:
    """Prefix and suffix in code, prose, Chinese and noise, some of it again and again."""
    rng = random.Random(seed)
    pieces = [
        "def name(self):\n",
        "    return self.value\n",
        "    self.name = value\n",
        "retu",
        " val",
        "文字中的",
        "中",
        "。\n",
        "\n\n",
        "x = 1\n",
        "".join(chr(rng.randrange(33, 0x2FF)) for _ in range(5)),
        "🙂",
        "a b a b",
    ]
    chosen = rng.sample(pieces, 5)
    prefix = "".join(rng.choice(chosen) for _ in range(rng.randrange(1, 14)))
    suffix = "".join(rng.choice(chosen) for _ in range(rng.randrange(0, 8)))
    return prefix[: rng.randrange(len(prefix) // 2, len(prefix) + 1)], suffix
