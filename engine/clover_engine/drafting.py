"""What to draft, and where to put masks for the next draft: what brings most tokens a millisecond.

A cycle is one forward. It verifies a draft with the causal model, and in the same forward masks
denoise the draft of the next cycle, behind every length of the draft that is likely to be accepted
(TiDAR, arXiv 2511.08923). Drafts are looked up in the text or come from the masks; how often either
has been right, and what rows cost, decides.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch

from clover_engine.cost import CostCurve
from clover_engine.lookup import Lookup
from clover_engine.models.parts import MASK, Layout
from clover_engine.sampler import Guess

MAX_ROWS = 16  # of a cycle: forwards of more are padded and not described by the cost curve
MAX_DRAFT = MAX_ROWS - 1  # tokens
SIZES = (2, 3, 4)  # masks behind one accepted length
_CERTAINTIES = 5  # kinds that a guess is sorted into by its confidence
_FADING = 0.99  # what each cycle leaves of the experience before it

Kind = tuple[str | int, ...]  # where a drafted token came from

# before anything was measured, longer matches deserve more trust: right and wrong drafts
_LOOKED_UP = {1: (2.0, 6.0), 2: (4.0, 4.0), 3: (5.0, 3.0), 4: (7.0, 2.0)}


@dataclass(frozen=True, slots=True)
class Plan:
    """One cycle: the draft to verify, the kind of each of its tokens, and the accepted lengths
    behind which `size` masks stand each."""

    draft: tuple[int, ...] = ()
    kinds: tuple[Kind, ...] = ()
    masked: tuple[int, ...] = ()
    size: int = 0

    @property
    def masks(self) -> int:
        """How many masks there are in all."""
        return len(self.masked) * self.size

    def tokens(self, pending: Sequence[int]) -> list[int]:
        """The tokens to read: those still unread, the draft, the masks."""
        return [*pending, *self.draft, *[MASK] * self.masks]

    def layout(self, pending: int, start: int) -> Layout | None:
        """Where those tokens stand behind `start` cached ones, `pending` of them unread.

        The causal model itself foretells the slot behind each of its rows, so the first mask stands
        for the slot after that one. A mask stands at the place before its slot, as causal rows do,
        and sees all before it and the masks beside it.
        """
        if not self.masked:
            return None
        causal, size = pending + len(self.draft), self.size
        rows = causal + self.masks
        positions = torch.arange(start, start + rows)
        visible = torch.ones(rows, rows, dtype=torch.bool).tril_()
        visible[causal:] = False
        for number, accepted in enumerate(self.masked):
            last, first = pending - 1 + accepted, causal + number * size
            group = slice(first, first + size)
            positions[group] = torch.arange(start + last + 1, start + last + 1 + size)
            visible[group, : last + 1] = True
            visible[group, group] = True
        return Layout(positions, visible)

    def guesses_behind(self, accepted: int) -> slice:
        """Which of the masks stand behind so many accepted tokens; none: an empty slice."""
        if accepted not in self.masked:
            return slice(0)
        first = self.masked.index(accepted) * self.size
        return slice(first, first + self.size)


class Experience:
    """How often drafted tokens were right, by their kind, given that all before them were."""

    def __init__(self) -> None:
        self._counts: dict[Kind, tuple[float, float]] = {}

    def rate(self, kind: Kind) -> float:
        """The chance that a token of this kind is right."""
        right, wrong = self._counts.get(kind) or _expected(kind)
        return right / (right + wrong)

    def record(self, kinds: Sequence[Kind], accepted: int) -> None:
        """Learn from a draft of which so many tokens were right."""
        for number, kind in enumerate(kinds[: accepted + 1]):
            right, wrong = self._counts.get(kind) or _expected(kind)
            good = number < accepted
            self._counts[kind] = (right + good, wrong + (not good))

    def fade(self) -> None:
        """A cycle has passed: all kinds come a little nearer to what was expected of them, so that
        one that proved useless, and is not tried any more, will be tried again."""
        for kind, counts in self._counts.items():
            right, wrong = (
                count + (1 - _FADING) * (usual - count)
                for count, usual in zip(counts, _expected(kind), strict=True)
            )
            self._counts[kind] = right, wrong


def _expected(kind: Kind) -> tuple[float, float]:
    match kind:
        case ("lookup", int(match), agreed):
            right, wrong = _LOOKED_UP[match]
            # a mask that says the same counts for much
            return (right + 4.0, wrong) if agreed else (right, wrong)
        case ("guess", int(certainty)):
            chance = (certainty + 0.5) / _CERTAINTIES
        case ("mask", int(number)):
            chance = 0.6 * 0.9**number
        case _:
            chance = 0.9  # what token healing took back
    return 8.0 * chance, 8.0 * (1 - chance)


class Drafter:
    """Plans the cycles of one job. Without `lookup` and `masks` every plan is empty."""

    def __init__(
        self, lookup: Lookup | None, masks: bool, curve: CostCurve, experience: Experience
    ) -> None:
        self._lookup = lookup
        self._masks = masks
        self._curve = curve
        self._experience = experience
        self._guesses: Sequence[Guess] = ()
        self._plan = Plan()
        self.judged = [0] * max(SIZES)  # masks by their number, as in `Stats`
        self.guessed = [0] * max(SIZES)

    def begin(self, removed: Sequence[int], room: int) -> Plan:
        """The first cycle: what token healing took back is the likeliest first text."""
        kinds = (("healed",),) * len(removed)
        self._plan = self._best([(tuple(removed), kinds)], room, shortest=len(removed))
        return self._plan

    def next(self, room: int) -> Plan:
        """The next cycle, in a hole that has room for so many tokens."""
        most = min(room - 1, MAX_DRAFT)
        drafts: list[tuple[tuple[int, ...], tuple[Kind, ...]]] = [((), ())]
        if self._lookup:
            match, found = self._lookup.find(most)
            if found:
                agreed = bool(self._guesses) and self._guesses[0].token == found[0]
                kind: Kind = ("lookup", match, agreed)
                drafts.append((tuple(found), (kind,) * len(found)))
        if self._guesses:
            guesses = self._guesses[:most]
            kinds = tuple(_kind(guess) for guess in guesses)
            drafts.append((tuple(guess.token for guess in guesses), kinds))
        self._plan = self._best(drafts, room, shortest=0)
        return self._plan

    def learn(self, accepted: int, written: Sequence[int], guesses: Sequence[Guess]) -> None:
        """What came of the last plan: how many drafted tokens were right, what was written with
        them, and what the masks behind it guess now."""
        self._experience.fade()
        self._experience.record(self._plan.kinds, accepted)
        self._judge(written)
        self._guesses = guesses
        if self._lookup:
            self._lookup.extend(written)

    def _judge(self, written: Sequence[int]) -> None:
        """Learn how good masks are, whatever became of their guesses: what more of them are worth.

        Guesses behind the first wrong one, and behind what is written, cannot be told.
        """
        for number, (guess, token) in enumerate(zip(self._guesses, written, strict=False)):
            right = guess.token == token
            self._experience.record([("mask", number)], int(right))
            self.judged[number] += 1
            self.guessed[number] += right
            if not right:
                return

    def _best(
        self,
        drafts: Sequence[tuple[tuple[int, ...], tuple[Kind, ...]]],
        room: int,
        shortest: int,
    ) -> Plan:
        best, speed = Plan(), 0.0
        for draft, kinds in drafts:
            reached = [1.0]
            for length in range(len(draft) + 1):
                if length:
                    reached.append(reached[-1] * self._experience.rate(kinds[length - 1]))
                if length < shortest:
                    continue
                for plan_speed, masked, size in self._with_masks(reached, room):
                    if plan_speed > speed:
                        speed = plan_speed
                        best = Plan(draft[:length], kinds[:length], masked, size)
        return best

    def _with_masks(
        self, reached: Sequence[float], room: int
    ) -> Iterator[tuple[float, tuple[int, ...], int]]:
        """Tokens a millisecond of a draft whose tokens are reached with these chances, with no
        masks and with those that pay: behind which accepted lengths, and how many each."""
        tokens, rows = sum(reached), len(reached)
        yield tokens / self._curve(rows), (), 0
        if not self._masks:
            return
        stops = [here - further for here, further in zip(reached, [*reached[1:], 0.0], strict=True)]
        likeliest = sorted(range(rows), key=lambda accepted: -stops[accepted])
        for size in SIZES:
            gain = self._gain(size)
            more = self._curve(1 + size) - self._curve(1)
            masked: list[int] = []
            value, later, speed = tokens, 0.0, 0.0
            for accepted in likeliest:
                # the next cycle can draft what has room in front of the token it brings itself
                if room - accepted - 2 < 1:
                    continue
                if rows + (len(masked) + 1) * size > MAX_ROWS:
                    break
                value += stops[accepted] * gain
                later += stops[accepted] * more
                cost = self._curve.masked(rows + (len(masked) + 1) * size) + later
                if value / cost <= speed:
                    break
                speed = value / cost
                masked.append(accepted)
            if masked:
                yield speed, tuple(sorted(masked)), size

    def _gain(self, size: int) -> float:
        """How many tokens of so many masks are right."""
        gain, chance = 0.0, 1.0
        for number in range(size):
            chance *= self._experience.rate(("mask", number))
            gain += chance
        return gain


def _kind(guess: Guess) -> Kind:
    return "guess", min(int(guess.confidence * _CERTAINTIES), _CERTAINTIES - 1)
