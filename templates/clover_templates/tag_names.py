"""What can be a tag, by the rules of Obsidian, and where a text has some."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import takewhile

from clover_engine.errors import CloverError
from clover_templates.code_regions import Region, code_regions

_JOINERS = frozenset("_-/\N{ZERO WIDTH JOINER}\N{VARIATION SELECTOR-16}")
_START = re.compile(r"(?<!\S)#(?=[^\s#])")
# links, HTML and math, none longer than a paragraph: whoever forgets an end hides no more
_NO_PROSE = re.compile(
    r"""
      \$\$.{1,2000}?\$\$ | (?<![\\$])\$(?=\S)[^$\n]{1,300}(?<=\S)\$(?!\d)
    | <!--.{0,2000}?--> | <[A-Za-z/][^>\n]{0,500}>
    | \[\[[^\[\]\n]{1,300}\]\] | \]\([^()\n]{0,1000}\)
    """,
    re.VERBOSE | re.DOTALL,
)


class TagError(CloverError):
    """A tag that is none, or front matter that cannot take it; nothing is changed."""


def tag_name(text: str) -> str:
    """The tag that `text` names, with or without `#`. Raises TagError."""
    name = text.strip().removeprefix("#")
    if not is_tag(name):
        raise TagError(
            f"{text!r} is no tag: letters, digits, emoji, _, - and / make one, with no blanks and"
            " not of digits alone"
        )
    return name


def is_tag(name: str) -> bool:
    """Whether Obsidian takes `name`, without `#`, for a tag."""
    parts = name.split("/")
    return all(parts) and all(map(_may_stand, name)) and not name.replace("/", "").isdecimal()


def inline_tags(text: str) -> list[str]:
    """The tags that stand as `#tag` in a Markdown text, in order: not in code, links or math."""
    ends = (match.end() for match in _START.finditer(text))
    found = {at: name for at in ends if is_tag(name := _name_at(text, at))}
    if not found:
        return []
    # what is no tag anyway, as #123 in a changelog, is not looked for in code: that is dear
    regions = [*code_regions(text, list(found)), *(no.span() for no in _NO_PROSE.finditer(text))]
    return [found[at] for at in _outside(found, regions)]


def _name_at(text: str, start: int) -> str:
    return "".join(takewhile(_may_stand, text[start : start + 200])).rstrip("/")


def without_repeats(names: Iterable[str]) -> list[str]:
    """`names` in order, each once: their case makes no difference."""
    first: dict[str, str] = {}
    for name in names:
        first.setdefault(name.casefold(), name)
    return list(first.values())


def _may_stand(sign: str) -> bool:
    if sign.isascii():
        return sign.isalnum() or sign in _JOINERS
    return sign in _JOINERS or unicodedata.category(sign)[0] in "LMNS"


def _outside(starts: Iterable[int], regions: Iterable[Region]) -> Iterator[int]:
    ends: list[Region] = []
    for start, end in sorted(regions):
        # a region may hold another
        ends.append((start, max(end, ends[-1][1] if ends else 0)))
    for at in starts:
        before = bisect_right(ends, at, key=lambda region: region[0])
        if not before or at > ends[before - 1][1]:
            yield at
