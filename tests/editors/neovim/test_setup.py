"""Setting the plugin up: what is wrong is told in one line, and the health check says how it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.editors.neovim.conftest import Open
from tests.support.neovim import PLUGIN

pytestmark = pytest.mark.slow

WRONG = [
    ("ghosts = 'own'", "there is no ghosts; there are cmd, cmd_env, debounce_ms, filetypes, ghost"),
    ("keys = { accpt = '<Tab>' }", "there is no keys.accpt; there are accept, accept_line,"),
    ("cmd = 'clover-write'", "cmd is a table"),
    ("ghost = 'mine'", 'ghost is "auto", "native" or "own"'),
]


@pytest.mark.parametrize(("options", "told"), WRONG)
def test_a_wrong_setting(edit: Open, options: str, told: str) -> None:
    editor = edit("")
    code = f"return {{ pcall(require('clover_write').setup, {{ {options} }}) }}"
    done, message = editor.lua(code)
    assert not done
    assert told in message


def test_native_ghost_text_where_there_is_none(edit: Open, kind: tuple[str, str]) -> None:
    if kind[0] == "0.12":
        pytest.skip("this version has it")
    editor = edit("")
    code = "return { pcall(require('clover_write').setup, { ghost = 'native' }) }"
    assert editor.lua(code) == [
        False,
        'clover_write.setup: ghost = "native" needs Neovim 0.12; "auto" has what there is',
    ]


def test_a_program_that_is_not_there(start: Open) -> None:
    editor = start("tot\n", server=["clover-write-nowhere", "lsp"])
    editor.until(lambda: "there is no clover-write-nowhere: install" in editor.messages, "not told")
    assert editor.status == "Clover -"
    editor.type("Gotot")
    editor.ends("tot")
    editor.type("<Esc>")
    editor.command("checkhealth clover_write")
    health = "\n".join(editor.lines)
    assert "there is no clover-write-nowhere" in health
    assert "install Clover Write" in health


def test_health(edit: Open, kind: tuple[str, str]) -> None:
    editor = edit("tot\n")
    editor.command("checkhealth clover_write")
    health = "\n".join(editor.lines)
    assert f"Neovim {kind[0]}" in health
    assert ("vim.lsp.inline_completion" in health) == (kind[1] == "native")
    assert "the server runs (version" in health
    assert "ERROR" not in health


def test_the_manual_has_all_commands_settings_and_keys(edit: Open, tmp_path: Path) -> None:
    editor = edit("")
    manual = (PLUGIN / "doc" / "clover_write.txt").read_text()
    commands = editor.lua("return vim.tbl_keys(vim.api.nvim_get_commands({}))")
    settings = editor.lua("return vim.tbl_keys(require('clover_write.config').current)")
    keys = editor.lua("return vim.tbl_keys(require('clover_write.config').current.keys)")
    functions = editor.lua("return vim.tbl_keys(require('clover_write'))")
    names = [
        *(f"*:{name}*" for name in commands if name.startswith("Clover")),
        *(f"*clover_write.{name}()*" for name in functions),
        *(f"`{name}`" for name in [*settings, *keys]),
    ]
    assert len(names) > 20
    assert [name for name in names if name not in manual] == []
    copied = tmp_path / "doc"
    copied.mkdir()
    (copied / "clover_write.txt").write_text(manual)
    editor.command(f"helptags {copied}")  # fails for a tag that is there twice
    assert all(len(line) < 79 for line in manual.splitlines())


def test_only_file_types_that_are_wanted(start: Open) -> None:
    editor = start("total = price\n", "demo.py", options="filetypes = { 'markdown' }")
    editor.until(lambda: editor.lua("return vim.bo.filetype") == "python", "no file type")
    assert editor.servers == []
    editor.command("set filetype=markdown")
    editor.ready()
    editor.command("set filetype=python")
    assert not editor.lua("return require('clover_write.server').serves(1)")
