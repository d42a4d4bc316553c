"""The outline of a Markdown document: its top-level headings, comments, and how it writes lists."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from clover_templates.front_matter import body_start, front_matter
from clover_templates.grammar import block_tree, top_level

if TYPE_CHECKING:
    from tree_sitter import Node

_OPAQUE = frozenset({"fenced_code_block", "indented_code_block", "html_block"})
_BULLETS = {"list_marker_minus": "-", "list_marker_star": "*", "list_marker_plus": "+"}
_SIGN = re.compile(r"(?:atx|setext)_h([1-6])_")
_CLOSING_SIGNS = re.compile(r"(?:^|[ \t]+)#+[ \t]*\Z")
_COMMENT = re.compile(rb"\s*<!--((?:(?!-->).)*)-->\s*", re.DOTALL)
_INDENT = re.compile(rb"[ \t]*")
_LINE = re.compile(rb"[^\r\n]+")
_SIGNS = re.compile(rb"[^\r\n]")
# opens math or what Obsidian takes for a comment, unless its own line closes it
_DOUBLE = re.compile(rb" {0,3}(\$\$|%%)(?!.*\1)")


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading's lines are the bytes `[start, end)`; `source` is the Markdown it is made of."""

    level: int
    start: int
    end: int
    source: str


@dataclass(frozen=True, slots=True)
class Comment:
    """A block at `[start, end)`, with its line end, that is one HTML comment and nothing else."""

    start: int
    end: int
    text: str


@dataclass(slots=True)
class Outline:
    """What stands at the top level of a document: not in lists, quotes, code, HTML or math.

    `body` is the byte at which the text begins, `definitions` are the labels of its link
    definitions, `bullet` is the sign of its first bullet list and `indent` what stands there
    before the first nested item.
    """

    body: int
    headings: list[Heading] = field(default_factory=list)
    comments: list[Comment] = field(default_factory=list)
    definitions: list[str] = field(default_factory=list)
    bullet: str = ""
    indent: str = ""


@dataclass(frozen=True, slots=True)
class _Block:
    """A block's node, and its place `[start, end)` in the source."""

    node: Node
    start: int
    end: int


def outline(source: bytes) -> Outline:
    """Read the outline of `source`, which is UTF-8."""
    matter = front_matter(source)
    found = Outline(matter.body if matter else body_start(source))
    for block in _blocks(_without_doubles(source, found.body), found.body):
        _take(found, source, block)
    return found


def _take(found: Outline, source: bytes, block: _Block) -> None:
    match block.node.type:
        case "atx_heading" | "setext_heading":
            found.headings.append(_heading(block))
        case "html_block":
            if comment := _COMMENT.fullmatch(source[block.start : block.end]):
                text = comment[1].decode("utf-8", "surrogatepass").strip()
                found.comments.append(Comment(block.start, block.end, text))
        case "link_reference_definition":
            label = block.node.named_children[0].text or b""
            found.definitions.append(label[1:-1].decode("utf-8", "surrogatepass"))
        case "list" if not found.bullet:
            found.bullet, found.indent = _list_style(source, block)


def _blocks(source: bytes, body: int) -> Iterator[_Block]:
    """The top-level blocks of the body.

    It is parsed with a line end before it, without which a second pair of fences would be front
    matter once more.
    """
    shift = body - 1
    for node in top_level(block_tree(b"\n" + source[body:])):
        end = min(node.end_byte + shift, len(source))
        yield _Block(node, node.start_byte + shift, end)


def _heading(block: _Block) -> Heading:
    content = block.node.child_by_field_name("heading_content")
    text = (content.text or b"").decode("utf-8", "surrogatepass") if content else ""
    if block.node.type == "atx_heading":
        text = _CLOSING_SIGNS.sub("", text)
    signs = (_SIGN.match(child.type) for child in block.node.named_children)
    level = next(int(sign[1]) for sign in signs if sign)
    return Heading(level, block.start, block.end, text.strip(" \t\r\n"))


def _list_style(source: bytes, block: _Block) -> tuple[str, str]:
    """The sign of a bullet list's items and what its first nested list is indented by."""
    items = block.node.named_children
    bullet = _BULLETS.get(items[0].named_children[0].type, "")
    nested = (child for item in items for child in item.named_children if child.type == "list")
    if not bullet or not (first := next(nested, None)):
        return bullet, ""
    # the node begins behind what the items around it take of its line
    start = first.start_byte - block.node.start_byte + block.start
    line = max(source.rfind(b"\n", 0, start), source.rfind(b"\r", 0, start)) + 1
    indent = _INDENT.match(source, line)
    return bullet, indent[0].decode() if indent else ""


def _without_doubles(source: bytes, body: int) -> bytes:
    """`source` with blanks for what stands between `$$` or `%%` lines, outside code and HTML.

    What nothing closes is left.
    """
    if b"$$" not in source and b"%%" not in source:
        return source
    opaque = [block for block in _blocks(source, body) if block.node.type in _OPAQUE]
    masked = bytearray(source)
    sign, start = b"", 0
    for line in _LINE.finditer(source, body):
        if sign and sign in line[0]:
            masked[start : line.end()] = _SIGNS.sub(b" ", source[start : line.end()])
            sign = b""
        elif not sign and (opened := _DOUBLE.match(line[0])) and not _within(opaque, line.start()):
            sign, start = opened[1], line.start()
    return bytes(masked)


def _within(blocks: Sequence[_Block], at: int) -> bool:
    before = bisect_right(blocks, at, key=lambda block: block.start)
    return before > 0 and at < blocks[before - 1].end
