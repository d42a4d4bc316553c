"""The numbers of Chinese official documents, 一、 （一） 1. （1）, and the lines they begin."""

from __future__ import annotations

import re
from dataclasses import dataclass

from clover_templates.numerals import numeral_value

_HAN = "[一二三四五六七八九十百零〇]{1,5}"
# the four levels of GB/T 9704 7.3.3; 1.5倍 is no number of a line, nor is （2026年）
_NUMBER = re.compile(
    rf"""
    (?P<before> [ \t\u3000]* (?:\*\*|__)? )
    (?: (?P<l1>{_HAN})、
      | [（(] (?P<l2>{_HAN}) [）)] 、?
      | (?P<l3>\d{{1,3}}) (?: [.．](?!\d) | 、 )
      | [（(] (?P<l4>\d{{1,3}}) [）)] 、?
    )
    [ \t\u3000]*
    """,
    re.VERBOSE,
)
_LEVELS = ("l1", "l2", "l3", "l4")
_END = re.compile(r"[。！？；：!?;:][”』」）)]?")
_EMPHASIS = re.compile(r"\*\*|__")
MAX_TITLE = 50
MAX_RUN_IN = 30


@dataclass(frozen=True, slots=True)
class Number:
    """The number a line begins with; `level` 1 to 4 for 一、 （一） 1. （1）."""

    level: int
    value: int


@dataclass(frozen=True, slots=True)
class NumberedLine:
    """A numbered line: `[start, end)` in characters is its title, if it can have one.

    A title is `run_in` where the text goes on behind it in the line: `1.加强统筹。各区要…`.
    `whole` is True where the title is all there is and no mark ends it.
    """

    number: Number
    start: int
    end: int
    run_in: bool
    whole: bool

    @property
    def has_title(self) -> bool:
        return self.end > self.start


def numbered_line(line: str) -> NumberedLine | None:
    """How `line` is numbered; None where no number begins it, or nothing follows the number."""
    found = _NUMBER.match(line)
    text = line.rstrip()
    if not found or found.end() >= len(text):
        return None
    group = next(name for name in _LEVELS if found[name])
    digits = found[group]
    value = int(digits) if digits.isdecimal() else numeral_value(digits)
    if value is None:
        return None
    number = Number(_LEVELS.index(group) + 1, value)
    start, end = found.end(), len(text)
    if found["before"].endswith(("**", "__")) and text.endswith(("**", "__")):
        end -= 2
    ended = _END.search(text, start, end)
    if not ended:
        short = end - start <= MAX_TITLE
        return NumberedLine(number, start, end if short else start, False, short)
    short = ended.start() - start <= MAX_RUN_IN and "；" not in ended[0] and ";" not in ended[0]
    # 1.**加强统筹。**各区要…: the emphasis ends with the title
    emphasis = _EMPHASIS.match(text, ended.end())
    behind = emphasis.end() if emphasis else ended.end()
    run_in = short and behind < len(text)
    return NumberedLine(number, start, ended.start() if short else start, run_in, False)


def number_prefix(line: str) -> str:
    """The number `line` begins with, with the blanks and emphasis marks beside it; or nothing."""
    found = _NUMBER.match(line)
    return found[0] if found else ""
