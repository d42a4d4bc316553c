"""The trained tiny Clover through the whole program: commands, and an editor with an engine."""

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
from tests.support.tiny_clover import TRAINED
from tests.support.toy_language import is_line

INPROC = ("--engine", "inproc", "--model", str(TRAINED))
WAIT_S = 60.0


@pytest.fixture(autouse=True)
def _own_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A cache, settings and engines of each test's own."""
    for name, value in {
        "CLOVER_WRITE_RUNTIME_DIR": tmp_path / "run",
        "CLOVER_WRITE_CACHE_DIR": tmp_path / "cache",
        "XDG_CONFIG_HOME": tmp_path,
        "OMP_NUM_THREADS": "1",
    }.items():
        monkeypatch.setenv(name, str(value))
    yield
    place = default_place(str(TRAINED), "int8")
    if note := place.read():
        psutil.Process(note.pid).kill()
    assert place.wait_free(WAIT_S)


def said(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(list(words)) == 0
    return capsys.readouterr().out


def completed(tmp_path: Path, capsys: pytest.CaptureFixture[str], left: str, right: str) -> str:
    """The line that a completion leaves where the cursor stands in it."""
    path = tmp_path / "toy.txt"
    before = '(){}\n1+1=2\n{"ok": true}\n'
    path.write_text(f"{before}{left}{right}\n[()]\n", encoding="utf-8")
    place = f"{path}:4:{len(left) + 1}"
    answer = json.loads(said(capsys, "complete", place, *INPROC, "--json"))
    return f"{left}{answer['text']}{right}"


@pytest.mark.parametrize(
    ("left", "right"),
    [('{"na', 'e": "bob"}'), ('{"age": 5, "name": "a', '"}'), ('{"a', '": 3}'), ("2+3", "5")],
)
def test_a_line_is_completed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], left: str, right: str
) -> None:
    assert is_line(completed(tmp_path, capsys, left, right))


def test_masks_of_a_note_are_filled(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    note = tmp_path / "note.md"
    note.write_text('{"name": "____"}\n[()]\n{"____": true}\n{}\n', encoding="utf-8")
    spans = json.loads(said(capsys, "fill", str(note), *INPROC, "--json"))["spans"]
    assert spans[1]["text"] == "ok"
    assert spans[0]["text"].isalpha()  # a name, or nearly


@pytest.mark.slow
async def test_an_editor_asks_an_engine_over_it(tmp_path: Path) -> None:
    server = [sys.executable, "-m", "clover_write", "lsp", "--stdio"]
    environment = {**os.environ, "CLOVER_WRITE_MODEL": str(TRAINED)}
    editor = await ClientServerConfig(server_command=server, server_env=environment).start()
    assert isinstance(editor, LanguageClient)
    editor.feature("clover/status")(lambda _: None)
    await editor.initialize_session(
        types.InitializeParams(types.ClientCapabilities(), process_id=os.getpid(), root_uri=None)
    )
    uri = (tmp_path / "toy.py").as_uri()
    text = '1+1=2\n{"na\n{"ok": true}\n'
    editor.text_document_did_open(
        types.DidOpenTextDocumentParams(types.TextDocumentItem(uri, "python", 1, text))
    )
    asked = types.InlineCompletionParams(
        types.InlineCompletionContext(types.InlineCompletionTriggerKind.Invoked),
        types.TextDocumentIdentifier(uri),
        types.Position(1, 4),
    )
    offered: list[str] = []
    for _ in range(20):  # the first answers come before the engine is there
        answer = await editor.text_document_inline_completion_async(asked)
        assert isinstance(answer, types.InlineCompletionList)
        offered += [str(item.insert_text) for item in answer.items]
        if offered:
            break
    assert offered
    await editor.shutdown_session()
    await editor.stop()  # type: ignore[no-untyped-call]
