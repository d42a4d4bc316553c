"""Date formats as note apps write them (`YYYY-MM-DD`, `YYYY年M月D日`): to print and to check."""

from __future__ import annotations

import re
from datetime import datetime

# the tokens of Moment.js that need no locale; brackets keep their text as it is
_TOKEN = re.compile(r"\[(?P<kept>[^\]]*)\]|YYYY|YY|GGGG|MM|M|DD|D|WW|W|HH|H|mm|m|ss|s")
_SHAPE = {
    **dict.fromkeys(("YYYY", "GGGG"), r"[0-9]{4}"),
    **dict.fromkeys(("YY", "MM", "DD", "WW", "HH", "mm", "ss"), r"[0-9]{2}"),
    **dict.fromkeys(("M", "D", "W", "H", "m", "s"), r"0|[1-9][0-9]?"),
}


def is_date_format(form: str) -> bool:
    """Whether `form` is a date format and no regular expression: it names a year, month or day,
    and nothing of it is a sign of regular expressions."""
    rest = _TOKEN.sub("", form)
    named = {token[0] for token in _TOKEN.finditer(form)}
    return bool(named & {"YYYY", "YY", "GGGG", "MM", "M", "DD", "D", "WW", "W", "HH", "H"}) and (
        re.search(r"[\\^$.*+?()\[\]{}|A-Za-z0-9]", rest.replace(".", "")) is None
    )


def print_date(when: datetime, form: str) -> str:
    """`when` in this format; what is no token stays as it is."""
    return _TOKEN.sub(lambda token: _printed(when, token), form)


def matches_date(value: str, form: str) -> bool:
    """Whether `value` is written in this format, and a day that exists as far as it says."""
    names: list[str] = []
    pattern: list[str] = []
    at = 0
    for token in _TOKEN.finditer(form):
        pattern.append(re.escape(form[at : token.start()]))
        if token["kept"] is not None:
            pattern.append(re.escape(token["kept"]))
        else:
            pattern.append(f"({_SHAPE[token[0]]})")
            names.append(token[0])
        at = token.end()
    found = re.fullmatch("".join(pattern) + re.escape(form[at:]), value)
    return found is not None and _exists(dict(zip(names, map(int, found.groups()), strict=True)))


def _exists(parts: dict[str, int]) -> bool:
    month, day = parts.get("MM", parts.get("M", 1)), parts.get("DD", parts.get("D", 1))
    hour, minute = parts.get("HH", parts.get("H", 0)), parts.get("mm", parts.get("m", 0))
    try:
        # a leap year where none is named: 29 February may be meant
        datetime(parts.get("YYYY", 2000), month, day, hour, minute)
    except ValueError:
        return False
    return 1 <= parts.get("WW", parts.get("W", 1)) <= 53


def _printed(when: datetime, token: re.Match[str]) -> str:
    if token["kept"] is not None:
        return token["kept"]
    numbers = {
        "Y": when.year,
        "G": when.isocalendar().year,
        "M": when.month,
        "D": when.day,
        "W": when.isocalendar().week,
        "H": when.hour,
        "m": when.minute,
        "s": when.second,
    }
    name = token[0]
    number = numbers[name[0]]
    return f"{number % 100 if name == 'YY' else number:0{len(name)}}"
