"""Ghost text in Neovim: how it shows, follows typing, is accepted in parts, and goes."""

from __future__ import annotations

import json

import pytest

from tests.editors.neovim.conftest import Open
from tests.support.neovim import Ghost

pytestmark = pytest.mark.slow

CODE = "total = price * count\n\n"
LINE = "total = price * count"
FAMILY = "\N{WOMAN}\N{ZERO WIDTH JOINER}\N{GIRL}"  # one sign to who reads it


def scripted(text: str, *others: str, **more: object) -> str:
    """A line that has the fake engine write a text."""
    script = {"text": text, "others": others, **more}
    return f"# clover-fake: {json.dumps(script)}\n"


def test_tab_accepts(edit: Open) -> None:
    editor = edit(CODE)
    editor.type("Gotot")
    assert editor.ghost() == Ghost(2, 3, "al = price * count")
    editor.type("<Tab>")
    editor.ends(LINE)
    assert (editor.cursor, editor.ghosts(), editor.mode) == ((2, 21), [], "i")


def test_it_follows_what_is_typed_along(edit: Open) -> None:
    editor = edit(CODE)
    editor.type("Gotot")
    editor.ghost()
    editor.type("al =")
    editor.ends("total =")
    assert editor.ghosts() == [Ghost(2, 7, " price * count")]


def test_it_goes_at_once_where_something_else_is_typed(edit: Open) -> None:
    editor = edit(CODE)
    editor.type("Gotot")
    editor.ghost()
    editor.type("x")
    editor.ends("totx")
    assert editor.ghosts() == []


def test_keys_that_come_together_accept_what_is_left(edit: Open) -> None:
    editor = edit(CODE)
    editor.type("Gotot")
    editor.ghost()
    editor.type("al<Tab>!")
    editor.ends(f"{LINE}!")


def test_keys_that_come_together_accept_nothing_that_does_not_fit(edit: Open) -> None:
    editor = edit(CODE)
    editor.command("setlocal expandtab shiftwidth=4 softtabstop=4")
    editor.type("Gotot")
    editor.ghost()
    editor.type("x<Tab>!")
    editor.until(lambda: editor.lines[-1].endswith("!"), "not typed")
    assert editor.lines[-1] == "totx    !"


def test_a_word_at_a_time_and_the_rest(edit: Open) -> None:
    editor = edit(scripted(f"one = [二三四五,\n    'six'] # {FAMILY} 7"))
    editor.type("Gox = <M-\\>")
    text = "x = "
    words = ["one", " =", " [", "二三", "四五", ",", "\n    '", "six", "']", " #", f" {FAMILY}"]
    for word in words:
        editor.until(editor.ghosts, "no ghost text")
        editor.type("<M-Right>")
        text += word
        editor.ends(*text.split("\n"))
    assert editor.ghosts()[0].text == " 7"
    editor.type("<Tab>")
    editor.until(lambda: editor.lines[2].endswith(" 7"), "not accepted")


def test_a_line_at_a_time(edit: Open) -> None:
    editor = edit(scripted("one(\n    two,\n)"))
    editor.type("Gox = <M-\\>")
    assert editor.ghost().text == "one(\n    two,\n)"
    for lines in (["x = one("], ["x = one(", "    two,"], ["x = one(", "    two,", ")"]):
        editor.type("<M-C-Right>")
        editor.ends(*lines)
    assert editor.ghosts() == []


def test_accepting_is_an_undo_step_of_its_own(edit: Open) -> None:
    editor = edit(CODE)
    editor.type("Gotot")
    editor.ghost()
    editor.type("<Tab>")
    editor.ends(LINE)
    editor.type("<Esc>u")
    editor.ends("tot")


@pytest.mark.parametrize(("key", "mode"), [("<Esc>", "n"), ("<C-]>", "i")])
def test_it_is_rejected(edit: Open, key: str, mode: str) -> None:
    editor = edit(CODE)
    editor.type("Gotot")
    editor.ghost()
    editor.type(key)
    editor.no_ghost()
    assert (editor.lines[-1], editor.mode) == ("tot", mode)


def test_others_are_asked_for_and_cycled(edit: Open) -> None:
    editor = edit(scripted("first", "second", "third"))
    editor.type("Gox = ")
    for key, text in [
        ("", "first"),
        ("<M-]>", "second"),
        ("<M-]>", "third"),
        ("<M-]>", "first"),
        ("<M-[>", "third"),
    ]:
        editor.type(key)
        editor.shows(text)
    editor.type("<Tab>")
    editor.ends("x = third")


def test_the_menu_of_completions_comes_first(edit: Open) -> None:
    editor = edit("total = price * count\ntotally = 1\n")
    editor.type("Gotot")
    editor.ghost()
    editor.type("<C-n>")
    editor.until(lambda: editor.lua("return vim.fn.pumvisible()") == 1, "no menu")
    assert editor.ghosts() == []
    editor.type("<C-n><C-y>")
    editor.ends("totally")


def test_pauses(edit: Open) -> None:
    editor = edit(CODE)
    editor.command("CloverPause here")
    assert editor.status == "Clover paused"
    editor.type("Gotot<M-\\>")  # asked for it comes
    editor.ghost()
    editor.type("<Esc>")
    editor.no_ghost()
    editor.command("CloverResume")
    editor.command("CloverPause 10")
    editor.type("otot")
    editor.ends("tot")
    editor.command("CloverResume")
    assert editor.ghosts() == []
    editor.type("a")
    assert editor.ghost().text == "l = price * count"
