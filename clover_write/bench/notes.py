"""Real notes with a span taken out, in English and Chinese: what is written back into the gap."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from clover_engine.api import Hole
from clover_engine.errors import CloverError
from clover_templates.code_regions import code_regions
from clover_write.bench.cases import Ask, benchmark_ask

SEED = 20260101
LANGUAGES = ("en", "zh")
# tokens that a hole of this kind may take; all of them end with the line
KINDS = {"word": 16, "phrase": 24, "sentence": 64, "item": 64}
_FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
_WORD = {"en": re.compile(r"[A-Za-z][\w'-]+"), "zh": re.compile(r"[\u4e00-\u9fff]{2,4}")}
_PHRASE = {
    "en": re.compile(r"[A-Za-z][\w'-]*(?: [A-Za-z][\w'-]*){1,4}"),
    "zh": re.compile(r"[\u4e00-\u9fff]{5,12}"),
}
_SENTENCE = {
    "en": re.compile(r"(?<=[.!?] )[A-Z][^.!?\n`|<>\[\]]{15,160}[.!?](?=\s)"),
    "zh": re.compile(r"(?<=[。！？])[^。！？\n`|<>\[\]]{8,80}[。！？]"),
}
_ITEM = re.compile(r"(?m)(?<=^[-*] )[^\n`|<>\[\]]{8,120}$")


class NotesError(CloverError):
    """The notes are not where they were said to be."""


@dataclass(frozen=True, slots=True)
class Gap:
    """A span of a note: `text[start:end]` is what was there."""

    name: str
    language: str
    kind: str
    text: str
    start: int
    end: int

    @property
    def truth(self) -> str:
        """What stood in the gap."""
        return self.text[self.start : self.end]

    @property
    def ask(self) -> Ask:
        """The hole between what stands left and right of it."""
        hole = Hole(KINDS[self.kind], max_lines=1)
        return benchmark_ask(self.text[: self.start], self.text[self.end :], hole)


def load(folder: Path, language: str, most: int) -> list[Gap]:
    """At most `most` gaps of each kind, one of a kind in a note, the same on every machine.

    Raises NotesError.
    """
    paths = sorted((folder / language).glob("*.md"))
    if not paths:
        raise NotesError(f"{folder / language} holds no Markdown files: give the folder of notes")
    chance = random.Random(SEED)
    chance.shuffle(paths)
    gaps: dict[str, list[Gap]] = {kind: [] for kind in KINDS}
    for path in paths:
        text = path.read_text("utf-8")
        for kind, found in gaps.items():
            if len(found) < most and (places := _places(text, language, kind)):
                start, end = chance.choice(places)
                found.append(Gap(f"{path.name} {kind}", language, kind, text, start, end))
    return [gap for found in gaps.values() for gap in found]


def _places(text: str, language: str, kind: str) -> Sequence[tuple[int, int]]:
    """Every span of the kind outside code, front matter and headings, behind the first lines."""
    found = list(_matches(text, language, kind))
    front = _FRONT_MATTER.match(text)
    first = max(120, front.end() if front else 0)
    regions = code_regions(text, [start for start, _ in found])
    return [
        (start, end)
        for start, end in found
        if start >= first
        and not text[text.rfind("\n", 0, start) + 1 : start].startswith("#")
        and not any(begin < end and start < stop for begin, stop in regions)
    ]


def _matches(text: str, language: str, kind: str) -> Iterator[tuple[int, int]]:
    patterns = {"word": _WORD, "phrase": _PHRASE, "sentence": _SENTENCE}
    pattern = patterns[kind][language] if kind in patterns else _ITEM
    return (match.span() for match in pattern.finditer(text))
