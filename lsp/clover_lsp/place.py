"""Where in a document a cursor stands: its line, what is near, and what kind of text that is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from clover_lsp.languages import Language, language
from clover_lsp.postprocess import with_newlines
from clover_lsp.postprocess.markdown_lines import ITEM

# how far around the cursor the rules look
NEAR_CHARS = 2000
# a comment that is longer than this is not known as one
_COMMENT_CHARS = 16 * 1024

_LINE_END = re.compile(r"\r\n|\n|\r")
_HEADING = re.compile(r" {0,3}#{1,6}(?:[ \t]|$)")
_QUOTE = re.compile(r" {0,3}>")
_ROW = re.compile(r"[ \t]*\|")
_FENCE = re.compile(r"(?P<run>`{3,}|~{3,})[ \t]*(?P<info>[^`\r\n]*)(?=[\r\n]|$)")
# a fence may stand in a list item or a quote
_FENCE_INDENT = 24


class Kind(StrEnum):
    """What kind of text the cursor's line is."""

    CODE = "code"
    PARAGRAPH = "paragraph"
    LIST = "list"
    TABLE = "table"
    HEADING = "heading"
    QUOTE = "quote"
    FRONT_MATTER = "front matter"


@dataclass(frozen=True, slots=True)
class Place:
    """A cursor. `before` and `rest` are its line left and right of it, `above` and `below` the
    lines around that line as far as rules look, line ends `\\n`.

    `fence` is the run of signs that opened the fenced block the cursor is in, `comment` the opener
    and closer of the block comment it is in, `closed` whether the document ends that comment.
    """

    before: str
    rest: str
    above: str
    below: str
    kind: Kind
    language: Language
    fence: str = ""
    comment: tuple[str, str] | None = None
    closed: bool = False

    @property
    def is_prose(self) -> bool:
        """Whether sentences are written here, not code."""
        return self.kind is not Kind.CODE

    @property
    def is_words(self) -> bool:
        """Whether words are written here: prose, or a comment on code."""
        sign = self.language.line_comment
        begun = bool(sign) and self.before.lstrip(" \t").startswith(sign)
        return self.is_prose or bool(self.comment) or begun

    @property
    def lines(self) -> list[str]:
        """The lines near the cursor; in prose, as far as the next fences of a block of code."""
        lines = [*self.above.split("\n"), self.before, *self.below.split("\n")]
        if self.language.prose or self.fence:
            here = self.above.count("\n")
            edges = [at for at, line in enumerate(lines) if _FENCE.match(line.lstrip(" \t>"))]
            start = max((edge for edge in edges if edge < here), default=-1)
            end = min((edge for edge in edges if edge > here), default=len(lines))
            return lines[start + 1 : end]
        return lines

    @property
    def is_single_line(self) -> bool:
        """Whether text of this kind never goes on in the next line."""
        return self.kind in (Kind.TABLE, Kind.HEADING, Kind.QUOTE, Kind.FRONT_MATTER)


def place_at(text: str, offset: int, language_id: str = "") -> Place:
    """The place of the cursor at `offset` of `text`, a document in that language."""
    end = line_end(text, offset)
    near = max(offset - NEAR_CHARS, 0)
    above, found, before = with_newlines(text[near:offset]).rpartition("\n")
    # what was cut in the middle is no line
    above = (above if near == 0 else above.partition("\n")[2]) + found
    rest = text[offset:end]
    below = with_newlines(text[end : end + NEAR_CHARS]).removeprefix("\n")
    spoken = language(language_id)
    if not spoken.prose:
        comment, closed = _comment(text, offset, spoken)
        return Place(before, rest, above, below, Kind.CODE, spoken, "", comment, closed)
    start = offset - len(before)
    fence, info = _fence(text, start)
    if fence:
        return Place(before, rest, above, below, Kind.CODE, language(info), fence)
    kind = Kind.FRONT_MATTER if _in_front_matter(text, start) else _kind(before, rest, above)
    return Place(before, rest, above, below, kind, spoken)


