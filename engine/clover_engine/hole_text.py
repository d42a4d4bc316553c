"""The text of one hole while it is written: bytes, confidence, and when it is finished."""

from __future__ import annotations

from codecs import getincrementaldecoder
from collections.abc import Sequence
from math import inf, log

from clover_engine.api import Draft, Fill, Finish, Hole, Piece
from clover_engine.constraints import Constraint
from clover_engine.ending import FITTING, MOST_TESTED, PATIENCE, End, Ending
from clover_engine.errors import RequestError
from clover_engine.models.parts import MASK
from clover_engine.pattern import Mask
from clover_engine.sampler import Guess
from clover_engine.tokenizer import Vocabulary

_decoder = getincrementaldecoder("utf-8")
_LEAST = 1e-9  # chances below are all the same


class HoleText:
    """Committed tokens of one hole; what token healing took back is spelled first and not counted
    as text."""

    def __init__(
        self,
        hole: Hole,
        healed: bytes,
        ending: Ending,
        constraint: Constraint | None,
        vocabulary: Vocabulary,
        watched: bool = False,
    ) -> None:
        self.tokens: list[int] = []
        self.finish: Finish | None = None
        self._constraint = constraint
        self._hole = hole
        self._ending = ending
        self._vocabulary = vocabulary
        self._healed = len(healed)
        self._bytes = b""
        self._confidences: list[float] = []
        self._watched = watched
        self._length: int | None = None  # of the text, once the hole's end is found
        self.doubts: list[End] = []  # ends that must be tested before anything else is written
        self._open: list[End] = []  # ends that were not tested, nor believed
        self._placed = 0  # tokens behind which an end was looked for last
        self._likelihood = 0.0  # logarithm, of the tokens
        self._settled = 0.0  # what it was at the last test
        self._best: tuple[float, int | None] = (-inf, None)  # of tested ends: likelihood and length

    @property
    def room(self) -> int:
        """How many more tokens may be written."""
        return max(0, self._hole.max_tokens - len(self.tokens))

    @property
    def text(self) -> str:
        """The text so far, up to its end, without what stands right of the hole already and without
        a half-written character. While more may follow, what may become a stop string or prove to
        stand right of the hole is held back.
        """
        if self._length is not None:
            return self._decoded()[: self._length]
        text = _cut(self._decoded(), self._hole.stop)
        if self.finish in (Finish.STOP, Finish.LENGTH):
            return text[: len(text) - self._ending.again(text)]
        text = _settled(text, self._hole.stop)
        return text[: len(text) - self._ending.beyond(text, self._last)]

    def draft(self, number: int, ahead: Sequence[Guess] = (), settled: bool = False) -> Draft:
        """What to show of hole `number` now; `ahead` stands in the slots behind what is committed,
        `settled` where it is no mask."""
        text = self.text
        return Draft(text, number, self._pieces(len(text), ahead, settled) if self._watched else ())

    def _pieces(self, length: int, ahead: Sequence[Guess], settled: bool) -> tuple[Piece, ...]:
        """Each slot's part of the text, of what is committed so many characters."""
        decoder, healed = _decoder("replace"), self._healed
        pieces: list[Piece] = []
        for place, guess in enumerate([*map(Guess, self.tokens, self._confidences), *ahead]):
            data = b"" if guess.token == MASK else self._vocabulary.token_bytes(guess.token)
            text = decoder.decode(data[healed:])
            healed = max(0, healed - len(data))
            if place < len(self.tokens):
                text, length = text[:length], max(0, length - len(text))
                pieces.append(Piece(text, guess.confidence))
            elif self.finish is None:
                known = settled and guess.token != MASK
                pieces.append(Piece(text, guess.confidence, known))
        return tuple(piece for piece in pieces if piece.text or not piece.settled)

    def append(self, token: int, confidence: float) -> None:
        """Commit one token; sets `finish` when it completes a stop string or fills the hole."""
        self.tokens.append(token)
        self._bytes += self._vocabulary.token_bytes(token)
        self._confidences.append(confidence)
        self._likelihood += log(max(confidence, _LEAST))
        written = self._decoded()
        if self._constraint:
            self._constraint.advance(token)
            if self._constraint.must_end:
                self._length, self.finish = len(written), Finish.STOP
                return
        if any(stop in written for stop in self._hole.stop):
            self.finish = Finish.STOP
        elif (length := self._ending.by_rule(written)) is not None:
            self._length, self.finish = length, Finish.STOP
        elif (length := self._ending.by_scope(written)) is not None:
            self.finish = Finish.STOP
            self._run_on(length)
        elif not self.room:
            self.finish = Finish.LENGTH
            self._run_on()

    def allowed(self) -> Mask | None:
        """The tokens that may come next, bool [V]; None for all."""
        return self._constraint.allowed() if self._constraint else None

    @property
    def may_end(self) -> bool:
        """Whether what is written is all that is asked of the hole."""
        return self._constraint is None or self._constraint.may_end

    def end(self) -> None:
        """End here: the model would write nothing more, or nothing that is allowed."""
        self.finish = Finish.STOP
        if self._asks:
            self._length = len(self._decoded())
        elif not self._ending.is_line_end:
            self._run_on()

    def end_by_chance(self, chance: float) -> bool:
        """Whether the hole plausibly ends with the last token, as the end head says with `chance`,
        or what is written is too unsure to go on: it then ends there, or that is doubted."""
        if not self.tokens or not self.may_end or self._placed == len(self.tokens):
            return False
        self._placed = len(self.tokens)
        written = self._decoded()
        end = self._ending.place(len(self.tokens), written, self._last, chance)
        if end is None or len(written.encode()) < len(self._bytes) - self._healed:
            return False  # nor does a hole end inside a character
        if self._ending.is_plausible(end):
            if self._ending.is_certain(end):
                self._length, self.finish = end.length, Finish.STOP
            else:
                self.doubts = [end]
            return True
        self._open.append(end)
        if self._is_free and self._settled - self._likelihood > PATIENCE:
            self._doubt_open()
        return bool(self.doubts)

    def _doubt_open(self) -> None:
        """Test the likeliest of the ends that have not been."""
        self.doubts = sorted(self._open, key=lambda end: -end.chance)[:MOST_TESTED]
        self._open = []

    def _run_on(self, length: int | None = None) -> None:
        """Nothing more is written, and the text of so much `length` has no good end: the best of
        all may be before it."""
        self._length = length
        if self._is_free:
            self._length = length if self._best[1] is None else self._best[1]
            self._doubt_open()

    def settle(self, fits: Sequence[float]) -> None:
        """Decide what is doubted: `fits` are the log-likelihoods of what stands right of each end.

        An end is good whose right text follows well. Else the best is the one that makes all the
        text likeliest, the hole's and what follows it; nothing more is written once that is
        likelier than what is written already, since no later end can then be better.
        """
        doubts, self.doubts, self._settled = self.doubts, [], self._likelihood
        for end, fit in zip(doubts, fits, strict=True):
            written = sum(log(max(chance, _LEAST)) for chance in self._confidences[: end.tokens])
            self._best = max(self._best, (written + fit, end.length), key=lambda best: best[0])
        good = next((e for e, f in zip(doubts, fits, strict=True) if f > FITTING), None)
        if self.finish:
            self._length = self._best[1]
        elif good:
            self._length, self.finish = good.length, Finish.STOP
        elif self._is_free and self._best[0] >= self._likelihood:
            self._length, self.finish = self._best[1], Finish.STOP

    def fill(self) -> Fill:
        """What is in the hole now.

        Raises RequestError when there was no room for all that is asked of it.
        """
        if self.may_end or self._hole.max_tokens == 0:
            return Fill(
                self.text, min(self._confidences, default=1.0), self.finish or Finish.LENGTH
            )
        if self.finish is Finish.DEADLINE or not self._asks:
            return Fill("", min(self._confidences, default=1.0), self.finish or Finish.LENGTH)
        raise RequestError(
            f"{self._hole.max_tokens} tokens are too few for what is asked of the hole"
        )

    @property
    def _is_free(self) -> bool:
        """Whether its ends can be compared, and nobody who asks for the hole knows them better."""
        return self._ending.is_testable and not self._hole.stop

    @property
    def _asks(self) -> bool:
        """Whether the hole asks for certain texts only."""
        return self._hole.choices is not None or self._hole.pattern is not None

    @property
    def _last(self) -> int:
        """How many characters the last token brought."""
        if not self.tokens:
            return 0
        return len(self._vocabulary.token_bytes(self.tokens[-1]).decode("utf-8", "replace"))

    def _decoded(self) -> str:
        return _decoder("replace").decode(self._bytes[self._healed :])


def _cut(text: str, stops: tuple[str, ...]) -> str:
    return text[: min((text.find(stop) for stop in stops if stop in text), default=len(text))]


def _settled(text: str, stops: tuple[str, ...]) -> str:
    """The text without an end that is the beginning of a stop string."""
    begun = (n for stop in stops for n in range(1, len(stop)) if text.endswith(stop[:n]))
    return text[: len(text) - max(begun, default=0)]
