"""Neovims with the plugin: each that is installed, with ghost text of its own and built in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

import pytest

from tests.support.neovim import Neovim, write_init
from tests.support.wire import SERVER

KINDS = [("0.10", "own"), ("0.11", "own"), ("0.12", "own"), ("0.12", "native")]
Open: TypeAlias = Callable[..., Neovim]


@pytest.fixture(scope="package", params=KINDS, ids="-".join)
def kind(request: pytest.FixtureRequest) -> tuple[str, str]:
    """A version, and who draws its ghost text."""
    version, painter = request.param
    return version, painter


@pytest.fixture(scope="package")
def shared(kind: tuple[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Neovim]:
    version, painter = kind
    home = tmp_path_factory.mktemp("home")
    editor = Neovim(version, home, write_init(home, f'ghost = "{painter}"'))
    yield editor
    editor.close()


@pytest.fixture
def edit(shared: Neovim, tmp_path: Path) -> Iterator[Open]:
    """Opens a file of that text in the Neovim that all tests of its kind share."""

    def open(text: str, name: str = "demo.py") -> Neovim:
        file = tmp_path / name
        file.write_bytes(text.encode())
        shared.command(f"edit {file}")
        shared.ready()
        return shared

    yield open
    shared.type("<Esc>")
    shared.until(lambda: shared.mode == "n", "not in normal mode")
    shared.lua(RESET)


RESET = """
require("clover_write.pauses").resume()
vim.cmd("silent! tabonly! | silent! only! | silent! %bwipeout! | messages clear")
"""


@pytest.fixture
def start(kind: tuple[str, str], tmp_path: Path) -> Iterator[Open]:
    """Starts a Neovim with other settings, on a file of that text."""
    version, painter = kind
    opened: list[Neovim] = []

    def open(
        text: str, name: str = "demo.py", options: str = "", server: Sequence[str] = SERVER
    ) -> Neovim:
        file = tmp_path / name
        file.write_bytes(text.encode())
        path = write_init(tmp_path, f'ghost = "{painter}", {options}', server=server)
        opened.append(editor := Neovim(version, tmp_path, path, file))
        return editor

    yield open
    for editor in opened:
        editor.close()
