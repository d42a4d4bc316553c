"""Several users of one engine: what sharing forwards brings, and how evenly they are served."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from clover_engine.api import CanvasRequest, Drafting, Ends, Hole, Literal
from clover_engine.inproc import InprocClient
from clover_engine.runner import Runner

LINES = 40  # left of a hole, and as many right of it
SHORT = 16  # tokens of a hole while fairness is measured

Written: TypeAlias = tuple[str, int]  # a text, and its tokens


@dataclass(frozen=True, slots=True)
class User:
    """One of the users, with a place in a file to write at."""

    name: str
    runner: Runner
    left: str
    right: str
    document: str = "bench"

    async def read(self) -> None:
        """Bring the prompt into the engine's cache: what is measured afterwards is writing."""
        await self.write(0)

    async def write(self, tokens: int) -> Written:
        """The text of the hole; nothing is drafted, no end looked for."""
        request = CanvasRequest(
            (Literal(self.left), Hole(tokens), Literal(self.right)),
            document=self.document,
            drafting=Drafting.NONE,
            ends=Ends.NONE,
        )
        filled = await InprocClient(self.runner, self.name).fill(request)
        return filled.fills[0].text, filled.stats.tokens


def users_of(runner: Runner, text: str, number: int) -> list[User]:
    """`number` users, each at another place of `text`."""
    lines = text.splitlines(keepends=True)
    places = [LINES + (len(lines) - 2 * LINES) * each // number for each in range(number)]
    return [
        User(
            f"user {each}",
            runner,
            "".join(lines[place - LINES : place]),
            "".join(lines[place + 1 : place + LINES]),
        )
        for each, place in enumerate(places)
    ]


async def speeds(users: Sequence[User], tokens: int, rounds: int) -> dict[str, Any]:
    """All users' holes one at a time and at once, in turns; figures of the fastest rounds."""
    for user in users:
        await user.read()
    apart, together = [], []
    for _ in range(rounds):
        apart.append(await _timed(_one_by_one, users, tokens))
        together.append(await _timed(_at_once, users, tokens))
    texts = {tuple(text for text, _ in each.written) for each in (*apart, *together)}
    one, all_of_them = _fastest(apart), _fastest(together)
    return {
        "users": len(users),
        "one at a time": one,
        "at once": all_of_them,
        "ratio": {name: all_of_them[name] / one[name] for name in one},
        "identical texts": len(texts) == 1,
    }


async def fairness(users: Sequence[User], seconds: float, crowd: int = 0) -> dict[str, Any]:
    """Tokens brought to each user, who asks again as soon as an answer is there, all at the place
    where most is written. Beside them, one more user has `crowd` requests open all the time; that
    user's tokens are not compared."""
    written = [(await user.write(SHORT))[1] for user in users]
    place = users[written.index(max(written))]
    users = [replace(place, name=user.name) for user in users]
    for user in users:
        await user.read()
    until = time.monotonic() + seconds
    served: Counter[str] = Counter()

    async def ask(user: User) -> None:
        while time.monotonic() < until:
            _, tokens = await user.write(SHORT)
            served[user.name] += tokens

    crowds = [
        replace(users[0], name="crowd", document=f"bench {number}") for number in range(crowd)
    ]
    await asyncio.gather(*map(ask, (*users, *crowds)))
    equals = [served[user.name] for user in users]
    return {
        "seconds": seconds,
        "crowd": crowd,
        "tokens": dict(served),
        "most to least": max(equals) / max(min(equals), 1),
    }


@dataclass(frozen=True, slots=True)
class _Pass:
    """What one pass over all users wrote, the seconds it took and those of processor time."""

    written: Sequence[Written]
    seconds: float
    processor_s: float


async def _timed(
    work: Callable[[Sequence[User], int], Awaitable[Sequence[Written]]],
    users: Sequence[User],
    tokens: int,
) -> _Pass:
    began, spent = time.perf_counter(), time.process_time()
    written = await work(users, tokens)
    return _Pass(written, time.perf_counter() - began, time.process_time() - spent)


async def _one_by_one(users: Sequence[User], tokens: int) -> Sequence[Written]:
    return [await user.write(tokens) for user in users]


async def _at_once(users: Sequence[User], tokens: int) -> Sequence[Written]:
    return await asyncio.gather(*(user.write(tokens) for user in users))


def _fastest(passes: Sequence[_Pass]) -> dict[str, float]:
    """Tokens a second, and a second of processor time, which other programs disturb less."""
    tokens = sum(number for _, number in passes[0].written)
    return {
        "tokens/s": tokens / min(each.seconds for each in passes),
        "tokens/processor s": tokens / min(each.processor_s for each in passes),
    }
