"""The noisy channel: what is asked of the engine, and what its answers come to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from clover_engine.api import (
    CanvasRequest,
    Draft,
    EngineInfo,
    Fill,
    Filled,
    Finish,
    Hole,
    Literal,
    Priority,
    Stats,
)
from clover_templates.engine_scorer import EngineScorer
from clover_templates.places import Places
from clover_templates.scoring import Scorer, WordScorer
from clover_templates.template_reader import read_template
from clover_write.app import connect
from clover_write.config import load_config

REPORT = read_template(
    "# {{title}}\n\n## Impact <!-- hint: who was affected, how badly, for how long -->\n\n"
    "## Timeline <!-- hint: what happened at what time, in order -->\n\n"
    "## Root cause <!-- hint: the conditions that made it possible, not a person -->\n\n"
    "## Resolution <!-- hint: what ended it -->\n\n"
    "## Action items <!-- hint: what will be done, by whom, until when -->\n\n"
    "<!-- clover\ntitle: Incident report\n-->\n",
    "report",
).template
PLACES = Places(REPORT).all


@dataclass(slots=True)
class Likelihoods:
    """An engine that finds a choice likely by what it shares with the words to its left."""

    asked: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)

    async def fill(
        self, request: CanvasRequest, on_draft: Callable[[Draft], None] | None = None
    ) -> Filled:
        left, hole = request.segments
        assert isinstance(left, Literal)
        assert isinstance(hole, Hole)
        assert hole.choices is not None
        assert request.priority is Priority.BACKGROUND
        self.asked.append((left.text, hole.choices))
        # some places make every text likelier, and long texts are less likely everywhere
        scores = tuple(
            10.0 * (("noon" in choice) == ("Timeline" in left.text)) - len(choice) + len(left.text)
            for choice in hole.choices
        )
        return Filled((Fill("", 0.0, Finish.STOP, scores),), Stats())

    async def info(self) -> EngineInfo:
        raise NotImplementedError

    async def close(self) -> None:
        raise NotImplementedError


TEXTS = ["At noon it began.", "Nobody could pay.", "The disk was full.", "We will buy disks."]


async def test_every_place_is_asked_about_every_text_under_its_heading() -> None:
    engine, shares = Likelihoods(), list[float]()
    rows = await EngineScorer(engine, shares.append).scores(REPORT, PLACES, TEXTS)
    assert [len(row) for row in rows] == [len(PLACES)] * len(TEXTS)
    assert shares == pytest.approx([0.2, 0.4, 0.6, 0.8, 1.0])
    lefts, choices = zip(*engine.asked, strict=True)
    assert lefts[3] == "# Incident report\n\n## Resolution (what ended it)\n\n"
    assert set(choices) == {tuple(TEXTS)}


async def test_a_place_that_likes_every_text_is_not_the_best_of_all() -> None:
    engine = Likelihoods()
    rows = await EngineScorer(engine).scores(REPORT, PLACES, TEXTS)
    assert [row.index(max(row)) == 1 for row in rows] == [True, False, False, False]
    # its heading is not the one that likes every text most
    assert max(engine.asked, key=lambda one: len(one[0])) != engine.asked[1]


async def test_only_the_beginning_of_a_long_text_is_read() -> None:
    engine = Likelihoods()
    long = "word " * 500
    await EngineScorer(engine).scores(REPORT, PLACES, [long, "灯" * 500, *TEXTS])
    english, chinese, *others = engine.asked[0][1]
    assert others == TEXTS
    assert 0 < len(english.split()) <= 20
    assert 0 < len(chinese) <= 40


@pytest.mark.parametrize("sign", ["👩‍👩‍👧", "\n\n\n", "ﷺ", "\ud800", "0", "ǆ", "\t x"])
async def test_a_beginning_is_short_whatever_it_is_made_of(sign: str) -> None:
    engine = Likelihoods()
    await EngineScorer(engine).scores(REPORT, PLACES, [f"a{sign * 900}b", *TEXTS])
    beginning = engine.asked[0][1][0]
    assert 0 < len(beginning.encode("utf-8", "surrogatepass")) <= 512


async def test_a_few_texts_are_compared_with_what_the_headings_say() -> None:
    engine = Likelihoods()
    rows = await EngineScorer(engine).scores(REPORT, PLACES, TEXTS[:1])
    assert len(rows) == 1
    own, *others = engine.asked[0][1]
    assert own == TEXTS[0]
    assert [text.split(" (")[0] for text in others] == [place.section.label for place in PLACES]
    assert others[3] == "Resolution (what ended it)"


@pytest.mark.parametrize("count", [4, 40, 400, 4000])
async def test_what_is_read_grows_with_the_size_and_not_with_the_number(count: int) -> None:
    engine = Likelihoods()
    texts = [f"Part {number} says what it says." for number in range(count)]
    rows = await EngineScorer(engine).scores(REPORT, PLACES, texts)
    assert len(rows) == count
    words = sum(len(text.split()) for _, some in engine.asked for text in some)
    kilobytes = sum(map(len, texts)) / 1024
    assert words <= 2700 + 40 * kilobytes
    # of very many neighbours one is read for all
    assert (len(engine.asked[0][1]) < count) == (count >= 400)


SENTENCES = {
    "Impact": (
        "About 2,300 customers could not log in for half an hour.",
        "Reports in the east region were up to six hours late.",
        "No data was lost, but 40 orders were charged twice.",
    ),
    "Timeline": (
        "At 14:05 the first alert fired.",
        "14:20 the on-call engineer joined the call.",
        "Service was back to normal at 15:10.",
    ),
    "Root cause": (
        "The connection pool was sized for half of the present load.",
        "A retry loop without back-off multiplied every failed request.",
        "The configuration was never tested with an empty list.",
    ),
    "Resolution": (
        "We rolled the release back and restarted the workers.",
        "The broken index was rebuilt from last night's backup.",
        "Traffic was moved to the second data centre until the disk was replaced.",
    ),
    "Action items": (
        "Add a monitor for the length of the queue, platform team, by Friday.",
        "Write a runbook for moving traffic, by the end of May.",
        "The storage team will replace the old disks this quarter.",
    ),
}


@pytest.mark.model
async def test_the_engine_finds_more_sections_than_shared_words_do(real_model: Path) -> None:
    client = connect(replace(load_config(), engine="inproc"))
    try:
        engine = await _right(EngineScorer(client))
    finally:
        await client.close()
    assert engine >= 10
    assert await _right(WordScorer()) <= 7


async def _right(scorer: Scorer) -> int:
    """How many of the sentences fit best where they belong."""
    labelled = [(label, text) for label, texts in SENTENCES.items() for text in texts]
    rows = await scorer.scores(REPORT, PLACES, [text for _, text in labelled])
    best = [PLACES[row.index(max(row))].section.label for row in rows]
    return sum(found == label for found, (label, _) in zip(best, labelled, strict=True))
