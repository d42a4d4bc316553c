"""A file typed into the real server as in an editor: what its ghost text is worth, and costs."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from clover_lsp.positions import Encoding, IndexedText
from clover_write.bench.editor import Editor, Json, Reply
from clover_write.bench.figures import percentile
from clover_write.bench.typing_script import Keystroke

URI = "file:///bench/typed.py"
# what an editor waits for another keystroke before it asks
DEBOUNCE_S = 0.05
CANCELLED = -32800


class Class(StrEnum):
    """What a request asks for, as far as a user can tell."""

    CACHED = "cached"  # at a place in a text that was answered before
    TYPED_THROUGH = "typed-through"  # what is left of the ghost text, typed along
    FRESH = "fresh"


@dataclass(frozen=True, slots=True)
class Ghost:
    """A text shown at `offset` of `document`; empty for the answer that there is none."""

    document: str
    offset: int
    text: str

    def typed_along(self, document: str, offset: int) -> bool:
        """Whether `document` is this one with a beginning of the ghost text typed at its place."""
        typed = document[self.offset : offset]
        return (
            0 < len(typed) < len(self.text)
            and self.text.startswith(typed)
            and document == self.document[: self.offset] + typed + self.document[self.offset :]
        )


@dataclass(slots=True)
class Tally:
    """What was counted: milliseconds of answers by class, requests, indices of the file."""

    answers: dict[Class, list[float]] = field(default_factory=lambda: {each: [] for each in Class})
    asked: int = 0
    empty: int = 0
    cancelled: int = 0
    right: int = 0
    by_letter: set[int] = field(default_factory=set[int])
    by_whole: set[int] = field(default_factory=set[int])

    def judge(self, ghost: str, file: str, ahead: range) -> None:
        """Compare ghost text with what is to be typed next."""
        same = _common(ghost, file[ahead.start : ahead.stop])
        self.by_letter.update(range(ahead.start, ahead.start + same))
        if same == len(ghost):
            self.right += 1
            self.by_whole.update(range(ahead.start, ahead.start + same))


class TypingSession:
    """One file typed into one server. `speed` divides every pause."""

    def __init__(self, editor: Editor, file: str, speed: float) -> None:
        self.tally = Tally()
        self._editor = editor
        self._file = file
        self._speed = speed
        self._text = ""
        self._version = 0
        self._ghost = Ghost("", 0, "")
        self._answered: set[tuple[str, int]] = set()
        self._asking: asyncio.Task[None] | None = None

    async def play(self, script: Iterable[Keystroke]) -> None:
        """Type the script; returns when the last answer is there. Raises ServerGone."""
        self._editor.open(URI, "")
        due, cursor = time.perf_counter(), 0
        for key in script:
            due += key.pause_s / self._speed
            await asyncio.sleep(due - time.perf_counter())
            await self._stop_asking()
            if key.at + key.removed != cursor:
                self._editor.notify("clover/didMoveCursor", _place(self._text, key.at))
            self._change(key)
            cursor = key.cursor
            self._asking = asyncio.create_task(self._ask(self._text, key))
        if self._asking:
            await self._asking

    def _change(self, key: Keystroke) -> None:
        self._version += 1
        ends = {
            "start": _position(self._text, key.at),
            "end": _position(self._text, key.at + key.removed),
        }
        self._editor.notify(
            "textDocument/didChange",
            {
                "textDocument": {"uri": URI, "version": self._version},
                "contentChanges": [{"range": ends, "text": key.text}],
            },
        )
        self._text = key.applied(self._text)

    async def _stop_asking(self) -> None:
        if self._asking:
            self._asking.cancel()
            await asyncio.wait({self._asking})
            if not self._asking.cancelled():
                self._asking.result()

    async def _ask(self, text: str, key: Keystroke) -> None:
        """Ask once typing pauses; the next keystroke cancels this, as editors do."""
        await asyncio.sleep(DEBOUNCE_S / self._speed)
        kind = self._class(text, key.cursor)
        id, coming = self._editor.ask(
            "textDocument/inlineCompletion",
            {**_place(text, key.cursor), "context": {"triggerKind": 2}},
        )
        self.tally.asked += 1
        try:
            reply = await asyncio.shield(coming)
        except asyncio.CancelledError:
            self._editor.notify("$/cancelRequest", {"id": id})
            self.tally.cancelled += 1
            raise
        self._take(reply, kind, Ghost(text, key.cursor, _ghost_text(reply)), key.ahead)

    def _take(self, reply: Reply, kind: Class, ghost: Ghost, ahead: range) -> None:
        self.tally.answers[kind].append(reply.ms)
        self._answered.add((ghost.document, ghost.offset))
        self._ghost = ghost
        if not ghost.text:
            self.tally.empty += 1
        elif ahead:
            self.tally.judge(ghost.text, self._file, ahead)

    def _class(self, text: str, cursor: int) -> Class:
        if self._ghost.typed_along(text, cursor):
            return Class.TYPED_THROUGH
        return Class.CACHED if (text, cursor) in self._answered else Class.FRESH

    def figures(self) -> dict[str, Any]:
        """The tally under the names the table prints; times in milliseconds, shares from 0 to 1."""
        tally, length = self.tally, max(len(self._file), 1)
        shown = sum(map(len, tally.answers.values())) - tally.empty
        return {
            "answers": {str(kind): spread(times) for kind, times in tally.answers.items()},
            "requests": {
                "asked": tally.asked,
                "answered with text": shown,
                "answered with nothing": tally.empty,
                "cancelled": tally.cancelled,
            },
            "characters": {
                "typed": length,
                "in right suggestions": len(tally.by_whole) / length,
                "right letter by letter": len(tally.by_letter) / length,
                "suggestions right to the end": tally.right / max(shown, 1),
            },
        }


def _place(text: str, offset: int) -> Json:
    """The parameters that name a place in the document."""
    return {"textDocument": {"uri": URI}, "position": _position(text, offset)}


def _ghost_text(reply: Reply) -> str:
    """The first item's text, empty for none and for an error."""
    items = reply.message.get("result", {}).get("items", [])
    return items[0]["insertText"] if items else ""


def spread(times: Sequence[float]) -> dict[str, float]:
    """How many there are, and their percentiles."""
    ordered = sorted(times)
    if not ordered:
        return {"n": 0}
    shares = {"p50 ms": 0.5, "p95 ms": 0.95, "p99 ms": 0.99}
    return {
        "n": len(ordered),
        **{name: percentile(ordered, share) for name, share in shares.items()},
    }


def _position(text: str, offset: int) -> Json:
    line, character = IndexedText.of(text).position(offset, Encoding.UTF16)
    return {"line": line, "character": character}


def _common(one: str, other: str) -> int:
    """How many characters two texts begin with alike."""
    pairs = zip(one, other, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))
