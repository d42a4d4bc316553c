"""`clover-write toc` and `clover-write tags`: what they print, write and refuse."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from clover_write.cli import main

NOTE = "\ufeff# T\r\n## A & B\r\n### 中文\r\n"
TOC = (
    "\r\n<!-- toc -->\r\n\r\n- [A & B](#a--b)\r\n  - [中文](#中文)\r\n\r\n<!-- tocstop -->\r\n\r\n"
)
WITH_TOC = NOTE.replace("T\r\n", f"T\r\n{TOC}")


@pytest.fixture
def note(tmp_path: Path) -> Path:
    path = tmp_path / "note.md"
    path.write_bytes(NOTE.encode())
    return path


def test_toc_prints_the_file_and_in_place_writes_it(
    note: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    note.chmod(0o640)
    assert main(["toc", str(note)]) == 0
    assert capfdbinary.readouterr() == (WITH_TOC.encode(), b"")
    assert note.read_bytes() == NOTE.encode()
    assert main(["toc", str(note), "--in-place"]) == 0
    assert capfdbinary.readouterr() == (b"", b"")
    assert note.read_bytes() == WITH_TOC.encode()
    assert note.stat().st_mode & 0o777 == 0o640
    before = note.stat()
    assert main(["toc", str(note), "--in-place"]) == 0
    # not even written
    assert (note.stat().st_ino, note.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_toc_options(note: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main(["toc", str(note), "--style", "gitlab", "--max", "2", "--diff"]) == 0
    diff = capfdbinary.readouterr().out.decode()
    assert diff.startswith(f"--- {note}\n+++ {note}\n@@ ")
    added = [line[1:-1] for line in diff.split("\n")[3:] if line.startswith("+")]
    assert added == [
        "",
        "<!-- toc depthTo:2 -->",
        "",
        "- [A & B](#a-b)",
        "",
        "<!-- tocstop -->",
        "",
    ]


def test_check_tells_a_table_that_is_out_of_date(
    note: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["toc", str(note), "--check"]) == 0  # it has none
    note.write_bytes(WITH_TOC.encode())
    assert main(["toc", str(note), "--check"]) == 0
    assert capfd.readouterr() == ("", "")
    late = WITH_TOC.replace("## A & B", "## A")
    note.write_bytes(late.encode())
    assert main(["toc", str(note), "--check"]) == 1
    assert capfd.readouterr() == (
        "",
        f"clover-write: {note}: its table of contents is out of date\n",
    )
    assert note.read_bytes() == late.encode()


def test_tags_prints_those_a_note_has(note: Path, capfd: pytest.CaptureFixture[str]) -> None:
    note.write_text("---\ntags: [b, a]\n---\n#c `#d`", encoding="utf-8")
    assert main(["tags", str(note)]) == 0
    assert capfd.readouterr() == ("b\na\nc\n", "")


def test_tags_adds_and_changes_no_other_byte(
    note: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    before = "\ufeff---\r\nx: '1'\r\ntags: [a] # mine\r\n---\r\n\r\ntext  \r\n"
    note.write_bytes(before.encode())
    after = before.replace("[a]", "[a, 项目/写作]").encode()
    assert main(["tags", str(note), "--add", "#项目/写作", "A"]) == 0
    assert capfdbinary.readouterr() == (after, b"")
    assert main(["tags", str(note), "--add", "项目/写作", "--in-place"]) == 0
    assert note.read_bytes() == after
    assert main(["tags", str(note), "--add", "项目/写作", "--diff"]) == 0
    assert capfdbinary.readouterr() == (b"", b"")


def test_tags_suggests_from_the_vault(note: Path, capfd: pytest.CaptureFixture[str]) -> None:
    vault = note.parent / "vault"
    vault.mkdir()
    (vault / "other.md").write_text("#python #garden #中文", encoding="utf-8")
    assert main(["tags", str(note), "--suggest"]) == 0
    assert capfd.readouterr().out == "中文\n"  # below the note's own folder
    note.write_text("# Gardens\nin Python\n", encoding="utf-8")
    assert main(["tags", str(note), "--suggest", "--vault", str(vault)]) == 0
    assert capfd.readouterr().out == "garden\npython\n"
    assert main(["tags", str(note), "--suggest", "--vault", str(vault), "--in-place"]) == 0
    assert note.read_text("utf-8") == (
        "---\ntags:\n  - garden\n  - python\n---\n\n# Gardens\nin Python\n"
    )


@pytest.mark.parametrize(
    ("content", "command", "message"),
    [
        (None, ["toc"], "does not exist"),
        (b"text\n", ["toc"], "note.md:1:1: no heading"),
        (b"\xff\xfe", ["toc"], "not UTF-8"),
        (b"# a\0", ["toc"], "binary"),
        (b"<!-- toc -->\n- x\n<!-- tocstop -->\n# A\n", ["toc"], "note.md:2:1: the list between"),
        (b"text\n", ["tags", "--add", "a b"], "'a b' is no tag"),
        (b"---\ntags: |\n  a\n---\n", ["tags", "--add", "b"], "note.md:2:1: tags are written"),
        (b"text\n", ["tags", "--suggest", "--vault", "missing"], "missing is no folder"),
    ],
)
def test_bad_input_is_one_line_that_helps_and_changes_nothing(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    content: bytes | None,
    command: list[str],
    message: str,
) -> None:
    path = tmp_path / "note.md"
    if content is not None:
        path.write_bytes(content)
    name, *options = command
    assert main([name, str(path), *options, "--in-place"]) == 1
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert content is None or path.read_bytes() == content
    assert os.listdir(tmp_path) == (["note.md"] if content is not None else [])
