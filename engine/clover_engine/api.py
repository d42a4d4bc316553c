"""The engine's door: a canvas request goes in, drafts and a filled canvas come out. No torch."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import zip_longest
from typing import Any, Protocol, TypeAlias

from clover_engine.errors import RequestError

MAX_HOLE_TOKENS = 512
MAX_CONTEXT_BYTES = 1024


@dataclass(frozen=True, slots=True)
class Literal:
    """Text that stands as it is."""

    text: str


@dataclass(frozen=True, slots=True)
class Hole:
    """A span to be written: at most `max_tokens`, ending before the first of `stop` it would write.

    `max_tokens=0` writes nothing: the request then only reads the context into the cache. With
    `choices` the hole takes one of them, whole; with `pattern`, a regular expression in the syntax
    of Rust's regex crate, all of its text matches; with `max_lines` it begins no further line.
    `unlike` are answers already at hand: the text begins with another token than any of them, which
    makes it another answer (or none: it may stay empty). `hint` says in words what belongs here.
    With `scored`, how likely each choice is is what is asked for, beside which one it is.
    """

    max_tokens: int = 64
    stop: tuple[str, ...] = ()
    choices: tuple[str, ...] | None = None
    pattern: str | None = None
    max_lines: int | None = None
    unlike: tuple[str, ...] = ()
    hint: str = ""
    scored: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.max_tokens <= MAX_HOLE_TOKENS:
            raise RequestError(f"a hole takes 0 to {MAX_HOLE_TOKENS} tokens, not {self.max_tokens}")
        if "" in self.stop:
            raise RequestError("an empty stop string would end the hole before it begins")
        if self.max_lines is not None and self.max_lines < 1:
            raise RequestError(f"a hole has at least one line, not {self.max_lines}")
        if self.choices is not None and not self.choices:
            raise RequestError("the choices of a hole are empty: nothing could be written there")
        if self.choices is not None and self.pattern is not None:
            raise RequestError("a hole has either choices or a pattern, not both")
        if self.choices is not None and self.unlike:
            raise RequestError("of choices leave out those that are not wanted")


Segment: TypeAlias = Literal | Hole


class Drafting(StrEnum):
    """Where the tokens come from that one forward verifies together."""

    NONE = "none"
    LOOKUP = "lookup"  # from what followed the same tokens before
    MASKS = "masks"  # from the block adapter, of models that have one
    BOTH = "both"


class Decoding(StrEnum):
    """How a hole is written."""

    CAUSAL = "causal"  # token for token what the causal model would write, drafts verified
    DIFFUSION = "diffusion"  # blocks of masks that see both sides, of models that have them


class Ends(StrEnum):
    """How it is found out where a hole ends, beside its stop strings and the model's own end."""

    NONE = "none"
    RULES = "rules"  # where the right text begins to be written again
    LEARNED = "learned"  # where the end head says so
    BOTH = "both"


class Priority(StrEnum):
    """Interactive jobs go first and interrupt background ones between two forwards."""

    INTERACTIVE = "interactive"
    BACKGROUND = "background"


@dataclass(frozen=True, slots=True)
class Snippet:
    """A piece of another file, under the path the model shall know it by."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class Context:
    """What the model reads before the canvas: snippets of a project's other files.

    `project` names the project, `path` the file that the canvas was cut from. It stands at the very
    beginning of the prompt: one that changes costs the reading of the whole prompt.
    """

    snippets: tuple[Snippet, ...]
    project: str = ""
    path: str = ""

    def __post_init__(self) -> None:
        parts = [self.project, self.path]
        parts += [f"{snippet.path}\n{snippet.text}\n" for snippet in self.snippets]
        size = sum(len(part.encode("utf-8", "surrogatepass")) for part in parts)
        if size > MAX_CONTEXT_BYTES:
            raise RequestError(
                f"a context takes at most {MAX_CONTEXT_BYTES:,} bytes, not {size:,}: send less"
            )


@dataclass(frozen=True, slots=True)
class CanvasRequest:
    """A canvas of literals and holes: an infill is literal, hole, literal.

    `document` names the text the canvas was cut from (a URI, a path): its cache is kept under that
    name, and a newer interactive request of the same name supersedes an older one. A job that is
    still running after `deadline_ms` milliseconds answers with what is clean so far. With `watch`
    drafts tell what they are made of. `origin` names the document that the text is of, where no
    cache is kept of it; what is `private` is sent to no other machine.
    """

    segments: tuple[Segment, ...]
    document: str = ""
    context: Context | None = None
    decoding: Decoding = Decoding.CAUSAL
    drafting: Drafting = Drafting.BOTH
    ends: Ends = Ends.BOTH
    priority: Priority = Priority.INTERACTIVE
    deadline_ms: int | None = None
    watch: bool = False
    origin: str = ""
    private: bool = False

    def __post_init__(self) -> None:
        if not any(isinstance(segment, Hole) for segment in self.segments):
            raise RequestError("the canvas has no hole: nothing to fill")
        if self.deadline_ms is not None and self.deadline_ms < 0:
            raise RequestError(f"a deadline lies in the future, not at {self.deadline_ms} ms")


def infill_request(
    prefix: str,
    suffix: str,
    *,
    document: str = "",
    max_tokens: int = 64,
    stop: Sequence[str] = (),
    drafting: Drafting = Drafting.BOTH,
    priority: Priority = Priority.INTERACTIVE,
    deadline_ms: int | None = None,
) -> CanvasRequest:
    """The canvas of an infill: literal, hole, literal."""
    return CanvasRequest(
        (Literal(prefix), Hole(max_tokens, tuple(stop)), Literal(suffix)),
        document=document,
        drafting=drafting,
        priority=priority,
        deadline_ms=deadline_ms,
    )


@dataclass(frozen=True, slots=True)
class Piece:
    """What stands in one slot of a hole while it is written, and the probability of that (0 to 1);
    not `settled`: it is a mask's guess, or "" where there is none yet."""

    text: str
    confidence: float
    settled: bool = True


