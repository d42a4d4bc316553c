"""Which tags of a vault a note may want: those whose words stand in its text."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from clover_templates.front_matter import body_start, front_matter
from clover_templates.headings import outline
from clover_templates.tags import read_tags

# how well each of the names fits the text; higher is better
Ranking: TypeAlias = Callable[[str, Sequence[str]], Sequence[float]]

# a ranking judges these many: what stands in the text, then what the vault uses most
MAX_RANKED = 50
_HEADING_WEIGHT = 3
# scripts that put no blanks between words: a tag in them is looked for anywhere
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff"
_HAS_UNSPACED = re.compile(f"[{_UNSPACED}]")
_WORD = re.compile(rf"[^\W_{_UNSPACED}]+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


@dataclass(frozen=True, slots=True)
class _Prose:
    """A text to look for tags in: as it is in lower case, and as words with blanks around."""

    text: str
    words: str

    @classmethod
    def of(cls, text: str) -> _Prose:
        lower = text.casefold()
        return cls(lower, f" {' '.join(map(_stem, _WORD.findall(lower)))} ")

    def count(self, name: str) -> int:
        """How often the words of a tag's name stand here together."""
        if _HAS_UNSPACED.search(name):
            return self.text.count(name.casefold()) if len(name) > 1 else 0
        phrases = {
            " ".join(map(_stem, _WORD.findall(each.casefold())))
            for each in (name, _HUMP.sub(" ", name))
        }
        return sum(self.words.count(f" {each} ") for each in phrases if len(each) > 1)


def suggest_tags(
    source: bytes,
    vocabulary: Mapping[str, int],
    *,
    limit: int = 5,
    rank: Ranking | None = None,
) -> list[str]:
    """The best tags for a note that it has not got, best first, all from `vocabulary`.

    `vocabulary` has the tags in use and how often. Without `rank` a tag is suggested if the last
    part of its name stands in the text, more so in headings and if the parts above it do as well.
    Of a tag and one below it, only the latter is.
    """
    matter = front_matter(source)
    text = source[matter.body if matter else body_start(source) :].decode("utf-8", "surrogatepass")
    headings = "\n".join(heading.source for heading in outline(source).headings)
    present = read_tags(source)
    had = {name.casefold() for name in present} | _above(present)
    prose, titles = _Prose.of(text), _Prose.of(headings)
    scores = {
        name: _score(name, prose, titles, uses)
        for name, uses in vocabulary.items()
        if name.casefold() not in had
    }
    ordered = sorted(scores, key=lambda name: (-scores[name], -vocabulary[name], name))
    if rank:
        judged = ordered[:MAX_RANKED]
        fits = dict(zip(judged, rank(text, judged), strict=True))
        ordered = sorted(judged, key=lambda name: -fits[name])
    else:
        ordered = [name for name in ordered if scores[name]]
    best = ordered[:limit]
    return [name for name in best if name.casefold() not in _above(best)]


def _score(name: str, prose: _Prose, titles: _Prose, uses: int) -> float:
    *above, last = name.split("/")
    count = prose.count(last) + _HEADING_WEIGHT * titles.count(last)
    if not count:
        return 0
    nearby = sum(1 for part in above if prose.count(part))
    return math.log1p(count) + 0.5 * nearby + 0.1 * math.log1p(uses)


def _above(names: Iterable[str]) -> set[str]:
    """The tags that these stand below, in lower case."""
    parts = (name.casefold().split("/") for name in names)
    return {"/".join(each[:depth]) for each in parts for depth in range(1, len(each))}


def _stem(word: str) -> str:
    """A word without a plural's ending."""
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
