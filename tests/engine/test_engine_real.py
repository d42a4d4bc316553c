"""The real coder-0.5b: what it writes makes sense, with drafts and without, on any CPU."""

from __future__ import annotations

import ast
import bisect
import heapq
import inspect
import json
import os
import shlex
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from clover_engine.api import (
    CanvasRequest,
    Decoding,
    Drafting,
    Finish,
    Hole,
    Literal,
    Stats,
    infill_request,
)
from tests.support.driving import run
from tests.support.free_rows import FreeRows
from tests.support.tiny_model import SPECIALS

if TYPE_CHECKING:
    from clover_engine.engine import LocalEngine

pytestmark = pytest.mark.model

RETURN = ("def add(a, b):\n    retu", "\n\n\nprint(add(1, 2))\n")
STACK = (
    "class Stack:\n    def __init__(self):\n        self.items = []\n\n"
    "    def push(self, item):\n        self.items.",
    "\n\n    def pop(self):\n        return self.items.pop()\n",
)
COUNTING = ("".join(f"values[{n}] = {n} * {n}\n" for n in range(1, 41)) + "values[41] =", "\n")


@pytest.fixture(scope="module")
def engine(real_model: Path, flat_curve: None) -> LocalEngine:
    """The int8 engine; every forward is said to cost the same, so that it drafts in any case."""
    from clover_engine.engine import load_engine

    return load_engine(real_model, model="coder-0.5b", threads=1)


def line(engine: LocalEngine, prefix: str, suffix: str, document: str = "") -> tuple[str, Stats]:
    """The rest of the line between prefix and suffix."""
    request = infill_request(prefix, suffix, document=document, max_tokens=24, stop=("\n",))
    filled = run(engine, request).filled
    return filled.fills[0].text, filled.stats


def test_a_word_cut_in_a_token_is_finished(engine: LocalEngine) -> None:
    assert line(engine, *RETURN)[0] == "rn a + b"


def test_both_sides_are_read(engine: LocalEngine) -> None:
    assert line(engine, *STACK)[0] == "append(item)"
    # the same line means something else above another text
    assert "+" in line(engine, "def f(a, b):\n    c =", "\n    return c  # the sum\n")[0]
    assert "*" in line(engine, "def f(a, b):\n    c =", "\n    return c  # the product\n")[0]


def test_a_long_prompt_is_continued_and_kept(engine: LocalEngine) -> None:
    text, stats = line(engine, *COUNTING, document="counting")
    assert text.strip() == "41 * 41"
    assert stats.prompt_tokens >= 300
    text, stats = line(engine, COUNTING[0] + " ", COUNTING[1], document="counting")
    assert text.strip() == "41 * 41"
    assert stats.prompt_tokens - stats.reused_tokens <= 3


def test_further_answers_are_other_texts(engine: LocalEngine) -> None:
    answers: list[str] = []
    for _ in range(3):
        hole = Hole(16, stop=("\n",), unlike=tuple(answers))
        segments = Literal("def area(width, height):\n    return "), hole, Literal("\n")
        answers.append(run(engine, CanvasRequest(segments)).filled.fills[0].text)
    assert answers[0] == "width * height"
    assert len({answer.split()[0] for answer in answers}) == 3


def test_text_that_looks_special_changes_nothing_but_itself(engine: LocalEngine) -> None:
    noise = " ".join((*SPECIALS, "<tool_call>"))
    head = f'MARKS = "{noise}"\n\n\n'
    text, _ = line(engine, head + RETURN[0], RETURN[1] + f"# {noise}\n")
    assert text == "rn a + b"
    text, _ = line(engine, f"{noise}\nMARKS = 1\nprint(MAR", f"\n{noise}\n")
    assert text.startswith("KS")


def test_chinese(engine: LocalEngine) -> None:
    text, _ = line(engine, "今天天气很", "，我们一起去公园散步吧。\n")
    assert text
    assert "\ufffd" not in text
    assert any("\u4e00" <= sign <= "\u9fff" for sign in text)
    assert line(engine, "# 计算两个数的和\ndef add(a, b):\n    ", "\n")[0] == "return a + b"


def real_functions() -> Iterator[tuple[str, str]]:
    """Functions of the standard library, each cut in its middle line, at odd places."""
    for module in (bisect, heapq, shlex, textwrap):
        source = inspect.getsource(module)
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.FunctionDef):
                text = ast.get_source_segment(source, node) or ""
                lines = text.splitlines(keepends=True)
                if 8 <= len(lines) <= 40:
                    cut = sum(map(len, lines[: len(lines) // 2])) + len(lines) % 7
                    yield text[:cut], text[cut:]


@pytest.mark.parametrize("drafting", [Drafting.LOOKUP, Drafting.MASKS, Drafting.BOTH])
def test_drafts_change_nothing_in_real_functions(
    engine: LocalEngine, exact_rows: bool, drafting: Drafting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "_curve", FreeRows())
    functions = list(real_functions())[:20]
    assert len(functions) == 20
    same, accepted, masks = 0, 0, Stats()
    for number, (prefix, suffix) in enumerate(functions):
        filled = [
            run(
                engine,
                infill_request(prefix, suffix, document=f"f{number}", max_tokens=16, drafting=each),
            ).filled
            for each in (Drafting.NONE, drafting)
        ]
        same += filled[0].fills[0].text == filled[1].fills[0].text
        accepted += filled[1].stats.accepted - filled[0].stats.accepted
        masks += filled[1].stats
        assert filled[0].fills[0].finish in (Finish.STOP, Finish.LENGTH)
    assert same >= (20 if exact_rows else 18)
    assert accepted > 10
    if drafting is Drafting.MASKS:
        # the first mask foretells the token behind the next one
        assert masks.guessed[0] > 0.35 * masks.judged[0]
        assert masks.judged[0] > 50


def test_masks_alone_fill_a_hole_within_its_limits(engine: LocalEngine) -> None:
    left, right = "def area(width, height):\n    return ", "\n\n\nprint(area(2, 3))\n"
    hole = (Literal(left), Hole(12, max_lines=1), Literal(right))
    done = run(engine, CanvasRequest(hole, decoding=Decoding.DIFFUSION)).filled
    assert done.fills[0].text.strip()
    assert "\n" not in done.fills[0].text
    assert done.stats.tokens <= 12


_SAMPLE = """
import json, sys
from pathlib import Path
from clover_engine.engine import load_engine
from clover_engine.api import infill_request
from tests.support.driving import run
engine = load_engine(Path(sys.argv[1]), model="coder-0.5b", threads=1)
requests = [infill_request(*texts, max_tokens=16, stop=("\\n",)) for texts in json.load(sys.stdin)]
print(json.dumps([run(engine, request).text for request in requests]))
"""


@pytest.mark.parametrize("instructions", ["AVX2", "AVX512_CORE"])
def test_a_cpu_without_vnni_completes_as_well(real_model: Path, instructions: str) -> None:
    # there oneDNN halves the weights so that sums of byte products fit 16 bits: a bit is lost
    done = subprocess.run(
        [sys.executable, "-c", _SAMPLE, str(real_model)],
        input=json.dumps([RETURN, STACK]),
        env=os.environ | {"ONEDNN_MAX_CPU_ISA": instructions},
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout) == ["rn a + b", "append(item)"]
