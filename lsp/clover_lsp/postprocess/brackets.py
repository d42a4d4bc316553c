"""Brackets and quotes: nothing is closed that was not opened, nothing is left open."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

PAIRS = {
    "(": ")",
    "[": "]",
    "{": "}",
    "（": "）",
    "「": "」",
    "『": "』",
    "【": "】",
    "《": "》",
    "“": "”",
}
_CLOSERS = frozenset(PAIRS.values())
_QUOTES = "\"'`"
# signs that open and close alike, the longer ones first
_DELIMITERS = ('"""', "'''", "```", "**", "__", "~~", '"', "'", "`")
_BRACKETS = re.escape("".join([*PAIRS, *PAIRS.values()]))
_REST = {quote: re.compile(rf"(?:\\.|[^\\\n{quote}])*{quote}") for quote in _QUOTES}
# an apostrophe stands behind a letter, a lifetime of Rust behind `&` or `<`; a quote without its
# partner on the line is no string
_QUOTE = {'"': '"', "'": r"(?<![^\W_])(?<![&<])'", "`": "`"}
_STRINGS = "|".join(_QUOTE[quote] + rest.pattern for quote, rest in _REST.items())
_SIGN = re.compile(f"[{_BRACKETS}<>]|{_STRINGS}")
_OPEN_QUOTE = re.compile(f"{_STRINGS}|(?P<open>{'|'.join(_QUOTE.values())})")
# `1)`, `a)`, `二）` count and close nothing
_NUMBER = re.compile(r"(?:[0-9]{1,2}|[A-Za-z]|[一二三四五六七八九十])[)）]")
_NUMBERED = re.compile(rf"^([ \t]*){_NUMBER.pattern}", re.MULTILINE)
# what an editor puts right of the cursor by itself, and a statement's end behind it
_ONLY_CLOSERS = re.compile(
    r"\s*(?:[)\]}>\"'`*_~|，。、；：！？…）」』】》〉”’]|\*/|-->)*[:;,.!?]?\s*"
)


def only_closers(rest: str) -> bool:
    """Whether `rest` (the line right of the cursor) holds nothing but closing signs."""
    return _ONLY_CLOSERS.fullmatch(rest) is not None


def within_delimiter(answer: str, before: str, rest: str) -> str:
    """Cut `answer` where it would end the string or the emphasis whose end is `rest`.

    It may leave the string and come back to it, with balanced code between:
    `print("‖")` takes `hello", end="`.
    """
    sign = next((sign for sign in _DELIMITERS if rest.startswith(sign)), "")
    if not sign or _unescaped(before, sign) % 2 == 0:
        return answer
    pieces = re.split(rf"(?<!\\){re.escape(sign)}", answer)
    # even pieces stand inside the string, odd ones outside
    kept = 1
    while kept + 1 < len(pieces) and pieces[kept] and is_balanced(pieces[kept]):
        kept += 2
    return sign.join(pieces[:kept])


def balanced(answer: str, before: str, after: str, *, words: bool) -> str:
    """The longest beginning of `answer` that leaves every pair of brackets around it a pair.

    `before` is the text left of the cursor, `after` the text right of it, as far as one looks. A
    bracket the answer opens is closed in it, or by `after` if that closes more than is open; one
    that stands open left of the cursor may be closed if `after` does not. In words, not code,
    quotes begin no strings and `1)` closes nothing.
    """
    angled = after.startswith(">")
    quote = "" if words else _open_quote(before)
    own: list[tuple[str, int]] = []
    around: _Around | None = None
    for at, sign in _signs(answer, inside=quote):
        if sign in PAIRS or (angled and sign == "<"):
            own.append((PAIRS.get(sign, ">"), at))
        elif sign not in _CLOSERS and not (angled and sign == ">"):
            continue
        elif own:
            if own[-1][0] != sign:
                return answer[: own[0][1]]
            own.pop()
        else:
            around = around or _Around.of(before, after, quote, words=words)
            if not around.closes(sign) and not (words and _counts(before, answer, at)):
                return answer[:at]
    if own:
        around = around or _Around.of(before, after, quote, words=words)
        kept = around.closed_of([closer for closer, _ in own])
        return answer[: own[kept][1]] if kept < len(own) else answer
    return answer


