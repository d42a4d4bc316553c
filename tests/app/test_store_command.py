"""`clover-write models`, as a user types it."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from clover_write import store
from clover_write.catalog import known_models
from clover_write.cli import main

DATA = b"weights" * 1000


@pytest.fixture
def gguf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A made-up file that is coder-0.5b for this test, with a converter that needs no torch."""
    model = dataclasses.replace(
        known_models()["coder-0.5b"],
        size=len(DATA),
        sha256=hashlib.sha256(DATA).hexdigest(),
    )

    def convert_gguf(gguf: Path, folder: Path, progress: object) -> None:
        (folder / "model.safetensors").write_bytes(gguf.read_bytes())

    converter = SimpleNamespace(FORMAT=1, convert_gguf=convert_gguf)
    monkeypatch.setitem(sys.modules, "clover_engine.convert", converter)
    monkeypatch.setattr(store, "known_models", lambda: {model.name: model})
    monkeypatch.setenv("CLOVER_WRITE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    file = tmp_path / model.file
    file.write_bytes(DATA)
    return file


def test_a_model_is_pulled_described_and_removed(
    gguf: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def said(*words: str) -> str:
        assert main(["models", *words]) == 0
        return capsys.readouterr().out

    assert "not pulled" in said("list").splitlines()[0]
    assert "clover-write models pull coder-0.5b" in said("info", "coder-0.5b")
    assert f"ready in {tmp_path / 'cache'}" in said("pull", "coder-0.5b", "--from", str(gguf))
    assert "already" in said("pull", "coder-0.5b")
    assert "not pulled" not in said("list").splitlines()[0]
    assert "source file" in said("info", "coder-0.5b")
    assert "removed" in said("rm", "coder-0.5b")
    assert "not here" in said("rm", "coder-0.5b")


@pytest.mark.parametrize("terminal", [True, False])
def test_progress_goes_to_stderr_in_lines_or_bars(
    gguf: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    terminal: bool,
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    if terminal:
        monkeypatch.setenv("FORCE_COLOR", "1")
    assert main(["models", "pull", "coder-0.5b", "--from", str(gguf)]) == 0
    out, err = capsys.readouterr()
    assert "verifying" in err
    assert ("\x1b[" in err) == terminal
    assert len(out.splitlines()) == 1


def test_programs_are_told_in_json(gguf: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def said(*words: str) -> str:
        assert main(["models", *words]) == 0
        return capsys.readouterr().out

    [model] = json.loads(said("list", "--json"))
    assert (model["name"], model["size"]) == ("coder-0.5b", len(DATA))
    assert (model["ready"], model["chosen"]) == (False, True)
    *steps, end = said("pull", "--json", "coder-0.5b", "--from", str(gguf)).splitlines()
    assert "ready in" in end
    told = [json.loads(step) for step in steps]
    assert told[-1] == {"stage": told[-1]["stage"], "done": len(DATA), "total": len(DATA)}
    assert [model["ready"] for model in json.loads(said("list", "--json"))] == [True]


def test_an_error_is_one_line_and_status_1(gguf: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gguf.write_bytes(DATA[:-1])
    assert main(["models", "pull", "coder-0.5b", "--from", str(gguf)]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("clover-write: ")
    assert err.count("\n") == 1
    assert main(["models", "info", "coder-9000b"]) == 1
    assert "choose from coder-0.5b" in capsys.readouterr().err
