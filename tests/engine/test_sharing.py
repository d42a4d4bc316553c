"""Jobs that share forwards write what they would write alone, and do not wait for one another."""

from __future__ import annotations

import random
from collections.abc import Sequence
from concurrent.futures import Future
from itertools import count
from typing import TYPE_CHECKING

import pytest

from clover_engine.api import (
    CanvasRequest,
    Draft,
    Drafting,
    Filled,
    Hole,
    Literal,
    Stats,
    Steps,
    infill_request,
)
from clover_engine.company import SHARED_ROWS, Company
from clover_engine.errors import Cancelled
from clover_engine.job import Outcome
from clover_engine.runner import Runner
from clover_engine.steps import Forward
from tests.support.driving import random_document, run

if TYPE_CHECKING:
    from clover_engine.engine import LocalEngine

WAIT_S = 60.0
LONG = "def name(self):\n    return self.value\n\n" * 12 + "def val"
_names = count()


class Watched:
    """An engine that notes how many forwards its jobs share, and how many rows each has."""

    def __init__(self, engine: LocalEngine) -> None:
        self.rounds: list[list[int]] = []
        self.info = engine.info
        self.start = engine.start
        self._engine = engine

    def forward(self, needs: Sequence[Sequence[Forward]]) -> Sequence[object]:
        self.rounds.append([sum(len(each.tokens) for each in need) for need in needs])
        return self._engine.forward(needs)


def together(engine: Watched, requests: Sequence[CanvasRequest]) -> list[Filled]:
    """All of them, each of another user, at once."""
    runner = Runner(lambda: engine)
    answers: list[Future[Outcome]] = [Future() for _ in requests]
    for number, (request, answer) in enumerate(zip(requests, answers, strict=True)):
        runner.submit(request, lambda _: None, answer.set_result, f"user {number}")
    outcomes = [answer.result(WAIT_S) for answer in answers]
    assert runner.close(WAIT_S)
    assert all(isinstance(outcome, Filled) for outcome in outcomes), outcomes
    return [outcome for outcome in outcomes if isinstance(outcome, Filled)]


def requests(seeds: Sequence[int], drafting: Drafting) -> list[CanvasRequest]:
    """Infills of unlike lengths, and a canvas with two lines of holes."""
    infills = [
        infill_request(*random_document(seed), max_tokens=8 + seed % 5 * 4, drafting=drafting)
        for seed in seeds
    ]
    holes = (Literal("a = "), Hole(6), Literal("\nb = "), Hole(6), Literal("\n"))
    return [*infills, CanvasRequest(holes, drafting=drafting)]


@pytest.mark.parametrize("drafting", [Drafting.NONE, Drafting.BOTH])
def test_texts_are_those_that_each_writes_alone(
    float_engine: LocalEngine, drafting: Drafting
) -> None:
    asked = requests(range(7), drafting)
    alone = [run(float_engine, request).filled for request in asked]
    watched = Watched(float_engine)
    shared = together(watched, asked)
    texts = [[fill.text for fill in filled.fills] for filled in shared]
    assert texts == [[fill.text for fill in filled.fills] for filled in alone]
    assert max(map(len, watched.rounds)) == len(asked)


def test_a_long_prompt_is_read_in_small_portions_beside_others(float_engine: LocalEngine) -> None:
    asked = [infill_request("x = ", "\n", max_tokens=40), infill_request(LONG, "\n", max_tokens=2)]
    watched = Watched(float_engine)
    together(watched, asked)
    shared = [rows for rows in watched.rounds if len(rows) == 2]
    assert shared
    assert max(map(max, shared)) <= SHARED_ROWS + 16
    alone = Watched(float_engine)
    together(alone, asked[1:])
    assert max(map(max, alone.rounds)) > 2 * SHARED_ROWS


def test_a_cancelled_job_leaves_the_others_and_the_caches_as_they_were(
    float_engine: LocalEngine,
) -> None:
    chance = random.Random(0)
    documents = [random_document(seed) for seed in range(4)]
    expected = [
        run(float_engine, infill_request(*document, max_tokens=12)).filled.fills[0].text
        for document in documents
    ]
    session = next(_names)
    runner = Runner(lambda: float_engine)
    for _ in range(6):
        answers: list[Future[Outcome]] = [Future() for _ in documents]
        jobs = [
            runner.submit(
                infill_request(*document, max_tokens=12, document=f"{session} {number}"),
                lambda _: None,
                answer.set_result,
                f"user {number}",
            )
            for number, (document, answer) in enumerate(zip(documents, answers, strict=True))
        ]
        ended = chance.randrange(len(jobs))
        jobs[ended].cancel()
        for number, answer in enumerate(answers):
            outcome = answer.result(WAIT_S)
            if isinstance(outcome, Cancelled):
                assert number == ended
            else:
                assert isinstance(outcome, Filled)
                assert outcome.fills[0].text == expected[number]
    assert runner.close(WAIT_S)


def test_who_left_is_no_company() -> None:
    def job() -> Steps:
        yield Draft("")
        return Filled((), Stats())

    company = Company()
    stays, leaves = company.joined(job()), company.joined(job())
    next(stays)
    next(leaves)
    assert not company.is_one
    leaves.close()
    assert company.is_one
