"""Words and signs that tell where a text belongs, of sections that many kinds of documents have."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from clover_templates.heading_text import plain_heading
from clover_templates.places import Place

_READ = 400  # characters of a text
_MOST = 2  # cues that count: a long text has some of everything


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of section: what such sections are called, and what their texts have."""

    sections: frozenset[str]
    words: re.Pattern[str] | None
    signs: tuple[re.Pattern[str], ...]

    def count(self, text: str) -> int:
        """How many different cues a text has, up to _MOST."""
        found = set(self.words.findall(text)) if self.words else ()
        return min(len(found) + any(sign.search(text) for sign in self.signs), _MOST)


def cue_counts(places: Sequence[Place], texts: Iterable[str]) -> list[list[int]]:
    """How many cues each text has for each place: one row a text."""
    kinds = [_kinds_of(place) for place in places]
    asked = {kind for some in kinds for kind in some}
    rows: list[list[int]] = []
    for text in texts:
        beginning = text[:_READ].casefold()
        counts = {kind: kind.count(beginning) for kind in asked}
        rows.append([max((counts[kind] for kind in some), default=0) for some in kinds])
    return rows


def _kinds_of(place: Place) -> tuple[Kind, ...]:
    own = place.section.heading or (place.slot.name if place.slot else "")
    return _called([own]) or _called(place.section.aliases)


def _called(names: Iterable[str]) -> tuple[Kind, ...]:
    plain = set(map(plain_heading, names))
    return tuple(kind for kind in _known() if plain & kind.sections)


@cache
def _known() -> tuple[Kind, ...]:
    text = files("clover_templates").joinpath("cues.toml").read_text(encoding="utf-8")
    return tuple(
        Kind(
            frozenset(map(plain_heading, table["sections"])),
            _any_of(table.get("words", ())),
            tuple(re.compile(sign, re.MULTILINE) for sign in table.get("signs", ())),
        )
        for table in tomllib.loads(text).values()
    )


def _any_of(words: Sequence[str]) -> re.Pattern[str] | None:
    """Longer words first: the shorter ones may begin them."""
    ordered = sorted(words, key=len, reverse=True)
    latin = "|".join(re.escape(word) for word in ordered if word.isascii())
    chinese = [re.escape(word) for word in ordered if not word.isascii()]
    parts = [rf"(?<![a-z])(?:{latin})(?![a-z])"] if latin else []
    return re.compile("|".join([*parts, *chinese])) if words else None
