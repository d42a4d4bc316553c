"""Headings as they are compared: without numbers, marks and the differences of writing."""

from __future__ import annotations

import re
import unicodedata

from clover_templates.numbering import number_prefix

# numbers of headings that no line of a 公文 begins with
_NUMBER = re.compile(
    r"第[一二三四五六七八九十百\d]+[章节部条]、?\s*|\d{1,2}(?:(?:\.\d{1,2})+\.?(?=\s)|[)）](?!\d))\s*"
)
_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()\s]*\)")


def unnumbered(heading: str) -> str:
    """The heading without the number it begins with."""
    text = heading.lstrip()
    found = _NUMBER.match(text)
    return text[found.end() if found else len(number_prefix(text)) :]


def plain_heading(heading: str) -> str:
    """The heading for comparison: compatible forms, one case, no numbering, no emphasis, no code
    marks, of a link its text, no colon at its end."""
    text = _LINK.sub(r"\1", unicodedata.normalize("NFKC", heading))
    text = re.sub(r"[*`]|(?<!\w)_+|_+(?!\w)", "", text)
    return " ".join(unnumbered(text).rstrip(" :").split()).casefold()
