"""How the text of a template is laid out: front matter, headings, and what stands once to be
repeated. Offsets are code points."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from clover_templates.code_regions import Region, code_regions
from clover_templates.front_matter import front_matter
from clover_templates.grammar import block_tree, top_level
from clover_templates.template_settings import Numbering

if TYPE_CHECKING:
    from tree_sitter import Node

COMMENT = re.compile(r"<!--(?:(?!-->|<!--).)*+-->", re.DOTALL)
_ALONE = re.compile(rf"^[ \t]*{COMMENT.pattern}[ \t]*(?=\r?$)", re.DOTALL | re.MULTILINE)
_DIGITS = "[一二三四五六七八九十百]"
# the four levels of a 公文 (GB/T 9704-2012, 7.3.3)
_NUMBERED = re.compile(
    rf"""^[ \t\u3000]*(?:
      (?P<l1> {_DIGITS}+、 ) | (?P<l2> [（(]{_DIGITS}+[）)] )
    | (?P<l3> [0-9]{{1,2}}[.．](?![0-9]) ) | (?P<l4> [（(][0-9]{{1,2}}[）)] )
    )[ \t\u3000]*(?P<title>[^\n\r]*)""",
    re.VERBOSE | re.MULTILINE,
)
_CLOSINGS = Path(__file__).with_name("gongwen_closings.txt")
_BLANK_LINES = re.compile(r"(?:[ \t\u3000]*(?:\r\n|\n|\r))*+")
_FENCE = re.compile(rb"\A(?:---|\+\+\+)(?=[ \t]*[\r\n])")
_NOT_ASCII = re.compile(r"[^\t\r\n -~]")
_SIGNS = re.compile(r"\{\{|<!--|<%|\{%")
_LEVEL = re.compile(r"_h([1-6])_")
_CLOSING_HASHES = re.compile(r"(?:(?<=[ \t])|^)#+[ \t]*\Z|[ \t]+\Z")
LINE_END = re.compile(r"\r\n|\n|\r")
_LINE = re.compile(r"[^\n\r]*(?:\r\n|\n|\r|\Z)")


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading at `[start, end)`, with its line end, and its title."""

    start: int
    end: int
    level: int
    title_start: int
    title_end: int


@dataclass(frozen=True, slots=True)
class Layout:
    """Where things stand. `rows` and `items` are those that are the only ones of their table or
    list; `closing` is where the text behind the last numbered section begins, or the text ends."""

    front_matter_end: int
    headings: tuple[Heading, ...]
    rows: tuple[Region, ...]
    items: tuple[Region, ...]
    code: tuple[Region, ...]
    closing: int


def read_layout(text: str, numbering: Numbering) -> Layout:
    """The layout of a text whose headings are marked like this."""
    if numbering is Numbering.MD:
        code = _code(text)
        return replace(_markdown(_blanked(text, code)), code=code)
    layout = _markdown(_blanked(text, ()))
    headings: tuple[Heading, ...] = ()
    closing = len(text)
    if numbering is Numbering.GONGWEN:
        # lines of a comment are no headings, and blank lines in it close nothing
        plain = COMMENT.sub(lambda comment: "#" * len(comment[0]), text)
        headings = tuple(_numbered(plain, layout.front_matter_end))
        closing = _closing(plain, headings)
        headings = tuple(heading for heading in headings if heading.start < closing)
    return replace(layout, headings=headings, items=(), closing=closing)


def guess_numbering(text: str) -> Numbering:
    """How the headings of a text look to be marked."""
    if _markdown(_blanked(text, _code(text))).headings:
        return Numbering.MD
    numbered = _numbered(COMMENT.sub("", text), 0)
    return Numbering.GONGWEN if any(h.level <= 2 for h in numbered) else Numbering.NONE


def _code(text: str) -> tuple[Region, ...]:
    return tuple(code_regions(text, [found.start() for found in _SIGNS.finditer(text)]))


