"""A saved case can be replayed, and nobody can read it."""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clover_engine.api import (
    CanvasRequest,
    Context,
    Fill,
    Filled,
    Finish,
    Hole,
    Literal,
    Snippet,
    Stats,
)
from clover_lsp.cases import Case, CaseError
from clover_lsp.redaction import SHORT, Redaction
from clover_write.cli import main
from tests.support.wire import URI, Wire, asking

AT = {"line": 0, "character": 0}
LETTERS = re.compile(r"[^\W_]+")
TEXTS = st.lists(
    st.text(min_size=1, max_size=12)
    | st.sampled_from(
        ["password", " = ", "(", ")\r\n", "\t", "sk-ab1-cd2-ef3", "王小明", "😀", "_"]
    )
).map("".join)


@given(TEXTS)
def test_no_sign_of_a_long_word_stays_in_its_place(text: str) -> None:
    masked = Redaction().masked(text)
    for word in LETTERS.finditer(text):
        if len(word[0]) > SHORT:
            pairs = zip(word[0], masked[word.start() : word.end()], strict=True)
            assert all(before != after for before, after in pairs)


@given(TEXTS)
def test_the_shape_is_kept(text: str) -> None:
    masked = Redaction().masked(text)
    assert len(masked) == len(text)
    assert _units(masked) == _units(text)
    for before, after in zip(text, masked, strict=True):
        assert before == after or (before.isalnum() and after.isalnum())
        assert not (before.isascii() and before.isalpha()) or before.isupper() == after.isupper()
        assert not (before.isascii() and before.isdigit()) or after.isdigit()


@given(TEXTS, TEXTS)
def test_a_word_has_one_mask_and_every_redaction_its_own(one: str, other: str) -> None:
    redaction = Redaction()
    assert redaction.masked(f"{one}\n{other}") == (
        f"{redaction.masked(one)}\n{redaction.masked(other)}"
    )
    secret = "correcthorsebatterystaple"
    assert Redaction().masked(secret) != Redaction().masked(secret)


@pytest.mark.parametrize(
    ("text", "stays"),
    [
        ("if x: y = 1\n", True),
        ("sk-a1-b2-c3", False),
        ("10.0.0.1", False),
        ("a@b.c", True),
        ("abcd", False),
        ("王", False),
        ("e\u0301te\u0301s", False),
        ("ab_cd", False),
    ],
)
def test_what_is_masked(text: str, stays: bool) -> None:
    masked = Redaction().masked(text)
    assert (masked == text) is stays


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass"))


def _case(left: str, answer: str) -> Case:
    hole = Hole(32, stop=("\n", "quarterly"), choices=None, hint="secret hint")
    context = Context((Snippet("lib/secret.py", "secret = 1"),), "initech", "notes/secret.md")
    segments = (Literal(left), hole, Literal("\nright secret"))
    request = CanvasRequest(segments, "file:///home/alice/secret.md", context)
    filled = Filled((Fill(answer, 0.5, Finish.STOP),), Stats(forwards=2, tokens=3))
    return Case(request, filled, 12.34, {"clover-write": "1"})


def test_a_case_comes_back_as_it_was_but_for_its_words() -> None:
    case = _case("(def secret):\r\n\t", "return secret")
    text = case.redacted()
    assert not re.search("secret|alice|quarterly|return|initech|notes", text)
    back = Case.read(text)
    left, hole, _ = back.request.segments
    assert isinstance(left, Literal)
    assert isinstance(hole, Hole)
    assert re.fullmatch(r"\(def [a-z]{6}\):\r\n\t", left.text)
    assert hole.stop[0] == "\n"
    assert hole.max_tokens == 32
    assert back.filled.fills[0].finish is Finish.STOP
    assert (back.filled.stats, back.about, back.ms) == (case.filled.stats, case.about, 12.3)
    assert back.request.decoding is case.request.decoding
    # the answer's words are masked as the document's are
    assert left.text[5:11] == back.filled.fills[0].text[-6:]


def test_only_the_text_near_the_hole_is_kept() -> None:
    text = _case("x" * 100_000, "y").redacted()
    assert len(text) < 20_000


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"case": 2}', '{"case": 1, "about": {}}'])
def test_what_is_no_case_is_said(text: str) -> None:
    with pytest.raises(CaseError):
        Case.read(text)


@pytest.fixture
async def wire(tmp_path: Path) -> AsyncIterator[Wire]:
    wire = await Wire.start(CLOVER_WRITE_STATE_DIR=str(tmp_path))
    yield wire
    await wire.kill()


async def command(wire: Wire, id: str) -> Any:
    params = {"command": "clover-write.saveCase", "arguments": [URI]}
    wire.send("workspace/executeCommand", params, id=id)
    return (await wire.answer(id))["result"]


def check_file(path: Path, state: Path) -> None:
    assert path.parent == state / "cases"
    assert os.name != "posix" or path.stat().st_mode & 0o077 == 0
    text = path.read_text()
    assert not re.search("total|price|count|Untitled", text)
    assert "hush" not in text
    about = json.loads(text)["about"]
    assert about["settings"] == "excluded_languages secret_files"
    assert about["model"].startswith("fake")
    written = json.loads(text)["answer"]["fills"][0]["text"]
    assert len(written) == len("al = price * count")


async def test_the_editor_saves_and_the_command_line_replays(
    wire: Wire, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = {"enabled": True, "secretFiles": ["*.hush"], "excludedLanguages": []}
    await wire.initialize(initializationOptions=options)
    text = "total = price * count\n\ntot"
    document = {"uri": URI, "languageId": "python", "version": 1, "text": text}
    wire.send("textDocument/didOpen", {"textDocument": document})
    assert await command(wire, "too early") is None
    asked = {"textDocument": {"uri": URI}, "range": {"start": AT, "end": AT}}
    for only, titles in (["source"], ["Save this completion as a case"]), ([], []):
        wire.send(
            "textDocument/codeAction",
            {**asked, "context": {"diagnostics": [], "only": only}},
            id=f"actions {only}",
        )
        actions = (await wire.answer(f"actions {only}"))["result"]
        assert [action["title"] for action in actions] == titles
    wire.send("textDocument/inlineCompletion", asking(2, 3), id="ask")
    await wire.answer("ask")
    path = await command(wire, "save")
    check_file(Path(path), tmp_path)
    shown = [told["params"]["message"] for told in wire.told if "showMessage" in told["method"]]
    assert "ask for one" in shown[0]
    assert path in shown[1]
    assert await asyncio.to_thread(main, ["case", "replay", path, "--engine", "fake"]) == 0
    printed = capsys.readouterr().out
    assert "saved: stop" in printed
    assert "now:   stop" in printed