@dataclass(frozen=True, slots=True)
class Draft:
    """Text of hole number `hole` as it stands now: shown early, may still change. Of a request that
    is watched, `pieces` are what it is made of and what masks guess behind it, and `forwards` how
    many the whole job has taken so far."""

    text: str
    hole: int = 0
    pieces: tuple[Piece, ...] = ()
    forwards: int = 0


class Finish(StrEnum):
    """Why a hole ended."""

    STOP = "stop"  # a stop string or the end came next
    LENGTH = "length"  # max_tokens are written
    DEADLINE = "deadline"  # time was up


@dataclass(frozen=True, slots=True)
class Fill:
    """The text written into one hole, with the probability of its least certain token (0 to 1).

    Of a hole with choices, `scores` is the log-likelihood of each with what stands right of it.
    """

    text: str
    confidence: float
    finish: Finish
    scores: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Stats:
    """What a job cost. Times in milliseconds."""

    forwards: int = 0
    tokens: int = 0  # written
    drafted: int = 0  # proposed to the verifier
    accepted: int = 0  # of those
    prompt_tokens: int = 0
    reused_tokens: int = 0  # of the prompt, found in the cache
    queue_ms: float = 0.0
    prefill_ms: float = 0.0
    decode_ms: float = 0.0
    # of the first, second .. mask behind a text, those before it right: how many can be told right
    # or wrong, and how many are right
    judged: tuple[int, ...] = ()
    guessed: tuple[int, ...] = ()

    def __add__(self, other: Stats) -> Stats:
        """What two holes cost together."""
        return Stats(
            **{
                name: _sum(getattr(self, name), getattr(other, name))
                for name in self.__dataclass_fields__
            }
        )


def _sum(left: Any, right: Any) -> Any:
    if isinstance(left, tuple):
        return tuple(a + b for a, b in zip_longest(left, right, fillvalue=0))
    return left + right


@dataclass(frozen=True, slots=True)
class Filled:
    """A finished canvas: one `Fill` per hole, in order. `where` names the engine that the text was
    sent to; "" for one on this machine."""

    fills: tuple[Fill, ...]
    stats: Stats = field(default_factory=Stats)
    where: str = ""


class EngineState(StrEnum):
    """Whether jobs are answered now or wait for the weights."""

    LOADING = "loading"
    READY = "ready"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class EngineInfo:
    """What an engine is: shown by `doctor`, checked in the handshake."""

    model: str
    precision: str = ""
    device: str = ""
    detail: str = ""  # one line: kernels, threads, rows-to-milliseconds curve
    state: EngineState = EngineState.READY


class DeadlinePassed(Exception):
    """Thrown into a job's steps when its time is up: they return what is clean."""


# what a job asks of the model, and what it gets back; opaque to everything but the engine
Need: TypeAlias = Any
Result: TypeAlias = Any

Steps: TypeAlias = Generator[Need | Draft, Result | None, Filled]
"""A job as a generator: it yields a `Draft` to show (and is sent None) or a need (and is sent the
model's result), and returns the filled canvas. Closing it at any yield leaves the cache valid."""


class Engine(Protocol):
    """What a runner drives. All calls come from one thread."""

    @property
    def info(self) -> EngineInfo:
        """What this engine is."""
        ...

    def start(self, request: CanvasRequest) -> Steps:
        """The steps of one job. Raises RequestError for a canvas this engine does not serve."""
        ...

    def forward(self, needs: Sequence[Need]) -> Sequence[Result]:
        """One forward for the needs of one or more jobs, results in the same order."""
        ...


class EngineClient(Protocol):
    """How the server, the CLI and the benchmarks reach an engine, in this process or another.

    Cancelling the task that awaits `fill` cancels the job between two forwards.
    """

    async def fill(
        self, request: CanvasRequest, on_draft: Callable[[Draft], None] | None = None
    ) -> Filled:
        """Fill the canvas. Raises CloverError; Cancelled when a newer request took over."""
        ...

    async def info(self) -> EngineInfo:
        """What answers at the other end, also while it still loads."""
        ...

    async def close(self) -> None:
        """Let go of the engine; a shared engine process stays alive."""
        ...
