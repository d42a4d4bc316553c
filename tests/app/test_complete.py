"""`clover-write complete`: places, files it refuses, and what it prints."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clover_write.cli import main
from clover_write.commands.complete import Cursor, PlaceError, parse_place

SCRIPTED = '# clover-fake: {"text": "return 灯 + 1\\nx"}\ndef f(灯):\n    pass\n'


@given(st.text("abc:\\/ 灯.", min_size=1), st.integers(1, 10**9), st.integers(1, 10**9))
def test_any_path_is_understood(path: str, line: int, column: int) -> None:
    assert parse_place(f"{path}:{line}:{column}") == Cursor(Path(path), line, column)


def test_a_drive_is_no_line() -> None:
    assert parse_place(r"C:\x\y.py:3:4") == Cursor(Path(r"C:\x\y.py"), 3, 4)


@pytest.mark.parametrize("place", ["", "a.py", "a.py:1", r"C:\x.py:3", ":1:2", "a:-1:2", "a:1:x"])
def test_what_is_no_place_shows_one(place: str) -> None:
    with pytest.raises(PlaceError, match="FILE:LINE:COL"):
        parse_place(place)


@pytest.mark.parametrize(
    ("content", "where", "message"),
    [
        (None, "1:1", "does not exist"),
        (b"a\nb\n", "4:1", "its last line is 3"),
        (b"a\nb\n", "1:3", "its last column is 2"),
        (b"a\n", "0:1", "count from 1"),
        (b"a\0b", "1:1", "binary"),
        (b"\xff\xfea\0", "1:1", "binary"),
        (b"caf\xe9\n", "1:1", "not UTF-8, see byte 3"),
        (b"\xed\xa0\x80", "1:1", "not UTF-8"),
        (b"a" * (10 * 1024 * 1024 + 1), "1:1", "larger than 10 MB"),
    ],
)
def test_bad_input_is_one_line_that_helps(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    content: bytes | None,
    where: str,
    message: str,
) -> None:
    path = tmp_path / "file.txt"
    if content is not None:
        path.write_bytes(content)
    assert main(["complete", f"{path}:{where}", "--engine", "fake"]) == 1
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_folders_and_secrets_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / ".env").write_text("KEY=1\n")
    assert main(["complete", f"{tmp_path}:1:1", "--engine", "fake"]) == 1
    assert "is a folder" in capsys.readouterr().err
    assert main(["complete", f"{tmp_path / '.env'}:1:1", "--engine", "fake"]) == 1
    assert "secrets" in capsys.readouterr().err
    (tmp_path / ".cloverignore").write_text("diary.md\n")
    (tmp_path / "diary.md").write_text("words\n")
    assert main(["complete", f"{tmp_path / 'diary.md'}:1:1", "--engine", "fake"]) == 1
    assert ".cloverignore" in capsys.readouterr().err


def test_an_engine_error_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "file.py"
    path.write_text('# clover-fake: {"error": "EngineUnavailable"}\n')
    assert main(["complete", f"{path}:2:1", "--engine", "fake"]) == 1
    assert capsys.readouterr().err == "clover-write: scripted EngineUnavailable\n"


@pytest.mark.parametrize(("newline", "bom"), [("\n", b""), ("\r\n", b"\xef\xbb\xbf")])
def test_it_prints_what_is_inserted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], newline: str, bom: bytes
) -> None:
    path = tmp_path / "f.py"
    path.write_bytes(bom + SCRIPTED.replace("\n", newline).encode())
    before = path.read_bytes()
    assert main(["complete", f"{path}:3:5", "--json", "--engine", "fake"]) == 0
    answer = json.loads(capsys.readouterr().out)
    place = {"line": 3, "column": 5}
    assert answer["range"] == {"start": place, "end": place}
    assert answer["stats"]["tokens"] > 0
    # text stands right of the cursor, so one line is asked for
    assert answer["text"] == "return 灯 + 1"
    assert path.read_bytes() == before


def _complete(folder: Path, place: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "clover_write", "complete", place],
        cwd=folder,
        env={**os.environ, "CLOVER_WRITE_ENGINE": "fake", "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )


def test_as_a_program(tmp_path: Path) -> None:
    (tmp_path / "f.py").write_text(SCRIPTED, encoding="utf-8")
    done = _complete(tmp_path, "f.py:3:5")
    assert (done.returncode, done.stdout) == (0, "return 灯 + 1\n"), done.stderr


def test_a_name_that_is_no_text_is_one_line(tmp_path: Path) -> None:
    done = _complete(tmp_path, "caf\udce9.py:1:1")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "does not exist" in done.stderr
