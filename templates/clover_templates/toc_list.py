"""The list that a table of contents is: as it stands in a document, and as it is written."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from clover_templates.toc_entries import Entry

_LINE = re.compile(rb"[^\r\n]*(?:\r\n|\n|\r|\Z)")
_ITEM = re.compile(
    rb"(?P<indent>[ \t]*)(?P<marker>[-*+]|[0-9]{1,9}[.)])"
    rb"(?:[ \t]+(?P<text>[^\r\n]*?))?[ \t]*[\r\n]*"
)
_TO_HEADING = re.compile(rb"\[.*\]\(<?#[^()]*\)|\[\[#.*\]\]")
_LINK = re.compile(rb"(?<!\\)(?:\]\(|\]\[|\[\[)|://")


@dataclass(frozen=True, slots=True)
class ListStyle:
    """What stands before an item, `-`, `*`, `+`, `1.` or `1)`, and before that of a nested one."""

    marker: str = "-"
    indent: str = ""

    @property
    def step(self) -> str:
        """The indent, if Markdown takes it for that of a nested item, or one that it does."""
        width = len(self.marker) + 1
        wide = 4 if self.indent == "\t" else len(self.indent)
        return self.indent if width <= wide <= width + 3 else " " * width


@dataclass(frozen=True, slots=True)
class TocList:
    """A list at the bytes `[start, end)`, without its last line end.

    `is_toc` unless one of its items links to anything but a heading, or none does that;
    `is_wiki` if they link as Obsidian does.
    """

    start: int
    end: int
    style: ListStyle
    is_toc: bool
    is_wiki: bool


def find_list(source: bytes, start: int, end: int) -> TocList | None:
    """The first list in `[start, end)` of `source`, None if there is none.

    Blank lines between its items are within; the first other line ends it.
    """
    items: list[re.Match[bytes]] = []
    for line in _LINE.finditer(source, start, end):
        if item := _ITEM.fullmatch(source, line.start(), line.end()):
            items.append(item)
        elif items and line[0].strip():
            break
    return _list(items) if items else None


def _list(items: list[re.Match[bytes]]) -> TocList:
    texts = [item["text"] or b"" for item in items]
    to_headings = [text for text in texts if _TO_HEADING.fullmatch(text)]
    others = [text for text in texts if _LINK.search(text) and text not in to_headings]
    marker = items[0]["marker"].decode()
    indent = next((item["indent"].decode() for item in items if item["indent"]), "")
    return TocList(
        items[0].start(),
        items[-1].end("text") if items[-1]["text"] else items[-1].end("marker"),
        ListStyle(marker if len(marker) == 1 else f"1{marker[-1]}", indent),
        is_toc=bool(to_headings) and not others,
        is_wiki=any(text.startswith(b"[[#") for text in to_headings),
    )


def list_text(listed: Iterable[Entry], style: ListStyle, eol: str) -> str:
    """The entries as a list, one a line, each nested under the last of a lower level."""
    above: list[int] = []
    lines: list[str] = []
    for entry in listed:
        while above and above[-1] >= entry.heading.level:
            above.pop()
        lines.append(f"{style.step * len(above)}{style.marker} {entry.text}")
        above.append(entry.heading.level)
    return eol.join(lines)
