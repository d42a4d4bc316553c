"""The block grammar of Markdown, as tree-sitter reads it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node

# a table row of empty cells below a row of text derails grammar 0.5.4 up to the end of the text
_EMPTY_CELLS = re.compile(rb"^([ \t>]*\|)([ \t|]+)(?=\r?$)", re.MULTILINE)


def block_tree(source: bytes) -> Node:
    """The root of the block tree of `source`; offsets are bytes of `source`.

    The grammar needs a line end after the last line: what ends at `source`'s own end may end one
    byte later in the tree.
    """
    # imported here: reading its files takes longer than an editor's start may
    import tree_sitter_markdown
    from tree_sitter import Language, Parser

    blocks = Parser(Language(tree_sitter_markdown.language()))
    return blocks.parse(_EMPTY_CELLS.sub(_filled, source) + b"\n").root_node


def top_level(root: Node) -> Iterator[Node]:
    """The blocks of the document in order, without the sections that the grammar puts around them;
    those in lists and quotes belong to them."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.type in ("document", "section"):
            waiting += reversed(node.named_children)
        else:
            yield node


def _filled(row: re.Match[bytes]) -> bytes:
    return row[1] + b"x" * len(row[2])
