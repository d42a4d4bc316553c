"""Runs the rows interleaved, problem by problem, so that the machine's moods hit all alike."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace

from clover_engine.api import Hole
from clover_write.bench.cases import COLD, Visit, benchmark_ask, visits
from clover_write.bench.hei import Kind, Problem
from clover_write.bench.journal import Journal, Outcome
from clover_write.bench.rows import Row
from clover_write.bench.sandbox import Sandbox, Verdict

WARM_UP = benchmark_ask("def add(a, b):\n    return ", "\n\n\nprint(add(1, 2))\n", Hole(8, ("\n",)))


async def run(
    problems: Sequence[Problem],
    kind: Kind,
    cases: Sequence[str],
    rows: Sequence[Row],
    sandbox: Sandbox,
    journal: Journal,
    progress: Callable[[int, int], None],
) -> list[Outcome]:
    """Every outcome of these problems, also those the journal holds already.

    Raises CloverError when a row fails; what is finished stays in the journal.
    """
    for row in rows:
        await row.answer("warm-up", WARM_UP, fresh=True)
    for number, problem in enumerate(problems):
        if problem.task_id not in journal.done:
            order = [*rows[number % len(rows) :], *rows[: number % len(rows)]]
            outcomes = [
                outcome
                for visit in visits(problem, kind, number, cases)
                for row in order
                for outcome in await _visit(problem, kind, visit, row)
            ]
            judged = await asyncio.to_thread(_judge, problem, kind, outcomes, sandbox)
            journal.add(problem.task_id, judged)
        progress(number + 1, len(problems))
    return [outcome for problem in problems for outcome in journal.done[problem.task_id]]


async def _visit(problem: Problem, kind: Kind, visit: Visit, row: Row) -> list[Outcome]:
    """The measured steps of a visit."""
    document = f"{problem.task_id}/{visit.name}"
    outcomes = []
    for number, step in enumerate(visit.steps):
        answer = await row.answer(document, step.ask, fresh=number == 0)
        if step.case:
            case = Outcome(
                problem.task_id, row.name, step.case, answer.text, answer.ms, answer.stats
            )
            outcomes.append(case)
    return outcomes


def _judge(
    problem: Problem, kind: Kind, outcomes: Sequence[Outcome], sandbox: Sandbox
) -> list[Outcome]:
    """Run the tests of the benchmark's own question; equal texts have one verdict."""
    verdicts: dict[str, Verdict] = {}
    judged = []
    for outcome in outcomes:
        if outcome.case == COLD:
            completion = kind.completion(outcome.text)
            if completion not in verdicts:
                verdicts[completion] = sandbox.run(problem.program(completion))
            verdict = verdicts[completion]
            outcome = replace(
                outcome,
                passed=verdict.passed,
                exact=problem.exact(completion),
                reason=verdict.reason,
            )
        judged.append(outcome)
    return judged
