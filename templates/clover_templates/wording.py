"""Words that change what a text says even where all else is kept: obligation, approval, names."""

from __future__ import annotations

import re
from collections import Counter

from clover_templates.words import word_list


def _any_of(words: tuple[str, ...]) -> str:
    return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))


_LATIN = tuple(word for word in word_list("modality") if word.isascii())
_CHINESE = tuple(word for word in word_list("modality") if not word.isascii())
_MODAL = re.compile(
    rf"(?:{_any_of(word_list('modality_neutral'))})|(?P<word>{_any_of(_CHINESE)}"
    rf"|\b(?:{_any_of(_LATIN)})\b|(?<=n)(?P<short>[’']t)\b)",
    re.IGNORECASE,
)
_APPROVAL = re.compile(r"经[^，。；\n]{0,20}?(?:批准|同意|审议通过)|研究决定|收悉")
_NAME = re.compile(
    r"(?P<latin>(?<![.!?:]\s)(?<!\A)\b[A-Z][\w&-]*(?:\s[A-Z][\w&-]*)*)"
    r"|(?P<chinese>[\u4e00-\u9fff]{2,12}?(?:委员会|公司|局|委|厅|(?<![全内外局干])部|院|大学)(?![\u4e00-\u9fff]?[门分长署]))"
)


def modal_counts(text: str) -> Counter[str]:
    """How often each word of obligation, permission, negation or completion stands in `text`."""
    found = (match for match in _MODAL.finditer(text) if match["word"])
    return Counter("not" if match["short"] else match["word"].lower() for match in found)


def approvals(text: str) -> list[str]:
    """What `text` says about approvals and decisions, in its words."""
    return [found[0] for found in _APPROVAL.finditer(text)]


def names(text: str) -> list[str]:
    """What looks like the name of a person, a thing or an authority."""
    return [found[0] for found in _NAME.finditer(text)]
