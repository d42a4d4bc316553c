"""Headings as they are compared: without numbers, marks and the differences of writing."""

from __future__ import annotations

import re
import unicodedata

_NUMBER = re.compile(
    r"""\A\s*(?: [一二三四五六七八九十百]+、 | [(（][一二三四五六七八九十百]+[)）]、?
          | 第[一二三四五六七八九十百\d]+[章节部条]、? | [(（]\d{1,2}[)）]
          | \d{1,2}(?:\.\d{1,2})+\.?(?=\s) | \d{1,2}[.．、)](?!\d) )\s*""",
    re.VERBOSE,
)
_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()\s]*\)")


def unnumbered(heading: str) -> str:
    """The heading without the number it begins with."""
    return _NUMBER.sub("", heading, count=1)


def plain_heading(heading: str) -> str:
    """The heading for comparison: compatible forms, one case, no numbering, no emphasis, no code
    marks, of a link its text, no colon at its end."""
    text = _LINK.sub(r"\1", unicodedata.normalize("NFKC", heading))
    text = re.sub(r"[*`]|(?<!\w)_+|_+(?!\w)", "", text)
    return " ".join(unnumbered(text).rstrip(" :").split()).casefold()
