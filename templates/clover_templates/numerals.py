"""Chinese numerals as numbers."""

from __future__ import annotations

_DIGITS = {sign: value for value, sign in enumerate("零一二三四五六七八九")}
_DIGITS |= {"〇": 0, "两": 2, "○": 0}
_TENS = {"十": 10, "百": 100, "千": 1000}
_MYRIADS = {"万": 10**4, "亿": 10**8}
MAX_SIGNS = 30
SIGNS = "".join([*_DIGITS, *_TENS, *_MYRIADS])


def numeral_value(text: str) -> int | None:
    """The value of `二十三`, `一万二千`, `二〇二六`; None for what is no numeral or is too long."""
    if not 0 < len(text) <= MAX_SIGNS or any(sign not in SIGNS for sign in text):
        return None
    if all(sign in _DIGITS for sign in text):
        return int("".join(str(_DIGITS[sign]) for sign in text))
    total = myriad = digit = 0
    for sign in text:
        if sign in _DIGITS:
            digit = _DIGITS[sign]
        elif sign in _TENS:
            myriad += (digit or 1) * _TENS[sign]
            digit = 0
        else:
            # 一万二千亿: what stands before 亿 is multiplied as a whole
            before = total + myriad + digit if sign == "亿" else myriad + digit
            kept = 0 if sign == "亿" else total
            total = kept + (before or 1) * _MYRIADS[sign]
            myriad = digit = 0
    return total + myriad + digit