def line_end(text: str, offset: int) -> int:
    """Where the line of `offset` ends."""
    found = _LINE_END.search(text, offset)
    return found.start() if found else len(text)


def _kind(before: str, rest: str, above: str) -> Kind:
    line = before + rest
    if _ROW.match(line) or (not line.strip() and _ROW.match(_last_line(above))):
        return Kind.TABLE
    if _HEADING.match(line):
        return Kind.HEADING
    if _QUOTE.match(line):
        return Kind.QUOTE
    return Kind.LIST if ITEM.match(before) else Kind.PARAGRAPH


def _last_line(above: str) -> str:
    return above.removesuffix("\n").rpartition("\n")[2]


def _fence(text: str, end: int) -> tuple[str, str]:
    """The fence that is open at `end`, the start of a line, and its language; two "" for none."""
    fence = info = ""
    for found in _fences(text, end):
        run, words = found["run"], found["info"].split()
        if not fence:
            fence, info = run, words[0].strip("{}.").lower() if words else ""
        elif run.startswith(fence) and not words:
            fence = info = ""
    return fence, info


def _fences(text: str, end: int) -> Sequence[re.Match[str]]:
    """The lines before `end` that may open or close a block of code, in order.

    Where no block can stand inside another, those from the last on that names a language: it opens
    one, whatever is above. So a long document is searched, but not read.
    """
    if text.find("~~~", 0, end) >= 0:
        return sorted([*_runs(text, "```", end), *_runs(text, "~~~", end)], key=re.Match.start)
    nested = text.find("````", 0, end) >= 0
    found: list[re.Match[str]] = []
    for fence in _runs(text, "```", end):
        found.append(fence)
        if not nested and fence["info"].strip():
            break
    return found[::-1]


def _runs(text: str, sign: str, end: int) -> Iterator[re.Match[str]]:
    """The lines before `end` that begin with `sign`, the last first."""
    at = text.rfind(sign, 0, end)
    while at >= 0:
        while at and text[at - 1] == sign[0]:
            at -= 1
        if (found := _FENCE.match(text, at)) and _begins_line(text, at):
            yield found
        at = text.rfind(sign, 0, at)


def _begins_line(text: str, at: int) -> bool:
    head = text[max(at - _FENCE_INDENT, 0) : at]
    stripped = head.rstrip(" \t>")
    return stripped[-1] in "\r\n" if stripped else len(head) < _FENCE_INDENT


def _in_front_matter(text: str, start: int) -> bool:
    """Whether the line that begins at `start` stands between the first line, `---` or `+++`, and
    the next one like it; where there is none yet, whether no blank line was left."""
    edge = text[:3]
    if edge not in ("---", "+++") or text[3:4] not in ("\r", "\n") or start < 4:
        return False
    close = re.compile(rf"[\r\n]{re.escape(edge)}[ \t]*(?=[\r\n]|$)")
    if text.find(f"\n{edge}", 3, start) >= 0 and close.search(text, 3, start):
        return False
    return bool(close.search(text, start - 1, start + NEAR_CHARS)) or not re.search(
        r"[\r\n][ \t]*[\r\n](?<!\r\n)", text[4:start]
    )


def _comment(text: str, offset: int, spoken: Language) -> tuple[tuple[str, str] | None, bool]:
    """The block comment that is open at `offset`, and whether the document ends it."""
    for start, end in spoken.block_comments:
        if start == end:
            if text.count(start, 0, offset) % 2:
                return (start, end), bool(text.count(start, offset) % 2)
            continue
        at = text.rfind(start, max(offset - _COMMENT_CHARS, 0), offset)
        # `src/*` opens no comment
        if at < 0 or text.find(end, at + len(start), offset) >= 0 or text[at - 1 : at].isalnum():
            continue
        close = text.find(end, offset)
        again = text.find(start, offset)
        return (start, end), close >= 0 and not 0 <= again < close
    return None, False
