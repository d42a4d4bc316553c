"""The text of one hole while it is written: bytes, confidence, and when it is finished."""

from __future__ import annotations

from codecs import getincrementaldecoder

from clover_engine.api import Fill, Finish, Hole
from clover_engine.healing import Constraint
from clover_engine.tokenizer import Vocabulary

_decoder = getincrementaldecoder("utf-8")


class HoleText:
    """Committed tokens of one hole; what token healing took back is spelled first and not counted
    as text."""

    def __init__(self, hole: Hole, healed: bytes, vocabulary: Vocabulary) -> None:
        self.tokens: list[int] = []
        self.finish: Finish | None = None
        self.constraint = Constraint(healed, vocabulary)
        self._hole = hole
        self._vocabulary = vocabulary
        self._healed = len(healed)
        self._bytes = b""
        self._confidence = 1.0

    @property
    def room(self) -> int:
        """How many more tokens may be written."""
        return max(0, self._hole.max_tokens - len(self.tokens))

    @property
    def text(self) -> str:
        """The text so far, up to the first stop string and without a half-written character.

        While more may follow, an end that may become a stop string is held back.
        """
        text = _cut(self._decoded(), self._hole.stop)
        ended = self.finish in (Finish.STOP, Finish.LENGTH)
        return text if ended else _settled(text, self._hole.stop)

    def append(self, token: int, confidence: float) -> None:
        """Commit one token; sets `finish` when it completes a stop string or fills the hole."""
        if self.constraint.open:
            self.constraint.advance(token)
        self.tokens.append(token)
        self._bytes += self._vocabulary.token_bytes(token)
        self._confidence = min(self._confidence, confidence)
        if any(stop in self._decoded() for stop in self._hole.stop):
            self.finish = Finish.STOP
        elif not self.room:
            self.finish = Finish.LENGTH

    def fill(self) -> Fill:
        """What is in the hole now."""
        return Fill(self.text, self._confidence, self.finish or Finish.LENGTH)

    def _decoded(self) -> str:
        return _decoder("replace").decode(self._bytes[self._healed :])


def _cut(text: str, stops: tuple[str, ...]) -> str:
    return text[: min((text.find(stop) for stop in stops if stop in text), default=len(text))]


def _settled(text: str, stops: tuple[str, ...]) -> str:
    """The text without an end that is the beginning of a stop string."""
    begun = (n for stop in stops for n in range(1, len(stop)) if text.endswith(stop[:n]))
    return text[: len(text) - max(begun, default=0)]
