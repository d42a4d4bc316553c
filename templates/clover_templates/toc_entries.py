"""The entries of a table of contents: each heading's text, linked as its page links to headings."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from clover_templates.headings import Heading
from clover_templates.rendered_heading import RenderedHeading, render_headings
from clover_templates.slug import Style, anchors

# what can break a link of Obsidian's, which looks for a heading without these signs
_UNLINKABLE = re.compile(r"[#|^:\\\[\]\s]+|%%")
_WIKILINK = re.compile(r"!?\[\[(?:[^\[\]|]*\|)?([^\[\]|]*)\]\]")
# alone in a list item these would begin another block
_BLOCK_SIGNS = ("-", "+", "#", ">")


@dataclass(frozen=True, slots=True)
class Entry:
    """A heading of a level, and the Markdown that names it and links to it."""

    heading: Heading
    text: str


def entries(headings: Sequence[Heading], defined: Sequence[str], style: Style) -> list[Entry]:
    """An entry for each of a document's headings that has a text, in order.

    `headings` are all of the document, as anchors are numbered over all; `defined` the labels it
    defines as links. A heading nobody can link to is listed as text.
    """
    if style is Style.OBSIDIAN:
        links = _wikilinks(headings)
    else:
        texts = render_headings((heading.source for heading in headings), defined)
        plain = [text.with_alt if style is Style.VSCODE else text.plain for text in texts]
        links = list(map(_link, texts, anchors(plain, style)))
    return [Entry(*pair) for pair in zip(headings, links, strict=True) if pair[1]]


def _link(text: RenderedHeading, anchor: str) -> str:
    return f"[{text.label}](#{anchor})" if anchor and text.label else _unlinked(text.label)


def _unlinked(label: str) -> str:
    return f"\\{label}" if label.startswith(_BLOCK_SIGNS) else label


def _wikilinks(headings: Sequence[Heading]) -> list[str]:
    """`[[#Heading]]`, and from the second of a name on `[[#Parent#Heading]]`."""
    shown = render_headings((_WIKILINK.sub(r"\1", heading.source) for heading in headings), ())
    seen: Counter[str] = Counter()
    above: list[tuple[int, str]] = []
    links: list[str] = []
    for heading, text in zip(headings, shown, strict=True):
        name = _linkable(heading.source)
        above = [each for each in above if each[0] < heading.level]
        seen[name.casefold()] += 1
        again = above and seen[name.casefold()] > 1
        target = f"{above[-1][1]}#{name}" if again else name
        display = _linkable(text.with_alt)
        links.append(_wikilink(target, display) if name else "")
        if name:
            above.append((heading.level, name))
    return links


def _wikilink(target: str, display: str) -> str:
    return f"[[#{target}]]" if display in ("", target) else f"[[#{target}|{display}]]"


def _linkable(text: str) -> str:
    return " ".join(_UNLINKABLE.sub(" ", text).split())
