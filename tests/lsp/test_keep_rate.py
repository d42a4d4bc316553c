"""Suggestions are counted once, a minute apart, without their text."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import date, timedelta
from pathlib import Path

import pytest

from clover_lsp.keep_rate import KeepRate
from clover_lsp.ledger import Count, Counts, Ledger, LedgerError
from clover_write.cli import main
from tests.support.wire import URI as ASKED
from tests.support.wire import Wire, asking

URI = "file:///notes.py"


class Desk:
    """A user's minute: the documents, what is due later, and what was counted."""

    def __init__(self) -> None:
        self.documents = {URI: "def f():\n    "}
        self.due: list[Callable[[], None]] = []
        self.counted: dict[str, Count] = {}
        self.rate = KeepRate(self.documents.get, lambda _, call: self.due.append(call), self.save)

    def save(self, counts: Counts) -> None:
        for language, count in counts.items():
            self.counted[language] = self.counted.get(language, Count()) + count

    def minute(self) -> None:
        while self.due:
            self.due.pop(0)()

    def count(self) -> Count:
        self.minute()
        self.rate.close()
        return self.counted.get("python", Count())

    def suggest(self, id: int, text: str) -> None:
        self.rate.shown(id, URI, "python", text)

    def accept(self, id: int, text: str) -> None:
        self.documents[URI] += text
        self.rate.accepted(id)


TEXT = "total = price * count\n    return total"


@pytest.mark.parametrize(
    ("edit", "kept"),
    [
        (lambda text: text, True),
        (lambda text: f"import os\n\n{text}\n\ndef g(): ...", True),
        (lambda text: text.replace("    ", "\t"), True),
        (lambda text: text.replace("return total", "return 0"), True),
        (lambda text: text.replace("price * count", "0"), False),
        (lambda _: "", False),
    ],
    ids=["left", "around", "indented", "a line less", "most of it gone", "emptied"],
)
def test_what_stands_after_a_minute_is_kept(edit: Callable[[str], str], kept: bool) -> None:
    desk = Desk()
    desk.suggest(1, TEXT)
    desk.accept(1, TEXT)
    desk.documents[URI] = edit(desk.documents[URI])
    assert desk.count() == Count(1, 1, int(kept))


def test_a_text_that_stood_there_before_does_not_stand_for_the_accepted_one() -> None:
    desk = Desk()
    desk.documents[URI] = "x = 1\n"
    desk.suggest(1, "x = 1")
    desk.accept(1, "x = 1")
    desk.documents[URI] = "x = 1\n"
    assert desk.count() == Count(1, 1, 0)


def test_typing_and_accepting_parts_is_one_suggestion() -> None:
    desk = Desk()
    desk.suggest(1, "total = price")
    desk.suggest(2, "tal = price")
    desk.suggest(2, "tal = price")
    desk.documents[URI] += "total"
    desk.rate.accepted(2, len("tal"))
    desk.suggest(3, " = price")
    desk.accept(3, " = price")
    desk.rate.accepted(3)
    assert desk.count() == Count(1, 1, 1)
    desk.suggest(4, "another")
    assert desk.count() == Count(2, 1, 1)


def test_what_was_accepted_last_is_looked_for_when_the_editor_leaves() -> None:
    desk = Desk()
    desk.suggest(1, "😀 = 1\nmore")
    desk.documents[URI] += "😀 = 1"
    desk.rate.accepted(1, len("😀 = 1") + 1)
    desk.rate.close()
    assert desk.counted == {"python": Count(1, 1, 1)}
    assert desk.count() == Count(1, 1, 1)


def test_a_closed_document_is_looked_at_while_it_is_open() -> None:
    desk = Desk()
    desk.suggest(1, TEXT)
    desk.accept(1, TEXT)
    desk.rate.closing(URI)
    del desk.documents[URI]
    assert desk.count() == Count(1, 1, 1)


def test_an_id_nobody_knows_counts_nothing() -> None:
    desk = Desk()
    desk.rate.accepted(7)
    assert desk.count() == Count()
    for number in range(1000):
        desk.suggest(number, f"text {number}")
    desk.rate.accepted(0)
    assert desk.count() == Count(shown=1000)


def test_windows_count_into_one_file(tmp_path: Path) -> None:
    path = tmp_path / "state" / "keep-rate.json"
    with ThreadPoolExecutor(8) as windows:
        for _ in range(40):
            windows.submit(Ledger(path).add, {"python": Count(2, 1), "markdown": Count(1)})
    assert Ledger(path).days() == {
        date.today(): {"markdown": Count(40), "python": Count(80, 40)},
    }
    assert {file.name for file in path.parent.iterdir()} <= {path.name, "keep-rate.lock"}
    assert os.name != "posix" or path.stat().st_mode & 0o077 == 0


