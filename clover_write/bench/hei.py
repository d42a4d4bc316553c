"""HumanEval-Infilling: problems with a hole, and the tests that say whether it was filled well."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from clover_engine.api import Hole
from clover_engine.errors import CloverError

HOME = "github.com/openai/human-eval-infilling"


class DataError(CloverError):
    """The benchmark's data is missing or not what it should be."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One of the benchmark's four task files, and how its hole is asked for."""

    file: str
    hole: Hole
    closing: str = ""  # what the asked-for text leaves out at its end

    def completion(self, text: str) -> str:
        """What stands in the hole for this answer."""
        return text + self.closing


KINDS = {
    "single-line": Kind("HumanEval-SingleLineInfilling", Hole(64, ("\n",)), closing="\n"),
    "single-line-open": Kind("HumanEval-SingleLineInfilling", Hole(64)),
    "multi-line": Kind("HumanEval-MultiLineInfilling", Hole(256)),
    "random-span": Kind("HumanEval-RandomSpanInfilling", Hole(256)),
    "random-span-light": Kind("HumanEval-RandomSpanInfillingLight", Hole(256)),
}


class Half(StrEnum):
    """What was tuned on one half says nothing; the split is by the function a hole was cut from."""

    TUNE = "tune"
    TEST = "test"


@dataclass(frozen=True, slots=True)
class Problem:
    """A Python function with a hole between `prompt` and `suffix`."""

    task_id: str
    entry_point: str
    prompt: str
    suffix: str
    canonical_solution: str
    test: str

    @property
    def half(self) -> Half:
        """Functions of even number are for tuning."""
        return Half.TEST if int(self.task_id.split("/")[2]) % 2 else Half.TUNE

    def program(self, completion: str) -> str:
        """The function with its hole filled, followed by its tests."""
        function = self.prompt + completion + self.suffix
        return f"{function}\n{self.test}\ncheck({self.entry_point})\n"

    def exact(self, completion: str) -> bool:
        """Whether the hole holds what its author wrote, apart from space at the end."""
        return completion.rstrip() == self.canonical_solution.rstrip()


def load(folder: Path, kind: str, every: int = 1, half: Half | None = None) -> Sequence[Problem]:
    """Every `every`-th problem of a kind, of those the ones in `half`. Raises DataError."""
    path = _task_file(folder, KINDS[kind].file)
    opened = gzip.open if path.suffix == ".gz" else open
    try:
        with opened(path, "rt", encoding="utf-8") as lines:
            problems = list(_parse(lines))
    except (OSError, EOFError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"{path} is damaged, fetch it again from {HOME}: {error}") from error
    return [p for p in problems[::every] if half is None or p.half is half]


def _task_file(folder: Path, name: str) -> Path:
    for suffix in (".jsonl.gz", ".jsonl"):
        if (path := folder / f"{name}{suffix}").is_file():
            return path
    raise DataError(f"{folder} holds no {name}.jsonl.gz: fetch it from {HOME} and give its folder")


def _parse(lines: Iterable[str]) -> Iterable[Problem]:
    names = Problem.__dataclass_fields__
    for line in lines:
        record = json.loads(line)
        yield Problem(**{name: record[name] for name in names})
