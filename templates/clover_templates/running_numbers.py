"""The numbers of headings as a 公文 goes on: 一、 （一） 1. （1） (GB/T 9704-2012, 7.3.3)."""

from __future__ import annotations

_DIGITS = "零一二三四五六七八九"


class RunningNumbers:
    """Counts headings by level; a heading starts the levels below it anew."""

    def __init__(self) -> None:
        self._counts: list[int] = []

    def next(self, level: int) -> str:
        """The number of the next heading on a level, 1 to 4; deeper ones are numbered as 4."""
        level = min(level, 4)
        self._counts = [*self._counts[:level], *[0] * (level - len(self._counts))]
        self._counts[level - 1] += 1
        return _numbered(level, self._counts[level - 1])


def _numbered(level: int, value: int) -> str:
    match level:
        case 1:
            return f"{han_numeral(value)}、"
        case 2:
            return f"（{han_numeral(value)}）"
        case 3:
            return f"{value}."
        case _:
            return f"（{value}）"


def han_numeral(value: int) -> str:
    """A number from 1 to 99 in Chinese numerals; others in digits."""
    if not 0 < value < 100:
        return str(value)
    tens, ones = divmod(value, 10)
    ten = "" if tens == 0 else "十" if tens == 1 else f"{_DIGITS[tens]}十"
    return ten + (_DIGITS[ones] if ones else "")
