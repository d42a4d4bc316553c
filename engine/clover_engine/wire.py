"""The messages between a client and the engine process: JSON text, one object a message."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from clover_engine import errors
from clover_engine.api import CanvasRequest, Draft, EngineInfo, Filled, Segment
from clover_engine.errors import CloverError, EngineError, RequestError

if TYPE_CHECKING:
    from cattrs import Converter

# raised when a message changes its meaning; `Hello`, `Welcome` and `Stop` keep theirs for ever
PROTOCOL = 1
MAX_MESSAGE_BYTES = 8 * 2**20


@dataclass(frozen=True, slots=True)
class Hello:
    """The client's first message: what it speaks and belongs to."""

    protocol: int
    version: str


@dataclass(frozen=True, slots=True)
class Welcome:
    """The engine's first message; the client decides whether the two fit together."""

    protocol: int
    version: str
    info: EngineInfo


@dataclass(frozen=True, slots=True)
class Stop:
    """Asks the engine process to leave; the connection closing is the answer."""


@dataclass(frozen=True, slots=True)
class FillRequest:
    """Asks for a canvas to be filled: drafts, then one `FillAnswer` or `ErrorAnswer`."""

    id: int
    request: CanvasRequest


@dataclass(frozen=True, slots=True)
class CancelRequest:
    """Ends the fill of that id, which gets no answer any more unless one is on its way."""

    id: int


@dataclass(frozen=True, slots=True)
class InfoRequest:
    """Asks what the engine is now."""

    id: int


@dataclass(frozen=True, slots=True)
class DraftEvent:
    """Text of a running fill as it stands."""

    id: int
    draft: Draft


@dataclass(frozen=True, slots=True)
class FillAnswer:
    """A finished canvas."""

    id: int
    filled: Filled


@dataclass(frozen=True, slots=True)
class InfoAnswer:
    """What the engine is now."""

    id: int
    info: EngineInfo


@dataclass(frozen=True, slots=True)
class ErrorAnswer:
    """A request that failed: the name of a class in `clover_engine.errors` and its line.

    Id 0 answers a message that could not be read at all.
    """

    id: int
    error: str
    message: str

    @classmethod
    def of(cls, id: int, error: CloverError) -> ErrorAnswer:
        """The answer for an error; one of a kind defined elsewhere counts as its nearest base."""
        kinds = (kind for kind in type(error).__mro__ if kind.__module__ == errors.__name__)
        return cls(id, next(kinds).__name__, str(error))

    def exception(self) -> CloverError:
        """The typed error; one of a kind unknown here is an EngineError."""
        kind = getattr(errors, self.error, EngineError)
        is_ours = isinstance(kind, type) and issubclass(kind, CloverError)
        return kind(self.message) if is_ours else EngineError(self.message)


ClientMessage: TypeAlias = Hello | Stop | FillRequest | CancelRequest | InfoRequest
ServerMessage: TypeAlias = Welcome | DraftEvent | FillAnswer | InfoAnswer | ErrorAnswer
T = TypeVar("T")


def encode(message: ClientMessage | ServerMessage) -> str:
    """One message as ASCII JSON, so that lone surrogates travel too; RequestError if too long."""
    text = json.dumps(_converter().unstructure(message, _union(message)), separators=(",", ":"))
    if len(text) > MAX_MESSAGE_BYTES:
        raise RequestError(
            f"the request takes {len(text):,} bytes, the engine at most {MAX_MESSAGE_BYTES:,}:"
            " send less of the document"
        )
    return text


def decode_client(text: str | bytes) -> ClientMessage:
    """Read a client's message; raises RequestError."""
    message: ClientMessage = _decode(text, ClientMessage)
    return message


def decode_server(text: str | bytes) -> ServerMessage:
    """Read the engine's message; raises RequestError."""
    message: ServerMessage = _decode(text, ServerMessage)
    return message


def _decode(text: str | bytes, union: Any) -> Any:
    if isinstance(text, bytes):
        raise RequestError("malformed message: binary, not text")
    try:
        return _converter().structure(json.loads(text), union)
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        # its message may quote the document
        raise RequestError(f"malformed message: {type(error).__name__}") from error


def _union(message: ClientMessage | ServerMessage) -> Any:
    return ClientMessage if isinstance(message, ClientMessage) else ServerMessage


@cache
def _converter() -> Converter:
    """Strict about plain types, where cattrs would turn 5 into "5"; lenient about extra keys."""
    from cattrs import Converter
    from cattrs.strategies import configure_tagged_union

    converter = Converter(detailed_validation=False)
    for kind in (str, int, bool):
        converter.register_structure_hook(kind, _exact)
    # an enum of strings would otherwise be taken for a string
    converter.register_structure_hook(StrEnum, lambda value, kind: kind(value))
    converter.register_structure_hook(float, _number)
    for union in (Segment, ClientMessage, ServerMessage):
        configure_tagged_union(union, converter, tag_name="type")
    return converter


def _exact(value: object, kind: type[T]) -> T:
    if type(value) is not kind:
        raise TypeError(kind.__name__)
    return value


def _number(value: object, _: object) -> float:
    if type(value) not in (int, float):
        raise TypeError("float")
    return float(value)  # type: ignore[arg-type]
