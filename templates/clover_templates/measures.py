"""How long a value is, and whether it is written as its slot asks."""

from __future__ import annotations

import re

from clover_templates.dates import matches_date
from clover_templates.settings_reader import pattern
from clover_templates.template_settings import Format, FormatKind, Measure

_ITEM = re.compile(r"^[ \t]*(?:[-*+]|[0-9]{1,9}[.)])[ \t]", re.MULTILINE)
_SENTENCE_END = re.compile(r"[。！？]+|[.!?]+(?=[\s\"')\]]|\Z)")
_URL = re.compile(r"https?://[^\s<>]+")
_DATES = ("YYYY-MM-DD", "YYYY-M-D", "YYYY/M/D", "YYYY年M月D日")


def count(text: str, measure: Measure) -> int:
    """The length of `text`: characters that are no blanks, runs of letters and digits, sentences
    (`；` ends none; text behind the last end is one), or list items."""
    match measure:
        case Measure.CHARS:
            return sum(not sign.isspace() for sign in text)
        case Measure.WORDS:
            return len(re.findall(r"\w+", text))
        case Measure.SENTENCES:
            ends = [found.end() for found in _SENTENCE_END.finditer(text)]
            return len(ends) + bool(text[ends[-1] if ends else 0 :].strip(" \t\r\n\"')]”’」）"))
        case Measure.ITEMS:
            return len(_ITEM.findall(text))


def fits(text: str, form: Format) -> bool:
    """Whether a value is written in this format. An expression need be found in it only; one that
    is to match the whole value has `^` and `$`."""
    match form.kind:
        case FormatKind.DATE:
            return any(matches_date(text, one) for one in ([form.form] if form.form else _DATES))
        case FormatKind.URL:
            return _URL.fullmatch(text) is not None
        case FormatKind.INT:
            return re.fullmatch(r"[+-]?[0-9]+", text) is not None
        case FormatKind.PATTERN:
            expression = pattern(form.form)
            return expression is not None and expression.search(text) is not None
