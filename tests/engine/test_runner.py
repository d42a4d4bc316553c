"""The runner: whose turn it is, and that every job ends exactly once whatever happens."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field

import pytest

from clover_engine import runner as runner_module
from clover_engine.api import (
    CanvasRequest,
    DeadlinePassed,
    Draft,
    Engine,
    EngineInfo,
    EngineState,
    Fill,
    Filled,
    Finish,
    Priority,
    Steps,
    infill_request,
)
from clover_engine.errors import Cancelled, EngineBusy, EngineError, EngineUnavailable, ModelError
from clover_engine.fake import FakeEngine, Script
from clover_engine.inproc import InprocClient
from clover_engine.job import Job, Outcome
from clover_engine.runner import MAX_WAITING, MOST_TOGETHER, Runner

WAIT_S = 5.0


class GatedEngine:
    """Each forward waits for the test to let it pass; the log tells what happened when."""

    def __init__(self, forwards: int = 2) -> None:
        self.info = EngineInfo(model="gated")
        self.log: list[str] = []
        self._forwards = forwards
        self._gate = threading.Semaphore(0)
        self._entered = threading.Semaphore(0)

    def start(self, request: CanvasRequest) -> Steps:
        self.log.append(f"start {request.document}")
        return self._steps(request.document)

    def _steps(self, name: str) -> Steps:
        done = 0
        finish = Finish.STOP
        try:
            while done < self._forwards:
                yield name
                done += 1
                yield Draft(f"{name}{done}")
        except DeadlinePassed:
            finish = Finish.DEADLINE
        except GeneratorExit:
            self.log.append(f"close {name}")
            raise
        return Filled((Fill(f"{name}{done}", 1.0, finish),))

    def forward(self, needs: Sequence[str]) -> Sequence[None]:
        self.log.append(" ".join(("forward", *needs)))
        self._entered.release()
        assert self._gate.acquire(timeout=WAIT_S)
        return [None] * len(needs)

    def wait_entered(self) -> None:
        """Until a forward is under way."""
        assert self._entered.acquire(timeout=WAIT_S)

    def let_pass(self, forwards: int = 1000) -> None:
        self._gate.release(forwards)


@dataclass
class Asked:
    """A submitted job and what came of it; a second answer would raise InvalidStateError."""

    job: Job
    answer: Future[Outcome]
    drafts: list[str] = field(default_factory=list)

    def outcome(self) -> Outcome:
        return self.answer.result(WAIT_S)

    def text(self) -> str:
        outcome = self.outcome()
        assert isinstance(outcome, Filled), repr(outcome)
        return outcome.fills[0].text


Run = Callable[[Callable[[], Engine]], Runner]


def ask(
    runner: Runner,
    document: str = "",
    priority: Priority = Priority.INTERACTIVE,
    deadline_ms: int | None = None,
    user: str = "",
) -> Asked:
    answer: Future[Outcome] = Future()
    drafts: list[str] = []
    request = infill_request("", "", document=document, priority=priority, deadline_ms=deadline_ms)
    job = runner.submit(request, lambda draft: drafts.append(draft.text), answer.set_result, user)
    return Asked(job, answer, drafts)


@pytest.fixture
def run() -> Iterator[Run]:
    """Makes runners and ends them after the test."""
    made: list[Runner] = []

    def make(load: Callable[[], Engine]) -> Runner:
        made.append(Runner(load, model="some-model"))
        return made[-1]

    yield make
    for runner in made:
        assert runner.close(WAIT_S)
        assert runner.jobs == 0


def test_a_job_streams_drafts_and_ends_filled(run: Run) -> None:
    asked = ask(run(lambda: FakeEngine(Script("return a + b"))))
    assert asked.text() == "return a + b"
    assert asked.drafts == ["return", "return a", "return a +", "return a + b"]


def test_its_state_can_be_watched(run: Run) -> None:
    gate = threading.Event()

    def load() -> Engine:
        gate.wait(WAIT_S)
        return FakeEngine()

    runner = run(load)
    assert runner.info == EngineInfo("some-model", state=EngineState.LOADING)
    asked = ask(runner)
    gate.set()
    asked.outcome()
    assert runner.info == FakeEngine().info


def test_cancelling_a_running_job_spares_its_next_forward(run: Run) -> None:
    engine = GatedEngine()
    runner = run(lambda: engine)
    asked = ask(runner, "a")
    engine.wait_entered()
    asked.job.cancel()
    asked.job.cancel()
    engine.let_pass()
    assert isinstance(asked.outcome(), Cancelled)
    assert engine.log == ["start a", "forward a", "close a"]
    assert ask(runner, "b").text() == "b2"


def test_cancelling_a_waiting_job_answers_at_once(run: Run) -> None:
    engine = GatedEngine()
    runner = run(lambda: engine)
    first = ask(runner, "a")
    engine.wait_entered()
    second = ask(runner, "b")
    second.job.cancel()
    assert isinstance(second.answer.result(0), Cancelled)
    engine.let_pass()
    assert first.text() == "a2"
    assert "start b" not in engine.log


def test_the_latest_request_of_a_document_wins(run: Run) -> None:
    engine = GatedEngine()
    runner = run(lambda: engine)
    running = ask(runner, "a")
    engine.wait_entered()
    waiting, newest = ask(runner, "a"), ask(runner, "a")
    assert isinstance(waiting.answer.result(0), Cancelled)
    engine.let_pass()
    assert isinstance(running.outcome(), Cancelled)
    assert newest.text() == "a2"


def test_requests_of_other_documents_or_of_none_do_not_compete(run: Run) -> None:
    engine = GatedEngine()
    runner = run(lambda: engine)
    asked = [ask(runner, "a"), ask(runner, "b"), ask(runner, ""), ask(runner, "")]
    engine.let_pass()
    assert [each.text() for each in asked] == ["a2", "b2", "2", "2"]


def test_background_work_makes_way_and_is_done_later(run: Run) -> None:
    engine = GatedEngine(forwards=3)
    runner = run(lambda: engine)
    background = ask(runner, "back", Priority.BACKGROUND)
    engine.wait_entered()
    also_waiting = ask(runner, "back2", Priority.BACKGROUND)
    interactive = ask(runner, "front")
    engine.let_pass()
    assert [asked.text() for asked in (interactive, background, also_waiting)] == [
        "front3",
        "back3",
        "back23",
    ]
    starts = [line for line in engine.log if not line.startswith("forward")]
    assert starts == ["start back", "close back", "start front", "start back", "start back2"]


def test_background_work_is_superseded_but_never_supersedes_interactive(run: Run) -> None:
    engine = GatedEngine()
    runner = run(lambda: engine)
    interactive = ask(runner, "a")
    engine.wait_entered()
    old, new = ask(runner, "a", Priority.BACKGROUND), ask(runner, "a", Priority.BACKGROUND)
    assert isinstance(old.answer.result(0), Cancelled)
    engine.let_pass()
    assert interactive.text() == "a2"
    assert new.text() == "a2"


def test_a_job_past_its_deadline_returns_what_is_clean(run: Run) -> None:
    engine = GatedEngine()
    asked = ask(run(lambda: engine), "a", deadline_ms=0)
    outcome = asked.outcome()
    assert isinstance(outcome, Filled)
    assert outcome.fills == (Fill("a0", 1.0, Finish.DEADLINE),)
    assert engine.log == ["start a"]


def test_a_full_queue_says_so(run: Run) -> None:
    engine = GatedEngine()
    runner = run(lambda: engine)
    ask(runner, "running")
    engine.wait_entered()
    asked = [ask(runner, str(number)) for number in range(MAX_WAITING)]
    with pytest.raises(EngineBusy):
        ask(runner, "one more")
    # a newer request takes the place of the one it supersedes
    newer = ask(runner, "0")
    assert isinstance(asked[0].outcome(), Cancelled)
    engine.let_pass()
    assert newer.text() == "02"


def test_a_model_that_does_not_load_fails_every_job_until_it_does(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner_module, "RELOAD_S", 0.0)
    present = threading.Event()

    def load() -> Engine:
        if not present.is_set():
            raise ModelError("the model is missing: pull it")
        return FakeEngine(Script("here"))

    runner = run(load)
    for _ in range(2):
        outcome = ask(runner).outcome()
        assert isinstance(outcome, ModelError)
        assert runner.info.state is EngineState.FAILED
        assert runner.info.detail == "the model is missing: pull it"
    present.set()
    assert ask(runner).text() == "here"
    assert runner.info.state is EngineState.READY


def test_a_bug_in_one_job_fails_that_job_alone_and_quotes_no_text(
    run: Run, caplog: pytest.LogCaptureFixture
) -> None:
    runner = run(lambda: FakeEngine(Script("x", error="SecretText")))
    for _ in range(2):
        outcome = ask(runner).outcome()
        assert type(outcome) is EngineError
        assert "RuntimeError" in str(outcome)
    assert "fake.py" in caplog.text
    assert "SecretText" not in caplog.text


def test_closing_ends_every_job() -> None:
    engine = GatedEngine()
    runner = Runner(lambda: engine)
    running = ask(runner, "a")
    engine.wait_entered()
    waiting = ask(runner, "b")
    assert not runner.close(0)
    assert isinstance(waiting.answer.result(0), Cancelled)
    engine.let_pass()
    assert isinstance(running.outcome(), Cancelled)
    assert runner.close(WAIT_S)
    with pytest.raises(EngineUnavailable):
        ask(runner)


def test_jobs_share_forwards(run: Run) -> None:
    engine = GatedEngine()
    runner = run(lambda: engine)
    first = ask(runner, "a")
    engine.wait_entered()
    others = [ask(runner, name) for name in "bc"]
    engine.let_pass()
    assert [asked.text() for asked in (first, *others)] == ["a2", "b2", "c2"]
    forwards = [line for line in engine.log if line.startswith("forward")]
    assert forwards == ["forward a", "forward a b c", "forward b c"]


def test_a_document_has_one_job_at_a_time(run: Run) -> None:
    engine = GatedEngine()
    runner = run(lambda: engine)
    interactive = ask(runner, "a")
    engine.wait_entered()
    background = ask(runner, "a", Priority.BACKGROUND)
    other = ask(runner, "b")
    engine.let_pass()
    assert [asked.text() for asked in (interactive, background, other)] == ["a2", "a2", "b2"]
    assert "forward a b" in engine.log
    assert "forward a a" not in engine.log


def test_a_newer_job_waits_until_the_one_it_supersedes_is_gone(run: Run) -> None:
    newer: list[Asked] = []

    class Superseding(GatedEngine):
        def start(self, request: CanvasRequest) -> Steps:
            # between two jobs of one round, while the older one still runs
            if request.document == "x":
                newer.append(ask(runner, "a"))
            return super().start(request)

    engine = Superseding(forwards=3)
    runner = run(lambda: engine)
    older = ask(runner, "a")
    engine.wait_entered()
    ask(runner, "x")
    engine.let_pass()
    assert isinstance(older.outcome(), Cancelled)
    assert newer[0].text() == "a3"
    assert not any(line.split().count("a") > 1 for line in engine.log)
    assert engine.log.index("close a") < engine.log.index("start a", 1)


def test_users_do_not_share_documents_nor_supersede_one_another(run: Run) -> None:
    engine = GatedEngine()
    runner = run(lambda: engine)
    asked = [ask(runner, "a", user=user) for user in ("", "ann", "bob")]
    engine.let_pass()
    texts = [each.text() for each in asked]
    assert len(set(texts)) == len(texts)


def test_one_users_background_work_does_not_wait_for_another_user(run: Run) -> None:
    engine = GatedEngine(forwards=3)
    runner = run(lambda: engine)
    background = ask(runner, "back", Priority.BACKGROUND, user="ann")
    engine.wait_entered()
    interactive = ask(runner, "front", user="bob")
    engine.let_pass()
    assert [background.text(), interactive.text()] == ["ann\0back3", "bob\0front3"]
    assert not any(line.startswith("close") for line in engine.log)


def test_a_user_with_many_jobs_does_not_keep_others_waiting(run: Run) -> None:
    engine = GatedEngine()
    runner = run(lambda: engine)
    many = [ask(runner, f"a{number}", user="ann") for number in range(MOST_TOGETHER * 3)]
    engine.wait_entered()
    late = ask(runner, "b", user="bob")
    engine.let_pass()
    assert late.text() == "bob\0b2"
    for asked in many:
        asked.text()
    started = [line.split()[-1] for line in engine.log if line.startswith("start")]
    assert started.index("bob\0b") <= MOST_TOGETHER


def test_whose_queue_is_full_does_not_keep_others_out(run: Run) -> None:
    engine = GatedEngine()
    runner = run(lambda: engine)
    ask(runner, "running")
    engine.wait_entered()
    for number in range(MAX_WAITING):
        ask(runner, str(number), user="ann")
    with pytest.raises(EngineBusy):
        ask(runner, "one more", user="ann")
    other = ask(runner, "a", user="bob")
    engine.let_pass()
    assert other.text() == "bob\0a2"


def test_a_forward_that_fails_fails_the_job_at_fault_alone(run: Run) -> None:
    class Faulty(GatedEngine):
        def forward(self, needs: Sequence[str]) -> Sequence[None]:
            super().forward(needs)
            if "bad" in needs:
                raise RuntimeError("a bug")
            return [None] * len(needs)

    engine = Faulty()
    runner = run(lambda: engine)
    first = ask(runner, "a")
    engine.wait_entered()
    bad, good = ask(runner, "bad"), ask(runner, "b")
    engine.let_pass()
    assert [first.text(), good.text()] == ["a2", "b2"]
    assert type(bad.outcome()) is EngineError


async def test_the_client_in_process_fills_and_raises(run: Run) -> None:
    client = InprocClient(run(lambda: FakeEngine()))
    drafts: list[Draft] = []
    filled = await client.fill(infill_request("total = 1\nto", ""), drafts.append)
    assert filled.fills[0].text == "tal = 1"
    assert drafts[-1] == Draft("tal = 1")
    marked = '# clover-fake: {"error": "ModelError"}\n'
    with pytest.raises(ModelError, match="scripted"):
        await client.fill(infill_request(marked, ""))
    assert (await client.info()).model == "fake"


async def test_cancelling_the_task_cancels_the_job(run: Run) -> None:
    engine = GatedEngine()
    runner = run(lambda: engine)
    client = InprocClient(runner)
    task = asyncio.create_task(client.fill(infill_request("", "", document="a")))
    await asyncio.to_thread(engine.wait_entered)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    engine.let_pass()
    await client.close()
    assert engine.log == ["start a", "forward a", "close a"]
