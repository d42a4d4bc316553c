"""The extension in VS Code with the real model: code, a Chinese note, holes, a messy note."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.editors.code_server import code_server
from tests.editors.workbench import Workbench, workbench

pytestmark = [pytest.mark.slow, pytest.mark.model]

MODEL_MS = 180_000
CODE = '''\
def area(width: float, height: float) -> float:
    """The area of a rectangle."""
    return width * height


def perimeter(width: float, height: float) -> float:
    """The perimeter of a rectangle."""
    '''
NOTE = """\
# 项目例会纪要

时间：2026年3月12日下午三点
地点：三楼会议室

## 决定

1. 新版本将于四月底发布，由产品部负责编写"""
HOLES = "# Tea\n\nTo make tea, boil the ____ first. Then pour it into a [MASK] and wait.\n"
MESSY = """\
# checkout down on monday

Root cause: the disk of the database was full, 100 %.

- 09:12 alarms go off
- 09:40 disk is cleared

## what people saw

Orders failed with error 502 for 28 minutes. See https://status.example/42 for details.

## todo
- [ ] alarm at 80 % of the disk
"""


@pytest.fixture(scope="module")
def bench(
    tmp_path_factory: pytest.TempPathFactory, artefacts: Path, real_model: Path
) -> Iterator[Workbench]:
    home = tmp_path_factory.mktemp("vscode-model")
    # the engine starts by itself, as for a user; only the weights are those of this machine
    with code_server(home, {}) as server, workbench(server, artefacts) as bench:
        bench.status("Ready")
        bench.open("begin.py", CODE)
        bench.type("return")
        # the engine loads its model in the first minutes of a slow machine
        bench.ghost_at_last()
        yield bench
    for process in engines(home):
        process.terminate()


def engines(home: Path) -> list[psutil.Process]:
    """The engine processes of this VS Code."""
    return [
        process
        for process in psutil.process_iter(["cmdline", "environ"])
        if "engine" in (process.info["cmdline"] or ())
        and (process.info["environ"] or {}).get("HOME") == str(home)
    ]


def test_code_is_written_and_taken(bench: Workbench) -> None:
    bench.open("area.py", CODE)
    bench.type("return ")
    ghost = bench.ghost_at_last()
    bench.shoot("ghost text in code")
    assert ghost.strip()
    bench.press("Escape")
    bench.no_ghost()
    ghost = bench.ghost_at_last()
    bench.press("Tab")
    bench.no_ghost()
    assert bench.saved("area.py").decode() == f"{CODE}return {ghost}"


def test_a_chinese_note_is_written_on_and_taken_in_words(bench: Workbench) -> None:
    bench.open("会议纪要.md", NOTE)
    bench.type("，")
    ghost = bench.ghost_at_last()
    bench.shoot("ghost-text")
    whole = bench.look().whole
    assert any("\u4e00" <= sign <= "\u9fff" for sign in ghost)
    before = bench.look().line
    bench.press("Control+ArrowRight")
    assert whole.startswith(bench.line_after(before).line)
    # a slow machine may have written no more than the word
    if bench.look().ghost:
        bench.press("Tab")
        bench.no_ghost()
    assert bench.saved("会议纪要.md").decode().startswith(f"{NOTE}，")
    assert bench.saved("会议纪要.md").decode().endswith(whole)


def test_all_holes_are_filled_and_given_back_by_one_undo(bench: Workbench) -> None:
    bench.open("tea.md", HOLES)
    bench.run("Fill All Masked Spans")
    bench.page.locator(".view-line", has_text="____").first.wait_for(
        state="detached", timeout=MODEL_MS
    )
    bench.shoot("filled")
    filled = bench.saved("tea.md").decode()
    assert "[MASK]" not in filled
    assert filled.startswith("# Tea\n\nTo make tea, boil the ")
    assert filled.endswith(" and wait.\n")
    bench.press("Control+Z")
    assert bench.saved("tea.md").decode() == HOLES


def test_a_messy_note_gets_its_shape_and_one_undo_gives_it_back(bench: Workbench) -> None:
    bench.open("monday.md", MESSY)
    bench.run("Restructure to Template")
    bench.pick("incident")
    bench.page.locator(".monaco-diff-editor").first.wait_for(timeout=MODEL_MS)
    bench.page.locator(".notification-toast", has_text="Restructured to").first.wait_for()
    bench.shoot("restructure")
    bench.answer("Restructured to", "Apply")
    bench.page.locator(".monaco-diff-editor").first.wait_for(state="detached")
    applied = bench.saved("monday.md").decode()
    assert applied != MESSY
    for kept in ("https://status.example/42", "28 minutes", "09:12", "alarm at 80 % of the disk"):
        assert kept in applied
    bench.press("Control+Z")
    assert bench.saved("monday.md").decode() == MESSY


def test_an_engine_that_is_killed_is_shown_missed_and_started_again(bench: Workbench) -> None:
    bench.open("killed.py", CODE)
    bench.type("return ")
    bench.ghost_at_last()
    bench.press("Escape")
    killed = engines(bench.server.home)
    assert killed
    for process in killed:
        os.kill(process.pid, signal.SIGKILL)
    psutil.wait_procs(killed, timeout=20)
    # not what was suggested: that needs no engine. Every key is in the document at once
    for sign in "0 - (":
        before = bench.look().line
        bench.press("Space" if sign == " " else sign)
        bench.line_after(before)
    bench.status("loading|engine")
    bench.shoot("engine killed")
    bench.type("wid")
    bench.status("Ready", 180)
    assert bench.ghost_at_last()
    assert engines(bench.server.home)
