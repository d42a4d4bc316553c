"""What `--watch` shows: frames of a document whose holes are being written."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console
from rich.style import Style

from clover_engine.api import Draft, Fill, Filled, Finish, Piece, Stats
from clover_write.cli import main
from clover_write.watch import EMPTY, Watch, colour, legend, shown

TEXT = "one\ntwo\nthree\nfour [red]\nfive = ; # 灯[/]\nsix\nseven\neight\nnine"
CURSOR = TEXT.index(";")
STATS = Stats(forwards=4, tokens=10)


def screen(width: int = 60, height: int = 40) -> Console:
    """A terminal that remembers what was printed."""
    return Console(
        record=True,
        file=io.StringIO(),
        width=width,
        height=height,
        force_terminal=True,
        color_system="truecolor",
        legacy_windows=False,
        no_color=False,
    )


def frame(watch: Watch, width: int = 60, height: int = 40) -> str:
    """What stands on the screen now, without the legend."""
    console = screen(width, height)
    console.print(watch)
    rows = console.export_text().split("\n")
    assert rows[-3:] == ["", rows[-2], ""]
    assert rows[-2].startswith("unsure"[:width])
    return "\n".join(rows[:-3])


def filled(*fills: Fill) -> Filled:
    return Filled(fills, STATS)


def one(text: str, confidence: float = 0.5) -> Filled:
    return filled(Fill(text, confidence, Finish.STOP))


def style_of(watch: Watch, text: str) -> Style:
    """The style in which `text`, a piece of its own, is shown."""
    console = screen()
    [style] = {
        segment.style for segment in console.render(watch) if segment.text == text and segment.style
    }
    return style


def test_a_frame_is_the_lines_around_the_cursor_with_the_pieces_in_place() -> None:
    watch = Watch(TEXT, [(CURSOR, CURSOR)], context=2)
    lines = "three\nfour [red]\nfive = {}; # 灯[/]\nsix\nseven"
    assert frame(watch) == lines.format(EMPTY)
    watch.show(
        Draft("a\n  灯", 0, (Piece("a\n", 0.9), Piece("  灯", 0.2), Piece("b\n", 0.1, False)))
    )
    assert frame(watch) == lines.format("a\n  灯b↵")
    watch.show(Draft("a", 0, (Piece("a", 0.9), Piece("", 0.0, False), Piece("", 0.0, False))))
    assert frame(watch) == lines.format(f"a{EMPTY}{EMPTY}")
    watch.finish(one("ab"), ["ab"])
    assert frame(watch) == lines.format("ab")


def test_what_is_inserted_in_the_end_keeps_the_colours_it_was_written_in() -> None:
    watch = Watch("x = \n", [(4, 4)], context=1)
    watch.show(Draft(" a + b)", 0, (Piece(" a", 0.9), Piece(" + b", 0.3), Piece(")", 0.1))))
    assert style_of(watch, " a").color == colour(0.9)
    watch.finish(one(" a + b)"), ["a + b"])
    assert frame(watch) == "x = a + b"
    assert style_of(watch, "a").color == colour(0.9)
    assert style_of(watch, " + b").color == colour(0.3)
    # what was never shown has the confidence of the hole
    watch.finish(one("other", 0.4), ["other"])
    assert style_of(watch, "other").color == colour(0.4)
    watch.finish(one("other", 0.4), [""])
    assert frame(watch) == "x = "


def test_guesses_and_open_slots_look_like_neither_text_nor_context() -> None:
    watch = Watch("x = ;\n", [(4, 4)], context=1)
    pieces = (Piece("a", 0.9), Piece("b", 0.5, False), Piece("", 0.0, False))
    watch.show(Draft("a", 0, pieces))
    assert style_of(watch, "b") == Style(dim=True, italic=True)
    assert style_of(watch, EMPTY) == Style(dim=True)
    assert style_of(watch, "a") == Style(bold=True, color=colour(0.9))


def test_spans_keep_their_masks_until_something_stands_there() -> None:
    text = "top\na [MASK]\n\nb ____ c {{name}}\n1\n2\n3\n4\nd ____\nend\n"
    spans = [match.span() for match in re.finditer(r"\[MASK\]|_{4}|\{\{name\}\}", text)]
    watch = Watch(text, spans, context=1)
    lines = "top\na {}\n\nb {} c {}\n1\n⋮\n4\nd {}\nend"
    assert frame(watch) == lines.format("[MASK]", "____", "{{name}}", "____")
    watch.show(Draft("", 1))
    watch.show(Draft("x", 2, (Piece("x", 0.5),)))
    # of a choice no pieces are told
    watch.show(Draft("yes", 0))
    assert frame(watch) == lines.format("yes", "____", "x", "____")
    fills = [Fill(text, 0.7, Finish.STOP) for text in ("yes", "w", "x", " ")]
    watch.finish(filled(*fills), ["yes", "w", "x", None])
    assert frame(watch) == lines.format("yes", "w", "x", "____")
    assert style_of(watch, "yes").color == colour(0.7)


def test_a_long_document_scrolls_to_the_hole_that_changes_and_is_whole_in_the_end() -> None:
    text = "\n".join(f"{number} ____" for number in range(50))
    spans = [match.span() for match in re.finditer("____", text)]
    watch = Watch(text, spans, context=1)
    for number in (0, 25, 49, 3):
        watch.show(Draft(f"<{number}>", number, (Piece(f"<{number}>", 0.5),)))
        rows = frame(watch, height=12).split("\n")
        assert len(rows) == 9
        assert f"{number} <{number}>" in rows
    watch.finish(filled(*[Fill("x", 1.0, Finish.STOP)] * 50), ["x"] * 50)
    assert frame(watch, height=12).split("\n") == [f"{number} x" for number in range(50)]


def test_of_long_lines_the_parts_at_the_hole_are_shown() -> None:
    text = "a" * 1000 + "left" + "right" + "b" * 1000 + "\n" + "c" * 1000
    watch = Watch(text, [(1004, 1004)], context=1)
    above, below = frame(watch, width=1000).split("\n")
    assert re.fullmatch(f"a+…a+left{EMPTY}rightb+…", above)
    assert re.fullmatch("c+…", below)
    assert len(above) < 600


@pytest.mark.parametrize("eol", ["\n", "\r\n", "\r"])
def test_every_line_end_is_one(eol: str) -> None:
    text = eol.join(["a", "b ", "c", ""])
    at = text.index("c") - len(eol)
    watch = Watch(text, [(at, at)], context=1)
    watch.show(Draft("1\n2", 0, (Piece("1\r\n", 0.5), Piece("2", 0.5))))
    assert frame(watch) == "a\nb 1\n2\nc"


def test_the_legend_says_what_it_took() -> None:
    assert "10 tokens in 4 forwards, 2.5 each" in legend(STATS).plain
    assert "0 tokens in 0 forwards" in legend(Stats()).plain
    assert f"{EMPTY} open" in legend(None).plain


@given(st.floats(0, 1))
def test_every_colour_is_legible_on_black_and_on_white(confidence: float) -> None:
    triplet = colour(confidence).triplet
    assert triplet
    # as WCAG 2 defines contrast
    parts = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in triplet.normalized
    ]
    weights = (0.2126, 0.7152, 0.0722)
    luminance = sum(weight * part for weight, part in zip(weights, parts, strict=True))
    assert (luminance + 0.05) / 0.05 > 4
    assert 1.05 / (luminance + 0.05) > 4


@given(st.floats(0, 1), st.floats(0, 1))
def test_the_surer_the_greener(one: float, other: float) -> None:
    low, high = (colour(confidence).triplet for confidence in sorted((one, other)))
    assert low
    assert high
    assert low.red >= high.red
    assert low.green <= high.green


AWKWARD = st.text(
    st.characters() | st.sampled_from("\r\n\t\x1b\x07\x7f\x9b\u202e\u200d\ud83d[]/\\ 灯👩🏽é"),
    max_size=20,
) | st.sampled_from(["[red]", "[/]", "[link=x]", ":smile:", "\x1b[31m", "\x1b]0;t\x07", "\r\n"])
PIECES = st.lists(st.builds(Piece, AWKWARD, st.floats(), st.booleans()))


@given(AWKWARD, st.lists(st.tuples(PIECES, AWKWARD), min_size=1, max_size=3))
def test_any_text_is_shown_as_it_is_and_commands_no_terminal(
    left: str, holes: list[tuple[list[Piece], str]]
) -> None:
    literals = [left, *(literal for _, literal in holes)]
    ends = [len("".join(literals[: number + 1])) for number in range(len(holes))]
    watch = Watch("".join(literals), [(end, end) for end in ends], context=100)
    expected = shown(left)
    for number, (pieces, literal) in enumerate(holes):
        watch.show(Draft("", number, tuple(pieces)))
        expected += "".join(map(as_shown, pieces)) if pieces else EMPTY
        expected += shown(literal) if number < len(holes) - 1 else shown(literal).rstrip("\n")
    seen = frame(watch, width=10_000, height=10_000)
    assert seen == expected
    assert not re.search("[\0-\x09\x0b-\x1f\x7f-\x9f\u202e\ud800-\udfff]", seen)


def as_shown(piece: Piece) -> str:
    """A piece as it looks without its style."""
    text = shown(piece.text)
    return text if piece.settled else text.replace("\n", "↵") or EMPTY


@given(AWKWARD, PIECES, AWKWARD, st.integers(1, 30), st.integers(4, 10))
def test_any_text_fits_any_screen(
    left: str, pieces: list[Piece], right: str, width: int, height: int
) -> None:
    watch = Watch(left + right, [(len(left), len(left))], context=2)
    watch.show(Draft("", 0, tuple(pieces)))
    console = screen(width, height)
    lines = console.render_lines(watch, pad=False)
    assert len(lines) < height
    for line in lines:
        # a wide character is wider than a screen of one column
        assert sum(cell_len(segment.text) for segment in line) <= max(width, 2)
    for text in ("".join(piece.text for piece in pieces if piece.settled), "other", "", None):
        watch.finish(one(text or ""), [text])
        console.print(watch)


NOTE = (
    '<!-- clover-fake: {"text": "two  words", "confidence": 0.9} clover-fake: {"text": "灯"} -->\n'
    "\n\na ____ b [MASK]\n"
)
CODE = '# clover-fake: {"text": "return 灯\\nx"}\ndef f(灯):\n    pass\n'


def test_complete_shows_its_last_frame_where_there_is_no_terminal(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "f.py"
    path.write_text(CODE, encoding="utf-8")
    assert main(["complete", f"{path}:3:5", "--engine", "fake"]) == 0
    unwatched = capfd.readouterr()
    assert unwatched.err == ""
    assert main(["complete", f"{path}:3:5", "--engine", "fake", "--watch"]) == 0
    out, err = capfd.readouterr()
    assert out == unwatched.out == "return 灯\n"
    assert "\ndef f(灯):\n    return 灯pass\n\nunsure" in err
    assert err.endswith("2 tokens in 2 forwards, 1.0 each\n")


@pytest.mark.parametrize("options", [[], ["--json"], ["--diff"], ["--in-place"]])
def test_fill_writes_what_it_writes_unwatched(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], options: list[str]
) -> None:
    path = tmp_path / "note.md"
    written = []
    for more in ([], ["--watch"]):
        path.write_text(NOTE, encoding="utf-8")
        assert main(["fill", str(path), "--engine", "fake", *options, *more]) == 0
        out, err = capfd.readouterr()
        untimed = re.sub(r'("(?:\w+_)?ms"): .*', r"\1", out)
        written.append((untimed, path.read_text(encoding="utf-8")))
    assert written[0] == written[1]
    assert err.startswith("\na two  words b 灯\n\nunsure")


def test_an_error_leaves_its_one_line(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "note.md"
    path.write_text('____ clover-fake: {"text": "a", "error": "EngineUnavailable"}')
    assert main(["fill", str(path), "--engine", "fake", "--watch"]) == 1
    assert capfd.readouterr().err == "clover-write: scripted EngineUnavailable\n"


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals here")
def test_on_a_terminal_it_is_drawn_again_for_every_draft(tmp_path: Path) -> None:
    import pty

    (tmp_path / "note.md").write_text(NOTE, encoding="utf-8")
    ours, theirs = pty.openpty()
    done = subprocess.run(
        [sys.executable, "-m", "clover_write", "fill", "note.md", "--watch"],
        cwd=tmp_path,
        env={
            **os.environ,
            "CLOVER_WRITE_ENGINE": "fake",
            "TERM": "xterm-256color",
            "COLORTERM": "truecolor",
            "NO_COLOR": "",
            "COLUMNS": "60",
            "LINES": "20",
        },
        stdout=subprocess.PIPE,
        stderr=theirs,
        timeout=60,
        check=True,
    )
    os.close(theirs)
    drawn = os.read(ours, 2**16).decode()
    os.close(ours)
    assert done.stdout.decode() == NOTE.replace("____", "two  words").replace("[MASK]", "灯")
    frames = drawn.split("unsure")
    assert len(frames) >= 5
    assert "two" not in frames[0]
    colours = colour(0.9).triplet
    assert colours
    assert f"\x1b[1;38;2;{';'.join(map(str, colours))}mtwo" in frames[1]
    assert "words" not in frames[1]
    assert "灯" not in frames[2]
    assert "灯" in frames[3]


def test_who_does_not_watch_does_not_wait_for_rich(tmp_path: Path) -> None:
    (tmp_path / "note.md").write_text(NOTE, encoding="utf-8")
    (tmp_path / "f.py").write_text(CODE, encoding="utf-8")
    script = (
        "import sys; from clover_write.cli import main\n"
        "main(['fill', 'note.md', '--in-place']); main(['complete', 'f.py:3:5'])\n"
        "print([name for name in sys.modules if name.split('.')[0] == 'rich'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env={**os.environ, "CLOVER_WRITE_ENGINE": "fake", "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=True,
    )
    assert done.stdout.split("\n")[-2] == "[]"
