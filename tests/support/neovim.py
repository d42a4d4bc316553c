"""Neovim, driven as a user drives it: keys go in, and what it shows and holds comes out."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import psutil
import pynvim
import pytest

from tests.support.wire import SERVER

T = TypeVar("T")
PLUGIN = Path(__file__).parents[2] / "editors" / "nvim"
# nothing here waits that long unless something is broken
PATIENCE_S = 30
# what is asked for by key has five seconds
ASK_AGAIN_S = 8
SERVES = "return require('clover_write.server').serves(vim.api.nvim_get_current_buf())"
# of the plugin and of Neovim itself
NAMESPACES = ("clover_write", "nvim.lsp.inline_completion")


def editors_folder() -> Path:
    """Where `make neovim` puts them."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "clover-write-editors"


def program(version: str) -> str:
    """The installed Neovim of a version; skips where there is none."""
    path = editors_folder() / f"neovim-{version}" / "nvim"
    if not path.exists():
        pytest.skip(f"Neovim {version} is not installed: run make neovim")
    return str(path)


@dataclass(frozen=True, slots=True)
class Ghost:
    """Text that shows and is not in the buffer; rows and columns from 0, columns in bytes."""

    row: int
    col: int
    text: str


class Neovim:
    """One Neovim with the plugin, without a screen."""

    def __init__(self, version: str, home: Path, init: Path, *files: Path) -> None:
        self.patience_s = PATIENCE_S
        command = [program(version), "--embed", "--headless", "-n", "-i", "NONE", "-u", str(init)]
        before = dict(os.environ)
        os.environ.update(environment(home))
        try:
            self._api = pynvim.attach("child", argv=[*command, *map(str, files)])
        finally:
            os.environ.clear()
            os.environ.update(before)

    def close(self) -> None:
        """End it, whatever is unsaved."""
        # it ends before it answers
        with contextlib.suppress(OSError, EOFError):
            self.command("qall!")
        self._api.close()

    def call(self, function: str, *arguments: object) -> Any:
        """What a function of Neovim's API returns; its name without `nvim_`."""
        return self._api.request(f"nvim_{function}", *arguments)

    def type(self, keys: str) -> None:
        """Press keys, written as in mappings."""
        assert self.call("input", keys) == len(keys.encode())

    def lua(self, code: str, *arguments: object) -> Any:
        """What a chunk returns."""
        return self.call("exec_lua", code, arguments)

    def command(self, command: str) -> str:
        """Run an Ex command; what it printed."""
        return str(self.call("exec2", command, {"output": True})["output"])

    @property
    def lines(self) -> list[str]:
        """Those of the current buffer."""
        return list(self.call("buf_get_lines", 0, 0, -1, True))

    @property
    def cursor(self) -> tuple[int, int]:
        """Row and column, from 0."""
        row, col = self.call("win_get_cursor", 0)
        return row - 1, col

    @property
    def mode(self) -> str:
        return str(self.call("get_mode")["mode"])

    @property
    def servers(self) -> list[psutil.Process]:
        """The language servers that it runs."""
        own = psutil.Process(self.lua("return vim.fn.getpid()"))
        return [child for child in own.children() if "lsp" in child.cmdline()]

    @property
    def messages(self) -> str:
        return self.command("messages")

    @property
    def status(self) -> str:
        """What the plugin gives the status line."""
        return str(self.lua("return require('clover_write').status()"))

    def ghosts(self) -> list[Ghost]:
        """All ghost text in the current buffer."""
        found: list[Ghost] = []
        known = self.call("get_namespaces")
        for namespace in (known[name] for name in NAMESPACES if name in known):
            marks = self.call("buf_get_extmarks", 0, namespace, 0, -1, {"details": True})
            for _, row, col, details in marks:
                lines = [details.get("virt_text", []), *details.get("virt_lines", [])]
                text = "\n".join("".join(chunk[0] for chunk in line) for line in lines)
                # so Neovim 0.10 shows what joins two characters
                found.append(Ghost(row, col, text.replace("<200d>", "\u200d")))
        return found

    def until(self, read: Callable[[], T | None], what: str) -> T:
        """What `read` gives, once that is something."""
        end = time.monotonic() + self.patience_s
        while time.monotonic() < end:
            if found := read():
                return found
            time.sleep(0.005)
        raise AssertionError(f"{what}: {self.lines} {self.ghosts()} {self.status} {self.messages}")

    def ghost(self) -> Ghost:
        """The ghost text, once some shows."""
        [ghost] = self.until(self.ghosts, "no ghost text")
        return ghost

    def wanted(self) -> str:
        """The ghost text, asked for by key as often as a busy machine lets the time pass."""
        asked = time.monotonic()

        def look() -> list[Ghost]:
            nonlocal asked
            if time.monotonic() > asked + ASK_AGAIN_S:
                asked = time.monotonic()
                self.type("<M-\\>")
            return self.ghosts()

        [ghost] = self.until(look, "no ghost text")
        return ghost.text

    def shows(self, text: str) -> None:
        """Wait until ghost text begins so."""

        def do() -> bool:
            return [ghost.text[: len(text)] for ghost in self.ghosts()] == [text]

        self.until(do, f"{text!r} does not show")

    def ends(self, *lines: str) -> None:
        """Wait until the buffer ends with these lines."""
        self.until(lambda: self.lines[-len(lines) :] == list(lines), f"it does not end {lines}")

    def no_ghost(self) -> None:
        """Wait until none shows."""
        self.until(lambda: not self.ghosts(), "ghost text")

    def ready(self) -> None:
        """Wait until the server knows the current buffer."""
        self.until(lambda: self.lua(SERVES), "no server")


def environment(home: Path) -> dict[str, str]:
    """What keeps a Neovim from the files of who runs the tests."""
    places = ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME")
    return {
        **{name: str(home / name.lower()) for name in places},
        "CLOVER_WRITE_STATE_DIR": str(home / "state"),
        "NVIM_LOG_FILE": str(home / "nvim.log"),
        "LC_ALL": "C.UTF-8",
    }


def write_init(
    home: Path, options: str = "", *, server: Sequence[str] = SERVER, before: str = ""
) -> Path:
    """An init.lua with the plugin; `options` go to `setup`, `before` stands before that."""
    command = ", ".join(f"[=[{part}]=]" for part in server)
    init = home / "init.lua"
    init.write_text(
        f"vim.opt.runtimepath:append([=[{PLUGIN}]=])\n"
        # what people have, and what comes between keys and text
        "vim.cmd('filetype plugin indent on')\n"
        f"{before}\n"
        f"require('clover_write').setup({{ cmd = {{ {command} }}, {options} }})\n"
    )
    return init
