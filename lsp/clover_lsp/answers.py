"""What the engine wrote lately: typing along it, going back or asking again needs no engine."""

from __future__ import annotations

import sys
from collections import deque
from dataclasses import dataclass, replace

from clover_engine.api import CanvasRequest, Finish, Hole, Literal
from clover_lsp.graphemes import is_boundary

MAX_BYTES = 8 * 1024 * 1024
MAX_ANSWERS = 256


@dataclass(frozen=True, slots=True)
class Canvas:
    """The two literals a hole stands between, and the hole."""

    left: str
    hole: Hole
    right: str

    @classmethod
    def of(cls, request: CanvasRequest) -> Canvas:
        """The canvas of an infill request."""
        match request.segments:
            case (Literal(left), Hole() as hole, Literal(right)):
                return cls(left, hole, right)
            case _:
                raise ValueError("an infill canvas is literal, hole, literal")

    def typed_since(self, earlier: Canvas) -> str | None:
        """What was typed at the hole since `earlier`; None if anything else changed."""
        if self.hole != earlier.hole or self.right != earlier.right:
            return None
        return self.left[len(earlier.left) :] if self.left.startswith(earlier.left) else None


@dataclass(frozen=True, slots=True)
class Written:
    """A text for a hole, the probability of its least certain token (0 to 1), and why it ended."""

    text: str
    confidence: float = 1.0
    finish: Finish = Finish.STOP

    def rest(self, typed: str) -> Written | None:
        """What is left of it behind `typed`; None if it went another way or nothing is left."""
        if not self.text.startswith(typed) or not is_boundary(self.text, len(typed)):
            return None
        rest = self.text[len(typed) :]
        return replace(self, text=rest) if rest or not typed else None


@dataclass(frozen=True, slots=True)
class Answer:
    """The texts for one hole of `document` (a URI), the likeliest first; `whole` if further ones
    were asked for too."""

    document: str
    canvas: Canvas
    texts: tuple[Written, ...]
    whole: bool = False

    def rest(self, canvas: Canvas) -> tuple[Written, ...]:
        """What of them goes on from what was typed between this answer's canvas and `canvas`."""
        typed = canvas.typed_since(self.canvas)
        if typed is None:
            return ()
        return tuple(rest for each in self.texts if (rest := each.rest(typed)))

    @property
    def size(self) -> int:
        """Bytes in memory, about."""
        texts = (self.canvas.left, self.canvas.right, *(each.text for each in self.texts))
        return sum(map(sys.getsizeof, texts))


class Answers:
    """The latest answers of all documents, as many as fit."""

    def __init__(self, max_bytes: int = MAX_BYTES, max_answers: int = MAX_ANSWERS) -> None:
        self._max_bytes = max_bytes
        self._max_answers = max_answers
        # the latest last
        self._kept: deque[Answer] = deque()
        self._bytes = 0

    def keep(self, answer: Answer) -> None:
        """Take up an answer in place of an older one for the same hole."""
        same = (a for a in self._kept if a.document == answer.document)
        if older := next((a for a in same if a.canvas == answer.canvas), None):
            self._drop(older)
        self._kept.append(answer)
        self._bytes += answer.size
        while self._bytes > self._max_bytes or len(self._kept) > self._max_answers:
            self._drop(self._kept[0])

    def find(self, document: str, canvas: Canvas) -> tuple[Answer, tuple[Written, ...]] | None:
        """The latest answer with text for this hole, and that text: what stands around the hole is
        as it was then, but for text of the answer that was typed."""
        for answer in reversed(self._kept):
            if answer.document == document and (texts := answer.rest(canvas)):
                self._kept.remove(answer)
                self._kept.append(answer)
                return answer, texts
        return None

    def forget(self, document: str) -> None:
        """The document was closed."""
        for answer in [answer for answer in self._kept if answer.document == document]:
            self._drop(answer)

    def _drop(self, answer: Answer) -> None:
        self._kept.remove(answer)
        self._bytes -= answer.size
