"""The extension in VS Code itself, with the fake engine: what is typed, seen, taken and saved."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.editors.code_server import code_server
from tests.editors.workbench import Workbench, workbench

pytestmark = pytest.mark.slow

LINE = "total = price * count"


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory, artefacts: Path) -> Iterator[Workbench]:
    home = tmp_path_factory.mktemp("vscode")
    state = {"CLOVER_WRITE_ENGINE": "fake", "CLOVER_WRITE_STATE_DIR": str(home / "state")}
    with code_server(home, state) as server, workbench(server, artefacts) as bench:
        bench.status("Ready")
        bench.open("begin.py", f"{LINE}\n\n")
        bench.type("tot")
        # the engine is imported now
        bench.ghost_at_last()
        bench.press("Escape")
        yield bench


def test_ghost_text_is_taken_whole_in_words_or_not_at_all(bench: Workbench) -> None:
    bench.open("take.py", f"{LINE}\n\n")
    bench.type("tot")
    assert bench.ghost() == "al = price * count"
    bench.press("Escape")
    bench.no_ghost()
    bench.type("al")
    assert bench.ghost() == " = price * count"
    words = 0
    while (look := bench.look()).line != "total = price":
        bench.press("Control+ArrowRight")
        now = bench.line_after(look.line)
        assert (now.whole, words < 5) == (LINE, True)
        words += 1
    assert words > 1
    bench.press("Tab")
    bench.no_ghost()
    assert bench.look().line == LINE
    assert bench.saved("take.py") == f"{LINE}\n\n{LINE}".encode()


def test_tab_indents_where_no_ghost_text_is(bench: Workbench) -> None:
    bench.open("tab.py", "")
    bench.press("Tab")
    bench.type("x")
    assert bench.saved("tab.py") == b"    x"


@pytest.mark.parametrize(
    ("name", "before", "typed", "ghost"),
    [
        ("crlf.py", f"{LINE}\r\n\r\n", "tot", "al = price * count"),
        ("tabs.go", "\tsum := price * count\n\t", "sum", " := price * count"),
        ("emoji.py", '📦🇨🇭 = "名"\n\n', "📦", '🇨🇭 = "名"'),
        ("笔记.md", "会议决定，新版本将于四月底发布。\n\n", "会议", "决定，新版本将于四月底发布。"),
        ("pairs.py", "print(total, count)\n\n", "print(", "total, count"),
        ("quotes.py", 'names = ["a", "b"]\n\n', "names = [", '"a", "b"'),
    ],
)
def test_what_is_taken_is_exact_to_the_byte(
    bench: Workbench, name: str, before: str, typed: str, ghost: str
) -> None:
    bench.open(name, before)
    bench.type(typed)
    seen = bench.ghost()
    assert seen.startswith(ghost)
    bench.press("Tab")
    bench.no_ghost()
    first = next(line for line in before.split("\n") if line.strip()).strip()
    assert bench.saved(name) == f"{before}{first}".encode()


def test_three_hundred_keystrokes_show_nothing_stale_and_nothing_twice(bench: Workbench) -> None:
    lines = [LINE, "report = summary(total, names)", "items = load(path, [1, 2])"]
    others = ["total = price - 3", "reply = 1", "items = load(source)"]
    bench.open("session.py", "\n".join(lines))
    typed = [*lines, *others, *lines, *reversed(lines), others[0], *lines, others[2], *lines]
    keys = 0
    for at, line in enumerate(typed):
        bench.press("Enter")
        for written in (line[:end] for end in range(1, len(line) + 1)):
            bench.press("Space" if written[-1] == " " else written[-1])
            # at every moment: what is shown makes one of the lines above, or there is none
            look = bench.look()
            assert not look.ghost or look.whole in lines, (written, look)
            if len(written) == 4 + at % 9:
                # at rest it is what the fake engine writes: the last line that begins like this
                whole = next((each for each in reversed(lines) if each.startswith(written)), None)
                bench.shows(whole) if whole else bench.no_ghost()
        lines.append(line)
        keys += 1 + len(line)
    assert keys >= 300
    assert bench.saved("session.py").decode().splitlines() == lines


def test_a_document_without_a_file_gets_ghost_text(bench: Workbench) -> None:
    bench.run("New Untitled Text File", "File")
    bench.page.locator(".tab.active", has_text="Untitled").wait_for()
    bench.type(f"{LINE}\n\ntot")
    bench.shows(LINE)
    bench.press("Tab")
    bench.no_ghost()
    assert bench.look().line == LINE


def test_a_cell_goes_on_as_the_cells_above_it(bench: Workbench) -> None:
    cells = [
        {"cell_type": "code", "metadata": {}, "outputs": [], "source": [source]}
        for source in (LINE, "")
    ]
    bench.write("cells.ipynb", json.dumps({"cells": cells, "metadata": {}, "nbformat": 4}))
    bench.find("cells.ipynb")
    cell = bench.page.locator(".notebook-editor .cell .monaco-editor").nth(1)
    cell.click()
    bench.type("tot")
    bench.shows(LINE)


def test_at_several_cursors_and_while_an_input_method_composes_nothing_comes(
    bench: Workbench,
) -> None:
    bench.open("cursors.py", f"{LINE}\n\n\n")
    bench.press("Shift+Alt+ArrowUp")
    assert bench.page.locator(".monaco-editor.focused .cursors-layer .cursor").count() == 2
    bench.type("total")
    bench.page.wait_for_timeout(1000)
    assert bench.look().ghost == ""
    bench.press("Escape", "Escape", "Control+End")
    bench.open("compose.md", "ni hao, says the book\n\n")
    ime = bench.page.context.new_cdp_session(bench.page)
    for form in ("n", "ni"):
        ime.send("Input.imeSetComposition", {"text": form, "selectionStart": 2, "selectionEnd": 2})
    bench.page.wait_for_timeout(1000)
    assert bench.look().ghost == ""
    ime.send("Input.insertText", {"text": "你"})
    assert bench.saved("compose.md").decode() == "ni hao, says the book\n\n你"


def test_all_spans_are_filled_by_one_edit(bench: Workbench) -> None:
    script = '<!-- clover-fake: {"text": "four"} --><!-- clover-fake: {"text": "five"} -->\n'
    before = f"{script}\nFrom [MASK] to ____ o'clock.\n"
    bench.open("spans.md", before)
    bench.run("Fill All Masked Spans")
    bench.page.locator(".view-line", has_text="From four to five").first.wait_for()
    bench.press("Control+Z")
    assert bench.saved("spans.md").decode() == before


def test_restructuring_is_reviewed_applied_and_taken_back(bench: Workbench) -> None:
    before = "# Outage\r\n\r\n## Root cause\r\n\r\nThe disk was full.\r\n\r\n- buy disks\r\n"
    bench.open("outage.md", before)
    review(bench, "outage.md", "incident")
    bench.answer("Restructured to", "Discard")
    bench.page.locator(".diff-editor, .monaco-diff-editor").first.wait_for(state="detached")
    assert bench.saved("outage.md").decode() == before
    review(bench, "outage.md", "incident")
    bench.shoot("restructure")
    bench.answer("Restructured to", "Apply")
    bench.page.locator(".monaco-diff-editor").first.wait_for(state="detached")
    after = bench.saved("outage.md").decode()
    assert after != before
    assert "The disk was full." in after
    assert after.count("\n") == after.count("\r\n")
    bench.press("Control+Z")
    assert bench.saved("outage.md").decode() == before


def review(bench: Workbench, name: str, template: str) -> None:
    """Have the document shown as it would be in the template."""
    bench.run("Restructure to Template")
    bench.pick(template)
    bench.page.locator(".monaco-diff-editor").first.wait_for(timeout=60_000)


def test_the_table_of_contents_comes_up_to_date(bench: Workbench) -> None:
    bench.open("toc.md", "# Notes\n\n## One\n\n## Two\n")
    bench.run("Update the Table of Contents")
    bench.page.locator(".view-line", has_text="[Two](#two)").first.wait_for()


def test_a_pause_is_shown_and_kept_and_ends(bench: Workbench) -> None:
    bench.open("pause.py", f"{LINE}\n\n")
    bench.run("Pause for 10 Minutes")
    bench.status("Paused until")
    bench.shoot("paused")
    bench.type("tot")
    bench.page.wait_for_timeout(1000)
    assert bench.look().ghost == ""
    # one who asks is answered
    bench.run("Complete Now")
    assert bench.ghost() == "al = price * count"
    bench.press("Escape")
    bench.run("Resume")
    bench.status("Ready")
    bench.type("al")
    assert bench.ghost() == " = price * count"


def test_a_server_that_dies_comes_back_and_typing_goes_on(bench: Workbench) -> None:
    bench.open("dies.py", f"{LINE}\n\n")
    server = servers(bench)
    for process in server:
        os.kill(process.pid, signal.SIGKILL)
    bench.type("# what is typed meanwhile stays\n")
    psutil.wait_procs(server, timeout=20)
    bench.status("Ready")
    bench.type("tot")
    bench.run("Complete Now")
    assert bench.ghost() == "al = price * count"
    bench.press("Tab")
    assert bench.saved("dies.py").decode().endswith(f"stays\n{LINE}")


def servers(bench: Workbench) -> list[psutil.Process]:
    """The language servers of this VS Code."""
    home = str(bench.server.home)
    found = [
        process
        for process in psutil.process_iter(["cmdline", "environ"])
        if "lsp" in (process.info["cmdline"] or ())
        and (process.info["environ"] or {}).get("HOME") == home
    ]
    assert found
    return found