def _blanked(text: str, code: Sequence[Region]) -> str:
    """The text with blanks for its comments, and with line ends for those that have their lines
    for themselves: the grammar takes what stands below a table for a row, blanks too."""
    parts: list[str] = []
    at = 0
    for start, end in [*code, (len(text), len(text))]:
        alone = _ALONE.sub(lambda comment: "\n" * len(comment[0]), text[at:start])
        parts.append(COMMENT.sub(lambda comment: " " * len(comment[0]), alone))
        parts.append(text[start:end])
        at = end
    return "".join(parts)


def closing_at(text: str, start: int) -> int:
    """Where the text of a 公文's last section, which begins at `start`, is over: at the words of a
    closing, or at the first blank line behind it."""
    blank = _BLANK_LINES.match(text, start)
    found = _closing_words().search(text, blank.end() if blank else start)
    return found.start() if found else len(text)


@cache
def _closing_words() -> re.Pattern[str]:
    """A line that is blank, or begins with one of the words of the data file."""
    lines = _CLOSINGS.read_text(encoding="utf-8").splitlines()
    words = "|".join(re.escape(line) for line in lines if line and not line.startswith("#"))
    return re.compile(rf"^[ \t\u3000]*(?:(?=[\r\n])|{words})", re.MULTILINE)


def line_at(text: str, offset: int) -> Region:
    """The line that holds `offset`, its line end among it."""
    start = max(text.rfind("\n", 0, offset), text.rfind("\r", 0, offset)) + 1
    found = _LINE.match(text, start)
    return start, found.end() if found else len(text)


def _numbered(text: str, start: int) -> Iterator[Heading]:
    for found in _NUMBERED.finditer(text, start):
        level = next(level for level in range(1, 5) if found[f"l{level}"])
        end = line_at(text, found.end())[1]
        yield Heading(found.start(), end, level, *found.span("title"))


def _closing(text: str, headings: Sequence[Heading]) -> int:
    """Where the last section is over. Levels 3 and 4 do not count: the names of attachments are
    numbered like them."""
    last = [heading for heading in headings if heading.level <= 2]
    return closing_at(text, last[-1].end) if last else len(text)


def _markdown(text: str) -> Layout:
    # one byte a code point, so that the offsets are those of the text, and a last line that ends
    source = _NOT_ASCII.sub(",", text).encode() + b"\n"
    matter = front_matter(source)
    body = min(matter.body, len(text)) if matter else 0
    # the grammar takes any fence in the first line for front matter
    source = b"\n" * body + source[body:] if body else _FENCE.sub(b"***", source)
    tree = block_tree(source)
    headings: list[Heading] = []
    rows: list[Region] = []
    items: list[Region] = []
    for node in top_level(tree):
        match node.type:
            case "atx_heading" | "setext_heading":
                headings.append(_heading(text, node))
            case "pipe_table":
                rows += _alone(text, node, "pipe_table_row")
            case "list":
                items += _alone(text, node, "list_item")
    return Layout(body, tuple(headings), tuple(rows), tuple(items), (), len(text))


def _heading(text: str, node: Node) -> Heading:
    marker = next(child for child in node.named_children if _LEVEL.search(child.type))
    content = node.child_by_field_name("heading_content")
    if content:
        start, end = content.start_byte, content.end_byte
    else:
        start = end = marker.end_byte
    if node.type == "atx_heading":
        end = start + len(_CLOSING_HASHES.sub("", text[start:end]))
    first, last = line_at(text, node.start_byte), line_at(text, max(node.end_byte - 1, end))
    return Heading(first[0], last[1], int(_LEVEL.findall(marker.type)[0]), start, end)


def _alone(text: str, node: Node, kind: str) -> Iterator[Region]:
    """The lines of the only child of this kind, blank ones at their end excepted."""
    found = [child for child in node.named_children if child.type == kind]
    if len(found) == 1:
        start = line_at(text, found[0].start_byte)[0]
        written = text[start : found[0].end_byte].rstrip()
        yield start, line_at(text, start + len(written))[1]
