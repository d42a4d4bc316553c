"""What stands right of the cursor already is not written again."""

from __future__ import annotations

import re

from clover_lsp.postprocess.brackets import unclosed

# so many signs of the text right of the cursor are its mark, so many agree by chance only inside a
# word, and fewer than the least are none
_TELLING, _FEW, _LEAST = 10, 5, 3
# so far a text is compared with what follows it
_LONGEST = 500
_BLOCK_END = re.compile(r"\s*(?:end\w*|fi|done|esac|</[^<>]*>)[\s;,)]*")


def without_overlap(answer: str, after: str) -> str:
    """Cut the end of `answer` that `after` (the text right of the cursor) begins with, and what
    ends like that again.
    """
    while size := _overlap(answer, after):
        answer = answer[:-size]
    return answer


def _overlap(answer: str, after: str) -> int:
    for size in range(min(len(answer), len(after), _LONGEST), 0, -1):
        if not answer.endswith(after[:size]) or _by_chance(answer, after, size):
            continue
        # `g(x)` before `)` closes a bracket of its own: the two are not the same one
        if unclosed(answer[:-size]) <= unclosed(answer):
            return size
    return 0


def _by_chance(answer: str, after: str, size: int) -> bool:
    """One or two letters agree easily: they count only as a whole word on both sides."""
    if size > 2 or not after[:size].isalnum():
        return False
    return answer[-size - 1 : -size].isalnum() or after[size : size + 1].isalnum()


def until_rest(answer: str, before: str, rest: str) -> str:
    """Cut `answer` where it goes on with `rest`, the text right of the cursor on its line.

    Only the first signs of `rest` are compared: what follows them in the answer may differ. A few
    signs agree by chance; inside a word its other half does not.
    """
    start = rest.rstrip()[:_TELLING]
    word = _word(start)
    if len(word) > 1 and _word(before[::-1]) and answer.startswith(word):
        return ""
    if len(start.strip()) < _LEAST:
        return answer
    at = answer.find(start)
    while at >= 0:
        if len(start) >= _FEW or not (start[0].isalnum() and answer[at - 1 : at].isalnum()):
            return answer[:at]
        at = answer.find(start, at + 1)
    return answer


def _word(text: str) -> str:
    """The letters and digits `text` begins with."""
    size = next((at for at, sign in enumerate(text) if not sign.isalnum()), len(text))
    return text[:size]


def without_next_line(answer: str, before: str, below: str) -> str:
    """Cut `answer` before the line that stands next in the document already.

    `before` is the line left of the cursor, `below` the text after the cursor's line. Lines that
    tell nothing may repeat.
    """
    following = next((line for line in map(_bare, below.split("\n")) if line), "")
    if not is_telling(following):
        return answer
    lines = answer.split("\n")
    for number, line in enumerate(lines):
        same = _bare(line) == following and (number or len(following) >= _LEAST)
        if same or (number == 0 and _bare(before + line) == following):
            return "\n".join(lines[:number])
    return answer


def is_telling(line: str) -> bool:
    """Whether a line says something: a letter or digit at least, and more than that a block ends
    (`}`, `---`, `end`, `</div>` say nothing)."""
    return any(map(str.isalnum, line)) and not _BLOCK_END.fullmatch(line)


def _bare(line: str) -> str:
    """The line with single blanks between its words, to be compared."""
    return " ".join(line.split())
