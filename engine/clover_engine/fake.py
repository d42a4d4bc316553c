"""An engine without a model: scripted or copied answers, for tests and for work on editors."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Generator, Sequence
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
    Piece,
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
    `others` are further answers, for a hole that is to be unlike the first.
    """

    text: str = ""
    others: Sequence[str] = ()
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

    Of several holes each takes the next script of the document, those left over go on with 2. A
    hole with choices takes the first, one to be `unlike` others the first text that is. Stop
    strings, `max_lines`, `max_tokens` (a token is a word or a run of signs) and deadlines hold as
    in the real engine. Who watches sees a piece a token, and a mask for each that is to come.
    """

    def __init__(self, script: Script | None = None) -> None:
        self._script = script
        self.info = EngineInfo(model="fake", precision="none", device="cpu")

    def start(self, request: CanvasRequest) -> Steps:
        """The steps of one job; raises RequestError for a script that cannot be read."""
        holes = [at for at, part in enumerate(request.segments) if isinstance(part, Hole)]
        marked = _marked(request.segments, holes)
        scripts = [
            script or self._script or Script(_copied(*_around(request.segments, at)))
            for script, at in zip(marked, holes, strict=True)
        ]
        return _write(scripts, request)

    def forward(self, needs: Sequence[float]) -> Sequence[None]:
        """Takes as long as the slowest need, in milliseconds."""
        time.sleep(max(needs) / 1000)
        return [None] * len(needs)


def _around(segments: Sequence[Segment], at: int) -> tuple[str, str]:
    return _text(segments[:at]), _text(segments[at + 1 :])


def _text(segments: Sequence[Segment]) -> str:
    return "".join(part.text for part in segments if isinstance(part, Literal))


def _marked(segments: Sequence[Segment], holes: Sequence[int]) -> list[Script | None]:
    """For each hole its script in the document, None where there is none for it."""
    if len(holes) == 1:
        prefix, suffix = _around(segments, holes[0])
        _, found, script = prefix.rpartition(MARKER)
        if not found:
            _, found, script = suffix.partition(MARKER)
        return [_read(script) if found else None]
    scripts = [_read(script) for script in _text(segments).split(MARKER)[1:]]
    return [*scripts, *[None] * len(holes)][: len(holes)]


def _read(script: str) -> Script:
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


def _write(scripts: Sequence[Script], request: CanvasRequest) -> Steps:
    """Fill one hole after the other; once time is up the holes left stay empty."""
    fills: list[Fill] = []
    forwards = 0
    holes = (part for part in request.segments if isinstance(part, Hole))
    for number, (script, hole) in enumerate(zip(scripts, holes, strict=True)):
        if fills and fills[-1].finish is Finish.DEADLINE:
            fills.append(Fill("", script.confidence, Finish.DEADLINE))
            continue
        fill, done = yield from _written(script, hole, number, request.watch)
        fills.append(fill)
        forwards += done
    stats = Stats(
        forwards=forwards,
        tokens=sum(len(_TOKEN.findall(fill.text)) for fill in fills),
        prompt_tokens=len(_TOKEN.findall(_text(request.segments))),
    )
    return Filled(tuple(fills), stats)


def _written(
    script: Script, hole: Hole, number: int, watch: bool
) -> Generator[float | Draft, None, tuple[Fill, int]]:
    """Write the script's tokens in even portions; each forward is a need of `step_ms`.

    Returns the fill and how many forwards it took.
    """
    text, finish = _limited(_unlike(script, hole), hole)
    tokens = _TOKEN.findall(text)
    # what is only read takes one forward
    forwards = (script.steps if hole.max_tokens else 0) or max(len(tokens), 1)
    done, written = 0, ""
    try:
        for done in range(1, forwards + 1):
            yield script.step_ms
            now = tokens[: len(tokens) * done // forwards]
            written = "".join(now)
            if hole.max_tokens:
                yield Draft(written, number, _pieces(tokens, len(now), script) if watch else ())
    except DeadlinePassed:
        finish = Finish.DEADLINE
    if script.error and finish is not Finish.DEADLINE:
        raise _scripted_error(script.error)
    # the first of the choices, which is taken, is the likeliest
    scores = tuple(-float(place) for place in range(len(hole.choices or ())))
    return Fill(written, script.confidence, finish, scores), done


def _pieces(tokens: Sequence[str], done: int, script: Script) -> tuple[Piece, ...]:
    """The tokens that are done, and a mask in place of each other one."""
    masks = [Piece("", 0.0, settled=False)] * (len(tokens) - done)
    return (*(Piece(token, script.confidence) for token in tokens[:done]), *masks)


def _unlike(script: Script, hole: Hole) -> str:
    """The first of the script's texts that begins as none of the hole's `unlike` does."""
    taken = {_first(text) for text in hole.unlike}
    texts = (script.text, *script.others)
    return next((text for text in texts if _first(text) not in taken), "")


def _first(text: str) -> str | None:
    found = _TOKEN.match(text)
    return found and found.group()


def _limited(text: str, hole: Hole) -> tuple[str, Finish]:
    if hole.choices:
        return hole.choices[0], Finish.STOP
    ends = [at for stop in hole.stop if (at := text.find(stop)) >= 0]
    text = text[: min(ends, default=len(text))]
    if hole.max_lines is not None:
        text = "\n".join(text.split("\n")[: hole.max_lines])
    tokens = _TOKEN.findall(text)
    if len(tokens) > hole.max_tokens:
        return "".join(tokens[: hole.max_tokens]), Finish.LENGTH
    return text, Finish.STOP


def _scripted_error(name: str) -> Exception:
    kind = getattr(errors, name, None)
    if isinstance(kind, type) and issubclass(kind, errors.CloverError):
        return kind(f"scripted {name}")
    return RuntimeError(f"scripted {name}")
