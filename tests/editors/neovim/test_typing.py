"""Long typing sessions in Neovim: what shows always fits, and typing goes on whatever happens."""

from __future__ import annotations

import os
import random
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from clover_engine.address import Place, default_place
from tests.editors.neovim.conftest import Open
from tests.support.neovim import Neovim
from tests.support.wire import ENDLESS

pytestmark = pytest.mark.slow

KNOWN = [
    "total = price * count",
    "print(total, '😀 中文')",
    "result = [total for total in results]",
    "名 = '一二三' + total",
]
KEYS = 300
SERVER = [sys.executable, "-m", "tests.support.process_server"]


class Typist:
    """Types as one who mistypes, corrects and accepts; knows what the last line has to be."""

    def __init__(self, editor: Neovim, seed: int) -> None:
        self._editor = editor
        self._random = random.Random(seed)
        self._line = ""
        self._wanted = self._random.choice(KNOWN)
        self.accepted = 0

    def press(self) -> None:
        """One key, and what it has to bring about."""
        editor = self._editor
        if self._random.random() < 0.2:
            self._look_up()
        chance = self._random.random()
        if self._line == self._wanted:
            editor.type("<CR>")
            self._line, self._wanted = "", self._random.choice(KNOWN)
        elif chance < 0.15:
            self._type(self._random.choice("xz 中"))
        elif not self._wanted.startswith(self._line):
            editor.type("<BS>")
            self._line = self._line[:-1]
        elif chance < 0.4 and (ghosts := editor.ghosts()):
            editor.type("<Tab>")
            self._line += ghosts[0].text
            self.accepted += 1
        else:
            self._type(self._wanted[len(self._line)])
        editor.ends(self._line)
        self._check()

    def _type(self, char: str) -> None:
        self._editor.type("<LT>" if char == "<" else char)
        self._line += char

    def _look_up(self) -> None:
        """Wait for what has to show where the line is well begun."""
        begun = (known.startswith(self._line) and known != self._line for known in KNOWN)
        if len(self._line) > 1 and any(begun):
            self._editor.ghost()

    def _check(self) -> None:
        editor = self._editor
        ghosts = editor.ghosts()
        assert len(ghosts) <= 1
        for ghost in ghosts:
            assert (ghost.row, ghost.col) == (len(editor.lines) - 1, len(self._line.encode()))
            assert self._line + ghost.text in KNOWN


@pytest.mark.parametrize("seed", [1])
def test_three_hundred_keys(edit: Open, seed: int) -> None:
    editor = edit("\n".join(KNOWN) + "\n")
    editor.command("setlocal noautoindent indentexpr= indentkeys=")
    editor.type("Go")
    typist = Typist(editor, seed)
    for _ in range(KEYS):
        typist.press()
    assert typist.accepted > 5


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """Where the engine process of this test lives; it is ended."""
    monkeypatch.setenv("CLOVER_WRITE_RUNTIME_DIR", str(tmp_path / "run"))
    place = default_place("fake")
    yield place
    if note := place.read():
        psutil.Process(note.pid).kill()


def test_an_engine_that_is_killed(start: Open, place: Place) -> None:
    editor = start(f"{ENDLESS}{KNOWN[0]}\n", server=SERVER)
    editor.ready()
    editor.type("Gox = <M-\\>")
    editor.until(lambda: editor.status == "Clover …", "not at work")
    note = editor.until(place.read, "no engine")
    os.kill(note.pid, signal.SIGKILL)
    editor.until(lambda: editor.status == "Clover !", "the status does not tell")
    editor.type("1 + 2 + 3 + 4 + 5 + 6")
    editor.ends("x = 1 + 2 + 3 + 4 + 5 + 6")
    editor.type("<Esc>ggddGotot")
    assert editor.wanted() == "al = price * count"
    assert editor.status == "Clover"
    note = editor.until(place.read, "no engine")
    assert psutil.pid_exists(note.pid)


def test_a_server_that_is_killed(start: Open) -> None:
    editor = start(f"{KNOWN[0]}\n")
    for _ in range(5):
        [server] = editor.until(lambda: editor.servers, "no server")
        editor.ready()
        editor.type("<Esc>Gotot")
        assert editor.wanted() == "al = price * count"
        editor.type("<Tab>")
        editor.ends(KNOWN[0])
        server.kill()
        server.wait()
    # one that does not live is not started for ever
    editor.until(lambda: editor.status == "Clover -", "the status does not tell")
    editor.until(lambda: ":CloverRestart" in editor.messages, "not told")
    editor.type("<Esc>Gotot<Esc>")
    editor.ends("tot")
    editor.command("CloverRestart")
    editor.ready()
    editor.type("A")
    assert editor.wanted() == "al = price * count"


def test_who_types_before_the_server_is_there(start: Open) -> None:
    editor = start(f"{KNOWN[0]}\n")
    editor.type("Gotot")
    assert editor.ghost().text == "al = price * count"
