"""The blocks of a numbered Chinese text, which is no Markdown: a line is a paragraph there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import takewhile

from clover_templates.blocks import Heading, Kind, Rows, Style
from clover_templates.numbering import NumberedLine, numbered_line
from clover_templates.opaque import Fenced, Run, fenced_runs
from clover_templates.source import Source, Span

_FENCED = {Fenced.CODE: Kind.CODE, Fenced.MATH: Kind.MATH, Fenced.COMMENT: Kind.COMMENT}
_FIRST_NUMBER = re.compile(
    "(?:^|[\r\n])[ \t]*(?:\u3000)*(?:\\*\\*|__)?(?:一、|(?:（|[(])一(?:）|[)]))".encode()
)
_HASHES = re.compile(r"[ ]{0,3}(#{1,6})(?:[ \t]+(?P<title>.*?))??(?:[ \t]+#+)?[ \t]*\Z")
_RULE = re.compile(r"[ ]{0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})\Z")
_BULLET = re.compile(r"[ ]{0,3}[-*+•·][ \t]+\S")
_INDENTED = re.compile(r"(?:[ ]{2,}|\t)\S")
_CALLOUT = re.compile(r"[ ]{0,3}>[ \t]?\[![^\[\]]+\]")
# lines that make one block with the lines of their kind below them
_ALIKE = (
    (Kind.TABLE, re.compile(r"[ ]{0,3}\|")),
    (Kind.QUOTE, re.compile(r"[ ]{0,3}>")),
    (Kind.HTML, re.compile(r"[ ]{0,3}<(?:!--|/?[A-Za-z])")),
    (Kind.REFERENCES, re.compile(r"[ ]{0,3}\[(?!\^)[^\[\]]+\]:[ \t]*\S")),
)
_FOOTNOTE = re.compile(r"[ ]{0,3}\[\^[^\[\]\s]+\]:")
_ENDED = re.compile(r"[。！？；：，、.!?;:,][”’」』）)*]*\Z")
_DOCUMENT_NUMBER = re.compile(r".{1,30}[〔\[]\d{4}[〕\]].{1,8}号\Z")
_ATTACHMENTS = re.compile(r"[ \t\u3000]*附件[：:]")
# what a title ends with, even where it takes several lines
_DOCUMENT_KIND = re.compile(
    r"(?:决议|决定|命令|公报|公告|通告|意见|通知|通报|报告|请示|批复|议案|函|纪要|方案|办法|总结|计划)\Z"
)
_TITLE_LINES = 3
_MAX_TITLE = 60
# these are sections even where nothing stands below them; 1. and （1） are then items of a list
_SECTION_LEVEL = 2


@dataclass(frozen=True, slots=True)
class _Text:
    """The lines of a source without their line ends, and its fenced runs by their first line."""

    source: Source
    lines: tuple[str, ...]
    runs: dict[int, Run]

    @classmethod
    def of(cls, source: Source) -> _Text:
        start, data = source.front_matter_lines, source.data
        raw = [data[line.start : line.end] for line in source.lines]
        runs = {run.first + start: run for run in fenced_runs(raw[start:])}
        lines = tuple(line.decode().rstrip("\r\n") for line in raw)
        return cls(
            source, lines, {n: replace(r, first=n, end=r.end + start) for n, r in runs.items()}
        )

    def next_text(self, at: int) -> int | None:
        """The first line from `at` on that is not blank; None at the end and before a fence."""
        while at < len(self.lines) and not self.lines[at].strip():
            at += 1
        return at if at < len(self.lines) and at not in self.runs else None


def numbered_rows(source: Source, *, always: bool = False) -> list[Rows] | None:
    """The rows of every block of a numbered text, in order; None where the text is none, unless it
    is `always` to be read as one.

    Headings are the title in the first lines, at level 1, and the numbered lines that have a title
    of their own, one level below their number's. Other numbered lines are items of lists. Blank
    lines and front matter have no rows.
    """
    # most texts are told by this alone
    if not always and not _FIRST_NUMBER.search(source.data):
        return None
    text = _Text.of(source)
    return list(_grouped(_Lines(text).rows())) if always or _is_numbered(text) else None


def _is_numbered(text: _Text) -> bool:
    """Whether Chinese numbers head the lines of this text, rather than the marks of Markdown.

    So it is where lines begin with 一、 and 二、, or with （一） and （二）, in this order, and no
    heading of Markdown stands in the text but one title above them.
    """
    reached = {1: 0, 2: 0}
    titles = 0
    at = text.source.front_matter_lines
    while at < len(text.lines):
        if run := text.runs.get(at):
            at = run.end
            continue
        if hashes := _HASHES.match(text.lines[at]):
            titles += 1
            if len(hashes[1]) > 1 or titles > 1 or any(reached.values()):
                return False
        line = numbered_line(text.lines[at])
        if line and line.number.value == reached.get(line.number.level, -2) + 1:
            reached[line.number.level] += 1
        at += 1
    return max(reached.values()) >= 2


def _grouped(rows: Iterator[Rows]) -> Iterator[Rows]:
    """`rows` with items that follow each other line by line made one list."""
    items: list[Rows] = []
    for row in rows:
        if items and (row.kind is not Kind.LIST_ITEM or row.first != items[-1].end):
            yield _list(items)
            items = []
        if row.kind is Kind.LIST_ITEM:
            items.append(row)
        else:
            yield row
    if items:
        yield _list(items)


def _list(items: list[Rows]) -> Rows:
    return Rows(Kind.LIST, items[0].first, items[-1].end, items=tuple(items))


class _Lines:
    """One pass over the lines; remembers the numbers that have been and where a list goes on."""

    def __init__(self, text: _Text) -> None:
        self._text = text
        self._numbers = [0, 0, 0, 0]
        # the level of the numbered items just above, 0 without any; what is below it is an item too
        self._in_items = 0

    def rows(self) -> Iterator[Rows]:
        at = self._text.source.front_matter_lines
        untitled = True
        while at < len(self._text.lines):
            if not self._text.lines[at].strip():
                at += 1
                continue
            row = self._title(at) if untitled else None
            untitled = untitled and not row and bool(_DOCUMENT_NUMBER.match(self._text.lines[at]))
            row = row or self._row(at)
            yield row
            at = row.end

    def _title(self, at: int) -> Rows | None:
        """The title, if it begins here: up to the line that names the kind of document, if any."""
        if at in self._text.runs or not self._is_title(at):
            return None
        lines = self._text.lines[at : at + _TITLE_LINES]
        like = list(takewhile(self._is_title, range(at, at + len(lines))))
        named = (n + 1 for n in like if _DOCUMENT_KIND.search(self._text.lines[n].strip()))
        return self._heading(at, next(named, at + 1), 1, Style.TITLE, self._whole(at))

    def _is_title(self, at: int) -> bool:
        line = self._text.lines[at].strip()
        return (
            0 < len(line) <= _MAX_TITLE
            and not _ENDED.search(line)
            and not _DOCUMENT_NUMBER.match(line)
            and not _HASHES.match(line)
            and not numbered_line(line)
            and not line.startswith(("|", ">", "-", "*", "+", "<", "["))
        )

    def _row(self, at: int) -> Rows:
        line = self._text.lines[at]
        if run := self._text.runs.get(at):
            return Rows(_FENCED[run.kind], at, run.end)
        if hashes := _HASHES.match(line):
            return self._heading(at, at + 1, len(hashes[1]), Style.ATX, hashes.span("title"))
        if _RULE.match(line):
            return Rows(Kind.RULE, at, at + 1)
        if _BULLET.match(line):
            end = self._while(at + 1, _INDENTED)
            return Rows(Kind.LIST_ITEM, at, end, nested=end > at + 1)
        for kind, pattern in _ALIKE:
            if pattern.match(line):
                told = Kind.CALLOUT if _CALLOUT.match(line) else kind
                return Rows(told, at, self._while(at + 1, pattern))
        numbered = numbered_line(line)
        if numbered:
            return self._numbered(at, numbered)
        self._in_items = 1 if _ATTACHMENTS.match(line) else 0
        return Rows(Kind.FOOTNOTE if _FOOTNOTE.match(line) else Kind.PARAGRAPH, at, at + 1)

    def _while(self, at: int, pattern: re.Pattern[str]) -> int:
        while at < len(self._text.lines) and pattern.match(self._text.lines[at]):
            at += 1
        return at

    def _numbered(self, at: int, line: NumberedLine) -> Rows:
        level = line.number.level
        follows = line.number.value == self._numbers[level - 1] + 1
        if follows:
            self._numbers[level - 1 :] = [line.number.value] + [0] * (4 - level)
        if follows and self._heads(at, line):
            self._in_items = 0
            style, run_in = Style.NUMBERED, line.run_in
            row = self._heading(at, at + 1, level + 1, style, (line.start, line.end))
            assert row.heading
            return replace(row, heading=replace(row.heading, number=line.number, run_in=run_in))
        self._in_items = min(self._in_items or level, level)
        return Rows(Kind.LIST_ITEM, at, at + 1)

    def _heads(self, at: int, line: NumberedLine) -> bool:
        """Whether the line is a heading: it has a title, and text follows it."""
        level = line.number.level
        if not line.has_title or (0 < self._in_items <= level and not line.run_in):
            return False
        if line.run_in or (line.whole and level <= _SECTION_LEVEL):
            return True
        below = self._text.next_text(at + 1)
        if below is None:
            return at + 1 in self._text.runs
        after = numbered_line(self._text.lines[below])
        return not after or after.number.level > level

    def _whole(self, at: int) -> tuple[int, int]:
        line = self._text.lines[at]
        return len(line) - len(line.lstrip()), len(line.rstrip())

    def _heading(
        self, first: int, end: int, level: int, style: Style, title: tuple[int, int]
    ) -> Rows:
        """A heading; `title` is in characters of line `first`, and goes on if there are more."""
        line, start = self._text.lines[first], self._text.source.lines[first].start
        left, right = max(title[0], 0), max(title[1], 0)
        title_start = start + len(line[:left].encode())
        title_end = start + len(line[:right].encode())
        if end > first + 1:
            title_end = self._text.source.lines[end - 2].end
            title_end += len(self._text.lines[end - 1].rstrip().encode())
        heading = Heading(level, style, Span(title_start, title_end))
        return Rows(Kind.HEADING, first, end, heading)
