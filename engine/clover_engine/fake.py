"""An engine without a model: scripted or copied answers, for tests and for work on editors."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass

from clover_engine import errors
from clover_engine.api import (
    CanvasRequest,
    DeadlinePassed,
    Draft,
    EngineInfo,
    Fill,
    Filled,
    Finish,
    Hole,
    Literal,
    Segment,
    Stats,
    Steps,
)

MARKER = "clover-fake:"
# a word, a number or a run of signs, with the blanks before it
_TOKEN = re.compile(r"\s*(?:\w+|[^\w\s]+)|\s+")


@dataclass(frozen=True, slots=True)
class Script:
    """One scripted answer: `text`, written in `steps` forwards of `step_ms` each.

    `steps=0` takes one forward a token. `error` names the class of `clover_engine.errors` raised
    in place of the answer once the steps are done; any other name stands for a bug in the engine.
    """

    text: str = ""
    steps: int = 0
    step_ms: float = 0.0
    confidence: float = 1.0
    error: str = ""


class FakeEngine:
    """Answers without a model, in this order:

    1. the `Script` in a comment of the document, the last before the cursor or else the first
       after it: `# clover-fake: {"text": "return a + b", "steps": 4, "step_ms": 20}`;
    2. the script it was made with;
    3. the rest of another line of the document that begins like the cursor's line;
    4. nothing.

    Stop strings, `max_tokens` (a token is a word or a run of signs) and deadlines hold as in the
    real engine.
    """

    def __init__(self, script: Script | None = None) -> None:
        self._script = script
        self.info = EngineInfo(model="fake", precision="none", device="cpu")

    def start(self, request: CanvasRequest) -> Steps:
        """The steps of one job; raises RequestError unless the canvas has exactly one hole."""
        prefix, hole, suffix = _split(request)
        script = _marked(prefix, suffix) or self._script or Script(_copied(prefix, suffix))
        return _write(script, hole, prompt_tokens=len(_TOKEN.findall(prefix + suffix)))

    def forward(self, needs: Sequence[float]) -> Sequence[None]:
        """Takes as long as the slowest need, in milliseconds."""
        time.sleep(max(needs) / 1000)
        return [None] * len(needs)


def _split(request: CanvasRequest) -> tuple[str, Hole, str]:
    holes = [(at, part) for at, part in enumerate(request.segments) if isinstance(part, Hole)]
    if len(holes) != 1:
        raise errors.RequestError(f"the fake engine fills one hole, not {len(holes)}")
    at, hole = holes[0]
    return _text(request.segments[:at]), hole, _text(request.segments[at + 1 :])


def _text(segments: Sequence[Segment]) -> str:
    return "".join(part.text for part in segments if isinstance(part, Literal))


def _marked(prefix: str, suffix: str) -> Script | None:
    _, found, script = prefix.rpartition(MARKER)
    if not found:
        _, found, script = suffix.partition(MARKER)
    if not found:
        return None
    try:
        fields, _ = json.JSONDecoder().raw_decode(script.lstrip(" "))
        return Script(**fields)
    except (ValueError, TypeError) as error:
        raise errors.RequestError(f"the script after {MARKER!r} cannot be read: {error}") from error


def _copied(prefix: str, suffix: str) -> str:
    """The rest of the nearest earlier (or else first later) line that begins like this one."""
    *earlier, line = prefix.split("\n")
    right, *later = suffix.split("\n")
    start = line.strip()
    if not start:
        return ""
    for other in [*reversed(earlier), *later]:
        if other.lstrip().startswith(start):
            return other.lstrip().removeprefix(start).removesuffix(right)
    return ""


def _write(script: Script, hole: Hole, prompt_tokens: int) -> Steps:
    """Write the script's tokens in even portions; each forward is a need of `step_ms`."""
    text, finish = _limited(script.text, hole)
    tokens = _TOKEN.findall(text)
    forwards = script.steps or max(len(tokens), 1)
    done, written = 0, ""
    try:
        for done in range(1, forwards + 1):
            yield script.step_ms
            written = "".join(tokens[: len(tokens) * done // forwards])
            if hole.max_tokens:
                yield Draft(written)
    except DeadlinePassed:
        finish = Finish.DEADLINE
    if script.error and finish is not Finish.DEADLINE:
        raise _scripted_error(script.error)
    stats = Stats(forwards=done, tokens=len(_TOKEN.findall(written)), prompt_tokens=prompt_tokens)
    return Filled((Fill(written, script.confidence, finish),), stats)


def _limited(text: str, hole: Hole) -> tuple[str, Finish]:
    ends = [at for stop in hole.stop if (at := text.find(stop)) >= 0]
    text = text[: min(ends, default=len(text))]
    tokens = _TOKEN.findall(text)
    if len(tokens) > hole.max_tokens:
        return "".join(tokens[: hole.max_tokens]), Finish.LENGTH
    return text, Finish.STOP


def _scripted_error(name: str) -> Exception:
    kind = getattr(errors, name, None)
    if isinstance(kind, type) and issubclass(kind, errors.CloverError):
        return kind(f"scripted {name}")
    return RuntimeError(f"scripted {name}")
