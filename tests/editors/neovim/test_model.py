"""The real coder-0.5b in Neovim: code, a Chinese note, spans, a messy note brought into shape."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.editors.neovim.conftest import Open
from tests.support.neovim import Neovim
from tests.support.wire import SERVER

pytestmark = [pytest.mark.model, pytest.mark.usefixtures("real_model")]

REAL = SERVER[:5]
CODE = """\
def celsius_to_fahrenheit(celsius):
    return celsius * 9 / 5 + 32


def fahrenheit_to_celsius(fahrenheit):
    return"""
NOTE = """\
# 会议记录

## 结论

- 下周三发布新版本。
- 张三负责文档，李四负责测试。
- 下周"""
SPANS = """\
# Water

Water boils at ____ degrees Celsius and freezes at 0 degrees Celsius. Its formula is ____.
"""
MESSY = """\
# Outage of the shop

We will add an alert on disk space, owner: Kim.

Users could not pay from 10:05 to 10:50.

The disk of the database was full because logs were not rotated.

- 10:05 first alert
- 10:50 back to normal
"""


@pytest.fixture
def real(start: Open) -> Open:
    """Opens a file in a Neovim whose server has the model."""

    def open(text: str, name: str) -> Neovim:
        editor = start(text, name, server=REAL)
        editor.patience_s = 120
        editor.ready()
        return editor

    return open


@pytest.mark.parametrize(("text", "name"), [(CODE, "demo.py"), (NOTE, "note.md")])
def test_ghost_text_accepted_in_words_and_whole_and_rejected(
    real: Open, text: str, name: str
) -> None:
    editor = real(text, name)
    editor.type("GA")
    editor.wanted()
    editor.type("<Esc>")
    editor.no_ghost()
    assert editor.lines == text.splitlines()
    editor.type("A")
    shown = editor.wanted().partition(" (1/")[0]  # of several it says how many
    editor.type("<M-Right>")
    editor.until(lambda: "\n".join(editor.lines) != text, "no word accepted")
    word = "\n".join(editor.lines).removeprefix(text)
    assert shown.startswith(word)
    if word != shown:
        editor.type("<Tab>")
    editor.until(lambda: "\n".join(editor.lines) == f"{text}{shown}", "not accepted")


def test_all_spans(real: Open) -> None:
    editor = real(SPANS, "note.md")
    editor.command("CloverFill")
    editor.until(lambda: "____" not in "\n".join(editor.lines), "not filled")
    editor.type("u")
    editor.until(lambda: editor.lines == SPANS.splitlines(), "not undone")


def test_a_messy_note(real: Open, tmp_path: Path) -> None:
    editor = real(MESSY, "note.md")
    editor.command("CloverRestructure incident")
    editor.until(lambda: editor.lua("return vim.fn.tabpagenr('$')") == 2, "no review")
    proposed = editor.lines
    assert proposed != MESSY.splitlines()
    for line in MESSY.splitlines():
        assert line in "\n".join(proposed)
    editor.command("write")
    editor.until(lambda: editor.lines == proposed, "not applied")
    editor.type("u")
    editor.until(lambda: editor.lines == MESSY.splitlines(), "not undone")
    editor.command("write")
    assert (tmp_path / "note.md").read_text() == MESSY
