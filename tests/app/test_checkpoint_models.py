"""A checkpoint through the whole program: the commands, and an editor with an engine process."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from lsprotocol import types
from pytest_lsp import ClientServerConfig, LanguageClient

from clover_engine.address import default_place
from clover_write.cli import main
from tests.support.tiny_checkpoint import write_checkpoint

ID = "dllm-hub/Qwen2.5-Coder-0.5B-Instruct-diffusion-mdlm-v0.1"
WAIT_S = 60.0


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A checkpoint that fills every hole with x, and a place and a cache of this test's own."""
    for name, value in {
        "CLOVER_WRITE_RUNTIME_DIR": tmp_path / "run",
        "CLOVER_WRITE_CACHE_DIR": tmp_path / "cache",
        "XDG_CONFIG_HOME": tmp_path,
        "OMP_NUM_THREADS": "1",
    }.items():
        monkeypatch.setenv(name, str(value))
    folder = tmp_path / "Qwen2.5-Coder-0.5B-Instruct-diffusion-mdlm-v0.1"
    folder.mkdir()
    write_checkpoint(folder, "A2DQwen2LMHeadModel", "a2d-qwen2", "qwen2", writes="x")
    yield folder
    place = default_place(str(folder), "int8")
    if note := place.read():
        psutil.Process(note.pid).kill()
    assert place.wait_free(WAIT_S)


def said(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(list(words)) == 0
    return capsys.readouterr().out


def test_a_pulled_checkpoint_completes_and_fills(
    folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    code, note = tmp_path / "a.py", tmp_path / "a.md"
    code.write_text("y = \nz = 1\n")
    note.write_text('Name: ____, colour: <fill choices="x|y">.\n')
    said(capsys, "models", "pull", ID, "--from", str(folder))
    inproc = ("--engine", "inproc", "--model", ID)
    answer = json.loads(said(capsys, "complete", f"{code}:1:5", *inproc, "--json"))
    assert set(answer["text"]) == {"x"}
    assert answer["finish"] == "stop"
    monkeypatch.chdir(tmp_path)
    here = ("--engine", "inproc", "--model", f"./{folder.name}")  # a folder needs no pull
    spans = json.loads(said(capsys, "fill", str(note), *here, "--json"))["spans"]
    assert set(spans[0]["text"]) == {"x"}
    assert spans[1]["text"] == "x"
    described = said(capsys, "models", "info", ID)
    assert "family     a2d-qwen2" in described
    assert "(bf16 on cpu)" in next(
        line for line in described.splitlines() if line.startswith("last load  ready in")
    )


def test_a_folder_that_is_none_is_named(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLOVER_WRITE_MODEL", str(folder.parent))
    (folder.parent / "a.py").write_text("y = \n")
    assert main(["complete", f"{folder.parent / 'a.py'}:1:5", "--engine", "inproc"]) == 1
    assert "it has no config.json" in capsys.readouterr().err
    assert main(["doctor", "--fast"]) == 1
    assert "no config.json" in capsys.readouterr().out


@pytest.mark.slow
async def test_an_editor_asks_an_engine_over_a_folder(folder: Path) -> None:
    server = [sys.executable, "-m", "clover_write", "lsp", "--stdio"]
    environment = {**os.environ, "CLOVER_WRITE_MODEL": str(folder)}
    editor = await ClientServerConfig(server_command=server, server_env=environment).start()
    assert isinstance(editor, LanguageClient)
    editor.feature("clover/status")(lambda _: None)
    await editor.initialize_session(
        types.InitializeParams(types.ClientCapabilities(), process_id=os.getpid(), root_uri=None)
    )
    uri = (folder.parent / "a.py").as_uri()
    opened = types.TextDocumentItem(uri, "python", 1, "y = \nz = 1\n")
    editor.text_document_did_open(types.DidOpenTextDocumentParams(opened))
    invoked = types.InlineCompletionContext(types.InlineCompletionTriggerKind.Invoked)
    asked = types.InlineCompletionParams(
        invoked, types.TextDocumentIdentifier(uri), types.Position(0, 4)
    )
    shown: set[str] = set()
    for _ in range(20):  # the first answers come before the engine is there
        answer = await editor.text_document_inline_completion_async(asked)
        assert isinstance(answer, types.InlineCompletionList)
        shown = {character for item in answer.items for character in str(item.insert_text)}
        if shown:
            break
    assert shown == {"x"}
    await editor.shutdown_session()
    await editor.stop()  # type: ignore[no-untyped-call]
