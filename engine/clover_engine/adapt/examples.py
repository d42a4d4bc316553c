"""Documents to infill examples: spans of every kind that people leave a cursor in."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from clover_engine.adapt.corpus import Document

_WORD = re.compile(r"\w+|[^\w\s]+")
_SENTENCE_END = re.compile(r"[.!?](?=\s)|[。！？；]|\n")
_PAIRS = {"(": ")", "[": "]", "{": "}", '"': '"', "'": "'"}


@dataclass(frozen=True, slots=True)
class Example:
    """What stands left of a hole, what was in it, what stands right of it: text."""

    kind: str
    prefix: str
    middle: str
    suffix: str


Span = tuple[int, int]


def rest_of_line(text: str, random: Random) -> Span | None:
    """From somewhere in a line to its end."""
    start, end = _line(text, random)
    words = [match.start() for match in _WORD.finditer(text, start, end)]
    return (random.choice(words), end) if words else None


def whole_lines(text: str, random: Random) -> Span | None:
    """One to ten whole lines."""
    start, end = _line(text, random)
    for _ in range(min(int(random.expovariate(0.45)), 9)):
        further = text.find("\n", end + 1)
        if further < 0:
            break
        end = further
    return _edges(text, start, end, random)


def last_lines(text: str, random: Random) -> Span | None:
    """The last lines before a dedent: the end of a function or of a list."""
    start, end = _line(text, random)
    indent = _indent(text[start:end])
    if indent == 0:
        return None
    while True:
        further = text.find("\n", end + 1)
        line = text[end + 1 : further] if further >= 0 else ""
        if further < 0 or (line.strip() and _indent(line) < indent):
            return _edges(text, start, end, random)
        if end - start > 600:
            return None
        end = further


def inside_pair(text: str, random: Random) -> Span | None:
    """What stands between brackets or quotes of one line."""
    start, end = _line(text, random)
    opened = [i for i in range(start, end) if text[i] in _PAIRS]
    if not opened:
        return None
    begin = random.choice(opened)
    close = text.find(_PAIRS[text[begin]], begin + 1, end)
    return (begin + 1, close) if close > begin + 1 else None


def middle_of_line(text: str, random: Random) -> Span | None:
    """A few words in mid-line."""
    start, end = _line(text, random)
    words = list(_WORD.finditer(text, start, end))
    if len(words) < 3:
        return None
    first = random.randrange(len(words) - 1)
    last = min(first + int(random.expovariate(0.4)), len(words) - 2)
    return words[first].start(), words[last].end()


def anywhere(text: str, random: Random) -> Span | None:
    """From any character to any other, also within words."""
    start = random.randrange(len(text))
    return start, min(len(text), start + 1 + int(random.expovariate(1 / 60)))


def sentence(text: str, random: Random) -> Span | None:
    """From somewhere in a sentence to its end."""
    start, end = _line(text, random)
    words = [match.start() for match in _WORD.finditer(text, start, end)]
    if not words:
        return None
    begin = random.choice(words)
    found = _SENTENCE_END.search(text, begin + 1)
    if not found or found.start() - begin > 300:
        return None
    return begin, found.end() - (found.group() == "\n")


def to_the_end(text: str, random: Random) -> Span | None:
    """The last lines of the text: nothing stands right of the cursor."""
    start, _ = _line(text, random)
    return (start, len(text)) if len(text) - start < 600 else None


_Kind = Callable[[str, Random], Span | None]
KINDS: dict[str, tuple[tuple[_Kind, int], ...]] = {
    "python": (
        (rest_of_line, 3),
        (whole_lines, 6),
        (last_lines, 3),
        (inside_pair, 1),
        (middle_of_line, 1),
        (anywhere, 2),
    ),
    "markdown": (
        (rest_of_line, 2),
        (whole_lines, 2),
        (sentence, 4),
        (middle_of_line, 3),
        (anywhere, 1),
    ),
}


class ExampleMaker:
    """Cuts examples out of documents."""

    def __init__(self, random: Random) -> None:
        self._random = random

    def cut(self, document: Document) -> Example | None:
        """One example of a document; None where the drawn kind of span is not found."""
        random, text = self._random, document.text
        # a window of the size prompts have, beginning at a line
        size = random.choice((800, 1500, 2400))
        at = random.randrange(max(1, len(text) - size // 2))
        at = text.rfind("\n", 0, at) + 1
        window = text[at : at + size]
        kinds, weights = zip(*KINDS[document.language], strict=True)
        kind = random.choices(kinds, weights)[0]
        if random.random() < 0.06:
            kind = to_the_end
        span = kind(window, random)
        if span is None or span[0] >= span[1] or not window[span[0] : span[1]].strip():
            return None
        start, end = span
        suffix = window[end : end + 900]
        if kind is last_lines and random.random() < 0.4:
            suffix = ""  # as when the function is the file's last
        return Example(kind.__name__, window[:start], window[start:end], suffix)


def _line(text: str, random: Random) -> Span:
    at = random.randrange(len(text))
    start = text.rfind("\n", 0, at) + 1
    end = text.find("\n", at)
    return start, len(text) if end < 0 else end


def _edges(text: str, start: int, end: int, random: Random) -> Span:
    """Lines as a cursor leaves them out: with or without their indentation, or with the break."""
    chance = random.random()
    if chance < 0.4:
        return start, min(end + 1, len(text))
    if chance < 0.7:
        start += _indent(text[start:end])
    return start, end


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
