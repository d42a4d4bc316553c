"""An output in the making: pieces one behind the other, and what separates them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from clover_templates.document import Document
from clover_templates.source import Span
from clover_templates.trace import Added, FromSource, Literal, Piece, Why

# without the blanks beside it: two at its end would be a line end
_LINE = re.compile(rb"[^\s](?:[^\r\n]*[^\s])?")


@dataclass(slots=True)
class Writer:
    """Pieces one behind the other, with as many line ends between them as they ask for."""

    source: Document
    pieces: list[Piece] = field(default_factory=list)
    _ended: int = 2  # line ends that the text so far ends with

    def text(self, text: str) -> None:
        """Text of the template; no more than one blank line stands in a row."""
        body = text.lstrip("\n")
        self.line_ends(min(self._ended + len(text) - len(body), 2))
        if body:
            kept = body.rstrip("\n")
            self._add(Literal(self._bytes(kept)), 0)
            self.line_ends(min(len(body) - len(kept), 2))

    def added(self, text: str, why: Why) -> None:
        """Text of ours within a line."""
        if text:
            self._add(Added(self._bytes(text), why), 0)

    def line_ends(self, count: int) -> None:
        """At least so many line ends."""
        if count > self._ended:
            missing = "\n" * (count - self._ended)
            self._add(Added(self._bytes(missing), Why.SEPARATOR), count)

    def bytes_of(self, span: Span) -> None:
        """Bytes of the source."""
        end = self._text_end(span)
        if end > span.start:
            self._add(FromSource(span.start, end), 0)
        if end < span.end:
            self.line_ends(1)

    def line_of(self, span: Span) -> None:
        """Bytes of the source on one line: the title of an underlined heading may have several."""
        at = span.start
        for line in _LINE.finditer(self.source.data, span.start, span.end):
            if at > span.start:
                self.added(" ", Why.SEPARATOR)
            self._add(FromSource(*line.span()), 0)
            at = line.end()

    def copied(self, span: Span) -> None:
        """Bytes of the source that stand elsewhere in the output too."""
        self._add(FromSource(span.start, span.end, copy=True), 0)

    @property
    def ends_with_text(self) -> bool:
        """Whether the last thing written is a line of the source or the template."""
        return not self.pieces or not isinstance(self.pieces[-1], Added) or self._ended < 2

    def ended(self) -> tuple[Piece, ...]:
        """All pieces; the last line ends as the source's last line does."""
        data = self.source.data
        while self.pieces and isinstance(last := self.pieces[-1], Added):
            if last.why is not Why.SEPARATOR:
                break
            self.pieces.pop()
        if self.pieces and (not data or self.source.source.ends_with_line_end):
            self.pieces.append(Added(self.source.source.line_end, Why.SEPARATOR))
        return tuple(self.pieces)

    def _add(self, piece: Piece, ended: int) -> None:
        self.pieces.append(piece)
        self._ended = ended

    def _text_end(self, span: Span) -> int:
        """Where a span's text ends, its last line end apart."""
        text = self.source.data[span.start : span.end]
        return span.start + len(text.rstrip(b"\r\n"))

    def _bytes(self, text: str) -> bytes:
        return text.replace("\n", self.source.source.line_end.decode()).encode()