def test_days_older_than_a_year_are_dropped(tmp_path: Path) -> None:
    path, today = tmp_path / "keep-rate.json", date(2026, 11, 30)
    for ago in (400, 364, 0):
        day = today - timedelta(days=ago)
        Ledger(path, lambda day=day: day).add({"python": Count(1)})  # type: ignore[misc]
    assert sorted(Ledger(path).days()) == [today - timedelta(days=364), today]


def test_a_broken_file_is_said_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "keep-rate.json"
    path.write_text('{"2026-13-01": {}}')
    with pytest.raises(LedgerError, match="remove it"):
        Ledger(path).days()
    Ledger(path).add({"python": Count(1)})
    assert path.read_text() == '{"2026-13-01": {}}'


def test_stats_are_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CLOVER_WRITE_STATE_DIR", str(tmp_path))
    assert main(["stats"]) == 0
    assert "No suggestion" in capsys.readouterr().out
    ledger = Ledger(tmp_path / "keep-rate.json")
    ledger.add({"python": Count(40, 10, 8), "markdown": Count(50, 5, 1)})
    Ledger(tmp_path / "keep-rate.json", lambda: date(2020, 1, 1)).add({"lua": Count(1)})
    assert main(["stats"]) == 0
    printed = capsys.readouterr().out.split()
    assert printed[9:15] == ["markdown", "50", "5", "10%", "1", "20%"]
    assert printed[-6:] == ["all", "90", "15", "17%", "9", "60%"]
    assert main(["stats", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["python"] == {"shown": 40, "accepted": 10, "kept": 8}


@pytest.mark.parametrize("closes", [False, True])
@pytest.mark.parametrize(
    ("units", "method"),
    [(None, "inlineCompletion"), (4, "inlineCompletion"), (None, "completion")],
)
async def test_an_editor_s_signals_are_counted(
    tmp_path: Path, units: int | None, method: str, closes: bool
) -> None:
    wire = await Wire.start(CLOVER_WRITE_STATE_DIR=str(tmp_path))
    await wire.initialize()
    wire.open("secret = price * count\nsecret")
    wire.send(f"textDocument/{method}", asking(1, 6), id="ask")
    [item] = (await wire.answer("ask"))["result"]["items"]
    change = item.get("textEdit") or {"range": item["range"], "newText": item["insertText"]}
    change = {"range": change["range"], "text": change["newText"][:units]}
    version = {"uri": ASKED, "version": 2}
    wire.send("textDocument/didChange", {"textDocument": version, "contentChanges": [change]})
    [id] = item["command"]["arguments"]
    if units is None:
        wire.send("workspace/executeCommand", item["command"], id="accept")
        await wire.answer("accept")
    else:
        wire.send("clover/didPartiallyAccept", {"id": id, "acceptedLength": units})
    if closes:
        wire.send("textDocument/didClose", {"textDocument": {"uri": ASKED}})
    wire.send("shutdown", id="end")
    await wire.answer("end")
    wire.send("exit")
    await wire.end()
    path = tmp_path / "keep-rate.json"
    assert list(Ledger(path).days().values()) == [{"python": Count(1, 1, 1)}]
    assert "secret" not in await asyncio.to_thread(path.read_text)


async def test_what_is_accepted_in_a_notebook_is_counted_when_that_is_closed(
    tmp_path: Path,
) -> None:
    wire = await Wire.start(CLOVER_WRITE_STATE_DIR=str(tmp_path))
    await wire.initialize()
    cell = {"uri": ASKED, "languageId": "python", "version": 1, "text": "total = price\ntotal"}
    notebook = {"uri": "file:///n.ipynb", "notebookType": "jupyter-notebook", "version": 1}
    cells = [{"kind": 2, "document": ASKED}]
    opening = {"notebookDocument": notebook | {"cells": cells}, "cellTextDocuments": [cell]}
    wire.send("notebookDocument/didOpen", opening)
    wire.send("textDocument/inlineCompletion", asking(1, 5), id="ask")
    [item] = (await wire.answer("ask"))["result"]["items"]
    change = {"range": item["range"], "text": item["insertText"]}
    typed = {"document": {"uri": ASKED, "version": 2}, "changes": [change]}
    changing = {"uri": notebook["uri"], "version": 2}
    change_cells = {"cells": {"textContent": [typed]}}
    wire.send("notebookDocument/didChange", {"notebookDocument": changing, "change": change_cells})
    wire.send("workspace/executeCommand", item["command"], id="accept")
    closing = {"notebookDocument": {"uri": notebook["uri"]}, "cellTextDocuments": [{"uri": ASKED}]}
    wire.send("notebookDocument/didClose", closing)
    wire.send("shutdown", id="end")
    await wire.answer("end")
    wire.send("exit")
    await wire.end()
    days = Ledger(tmp_path / "keep-rate.json").days()
    assert list(days.values()) == [{"python": Count(1, 1, 1)}]
