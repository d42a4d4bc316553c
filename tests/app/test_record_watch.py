"""The recording of `--watch`: one SVG whose frames are those a terminal shows."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from demo.record_watch import main

MARKED = """\
# clover-fake: {"text": "total = <a> & 灯\\n    return total", "confidence": 0.4}
def f(a):
    ‖


def g(灯):
    pass
"""
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(autouse=True)
def fake_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLOVER_WRITE_ENGINE", "fake")


def test_its_frames_are_on_one_strip_that_moves_by_whole_frames(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "f.py").write_text(MARKED, encoding="utf-8")
    out = tmp_path / "docs" / "watch.svg"
    assert main([str(tmp_path / "f.py"), "--out", str(out)]) == 0
    svg = out.read_text(encoding="utf-8")
    assert f"{out}: {len(svg.encode()):,} bytes" in capsys.readouterr().out
    root = ElementTree.fromstring(svg)
    titles = [text.text for text in root.findall(f"{SVG}text")]
    assert titles == ["clover-write complete f.py:3:5 --watch"]
    style = root.findtext(f"{SVG}style") or ""
    shifts = [
        float(shift) for shift in re.findall(r"% { transform: translateY\(-?(\S+)px\)", style)
    ]
    rows = frames_of(root, shifts)
    assert "░" in " ".join(rows[0])
    written = ["total", " = <a", "> &", " 灯", "return", " total"]
    assert len(rows) == len(set(map(tuple, rows))) > len(written)
    assert [row.strip() for row in rows[-1]][1:] == [
        "def f(a):",
        "total = <a> & 灯",
        "return total",
        "def g(灯):",
        "pass",
        rows[-1][-1].strip(),
    ]
    assert "tokens in" in rows[-1][-1]


def frames_of(root: ElementTree.Element, shifts: list[float]) -> list[list[str]]:
    """The rows of each frame that are not empty; a frame begins at each shift of the strip."""
    frames: list[dict[float, str]] = [{} for _ in shifts]
    for text in root.iterfind(f".//{SVG}g/{SVG}text"):
        y = float(text.attrib["y"])
        number = max(number for number, shift in enumerate(shifts) if shift < y)
        frames[number][y] = frames[number].get(y, "") + (text.text or "").replace("\xa0", " ")
    return [[row for _, row in sorted(frame.items())] for frame in frames]


def test_a_wide_character_takes_two_cells(tmp_path: Path) -> None:
    (tmp_path / "f.py").write_text("灯‖a\n", encoding="utf-8")
    out = tmp_path / "watch.svg"
    assert main([str(tmp_path / "f.py"), "--out", str(out)]) == 0
    texts = ElementTree.parse(out).getroot().iterfind(f".//{SVG}g/{SVG}text")
    wide, empty, *_ = texts
    assert (wide.text, empty.text) == ("灯", "░")
    assert float(wide.attrib["textLength"]) == float(empty.attrib["x"])
    assert float(wide.attrib["textLength"]) == 2 * float(empty.attrib["textLength"])


def test_an_engine_error_is_one_line_and_no_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "f.py").write_text('‖ # clover-fake: {"error": "EngineUnavailable"}')
    out = tmp_path / "watch.svg"
    assert main([str(tmp_path / "f.py"), "--out", str(out)]) == 1
    assert capsys.readouterr().err == "record_watch: scripted EngineUnavailable\n"
    assert not out.exists()
