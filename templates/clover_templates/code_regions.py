"""Where a Markdown text holds code: fenced and indented blocks, and code spans."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from tree_sitter import Node

Region: TypeAlias = tuple[int, int]

_BLOCKS = frozenset({"fenced_code_block", "indented_code_block"})
_INLINES = frozenset({"inline", "pipe_table_cell"})
_NOT_ASCII = re.compile(r"[^\t\r\n -~]")


def code_regions(text: str, near: Sequence[int]) -> list[Region]:
    """The code in `text` as ordered, disjoint `[start, end)` in code points.

    Code spans are looked for only in paragraphs, headings and cells that hold one of the offsets
    `near` (ascending): reading inline text is the dear part.
    """
    # imported here: reading its files takes longer than an editor's start may
    import tree_sitter_markdown
    from tree_sitter import Language, Parser, Range

    source = _ascii(text)
    blocks = Parser(Language(tree_sitter_markdown.language()))
    inlines = Parser(Language(tree_sitter_markdown.inline_language()))
    regions: list[Region] = []
    for node in _found(blocks.parse(source).root_node, _BLOCKS | _INLINES):
        if node.type in _BLOCKS:
            regions.append((node.start_byte, node.end_byte))
        elif b"`" in source[node.start_byte : node.end_byte] and _holds(near, node):
            place = node.start_point, node.end_point, node.start_byte, node.end_byte
            inlines.included_ranges = [Range(*place)]
            spans = _found(inlines.parse(source).root_node, frozenset({"code_span"}))
            regions += [(span.start_byte, span.end_byte) for span in spans]
    return [(start, min(end, len(text))) for start, end in regions]


def _ascii(text: str) -> bytes:
    """The text in one byte per code point, so that byte offsets are code points.

    A comma stands for what is not ASCII: like it, it means nothing to Markdown. The grammar
    needs a line end after the last line.
    """
    return _NOT_ASCII.sub(",", text).encode() + b"\n"


def _found(root: Node, kinds: frozenset[str]) -> Iterator[Node]:
    """The outermost nodes of these kinds, in order; documents nest too deep for recursion."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.type in kinds:
            yield node
        else:
            waiting += reversed(node.named_children)


def _holds(near: Sequence[int], node: Node) -> bool:
    at = bisect_left(near, node.start_byte)
    return at < len(near) and near[at] < node.end_byte
