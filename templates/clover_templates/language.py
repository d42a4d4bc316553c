"""Which of the two languages a text is in."""

from __future__ import annotations

import re

_HAN = re.compile(r"[\u3400-\u9fff]")
_WORD = re.compile(r"[A-Za-z]+")


def language_of(text: str) -> str:
    """`zh` where it has more Chinese characters than Latin words, else `en`."""
    return "zh" if len(_HAN.findall(text)) > len(_WORD.findall(text)) else "en"
