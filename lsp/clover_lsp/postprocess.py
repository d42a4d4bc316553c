"""From what the model wrote to what is worth showing: small pure rules, each on plain strings."""

from __future__ import annotations

import re

# a marker of some model's prompt, or the beginning of one where the answer was cut off
_SPECIAL = re.compile(r"<[|｜][^<>|｜\s]{1,40}[|｜]>|</?tool_call>|<[|｜][a-zA-Z_]*$")
_NEWLINE = re.compile(r"\r\n?")
_BLANK_LINE = re.compile(r"\n[ \t]*(?=\n)")
_TRAILING = re.compile(r"[ \t]+(?=\n)")

_PAIRS = {
    "(": ")",
    "[": "]",
    "{": "}",
    "（": "）",
    "「": "」",
    "『": "』",
    "【": "】",
    "《": "》",
    "“": "”",
    "‘": "’",
}
_QUOTES = "\"'`"
_SENTENCE_ENDS = ".。"
_SENTENCE_SIGNS = ",，、;；.。!！?？"
# so many signs of the text right of the cursor are its mark
_TELLING = 10
# what an editor puts right of the cursor by itself, and a statement's end behind it
_CLOSERS = re.compile(r"\s*[)\]}>\"'`，。）」』】》”’]*[:;,]?\s*")


def only_closers(rest: str) -> bool:
    """Whether `rest` (the line right of the cursor) holds nothing but closing signs."""
    return _CLOSERS.fullmatch(rest) is not None


def without_specials(answer: str) -> str:
    """The answer up to the first text that looks like a special token."""
    found = _SPECIAL.search(answer)
    return answer[: found.start()] if found else answer


def with_newlines(text: str) -> str:
    """Every line end as `\\n`."""
    return _NEWLINE.sub("\n", text)


def first_line(answer: str) -> str:
    """The answer up to its first line end."""
    return answer.partition("\n")[0]


def first_paragraph(answer: str) -> str:
    """The answer up to its first blank line."""
    found = _BLANK_LINE.search(answer)
    return answer[: found.start()] if found else answer


def within_pairs(answer: str, before: str, rest: str) -> str:
    """Cut `answer` where it would close what it did not open: `rest` holds that closer already.

    `before` and `rest` are the line left and right of the cursor, `rest` only closing signs.
    """
    quote = rest[:1]
    if quote and quote in _QUOTES and _unescaped(before, quote) % 2 == 1:
        return _within_quotes(answer, quote)
    return answer[: _first_unopened(answer, angled=quote == ">")]


def _within_quotes(answer: str, quote: str) -> str:
    """The longest part that ends inside the string it begins in, with balanced code between."""
    pieces = re.split(rf"(?<!\\){re.escape(quote)}", answer)
    # even pieces stand inside the string, odd ones outside
    kept = 1
    while kept + 1 < len(pieces) and _first_unopened(pieces[kept]) == len(pieces[kept]):
        kept += 2
    return quote.join(pieces[:kept])


def _unescaped(text: str, quote: str) -> int:
    return len(re.findall(rf"(?<!\\){re.escape(quote)}", text))


def _first_unopened(answer: str, angled: bool = False) -> int:
    """Where the first closer without its opener stands, the answer's length if none does."""
    return _scan(answer, _PAIRS | {"<": ">"} if angled else _PAIRS)[0]


def _unclosed(answer: str) -> int:
    """How many brackets stay open, up to the first closer without its opener."""
    return _scan(answer, _PAIRS)[1]


def _scan(answer: str, pairs: dict[str, str]) -> tuple[int, int]:
    """Where the first closer without its opener stands, and how many brackets are open there."""
    closers = set(pairs.values())
    expected: list[str] = []
    at = 0
    while at < len(answer):
        sign = answer[at]
        if sign in _QUOTES and (end := _string_end(answer, at)):
            at = end
            continue
        if sign in pairs:
            expected.append(pairs[sign])
        elif sign in closers and (not expected or expected.pop() != sign):
            break
        at += 1
    return at, len(expected)


def _string_end(answer: str, at: int) -> int | None:
    """Where the string that opens at `at` ends; None for an apostrophe or an open string."""
    quote = answer[at]
    if at and answer[at - 1].isalnum() and quote == "'":
        return None
    found = re.compile(rf"(?:\\.|[^\\\n{quote}])*{quote}").match(answer, at + 1)
    return found.end() if found else None


def without_overlap(answer: str, after: str) -> str:
    """Cut the end of `answer` that `after` (the text right of the cursor) begins with."""
    for size in range(min(len(answer), len(after)), 0, -1):
        kept = answer[:-size]
        if not answer.endswith(after[:size]) or _by_chance(answer, after, size):
            continue
        # `g(x)` before `)` closes a bracket of its own: the two are not the same one
        if _unclosed(kept) <= _unclosed(answer):
            return kept
    return answer


def _by_chance(answer: str, after: str, size: int) -> bool:
    """One or two letters agree easily: they count only as a whole word on both sides."""
    if size > 2 or not after[:size].isalnum():
        return False
    return answer[-size - 1 : -size].isalnum() or after[size : size + 1].isalnum()


def until_rest(answer: str, rest: str) -> str:
    """Cut `answer` where it goes on with `rest`, the text right of the cursor on its line.

    Only the first signs of `rest` are compared, at least some letters of it: what follows them in
    the answer may differ, and a few signs agree by chance.
    """
    start = rest.rstrip()[:_TELLING]
    return answer.partition(start)[0] if len(start.strip()) >= _TELLING // 2 else answer


def without_full_stop(answer: str, rest: str) -> str:
    """No end of a sentence right before a sign that goes on with it or ends it."""
    return answer.rstrip(_SENTENCE_ENDS) if rest[:1] and rest[0] in _SENTENCE_SIGNS else answer


def without_next_line(answer: str, before: str, below: str) -> str:
    """Cut `answer` before the line that stands next in the document already.

    `before` is the line left of the cursor, `below` the text after the cursor's line. Lines without
    a letter or digit (`}`, `---`) may repeat.
    """
    following = next((line.strip() for line in below.split("\n") if line.strip()), "")
    if not any(sign.isalnum() for sign in following):
        return answer
    lines = answer.split("\n")
    for number, line in enumerate(lines):
        if (before + line if number == 0 else line).strip() == following:
            return "\n".join(lines[:number])
    return answer


def trimmed(answer: str, at_line_end: bool) -> str:
    """No blanks at the ends of lines; mid-line the last blank may part two words."""
    answer = _TRAILING.sub("", answer)
    return answer.rstrip() if at_line_end else answer