@dataclass(slots=True)
class _Around:
    """What the brackets around an answer wait for: the closers that text left of it needs, the
    outermost first, with whether the text right of it has them; and how many that has more."""

    waiting: list[tuple[str, bool]]
    spare: Counter[str]

    @classmethod
    def of(cls, before: str, after: str, quote: str, *, words: bool) -> _Around:
        if words:
            after = _NUMBERED.sub(r"\1", after.partition("\n\n")[0])
        waiting = _waiting(before)
        unopened = list(_unopened(after, quote))
        open_ones, had = list(range(len(waiting))), set[int]()
        for sign in unopened:
            alike = [place for place, each in enumerate(open_ones) if waiting[each] == sign]
            if not alike:
                continue
            # what stands open inside of that is closed nowhere
            del open_ones[alike[-1] + 1 :]
            # of brackets alike, one behind the other, the outermost has it
            place = alike[-1]
            while place and waiting[open_ones[place - 1]] == sign:
                place -= 1
            had.add(open_ones.pop(place))
        spare = Counter(unopened) - Counter(waiting)
        return cls([(sign, each in had) for each, sign in enumerate(waiting)], spare)

    def closes(self, sign: str) -> bool:
        """Whether an answer may close the innermost bracket with `sign`; it is closed then."""
        if not self.waiting or self.waiting[-1] != (sign, False):
            return False
        self.waiting.pop()
        return True

    def closed_of(self, own: list[str]) -> int:
        """How many brackets an answer may leave open, that wait for the closers `own`."""
        return next(n for n in range(len(own), -1, -1) if Counter(own[:n]) <= self.spare)


def _counts(before: str, answer: str, at: int) -> bool:
    """Whether the closer at `at` of `answer` is that of a number: `1)`."""
    left = before[-3:] + answer[:at]
    return any(
        _NUMBER.fullmatch(left[-size:] + answer[at]) and not left[-size - 1 : -size].isalnum()
        for size in (1, 2)
    )


def is_balanced(text: str) -> bool:
    """Whether each bracket in `text` has its partner in it."""
    return balanced(text, "", "", words=False) == text


def unclosed(text: str) -> int:
    """How many brackets stay open at the end of `text`."""
    return len(_waiting(text))


def _waiting(text: str) -> list[str]:
    """The closers that the brackets left open in `text` wait for, the outermost first."""
    waiting: list[str] = []
    for _, sign in _signs(text):
        if sign in PAIRS:
            waiting.append(PAIRS[sign])
        elif waiting and waiting[-1] == sign:
            waiting.pop()
    return waiting


def _unopened(text: str, inside: str) -> Iterator[str]:
    """The closers of `text` that nothing in it opens."""
    opened: list[str] = []
    for _, sign in _signs(text, inside):
        if sign in PAIRS:
            opened.append(PAIRS[sign])
        elif not opened and sign in _CLOSERS:
            yield sign
        elif opened and opened[-1] == sign:
            opened.pop()


def _signs(text: str, inside: str = "") -> Iterator[tuple[int, str]]:
    """The brackets of `text` outside its strings; it begins in a string of the quote `inside`."""
    begun = _REST[inside].match(text) if inside else None
    for found in _SIGN.finditer(text, begun.end() if begun else 0):
        if found[0][0] not in _QUOTES:
            yield found.start(), found[0]


def _open_quote(before: str) -> str:
    """The quote of the string that is open at the end of `before`, "" for none."""
    found = (found["open"] for found in _OPEN_QUOTE.finditer(before.rpartition("\n")[2]))
    return next(filter(None, found), "")


def _unescaped(text: str, sign: str) -> int:
    return len(re.findall(rf"(?<!\\){re.escape(sign)}", text))
