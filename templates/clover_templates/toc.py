"""The table of contents of a Markdown document, and the edits that bring it up to date."""

from __future__ import annotations

import re
from dataclasses import dataclass

from clover_engine.errors import CloverError
from clover_templates.edit import Edit
from clover_templates.front_matter import body_start, line_end
from clover_templates.headings import Comment, Outline, outline
from clover_templates.masked_spans import place
from clover_templates.slug import Style
from clover_templates.toc_entries import entries
from clover_templates.toc_list import ListStyle, TocList, find_list, list_text

# the comments before and behind a table: those of markdown-toc, which are ours, and of JetBrains;
# of doctoc; of gh-md-toc
_OURS = re.compile(r"toc(?:\s+\w+:\S+)*", re.I)
_MARKERS = (
    (_OURS, re.compile(r"tocstop|/toc|toc", re.I)),
    (re.compile(r"start doctoc\b.*", re.I | re.S), re.compile(r"end doctoc\b.*", re.I | re.S)),
    (re.compile(r"ts"), re.compile(r"te")),
)
_LEVEL = re.compile(r"\bdepth(from|to):([1-6])\b", re.I)
_OMITTED = re.compile(r"<!--\s*omit (?:in|from) toc\s*-->", re.I)
_BLANK_LINE = re.compile(rb"[ \t]*(?:[\r\n]|\Z)")
_AFTER_BLANK = re.compile(rb"(?:\r\n|\n|\r)[ \t]*(?:\r\n|\n|\r)\Z")


class TocError(CloverError):
    """There is nothing to list, or another list between the markers; names line:column, from 1."""


@dataclass(frozen=True, slots=True)
class TocOptions:
    """How headings are linked to, and the levels that are listed.

    `style` None is that of the table, GitHub's for a new one. Levels in a table's own marker,
    `<!-- toc depthFrom:2 depthTo:3 -->`, count more than these; a new table's marker has them.
    """

    style: Style | None = None
    min_level: int = 1
    max_level: int = 6


@dataclass(frozen=True, slots=True)
class _Table:
    """The markers of a table and the list between them; without `last` it is still to be made."""

    first: Comment
    last: Comment | None = None
    items: TocList | None = None


def toc_edit(
    source: bytes, options: TocOptions = TocOptions(), *, insert: bool = True
) -> Edit | None:
    """What brings the table of contents of `source`, in UTF-8, up to date: None if it is.

    The table lists the headings below it. A document without markers gets one behind its only
    heading of level 1, if that comes first, or else where its text begins; unless `insert`, only
    a table between two markers is touched. Raises TocError.
    """
    found = outline(source)
    table = _table(source, found)
    if table and table.last:
        return _update(source, found, table, table.last, options)
    return _insertion(source, found, table, options) if insert else None


def _table(source: bytes, found: Outline) -> _Table | None:
    """The first pair of markers, or else a first marker of ours."""
    unclosed = None
    for at, first in enumerate(found.comments):
        for opens, closes in _MARKERS:
            if not opens.fullmatch(first.text):
                continue
            behind = found.comments[at + 1 :]
            last = next((each for each in behind if closes.fullmatch(each.text)), None)
            if last and (table := _paired(source, found, first, last)):
                return table
            unclosed = unclosed or (_Table(first) if opens is _OURS else None)
    return unclosed


def _paired(source: bytes, found: Outline, first: Comment, last: Comment) -> _Table | None:
    """The table between two markers; where a heading stands in it, below its title, it is none."""
    items = find_list(source, first.end, last.start)
    title_end = items.start if items and items.is_toc else first.end
    if any(title_end <= heading.start < last.start for heading in found.headings):
        return None
    return _Table(first, last, items)


def _update(
    source: bytes, found: Outline, table: _Table, last: Comment, options: TocOptions
) -> Edit | None:
    eol = line_end(source)
    text = _text(found, last.end, table, options, eol)
    if table.items is None:
        return _filled(source, table.first.end, last.start, text, eol) if text else None
    start, end = table.items.start, table.items.end
    if source[start:end] == text.encode("utf-8", "surrogatepass"):
        return None
    if not table.items.is_toc:
        raise _error(
            source, start, "the list between the markers is no table of contents: move it out"
        )
    return Edit(start, end, text)


def _filled(source: bytes, start: int, end: int, text: str, eol: str) -> Edit:
    """The list put between two markers, behind whatever stands there."""
    if not source[start:end].strip():
        return Edit(start, end, eol + text + eol + eol)
    gap = "" if _AFTER_BLANK.search(source, start, end) else eol
    return Edit(end, end, gap + text + eol + eol)


def _insertion(source: bytes, found: Outline, table: _Table | None, options: TocOptions) -> Edit:
    """A new table, behind its first marker if that is there."""
    at = table.first.end if table else _place(found)
    eol = line_end(source)
    text = _text(found, at, table, options, eol)
    if not text:
        raise _error(source, at, "no heading to list stands below: write one first")
    marker = "" if table else _gap(source, at, eol) + _marker(options) + eol
    gap = "" if _BLANK_LINE.match(source, at) else eol
    return Edit(at, at, f"{marker}{eol}{text}{eol}{eol}<!-- tocstop -->{eol}{gap}")


def _place(found: Outline) -> int:
    levels = [heading.level for heading in found.headings]
    return found.headings[0].end if levels[:1] == [1] and levels.count(1) == 1 else found.body


def _gap(source: bytes, at: int, eol: str) -> str:
    """What makes a blank line before `at`, except where the file begins."""
    if at == body_start(source):
        return ""
    return eol if source[at - 1 : at] in (b"\n", b"\r") else eol + eol


def _marker(options: TocOptions) -> str:
    lowest = f" depthFrom:{options.min_level}" if options.min_level > 1 else ""
    highest = f" depthTo:{options.max_level}" if options.max_level < 6 else ""
    return f"<!-- toc{lowest}{highest} -->"


def _text(found: Outline, below: int, table: _Table | None, options: TocOptions, eol: str) -> str:
    """The list of the headings that begin at byte `below` or later."""
    items = table.items if table else None
    style = options.style or (Style.OBSIDIAN if items and items.is_wiki else Style.GITHUB)
    levels = {"from": options.min_level, "to": options.max_level}
    levels |= {
        end.lower(): int(level) for end, level in _LEVEL.findall(table.first.text if table else "")
    }
    listed = [
        entry
        for entry in entries(found.headings, found.definitions, style)
        if entry.heading.start >= below
        and levels["from"] <= entry.heading.level <= levels["to"]
        and not _OMITTED.search(entry.heading.source)
    ]
    return list_text(
        listed, items.style if items else ListStyle(found.bullet or "-", found.indent), eol
    )


def _error(source: bytes, at: int, text: str) -> TocError:
    before = source[:at].decode("utf-8", "surrogatepass")
    return TocError(f"{place(before, len(before))}: {text}")
