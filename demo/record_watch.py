"""Record `clover-write complete --watch` as an animated SVG: `python -m demo.record_watch`."""

from __future__ import annotations

import argparse
import asyncio
import io
import re
import sys
from collections.abc import Sequence
from html import escape, unescape
from pathlib import Path

from rich.cells import cell_len
from rich.console import Console
from rich.segment import Segment, SegmentLines
from rich.terminal_theme import SVG_EXPORT_THEME

from clover_engine.api import Draft, Filled
from clover_engine.errors import CloverError
from clover_lsp.documents import Document
from clover_lsp.positions import IndexedText
from clover_write.app import connect
from clover_write.commands.complete import Cursor, complete
from clover_write.config import load_config
from clover_write.watch import Watch
from demo.__main__ import CURSOR

EXAMPLE = f'''\
from pathlib import Path


def count_words(folder: Path) -> dict[str, int]:
    """How many words each text file of a folder has, by file name."""
    {CURSOR}


def longest(counts: dict[str, int]) -> str:
    """The name of the file with the most words."""
    return max(counts, key=lambda name: counts[name])
'''
COLUMNS = 88
FRAME_S = 0.25
LAST_FRAME_S = 4.0
MAX_BYTES = 200_000
PADDING = 12  # around the screen, in the units of the SVG
TITLE = 36  # the height of the title, likewise

# all frames lie below each other on one strip, which the screen shows a part of; a row's glyphs
# reach a little below it
SVG = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}">
<style>
text {{ font: 20px "Fira Code", Menlo, Consolas, monospace }}
.film {{ animation: film {seconds:g}s step-end infinite }}
@keyframes film {{
{keyframes}
}}
@media (prefers-reduced-motion) {{ .film {{ animation: none; transform: {last} }} }}
{styles}
</style>
<clipPath id="screen"><rect y="1.5" width="{screen_width:g}" height="{screen_height:g}"/></clipPath>
<rect width="100%" height="100%" rx="8" fill="{background}"/>
<text x="50%" y="{baseline:g}" text-anchor="middle" fill="{foreground}">{title}</text>
<g transform="translate({padding} {top})" clip-path="url(#screen)"><g class="film">
{matrix}
</g></g>
</svg>
"""
_SVG_TEXT = re.compile(
    r'<text class="(\S+)" x="(\S+)" y="(\S+)" textLength="\S+" clip-path="\S+">([^<]*)</text>'
)

Frame = list[list[Segment]]


class Recorded(Watch):
    """A watch that keeps what it showed: each frame is rows of segments."""

    def __init__(self, text: str, offset: int) -> None:
        super().__init__(text, [(offset, offset)], context=20)
        self.frames: list[Frame] = []
        self._take()

    def show(self, draft: Draft) -> None:
        super().show(draft)
        self._take()

    def finish(self, filled: Filled, texts: Sequence[str | None]) -> None:
        super().finish(filled, texts)
        self._take()

    def _take(self) -> None:
        rows = _screen(height=100).render_lines(self, pad=False)
        frame = [list(Segment.simplify(row)) for row in rows]
        if self.frames[-1:] != [frame]:
            self.frames.append(frame)


def record(marked: str, name: str) -> str:
    """The SVG of what is written at the cursor mark of a text. Raises CloverError."""
    before, _, after = marked.partition(CURSOR)
    document = Document(f"recording:{name}", "", 0, IndexedText.of(before + after))
    offset = len(before)
    line = document.content.line_of(offset)
    cursor = Cursor(Path(name), line + 1, offset - document.content.starts[line] + 1)
    watch = Recorded(document.text, offset)
    asyncio.run(complete(connect(load_config()), document, offset, cursor, watch))
    command = f"clover-write complete {name}:{cursor.line}:{cursor.column} --watch"
    return animated(watch.frames, command)


def animated(frames: Sequence[Frame], title: str) -> str:
    """One SVG that shows the frames one after another, for ever."""
    rows = max(map(len, frames))
    console = _screen(rows)
    for frame in frames:
        # the legend stays where it is
        full = [*frame[:-1], *[list[Segment]()] * (rows - len(frame)), frame[-1]]
        console.print(SegmentLines(full, new_lines=True))
    drawn = console.export_svg(
        code_format="{char_width}\0{line_height}\0{styles}\0{matrix}", unique_id="w"
    )
    cell, line, styles, matrix = drawn.split("\0")
    cell_width, row_height = float(cell), float(line)
    width, height = COLUMNS * cell_width, rows * row_height
    shifts = [f"transform: translateY({-number * height:g}px)" for number in range(len(frames))]
    seconds = FRAME_S * (len(frames) - 1) + LAST_FRAME_S
    return SVG.format(
        width=width + 2 * PADDING,
        height=height + TITLE + 2 * PADDING,
        seconds=seconds,
        keyframes="\n".join(
            f"{number * FRAME_S / seconds:.3%} {{ {shift} }}" for number, shift in enumerate(shifts)
        ),
        last=shifts[-1].removeprefix("transform: "),
        styles=styles,
        screen_width=width,
        screen_height=height,
        background=SVG_EXPORT_THEME.background_color.hex,
        foreground=SVG_EXPORT_THEME.foreground_color.hex,
        baseline=PADDING + 20,
        title=escape(title),
        padding=PADDING,
        top=PADDING + TITLE,
        matrix=_SVG_TEXT.sub(lambda found: _compact(found, cell_width), matrix),
    )


def _compact(found: re.Match[str], cell_width: float) -> str:
    """One text without its clip path, and as wide as it is: rich counts a wide character once."""
    style, x, y, text = found.groups()
    text = unescape(text)
    if not text.strip():
        return ""
    length = cell_len(text) * cell_width
    return f'<text class="{style}" x="{x}" y="{y}" textLength="{length:g}">{escape(text)}</text>\n'


def _screen(height: int) -> Console:
    return Console(
        record=True,
        file=io.StringIO(),
        width=COLUMNS,
        height=height,
        force_terminal=True,
        color_system="truecolor",
        legacy_windows=False,
        no_color=False,
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Write the recording; the engine is the configured one."""
    parser = argparse.ArgumentParser(prog="python -m demo.record_watch", description=__doc__)
    parser.add_argument("file", nargs="?", type=Path, help=f"a text with {CURSOR} at the cursor")
    parser.add_argument("--out", type=Path, default=Path("docs/watch.svg"))
    args = parser.parse_args(argv)
    marked = args.file.read_text(encoding="utf-8") if args.file else EXAMPLE
    try:
        svg = record(marked, args.file.name if args.file else "words.py")
    except CloverError as error:
        sys.stderr.write(f"record_watch: {error}\n")
        return 1
    size = len(svg.encode())
    if size > MAX_BYTES:
        sys.stderr.write(f"record_watch: {size:,} bytes are too many: take a smaller document\n")
        return 1
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text(svg, encoding="utf-8")
    sys.stdout.write(f"{args.out}: {size:,} bytes\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
