"""Where a sentence ends."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

from clover_lsp.postprocess.brackets import unclosed
from clover_lsp.postprocess.cjk import is_ideograph

_END = re.compile(r"[.!?]+[\"'”’)\]*_]*(?=\s|$)|…+(?=\s|$)|[。！？]+[”’」』）》】]*")
_WORD = re.compile(r"[^\W\d_](?:[^\W_]|\.(?=\w))*$")
_LEAST = 2
# what a sentence may begin with beside a letter
_BEGINS = "\"'“‘「『（([*_`"


def first_sentence(answer: str, before: str = "") -> str:
    """The answer up to its first sentence end that leaves something to show.

    `before` is the line left of the cursor. A point after an abbreviation, a single letter or a
    number at the beginning of a line, or before a small letter, a digit or a sign ends nothing; nor
    does what stands in brackets that go on.
    """
    for found in _END.finditer(answer):
        end = found.end()
        if len("".join(answer[:end].split())) < _LEAST and answer[end:].strip():
            continue
        ends = found[0][0] not in ".…" or _ends(before + answer[: found.start()], answer[end:])
        if ends and not unclosed(answer[:end]):
            return answer[:end]
    return answer


def _ends(left: str, right: str) -> bool:
    """Whether the point between `left` and `right` ends a sentence."""
    ahead = right.lstrip()[:1]
    goes_on = ahead and not ahead.isupper() and not is_ideograph(ahead) and ahead not in _BEGINS
    if goes_on or left.strip().isdecimal():
        return False
    word = _WORD.search(left)
    return not word or (len(word[0]) > 1 and word[0].lower() not in _abbreviations())


@cache
def _abbreviations() -> frozenset[str]:
    words = (files("clover_lsp.postprocess") / "abbreviations.txt").read_text("utf-8")
    return frozenset(words.split())
