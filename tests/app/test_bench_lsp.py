"""`bench lsp`: its typing makes the file, its figures come from a real server."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clover_write.bench.typing_script import typing_script
from clover_write.bench.typing_session import Ghost, Tally
from clover_write.cli import main
from clover_write.commands.bench_lsp import FILE, large_documents

TEXTS = st.text(st.sampled_from("ab (\r\n\t中😀é\u2028"), max_size=200)


@given(TEXTS, st.integers(0, 2**32))
def test_typing_makes_the_file(file: str, seed: int) -> None:
    text = ""
    for key in typing_script(file, seed):
        assert 0 <= key.at <= len(text)
        assert key.at + key.removed <= len(text)
        assert key.pause_s > 0
        text = key.applied(text)
    assert text == file


@given(TEXTS, st.integers(0, 2**32))
def test_what_is_ahead_is_what_comes_next(file: str, seed: int) -> None:
    for key, following in pairwise(typing_script(file, seed)):
        if key.ahead and following.at == key.cursor and following.ahead:
            assert file[key.ahead.start : following.ahead.start] == following.text


def test_a_script_has_slips_jumps_and_is_the_same_again() -> None:
    file = FILE.read_text()
    script = list(typing_script(file, 1))
    assert script == list(typing_script(file, 1)) != list(typing_script(file, 2))
    assert sum(key.removed > 0 for key in script) > len(file) // 100
    assert sum(two.at + two.removed != one.cursor for one, two in pairwise(script)) > 5
    within_words = [key.pause_s for key in script if key.text.isalnum() and key.pause_s < 0.5]
    assert 7 < len(within_words) / sum(within_words) < 9
    assert sum(key.pause_s > 0.5 for key in script) > file.count("\n") // 4


@pytest.mark.parametrize(
    ("document", "along"),
    [("x = 1", True), ("x = 17", False), ("x = 2", False), ("x = ", False), ("y = 1", False)],
)
def test_typing_along_a_ghost(document: str, along: bool) -> None:
    assert Ghost("x = ", 4, "17").typed_along(document, len(document)) is along


def test_characters_count_once_and_whole_suggestions_only_when_right_to_their_end() -> None:
    tally = Tally()
    tally.judge("return", "a return b", range(2, 10))
    tally.judge("turn", "a return b", range(4, 10))
    tally.judge(" c", "a return b", range(8, 10))
    assert tally.by_whole == set(range(2, 8))
    assert tally.by_letter == set(range(2, 9))
    assert tally.right == 2


def test_large_documents_are_as_large_as_their_names() -> None:
    sizes = large_documents(FILE.read_text())
    assert sizes["10,000 lines"].count("\n") == 10_000
    assert sizes["50,000 lines"].count("\n") == 50_000
    assert 5 * 2**20 <= len(sizes["5 MB"].encode()) < 6 * 2**20


def test_a_session_with_a_real_server(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, out = tmp_path / "typed.py", tmp_path / "out.json"
    file.write_text("total = price * count\n" * 3)
    command = ["bench", "lsp", "--parts", "typing", "--file", str(file), "--speed", "8"]
    assert main([*command, "--json", str(out)]) == 0
    printed = capsys.readouterr().out
    assert "8 times a person's" in " ".join(printed.split())
    typing = json.loads(out.read_text())["typing"]
    requests = typing["requests"]
    assert requests["asked"] == sum(requests.values()) - requests["asked"]
    assert sum(times["n"] for times in typing["answers"].values()) == (
        requests["asked"] - requests["cancelled"]
    )
    # the fake engine repeats earlier lines, and this file does nothing else
    assert typing["characters"]["in right suggestions"] > 0.1
    assert typing["cpu s a minute of typing"]["server"] > 0


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [(["--parts", "typing,nothing"], "no part"), (["--file", "/no/such"], "cannot be read")],
)
def test_what_cannot_be_run_is_said(
    arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", "lsp", *arguments]) == 1
    assert complaint in capsys.readouterr().err
