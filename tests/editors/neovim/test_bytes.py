"""What is accepted in Neovim gets into the file byte by byte, whatever file and mappings are."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.editors.neovim.conftest import Open
from tests.support.neovim import Neovim

pytestmark = pytest.mark.slow

LINE = "total = price * count"
CRLF = f"{LINE}\r\n\r\n"
TABS = "def f():\n\treturn value\n"
EMOJI = "名 = '😀👩\u200d👧' + 一\n"
DECOMPOSED = "cafe\u0301 = 'x'\n"


def accepted(editor: Neovim, keys: str, shown: str) -> bytes:
    """The file, once keys were typed, `shown` that they begin was accepted, and it was written."""
    editor.type(keys)

    def is_offered() -> bool:
        return shown in (f"{editor.lines[-1]}{ghost.text}" for ghost in editor.ghosts())

    editor.until(is_offered, "not offered")
    editor.type("<Tab>")
    editor.until(lambda: "\n".join(editor.lines).endswith(shown), "not accepted")
    editor.type("<Esc>")
    editor.command("silent write")
    return Path(editor.lua("return vim.api.nvim_buf_get_name(0)")).read_bytes()


@pytest.mark.parametrize(
    ("text", "keys", "added"),
    [
        (CRLF, "Gotot", f"{LINE}\r\n"),
        (f"\ufeff{CRLF}", "Gotot", f"{LINE}\r\n"),
        (TABS, "Go\tret", "\treturn value\n"),
        (EMOJI, "Go名 = '😀", EMOJI),
        (EMOJI, "Go名 = '😀👩\u200d👧'", EMOJI),
        (DECOMPOSED, "Gocafe\u0301 =", DECOMPOSED),
    ],
)
def test_of_any_kind(edit: Open, text: str, keys: str, added: str) -> None:
    editor = edit(text)
    editor.command("setlocal noexpandtab noautoindent indentexpr= indentkeys=")
    assert accepted(editor, keys, added.rstrip()) == f"{text}{added}".encode()


def test_without_a_line_end(edit: Open) -> None:
    editor = edit(f"{LINE}\ntot")
    editor.command("setlocal nofixendofline")
    assert accepted(editor, "GA", LINE) == f"{LINE}\n{LINE}".encode()


def test_lines_are_not_indented_twice(edit: Open) -> None:
    script = '# clover-fake: {"text": "if a:\\n        b = 1\\n    c = 2"}\n'
    editor = edit(f"{script}def f():\n")
    editor.command("setlocal autoindent smartindent")
    editor.type("Go")
    editor.ends("    ")
    done = accepted(editor, "<M-\\>", "    if a:\n        b = 1\n    c = 2")
    assert done == f"{script}def f():\n    if a:\n        b = 1\n    c = 2\n".encode()


PAIRS = """
for open, close in pairs({ ["("] = ")", ["["] = "]", ['"'] = '"' }) do
  vim.keymap.set("i", open, open .. close .. "<Left>", { buffer = true })
end
vim.cmd("iabbrev <buffer> price PRICE")
"""


@pytest.mark.parametrize(("keys", "shown"), [("pr", "int(total[0])"), ("print(", "total[0]")])
def test_with_pairs_and_abbreviations(edit: Open, keys: str, shown: str) -> None:
    editor = edit("print(total[0])\n\n")
    editor.lua(PAIRS)
    editor.type(f"Go{keys}")
    assert editor.ghost().text == shown
    editor.type("<Tab>")
    editor.ends("print(total[0])")


def test_abbreviations_stay_out(edit: Open) -> None:
    editor = edit(f"{LINE}\n\n")
    editor.lua(PAIRS)
    assert accepted(editor, "Gotot", LINE) == f"{LINE}\n\n{LINE}\n".encode()
