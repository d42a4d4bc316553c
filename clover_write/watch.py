"""Holes in their document while they are written, with confidence as colour."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import Self

from rich.color import Color
from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.style import Style
from rich.text import Text

from clover_engine.api import Draft, Filled, Piece, Stats

# of equal lightness, so that each can be read on black and on white
SCALE = ((230, 35, 20), (190, 95, 0), (120, 126, 0), (10, 137, 20))
WRITTEN = Style(bold=True)  # where nothing is known of its tokens
GUESSED = Style(dim=True, italic=True)
OPEN = Style(dim=True)
EMPTY = "░"
SKIPPED = "⋮"
# so much of a line is shown on each side of a hole, and of a line beside it
LINE_CHARS = 160

_LINE_END = re.compile(r"\r\n|\r")
# signs that command a terminal, turn the direction of writing, or cannot be encoded
_UNSHOWN = re.compile(
    "[\0-\t\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


class Watch:
    """The lines around `spans` of `text`, each span taking what is written in its place.

    `spans` are ordered, disjoint ranges in code points, one for each hole of the request;
    `context` is how many lines are shown above and below one. Printed with rich it is what stands
    now: while it is written as many rows as the screen has, around the hole that changed last.
    Entered, it is shown on stderr and kept up to date, where that is no terminal only once at the
    end; an error takes it away again.
    """

    def __init__(self, text: str, spans: Sequence[tuple[int, int]], context: int) -> None:
        self._masks = [Text(shown(text[start:end]) or EMPTY, OPEN) for start, end in spans]
        self._literals = _literals(text, spans, context)
        self._pieces: list[Sequence[Piece]] = [()] * len(spans)
        self._holes = list(self._masks)
        self._changed = 0
        self._stats: Stats | None = None
        self._live = Live(
            self,
            console=Console(stderr=True),
            auto_refresh=False,
            redirect_stdout=False,
            redirect_stderr=False,
        )

    def __enter__(self) -> Self:
        self._live.start(refresh=True)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._live.transient = error is not None
        self._live.stop()
        if error is None and not self._live.console.is_terminal:
            # rich ends only a terminal's last row
            self._live.console.line()

    def show(self, draft: Draft) -> None:
        """Put a draft in its hole."""
        self._pieces[draft.hole], self._changed = draft.pieces, draft.hole
        if draft.pieces:
            self._holes[draft.hole] = coloured(draft.pieces)
        elif draft.text:
            self._holes[draft.hole] = Text(shown(draft.text), WRITTEN)
        if self._live.is_started:
            self._live.refresh()

    def finish(self, filled: Filled, texts: Sequence[str | None]) -> None:
        """Put what stands in the document in the end in each hole; None: the span stays."""
        holes = zip(self._masks, self._pieces, filled.fills, texts, strict=True)
        self._holes = [
            mask if text is None else coloured(_cut(pieces, text) or [Piece(text, fill.confidence)])
            for mask, pieces, fill, text in holes
        ]
        self._stats = filled.stats

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        rows = self._rows(console, options.max_width, len(self._holes))
        room = max(1, options.max_height - 3)
        if self._stats is None and len(rows) > room:
            changed = len(self._rows(console, options.max_width, self._changed + 1))
            first = min(max(0, changed - room // 2), len(rows) - room)
            rows = rows[first : first + room]
        yield from rows
        yield Text()
        yield legend(self._stats)

    def _rows(self, console: Console, width: int, holes: int) -> list[Text]:
        """Everything up to so many holes, broken into rows of `width` cells."""
        document = Text()
        for literal, hole in zip(self._literals, self._holes[:holes], strict=False):
            document.append(literal).append_text(hole)
        if holes == len(self._holes):
            document.append(self._literals[-1])
        return list(document.wrap(console, width, overflow="fold"))


def shown(text: str) -> str:
    """`text` as it may reach a terminal: line ends are `\\n`, control characters pictures."""
    return _UNSHOWN.sub(_picture, _LINE_END.sub("\n", text))


def coloured(pieces: Iterable[Piece]) -> Text:
    """Settled pieces in the colour of their confidence, guesses on one line, a sign for each slot
    where there is none."""
    text = Text()
    for piece in pieces:
        if piece.settled:
            text.append(shown(piece.text), Style(color=colour(piece.confidence), bold=True))
        elif piece.text:
            # what may vanish again must not move the lines below
            text.append(shown(piece.text).replace("\n", "↵"), GUESSED)
        else:
            text.append(EMPTY, OPEN)
    return text


def colour(confidence: float) -> Color:
    """The scale's colour at a confidence from 0 to 1."""
    step = min(max(0.0, confidence), 1.0) * (len(SCALE) - 1)
    low = min(int(step), len(SCALE) - 2)
    part = step - low
    pairs = zip(SCALE[low], SCALE[low + 1], strict=True)
    return Color.from_rgb(*(round(a + (b - a) * part) for a, b in pairs))


def legend(stats: Stats | None) -> Text:
    """What the colours mean and, when all is written, what it took."""
    text = Text("unsure ", no_wrap=True, overflow="ellipsis")
    for step in range(8):
        text.append("━", Style(color=colour(step / 7)))
    text.append(" sure")
    if stats is None:
        return text.append("   guess", GUESSED).append(f"   {EMPTY} open", OPEN)
    each = f", {stats.tokens / stats.forwards:.1f} each" if stats.forwards else ""
    return text.append(f"   {stats.tokens} tokens in {stats.forwards} forwards{each}")


def _picture(sign: re.Match[str]) -> str:
    code = ord(sign[0])
    if sign[0] == "\t":
        return "    "
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else "\ufffd"


def _cut(pieces: Sequence[Piece], text: str) -> list[Piece]:
    """The settled pieces as far as they are in `text`; none where `text` is no part of them."""
    settled = [piece for piece in pieces if piece.settled]
    at = "".join(piece.text for piece in settled).find(text)
    if at < 0:
        return []
    kept: list[Piece] = []
    end = at + len(text)
    for piece in settled:
        kept.append(Piece(piece.text[max(0, at) : max(0, end)], piece.confidence))
        at, end = at - len(piece.text), end - len(piece.text)
    return kept


def _literals(text: str, spans: Sequence[tuple[int, int]], context: int) -> list[str]:
    """What is shown before, between and behind the spans."""
    ends = [0, *(end for _, end in spans)]
    starts = [*(start for start, _ in spans), len(text)]
    literals = [text[end:start] for end, start in zip(ends, starts, strict=True)]
    last = len(literals) - 1
    return [
        _clipped(shown(literal), context + 1, at > 0, at < last)
        for at, literal in enumerate(literals)
    ]


def _clipped(literal: str, count: int, after_hole: bool, before_hole: bool) -> str:
    """The `count` lines at each end that is at a hole, the middle of long ones left out."""
    lines = (literal if before_hole else literal.rstrip("\n")).split("\n")
    if not before_hole:
        lines = lines[:count]
    elif not after_hole:
        lines = lines[-count:]
    elif len(lines) > 2 * count + 1:
        lines = [*lines[:count], SKIPPED, *lines[-count:]]
    *above, last = lines
    return "\n".join(
        [*(_shortened(line, 0) for line in above), _shortened(last, LINE_CHARS * before_hole)]
    )


def _shortened(line: str, end: int) -> str:
    if len(line) <= LINE_CHARS + end:
        return line
    return f"{line[:LINE_CHARS]}…{line[len(line) - end :]}"
