"""Chinese and Japanese: no blanks between ideographs, a sentence ends once."""

from __future__ import annotations

import re

_HAN = "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_BETWEEN = re.compile(rf"(?<=[{_HAN}]) +(?=[{_HAN}])")
_IDEOGRAPH = re.compile(f"[{_HAN}]")
_SENTENCE_ENDS = ".。"
# signs that go on with a sentence or end it, and closers that end what it stands in
_SENTENCE_SIGNS = frozenset(",，、;；.。!！?？")
_FULL_WIDTH_CLOSERS = frozenset("）」』】》〉”’")
_CLOSERS = re.compile(r"[)\]\"'*_]+(?=[,;.!?]|$)")


def is_ideograph(sign: str) -> bool:
    """Whether `sign` is one Han character."""
    return _IDEOGRAPH.fullmatch(sign) is not None


def without_han_blanks(answer: str, before: str, rest: str) -> str:
    """No blank between two ideographs, in the answer or where it meets its line.

    A line that has such blanks already is aligned by hand or a list of names: it may get more.
    """
    if _BETWEEN.search(before):
        return answer
    # look-arounds see the line on both sides, but only the answer changes
    whole = before[-1:] + answer
    shorter = _BETWEEN.sub("", whole)[len(before[-1:]) :]
    bare = shorter.rstrip(" ")
    if rest and is_ideograph(rest[0]) and bare and is_ideograph(bare[-1]):
        return bare
    return shorter


def without_full_stop(answer: str, rest: str, *, words: bool) -> str:
    """No end of a sentence before a sign that goes on with the sentence, ends it or closes it."""
    ahead = rest[:1]
    if words and _CLOSERS.match(rest):
        ahead = _CLOSERS.sub("", rest, count=1)[:1] or ("." if rest[0] in ")]" else "")
    if ahead not in _SENTENCE_SIGNS and not (ahead and ahead in _FULL_WIDTH_CLOSERS):
        return answer
    kept = answer.rstrip(_SENTENCE_ENDS)
    # `1.` is a number, `...` no end
    ends = answer[len(kept) :]
    return answer if (ends == "." and kept[-1:].isdecimal()) or len(ends) > 2 else kept
