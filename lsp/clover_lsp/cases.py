"""The last completion of a document as a file for a bug report: replayable, and unreadable."""

from __future__ import annotations

import asyncio
import json
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from lsprotocol import types

from clover_engine import wire
from clover_engine.api import CanvasRequest, Draft, EngineClient, EngineInfo, Filled, Priority
from clover_engine.errors import CloverError, RequestError
from clover_lsp.documents import Document
from clover_lsp.redaction import Redaction
from clover_lsp.settings import Settings
from clover_lsp.span_filling import wanted
from clover_lsp.state_file import state_dir, write_state

SAVE = "clover-write.saveCase"
# "Source Action…" menus ask for it: a lamp at every word would be in the way
KIND = "source.saveCase"
FOLDER = "cases"
VERSION = 1
DOCUMENTS = 8
# members whose strings no user wrote
OWN_WORDS = frozenset({"type", "decoding", "drafting", "ends", "priority", "finish"})
# what is kept of the canvas around the hole
LEFT_CHARS, RIGHT_CHARS = 8000, 4000


class CaseError(CloverError):
    """There is nothing to save, or a file that is no case."""


@dataclass(frozen=True, slots=True)
class Case:
    """A request, its answer, the milliseconds between them, and what else may matter."""

    request: CanvasRequest
    filled: Filled
    ms: float
    about: dict[str, str]

    def redacted(self) -> str:
        """The file's text: the canvas near the hole and the answer, long words masked."""
        request = _plain(wire.FillRequest(0, self.request))["request"]
        filled = _plain(wire.FillAnswer(0, self.filled))["filled"]
        first, *_, last = request["segments"]
        if first["type"] == "Literal":
            first["text"] = first["text"][-LEFT_CHARS:]
        if last["type"] == "Literal":
            last["text"] = last["text"][:RIGHT_CHARS]
        redaction = Redaction()
        case = {
            "case": VERSION,
            "about": self.about,
            "request": _masked(redaction, {**request, "document": ""}),
            "answer": _masked(redaction, filled),
            "ms": round(self.ms, 1),
        }
        return json.dumps(case, ensure_ascii=False, indent=1) + "\n"

    @classmethod
    def read(cls, text: str) -> Case:
        """The case in a file. Raises CaseError."""
        try:
            case = json.loads(text)
            if case["case"] != VERSION:
                raise CaseError("the case is of another version of the program")
            asked = wire.decode_client(_message("FillRequest", request=case["request"]))
            answered = wire.decode_server(_message("FillAnswer", filled=case["answer"]))
            if not (isinstance(asked, wire.FillRequest) and isinstance(answered, wire.FillAnswer)):
                raise TypeError("another message")
            return cls(asked.request, answered.filled, float(case["ms"]), dict(case["about"]))
        except (ValueError, TypeError, KeyError, RequestError) as error:
            raise CaseError(f"this is no saved case: {type(error).__name__}") from error


class Recording:
    """The last completions of a few documents, as an engine was asked for them and answered."""

    def __init__(self) -> None:
        self._engine: EngineClient | None = None
        self._last: OrderedDict[str, tuple[CanvasRequest, Filled, float]] = OrderedDict()

    def of(self, engine: EngineClient) -> EngineClient:
        """The engine, whose completions are recorded from now on."""
        self._engine = engine
        return _Recorded(engine, self._keep)

    async def case(self, uri: str, about: dict[str, str]) -> Case:
        """The last completion in the document. Raises CloverError."""
        if self._engine is None or uri not in self._last:
            raise CaseError("no completion to save: ask for one in this document first")
        info = await self._engine.info()
        model = f"{info.model} {info.precision} on {info.device}"
        return Case(*self._last[uri], {**about, "model": model})

    def _keep(self, request: CanvasRequest, filled: Filled, ms: float) -> None:
        if request.priority is Priority.INTERACTIVE and request.document:
            self._last[request.document] = request, filled, ms
            self._last.move_to_end(request.document)
            if len(self._last) > DOCUMENTS:
                self._last.popitem(last=False)


class _Recorded:
    """An `EngineClient` that tells of each canvas it has filled."""

    def __init__(
        self, engine: EngineClient, keep: Callable[[CanvasRequest, Filled, float], None]
    ) -> None:
        self._engine = engine
        self._keep = keep

    async def fill(
        self, request: CanvasRequest, on_draft: Callable[[Draft], None] | None = None
    ) -> Filled:
        """Fill the canvas."""
        start = time.perf_counter()
        filled = await self._engine.fill(request, on_draft)
        self._keep(request, filled, (time.perf_counter() - start) * 1000)
        return filled

    async def info(self) -> EngineInfo:
        """What the engine is."""
        return await self._engine.info()

    async def close(self) -> None:
        """Let go of the engine."""
        await self._engine.close()


class CaseSaving:
    """The feature. `about` says what may matter beside the canvas, for a document; `show` tells
    the user.
    """

    def __init__(
        self,
        recording: Recording,
        about: Callable[[str], dict[str, str]],
        show: Callable[[str], None],
    ) -> None:
        self._recording = recording
        self._about = about
        self._show = show

    def actions(
        self, document: Document | None, only: Sequence[types.CodeActionKind | str] | None
    ) -> list[types.CodeAction]:
        """The action, where source actions are asked for."""
        if document is None or not only or not wanted(only, KIND):
            return []
        title = "Save this completion as a case"
        command = types.Command(title, SAVE, arguments=[document.uri])
        return [types.CodeAction(title, kind=KIND, command=command)]

    async def save(self, uri: str) -> str | None:
        """Write the last completion in the document; the path, which the user is shown too."""
        path = state_dir() / FOLDER / f"{datetime.now():%Y-%m-%d-%H%M%S-%f}.json"
        try:
            case = await self._recording.case(uri, self._about(uri))
            await asyncio.to_thread(lambda: write_state(path, case.redacted()))
        except CloverError as error:
            self._show(str(error))
            return None
        except OSError as error:
            self._show(f"the case could not be written: {error}")
            return None
        self._show(f"saved, with long words masked: {path}. Look through it before you send it")
        return str(path)


def changed_settings(settings: Settings) -> str:
    """The settings that are not the default ones; of what a user wrote, the names alone."""
    default = asdict(Settings())
    return " ".join(
        f"{name}={value}" if isinstance(value, (bool, int, float, StrEnum)) else name
        for name, value in asdict(settings).items()
        if value != default[name]
    )


def _plain(message: wire.FillRequest | wire.FillAnswer) -> dict[str, Any]:
    plain: dict[str, Any] = json.loads(wire.encode(message))
    return plain


def _message(kind: str, **members: object) -> str:
    return json.dumps({"type": kind, "id": 0, **members})


def _masked(redaction: Redaction, value: Any) -> Any:
    """The value with every string in it masked but the engine's own words."""
    match value:
        case str():
            return redaction.masked(value)
        case list():
            return [_masked(redaction, each) for each in value]
        case dict():
            return {
                name: each if name in OWN_WORDS else _masked(redaction, each)
                for name, each in value.items()
            }
        case _:
            return value
