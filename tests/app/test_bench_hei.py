"""`clover-write bench hei` as a program, with the fake engine, and rows of a stand-in peer."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from clover_write.bench import peers
from clover_write.bench.cases import Ask, editor_ask
from clover_write.bench.hei import KINDS

# fills every hole with `return a + b`, whatever is asked
MARKER = '# clover-fake: {"text": "    return a + b"}\n'
TEST = "def check(candidate):\n    assert candidate(1, 2) == 3\n"


def _problem(number: int, solution: str) -> dict[str, str]:
    return {
        "task_id": f"T/{number}",
        "entry_point": "add",
        "prompt": f"{MARKER}def add(a, b):\n",
        "suffix": "\n\nC = (1)\n" if number % 2 else "    return b\n",
        "canonical_solution": f"{solution}\n",
        "test": TEST if solution.endswith("b") else "def check(candidate):\n    assert False\n",
    }


@pytest.fixture
def data(tmp_path: Path) -> Path:
    solutions = ["    return a + b", "    return (a)"] * 2
    lines = [json.dumps(_problem(number, each)) for number, each in enumerate(solutions)]
    (tmp_path / "HumanEval-SingleLineInfilling.jsonl").write_text("\n".join(lines) + "\n")
    return tmp_path


def _bench(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "clover_write", "bench", "hei", *map(str, arguments)]
    return subprocess.run(
        [*command, "--engine", "fake"], capture_output=True, text=True, timeout=60, check=False
    )


def test_it_measures_and_goes_on_where_it_ended(data: Path, tmp_path: Path) -> None:
    out, journal = tmp_path / "out.json", tmp_path / "run.jsonl"
    arguments = ("--data", data, "--rows", "int8-lookup,int8-none", "--json", out)
    done = _bench(*arguments, "--resume", journal)
    assert done.returncode == 0, done.stderr
    report: dict[str, Any] = json.loads(out.read_text())
    assert report["quality"]["int8-lookup"] == {"n": 4, "pass@1": 0.5, "exact match": 0.5}
    assert report["paired"][0]["same text"] == 1.0
    counts = {case: each["n"] for case, each in report["latency"]["int8-none"].items()}
    assert counts == {
        "cold": 4,
        "next character": 4,
        "moved one line": 4,
        "auto-paired bracket": 2,
        "3,000-line file": 1,
        "3,000-line file, next character": 1,
    }
    assert "50.0%" in done.stdout
    assert "network" in done.stdout

    written = journal.read_bytes()
    assert _bench(*arguments, "--resume", journal).returncode == 0
    assert journal.read_bytes() == written
    assert json.loads(out.read_text())["quality"] == report["quality"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--data", "nowhere"), "fetch it from"),
        (("--data", ".", "--rows", "int3-lookup"), "no row is called 'int3-lookup'"),
        (("--data", ".", "--peer-bin", "x"), "--peer-gguf"),
    ],
)
def test_what_cannot_be_measured_is_said_in_one_line(
    data: Path, arguments: tuple[str, ...], message: str
) -> None:
    done = _bench(*(str(data) if each == "." else each for each in arguments))
    assert done.returncode == 1
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


STAND_IN = """#!{python}
import http.server, json, sys

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.reply({{"status": "ok"}})

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        counts = {{"predicted_n": 2, "prompt_n": 3, "cache_n": 4}}
        timings = {{**counts, "prompt_ms": 5, "predicted_ms": 6}}
        self.reply({{"content": json.dumps([self.path, asked]), "timings": timings}})

    def reply(self, value):
        data = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args):
        pass

port = int(sys.argv[sys.argv.index("--port") + 1])
http.server.HTTPServer(("127.0.0.1", port), Handler).serve_forever()
"""


def _program(folder: Path, script: str) -> peers.Program:
    binary = folder / "llama-server"
    binary.write_text(script)
    binary.chmod(0o755)
    (folder / "model.gguf").touch()
    return peers.Program(binary)


def _same(ask: Ask, document: str) -> dict[str, object]:
    return {"prompt": [1, 2], "temperature": 0.0}


async def test_peers_are_asked_as_their_users_ask_and_as_we_ask(tmp_path: Path) -> None:
    program = _program(tmp_path, STAND_IN.format(python=sys.executable))
    gguf = tmp_path / "model.gguf"
    rows = peers.start_peers(program, gguf, gguf, 2, _same)
    ask = editor_ask("def f(a):\n    return max(", ")\n", KINDS["single-line"].hole)
    try:
        answers = {row.name: await row.answer("doc", ask, fresh=False) for row in rows}
        cold = await rows[1].answer("doc", ask, fresh=True)
    finally:
        for row in rows:
            await row.close()
    path, asked = json.loads(answers[peers.INFILL].text)
    assert path == "/infill"
    assert (asked["input_prefix"], asked["prompt"], asked["input_suffix"]) == (
        "def f(a):\n",
        "    return max(",
        ")\n",
    )
    for name in (peers.SAME_PROMPT, peers.SAME_PROMPT_Q4_0):
        path, asked = json.loads(answers[name].text)
        assert (path, asked["prompt"], asked["temperature"]) == ("/completion", [1, 2], 0.0)
        assert (asked["cache_prompt"], asked["n_predict"], asked["stop"]) == (True, 64, ["\n"])
    assert json.loads(cold.text)[1]["cache_prompt"] is False
    stats = answers[peers.SAME_PROMPT].stats
    assert (stats.prompt_tokens, stats.reused_tokens, stats.tokens) == (7, 4, 2)
    with pytest.raises(peers.PeerError):
        await rows[0].answer("doc", ask, fresh=True)


def test_a_peer_that_does_not_start_says_why(tmp_path: Path) -> None:
    script = f"#!{sys.executable}\nprint('loading')\nraise SystemExit('no such model')\n"
    program = _program(tmp_path, script)
    with pytest.raises(peers.PeerError, match="no such model"):
        peers.start_peers(program, tmp_path / "model.gguf", None, 2, _same)


def test_a_peer_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(peers.PeerError, match="is no file"):
        peers.start_peers(peers.Program(tmp_path / "x"), tmp_path / "y", None, 2, _same)


def test_requantising_needs_the_tool_beside_the_binary(tmp_path: Path) -> None:
    program = _program(tmp_path, "")
    assert program.requantised(tmp_path / "model.gguf", tmp_path) is None
    tool = tmp_path / "llama-quantize"
    tool.write_text("#!/bin/sh\necho 'bad file' >&2\nexit 1\n")
    tool.chmod(0o755)
    with pytest.raises(peers.PeerError, match="bad file"):
        program.requantised(tmp_path / "model.gguf", tmp_path)
    tool.write_text('#!/bin/sh\n[ "$4" = Q4_0 ] && cp "$2" "$3"\n')
    made = program.requantised(tmp_path / "model.gguf", tmp_path)
    assert made
    assert made.is_file()
    assert os.environ.get("LD_LIBRARY_PATH") != program.environment["LD_LIBRARY_PATH"]
