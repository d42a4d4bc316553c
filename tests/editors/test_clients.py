"""Clients that others wrote, against the real server: initialize, sync, edit, request, answer."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.wire import SERVER

HERE = Path(__file__).parent
NODE = HERE / "node"
TEXT = "total = price * count\n\n"
EDITED = f'{TEXT}名 = "😀"\ntotal = price * count'
AT = {"line": 3, "character": 3}
PATIENCE_S = 60
# prints which clients Emacs has
LIBRARIES = """
(progn (package-initialize)
  (dolist (name (list "eglot" "lsp-mode"))
    (when (locate-library name) (princ (concat name "\\n")))))
"""


def run(tool: str, *arguments: str, **environment: str) -> str:
    """What the tool prints; skips where it is not installed."""
    if not (path := shutil.which(tool)):
        pytest.skip(f"{tool} is not installed: .ci/run installs it")
    done = subprocess.run(
        [path, *arguments],
        env={**os.environ, "CLOVER_SERVER": json.dumps(SERVER), **environment},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def last_line(printed: str) -> Any:
    return json.loads(printed.strip().splitlines()[-1])


def node(script: str, *arguments: str) -> Any:
    """What a script prints that needs the packages beside it."""
    if shutil.which("node") and not (NODE / "node_modules").is_dir():
        pytest.skip("the packages of tests/editors/node are not installed: run make clients")
    # built in, and in need of the flag before version 22
    command = ["--experimental-websocket", str(NODE / script), *arguments]
    return last_line(run("node", *command))


def test_the_protocol_library_of_vs_code() -> None:
    found = node("protocol.mjs")
    assert found["provider"] == {}
    assert found["encoding"] == "utf-16"
    [item] = found["items"]
    assert (item["insertText"], item["range"]) == ("al = price * count", {"start": AT, "end": AT})
    assert (found["cancelled"], found["status"], found["problems"]) == (True, 0, [])


def test_the_language_client_of_vs_code() -> None:
    found = node("languageclient.cjs")
    [item] = found["items"]
    assert (item["insertText"], item["range"]) == ("al = price * count", {"start": AT, "end": AT})
    # a request that was cancelled comes to nothing, and to no error that the user would see
    assert (found["cancelled"], found["problems"]) == (None, [])
    assert "Normal" in found["kinds"]


async def test_the_sockets_of_a_page() -> None:
    command = [*SERVER[:4], "--websocket", "127.0.0.1:0", *SERVER[5:]]
    server = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    try:
        assert server.stdout
        url = (await server.stdout.readline()).decode().strip()
        found = await asyncio.to_thread(node, "websocket.mjs", url)
    finally:
        server.terminate()
        await server.communicate()
    assert [item["insertText"] for item in found["items"]] == ["al = price * count"]
    assert (found["protocol"], found["code"], found["wasClean"]) == ("lsp", 1000, True)


def test_emacs_eglot(tmp_path: Path) -> None:
    file = tmp_path / "demo.py"
    file.write_text(TEXT)
    command = ["--batch", "-l", str(HERE / "eglot.el")]
    found = last_line(run("emacs", *command, CLOVER_FILE=str(file), HOME=str(tmp_path)))
    assert found["offered"]
    assert found["text"] == "al = price * count"
    assert found["buffer"] == EDITED
    assert found["again"] == 0


@pytest.mark.parametrize("client", ["eglot", "lsp-mode"])
def test_the_popup_of_emacs(tmp_path: Path, client: str) -> None:
    file = tmp_path / "demo.py"
    file.write_text(TEXT)
    if f"{client}\n" not in run("emacs", "--batch", "--eval", LIBRARIES, HOME=str(tmp_path)):
        pytest.skip(f"{client} is not installed: .ci/run installs it")
    places = {"CLOVER_FILE": str(file), "CLOVER_CLIENT": client, "HOME": str(tmp_path)}
    printed = run("emacs", "--batch", "-l", str(HERE / "completion.el"), **places)
    assert last_line(printed) == ["total = price * count"]


def test_vim_channels(tmp_path: Path) -> None:
    out = tmp_path / "found.json"
    script = ["-Nu", "NONE", "-es", "-S", str(HERE / "channel.vim")]
    run("vim", *script, CLOVER_OUT=str(out), HOME=str(tmp_path))
    found = json.loads(out.read_text())
    assert (found["encoding"], found["offered"]) == ("utf-8", True)
    assert found["text"] == "al = price * count"
    assert found["buffer"] == EDITED.split("\n")
    assert found["shutdown"]
