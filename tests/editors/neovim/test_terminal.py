"""Neovim on a screen: ghost text stands where it should, in a colour that typed text has not."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.neovim import PATIENCE_S, environment, program, write_init

pytestmark = pytest.mark.slow

CODE = "total = price * count\n"
NOTE = "# 会议记录 😀\n\n结论：下周三发布新版本。\n"


class Terminal:
    """A terminal of 80 by 12 with one program in it."""

    def __init__(self, home: Path, command: list[str]) -> None:
        self._tmux = ["tmux", "-S", str(home / "tmux"), "-f", "/dev/null"]
        self._home = home
        size = ["-x", "80", "-y", "12"]
        self._run("-u", "new-session", "-d", "-s", "clover", *size, *command)

    def _run(self, *arguments: str) -> str:
        environ = {**os.environ, **environment(self._home), "TERM": "xterm-256color"}
        done = subprocess.run(
            [*self._tmux, *arguments], env=environ, capture_output=True, text=True, check=True
        )
        return done.stdout

    def type(self, text: str) -> None:
        self._run("send-keys", "-t", "clover", "-l", text)

    def press(self, key: str) -> None:
        """A key by its name in tmux."""
        self._run("send-keys", "-t", "clover", key)

    def screen(self, *, colours: bool = False) -> str:
        return self._run("capture-pane", "-p", *(["-e"] if colours else []), "-t", "clover")

    def until(self, holds: Callable[[], bool], what: str) -> None:
        end = time.monotonic() + PATIENCE_S
        while not holds():
            assert time.monotonic() < end, f"{what}:\n{self.screen()}"
            time.sleep(0.02)

    def close(self) -> None:
        self._run("kill-server")


@pytest.fixture(params=[("0.11", "own"), ("0.12", "native")], ids="-".join)
def terminal(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Terminal]:
    """Neovim with the plugin on `demo.py` and `note.md`."""
    if not shutil.which("tmux"):
        pytest.skip("tmux is not installed: .ci/run installs it")
    version, painter = request.param
    (tmp_path / "demo.py").write_text(CODE)
    (tmp_path / "note.md").write_text(NOTE)
    status = "vim.o.laststatus = 2 vim.o.statusline = \"[%{v:lua.require'clover_write'.status()}]\""
    init = write_init(tmp_path, f'ghost = "{painter}"', before=status)
    files = [str(tmp_path / name) for name in ("demo.py", "note.md")]
    terminal = Terminal(tmp_path, [program(version), "-n", "-i", "NONE", "-u", str(init), *files])
    yield terminal
    terminal.close()


def test_ghost_text_on_the_screen(terminal: Terminal, tmp_path: Path) -> None:
    terminal.until(lambda: "[Clover]" in terminal.screen(), "no status")
    terminal.type("Gotot")
    terminal.until(lambda: terminal.screen().count("total = price * count") == 2, "no ghost text")
    typed, _, ghost = terminal.screen(colours=True).splitlines()[1].partition("tot")
    assert "38;5;244" in ghost
    assert "38;5;244" not in typed
    terminal.press("Tab")
    terminal.press("Escape")
    terminal.until(lambda: "38;5;244" not in terminal.screen(colours=True), "still ghost text")
    terminal.type(":write")
    terminal.press("Enter")
    done = CODE * 2
    terminal.until(lambda: (tmp_path / "demo.py").read_text() == done, "not written")


def test_ghost_text_behind_wide_characters(terminal: Terminal, tmp_path: Path) -> None:
    terminal.until(lambda: "[Clover]" in terminal.screen(), "no status")
    terminal.type(":next")
    terminal.press("Enter")
    terminal.until(lambda: "会议记录" in terminal.screen(), "not opened")
    terminal.type("Go结论：下周")
    terminal.until(lambda: terminal.screen().count("三发布新版本。") == 2, "no ghost text")
    terminal.press("Tab")
    terminal.press("Escape")
    terminal.type(":write")
    terminal.press("Enter")
    done = f"{NOTE}结论：下周三发布新版本。\n"
    terminal.until(lambda: (tmp_path / "note.md").read_text() == done, "not written")
