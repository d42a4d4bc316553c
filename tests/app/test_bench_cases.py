"""The moments of editing made from a problem are what their names say."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clover_engine.api import CanvasRequest, Literal
from clover_write.bench import hei
from clover_write.bench.cases import (
    BRACKET,
    CLOSERS,
    COLD,
    LONG_LINES,
    MOVED,
    NEXT,
    Visit,
    long_file,
    visits,
)

PROBLEM = hei.Problem(
    "T/1", "f", "def f(a):\n", "    return b\n", "    b = max(a)\n", "def check(f): ..."
)
KIND = hei.KINDS["single-line"]


def _visit(problem: hei.Problem, case: str) -> Visit | None:
    made = visits(problem, KIND, 1, [case])
    return made[0] if made else None


def _literals(canvas: CanvasRequest) -> list[str]:
    return [part.text for part in canvas.segments if isinstance(part, Literal)]


def _asked(problem: hei.Problem, case: str) -> Visit:
    visit = _visit(problem, case)
    assert visit
    return visit


def test_cold_is_the_benchmarks_question() -> None:
    (step,) = _asked(PROBLEM, "cold").steps
    assert step.case == COLD
    assert _literals(step.ask.canvas) == [PROBLEM.prompt, PROBLEM.suffix]
    assert (step.ask.hole.max_tokens, step.ask.hole.stop) == (64, ("\n",))


def test_next_character() -> None:
    before, after = _asked(PROBLEM, "next").steps
    assert (before.case, after.case) == ("", NEXT)
    assert before.ask.left == "def f(a):\n    b = "
    assert after.ask.left == "def f(a):\n    b = m"
    assert after.ask.right == before.ask.right == "\n    return b\n"


def test_paired_bracket() -> None:
    before, after = _asked(PROBLEM, "bracket").steps
    assert (before.case, after.case) == ("", BRACKET)
    assert after.ask.left == "def f(a):\n    b = max("
    assert after.ask.right == ")\n    return b\n"
    # the language server keeps the closer out, so the right side is the same as before
    assert _literals(after.ask.canvas)[1] == _literals(before.ask.canvas)[1]


def test_moved_line() -> None:
    before, after = _asked(PROBLEM, "moved").steps
    assert (before.case, after.case) == ("", MOVED)
    assert before.ask.left == "def f(a):\n    b = max(a)"
    assert after.ask.left == "def f(a):\n    b = max(a)\n    return b"


@given(st.text("ab(\n ", max_size=9), st.text("ab([ =", min_size=1), st.text("ab)\n", max_size=9))
def test_every_problem_makes_true_moments(prompt: str, line: str, suffix: str) -> None:
    problem = hei.Problem("T", "f", f"{prompt}\n", suffix, f"{line}\n", "")
    text = f"{prompt}\n{line}\n{suffix}"
    if visit := _visit(problem, "next"):
        before, after = (step.ask for step in visit.steps)
        assert after.left[:-1] == before.left
        assert after.right == before.right
        assert text.startswith(after.left)
    if visit := _visit(problem, "bracket"):
        before, after = (step.ask for step in visit.steps)
        assert after.right == CLOSERS[after.left[-1]] + before.right
        assert text.startswith(after.left)
    if visit := _visit(problem, "moved"):
        before, after = (step.ask for step in visit.steps)
        assert before.left + before.right == after.left + after.right == text
        between = sorted((before.left, after.left), key=len)
        assert between[1].removeprefix(between[0]).count("\n") == 1


def test_a_long_file_is_asked_about_now_and_then() -> None:
    assert len(long_file()) == LONG_LINES
    first, *others = [visits(PROBLEM, KIND, number, ["long"]) for number in range(10)]
    assert not any(others)
    before, after = first[0].steps
    assert (before.ask.left + before.ask.right).count("\n") == LONG_LINES - 1
    assert after.ask.left[:-1] == before.ask.left


def test_problems_are_read_and_thinned_out(tmp_path: Path) -> None:
    records = [{**_record(), "task_id": str(number)} for number in range(5)]
    with gzip.open(tmp_path / "HumanEval-SingleLineInfilling.jsonl.gz", "wt") as file:
        file.writelines(json.dumps(record) + "\n" for record in records)
    assert [each.task_id for each in hei.load(tmp_path, "single-line", 2)] == ["0", "2", "4"]


@pytest.mark.parametrize("content", [b"nonsense", b'{"task_id": "1"}\n', b"\xff\xfe", b"[1]\n"])
def test_damaged_data_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "HumanEval-SingleLineInfilling.jsonl").write_bytes(content)
    with pytest.raises(hei.DataError, match="damaged"):
        hei.load(tmp_path, "single-line")


def test_missing_data_says_where_it_comes_from(tmp_path: Path) -> None:
    with pytest.raises(hei.DataError, match=hei.HOME):
        hei.load(tmp_path, "multi-line")


def _record() -> dict[str, str]:
    return {name: getattr(PROBLEM, name) for name in hei.Problem.__dataclass_fields__}


def test_the_halves_share_no_function(tmp_path: Path) -> None:
    names = [f"SingleLineInfilling/HumanEval/{n}/L{line}" for n in range(6) for line in range(3)]
    with gzip.open(tmp_path / "HumanEval-SingleLineInfilling.jsonl.gz", "wt") as file:
        file.writelines(json.dumps({**_record(), "task_id": name}) + "\n" for name in names)
    halves = [hei.load(tmp_path, "single-line", 1, half) for half in hei.Half]
    functions = [{problem.task_id.split("/")[2] for problem in half} for half in halves]
    assert functions == [{"0", "2", "4"}, {"1", "3", "5"}]
    assert sum(map(len, halves)) == len(names)
