"""`clover-write fill`: what it prints, what it writes, and the files it refuses."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from clover_engine.api import CanvasRequest, Steps
from clover_engine.errors import RequestError
from clover_engine.fake import FakeEngine
from clover_engine.inproc import InprocClient
from clover_engine.runner import Runner
from clover_write.cli import main
from clover_write.text_file import FileError, read_text_file

NOTE = (
    '<!-- clover-fake: {"text": " 周一 \\nx"} clover-fake: {"text": "Ada", "confidence": 0.5} -->\n'
    "会议：____，由 {{name}} 记录\n"
    '- <fill choices="yes|no"> `[MASK]`\n'
    "1. 【待补：原因】"
)
FILLED = (
    NOTE.replace("____", "周一")
    .replace("{{name}}", "Ada")
    .replace('<fill choices="yes|no">', "yes")
)


def fill(path: Path, *options: str) -> int:
    return main(["fill", str(path), "--engine", "fake", *options])


@pytest.fixture
def note(tmp_path: Path) -> Path:
    path = tmp_path / "note.md"
    path.write_text(NOTE, encoding="utf-8")
    return path


@pytest.mark.parametrize("eol", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
def test_it_prints_the_file_with_its_spans_filled(
    note: Path, capfdbinary: pytest.CaptureFixture[bytes], eol: str, bom: bytes
) -> None:
    note.write_bytes(bom + NOTE.replace("\n", eol).encode())
    before = note.read_bytes()
    assert fill(note) == 0
    out, err = capfdbinary.readouterr()
    assert out == bom + FILLED.replace("\n", eol).encode()
    assert (
        err == f"clover-write: 1 of 4 spans stay, nothing was written there: {note}:4:4\n".encode()
    )
    assert note.read_bytes() == before


def test_in_place_keeps_every_other_byte_the_mode_and_the_link(
    note: Path, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    note.write_bytes(b"\xef\xbb\xbf" + NOTE.replace("\n", "\r\n").encode())
    note.chmod(0o640)
    link = tmp_path / "link.md"
    link.symlink_to(note)
    assert fill(link, "--in-place") == 0
    assert capfdbinary.readouterr().out == b""
    assert link.is_symlink()
    assert note.read_bytes() == b"\xef\xbb\xbf" + FILLED.replace("\n", "\r\n").encode()
    assert note.stat().st_mode & 0o777 == 0o640
    assert sorted(os.listdir(tmp_path)) == ["link.md", "note.md"]


@pytest.mark.skipif(shutil.which("patch") is None, reason="no patch program here")
@pytest.mark.parametrize("eol", ["\n", "\r\n"])
def test_patch_makes_the_filled_file_of_the_diff(
    note: Path, capfdbinary: pytest.CaptureFixture[bytes], eol: str
) -> None:
    note.write_bytes(
        NOTE.replace("\n", eol).replace("1. 【待补：原因】", "- {{x}}\f{{y}}").encode()
    )
    assert fill(note) == 0
    filled = capfdbinary.readouterr().out
    assert fill(note, "--diff") == 0
    diff = capfdbinary.readouterr().out
    patch = ["patch", "--binary", "--quiet", str(note)]
    subprocess.run(patch, input=diff, check=True, timeout=30)
    assert note.read_bytes() == filled


def test_json_says_what_went_where(note: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert fill(note, "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["text"] == FILLED
    assert answer["spans"][1] == {
        "line": 2,
        "column": 11,
        "mask": "{{name}}",
        "text": "Ada",
        "confidence": 0.5,
        "finish": "stop",
    }
    assert [span["text"] for span in answer["spans"]] == ["周一", "Ada", "yes", None]
    assert answer["stats"]["tokens"] > 0


def test_code_is_left_alone_unless_asked(
    note: Path, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    text = 'clover-fake: {"text": "in"} clover-fake: {"text": "out"}\n`[MASK]` [MASK]'
    note.write_text(text)
    assert fill(note) == 0
    assert capfdbinary.readouterr().out.endswith(b"`[MASK]` out")
    assert fill(note, "--in-code") == 0
    assert capfdbinary.readouterr().out.endswith(b"`in` out")
    plain = tmp_path / "note.txt"
    plain.write_text(text)
    assert fill(plain) == 0
    assert capfdbinary.readouterr().out.endswith(b"`in` out")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "does not exist"),
        (b"no span\n", ":1:1: no masked span"),
        ("灯\r\n灯 {{open\r\n}}".encode(), ":2:3: {{ has no }}"),
        ("a【待补：原因\n".encode(), ":1:2: 【待补 has no 】"),
        (b"<fill the rest", ":1:1: <fill has no >"),
        (b'x <fill choices="a|">', ":1:3: <fill> has an empty choice"),
        (b"<fill pattern=>", ":1:1: <fill> has an empty pattern"),
        (b"<fill max=many>", ":1:1: <fill> takes max=1"),
        (b"<fill max=513>", ":1:1: <fill> takes max=1"),
        (b"<fill color=red>", ":1:1: <fill> knows no color="),
        (b"<fill max=1 max=2>", ":1:1: <fill> has max= twice"),
        (b'<fill choices="a" pattern="b">', ":1:1: <fill> has choices= and pattern="),
        (b"[MASK]\n" * 500, ":201:1: here begins masked span 201 of 500"),
        (b"a\0b", "binary"),
        (b"caf\xe9 ____\n", "not UTF-8, see byte 3"),
        (b'____ clover-fake: {"error": "EngineUnavailable"}', "scripted EngineUnavailable"),
    ],
)
def test_bad_input_is_one_line_that_helps_and_changes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes | None, message: str
) -> None:
    path = tmp_path / "note.md"
    if content is not None:
        path.write_bytes(content)
    assert fill(path, "--in-place") == 1
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert content is None or path.read_bytes() == content


def test_a_file_that_changed_meanwhile_is_left_as_it_is(note: Path) -> None:
    file = read_text_file(note)
    note.write_text("newer")
    with pytest.raises(FileError, match="changed meanwhile"):
        file.replace(FILLED)
    assert note.read_text() == "newer"
    assert os.listdir(note.parent) == ["note.md"]


class Strict(FakeEngine):
    """Refuses as the real engine does, which reads patterns."""

    def start(self, request: CanvasRequest) -> Steps:
        raise RequestError("the pattern '[0-9' does not serve: unclosed character class")


@pytest.mark.parametrize(("text", "place"), [("a\n<fill pattern=[0-9>", ":2:1: "), ("____ b", "")])
def test_a_pattern_the_engine_refuses_is_named_with_its_place(
    note: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    text: str,
    place: str,
) -> None:
    monkeypatch.setattr("clover_write.app.connect", lambda _: InprocClient(Runner(Strict)))
    note.write_text(text)
    assert fill(note) == 1
    start = f"clover-write: {note}{place}" if place else "clover-write: "
    assert capsys.readouterr().err.startswith(f"{start}the pattern '[0-9' does not serve")
