"""A broken-off run goes on where it ended."""

from __future__ import annotations

from pathlib import Path

import pytest

from clover_engine.api import Stats
from clover_write.bench.journal import Journal, JournalError, Outcome

PLAN = {"kind": "single-line", "rows": ["int8-lookup"]}


def _outcome(task: str) -> Outcome:
    return Outcome(task, "int8-lookup", "cold", "灯\ud800", 1.5, Stats(forwards=2), True, False)


def _filled(path: Path) -> bytes:
    with Journal(path, PLAN) as journal:
        for task in ("1", "2"):
            journal.add(task, [_outcome(task)])
    return path.read_bytes()


def test_results_are_read_back(tmp_path: Path) -> None:
    _filled(tmp_path / "run.jsonl")
    with Journal(tmp_path / "run.jsonl", PLAN) as journal:
        assert journal.done == {task: [_outcome(task)] for task in ("1", "2")}


def test_wherever_it_was_cut_off_it_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    whole = _filled(path)
    for size in range(0, len(whole), 11):
        path.write_bytes(whole[:size])
        with Journal(path, PLAN) as journal:
            assert set(journal.done) <= {"1", "2"}
            for task in {"1", "2"} - set(journal.done):
                journal.add(task, [_outcome(task)])
        with Journal(path, PLAN) as journal:
            assert set(journal.done) == {"1", "2"}


def test_the_journal_of_another_run_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    before = _filled(path)
    with pytest.raises(JournalError, match="another run"):
        Journal(path, {**PLAN, "kind": "multi-line"})
    assert path.read_bytes() == before


@pytest.mark.parametrize("content", [b"notes\n", b"{}\n[]\n", b'{}\n{"task_id": 1}\n', b"\xff\n"])
def test_another_file_is_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    with pytest.raises(JournalError):
        Journal(path, PLAN)
    assert path.read_bytes() == content
