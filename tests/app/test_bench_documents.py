"""`bench documents`: labelled documents, what the engine is compared with, and what is counted."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from clover_templates.builtins import Facts
from clover_templates.document import Document
from clover_templates.library import Library
from clover_templates.places import Place, Places
from clover_templates.placing import place
from clover_templates.portions import Portion, portions_of
from clover_templates.restructure import restructure
from clover_templates.scoring import Scores, WordScorer
from clover_templates.template import Template
from clover_templates.template_reader import read_template
from clover_write.bench import placing_figures, restructuring, restructuring_figures
from clover_write.bench.baselines import BM25Scorer, first_place, named_place
from clover_write.bench.documents import KEPT, ORDERS, SHUFFLED, Once, Placer, run
from clover_write.bench.journal import Journal, Outcome
from clover_write.bench.labelled import LANGUAGES, Half, Labelled, is_headed, load
from clover_write.bench.pairing import paired, sign_test
from clover_write.cli import main

TEMPLATE = read_template(
    "# {{title}}\n\n## Impact <!-- hint: customers who were hit -->\n\n"
    "## Cause <!-- hint: why the disk failed -->\n\n## Next steps\n",
    "report",
).template
PLACES = Places(TEMPLATE)
BLOCKS = "Some customers were hit.\n\nThe disk was full.\n\nNext steps: buy it.\n\nLorem ipsum.\n"
PORTIONS = portions_of(Document.of(BLOCKS.encode()), PLACES).all
IMPACT, CAUSE, NEXT = PLACES.all


@pytest.fixture(scope="module")
def labelled() -> list[Labelled]:
    return [document for language in LANGUAGES for document in load(language)]


def test_there_are_sixty_labelled_documents_in_two_languages(labelled: list[Labelled]) -> None:
    counts = [sum(one.language == language for one in labelled) for language in LANGUAGES]
    assert sum(counts) >= 60
    assert min(counts) >= 25
    assert len({(one.language, one.name) for one in labelled}) == len(labelled)


def test_blocks_have_no_headings_and_a_section_that_takes_them(labelled: list[Labelled]) -> None:
    for document in labelled:
        assert not any(is_headed(portion) or portion.home for portion in document.portions)
        assert all(portion.text for portion in document.portions)
        assert all(document.places.of(section) for section in document.sections)


def test_the_section_of_a_block_is_the_one_it_stood_in() -> None:
    document = next(one for one in load("en") if one.name == "incident-search")
    where = {
        portion.text: section.label
        for portion, section in zip(document.portions, document.sections, strict=True)
    }
    assert where["The job logs of that night and the graph of empty answers are kept in the folder"
                 " `2026-05-11`."] == "Supporting information"  # fmt: skip
    assert where["Switching back took one command and was practised."] == "What went well"


def test_halves_share_no_document() -> None:
    for language in LANGUAGES:
        tune, test = (load(language, half) for half in Half)
        names = {one.name for one in tune} | {one.name for one in test}
        assert len(names) == len(tune) + len(test) == len(load(language))
        assert abs(len(tune) - len(test)) <= 1


def test_shuffling_is_the_same_on_every_machine(labelled: list[Labelled]) -> None:
    for document in labelled:
        order = document.shuffled()
        assert order == document.shuffled()
        assert sorted(order) == list(range(len(document.portions)))
    orders = [document.shuffled() for document in labelled]
    assert sum(order != sorted(order) for order in orders) > len(orders) * 0.9


async def test_the_simple_baselines_do_what_they_say() -> None:
    assert await first_place(PORTIONS, PLACES) == [IMPACT] * 4
    assert await named_place(PORTIONS, PLACES) == [None, None, NEXT, None]


async def test_bm25_finds_the_place_that_shares_rare_words() -> None:
    found = await place(PORTIONS, PLACES, BM25Scorer())
    assert [one.place for one in found[:3]] == [IMPACT, CAUSE, NEXT]
    rows = await BM25Scorer().scores(TEMPLATE, PLACES.all, ["disk disk", "disk", "none"])
    assert rows[0][1] > rows[1][1] > 0
    assert rows[2] == [0, 0, 0]


class Counting:
    """A scorer that counts how often it is asked."""

    def __init__(self) -> None:
        self.asked = 0

    async def scores(
        self, template: Template, places: Sequence[Place], texts: Sequence[str]
    ) -> Scores:
        self.asked += 1
        return await WordScorer().scores(template, places, texts)


async def test_the_same_texts_in_another_order_are_not_asked_again() -> None:
    counting = Counting()
    once = Once(counting)
    texts = ["customers", "disk"]
    rows = await once.scores(TEMPLATE, PLACES.all, texts)
    assert await once.scores(TEMPLATE, PLACES.all, texts[::-1]) == rows[::-1]
    assert counting.asked == 1
    await once.scores(TEMPLATE, PLACES.all, ["another"])
    assert counting.asked == 2


DOCUMENT = Labelled(
    "report", "en", PLACES, PORTIONS[:3], (IMPACT.section, CAUSE.section, NEXT.section)
)


async def test_a_finished_document_is_not_placed_again(tmp_path: Path) -> None:
    calls: list[int] = []

    async def find(portions: Sequence[Portion], places: Places) -> list[Place | None]:
        calls.append(len(portions))
        return await first_place(portions, places)

    outcomes = await _run({"first": find}, tmp_path)
    assert calls == [3, 3]
    assert await _run({"first": find}, tmp_path) == outcomes
    assert calls == [3, 3]
    assert [(one.case, one.text, one.passed) for one in outcomes if one.case == KEPT] == [
        (KEPT, "Impact", passed) for passed in (True, False, False)
    ]
    shuffled = [one.passed for one in outcomes if one.case == SHUFFLED]
    assert shuffled == [number == 0 for number in DOCUMENT.shuffled()]


async def _run(rows: dict[str, Placer], folder: Path) -> list[Outcome]:
    with Journal(folder / "run.jsonl", {}) as journal:
        return await run([DOCUMENT], rows, journal, lambda done, total: None)


async def test_shares_add_up_and_rows_are_paired(tmp_path: Path) -> None:
    outcomes = await _run({"alias": named_place, "first": first_place}, tmp_path)
    table = placing_figures.figures(outcomes)
    assert list(table) == [f"en, {order}" for order in ORDERS]
    shares = table["en, shuffled"]["rows"]
    assert shares["first"]["right"] == pytest.approx(1 / 3)
    assert shares["first"]["leftover"] == 0
    assert shares["alias"]["leftover"] == pytest.approx(2 / 3)
    for row in shares.values():
        assert row["right"] + row["leftover"] + row["wrong"] == pytest.approx(1)
    assert table["en, shuffled"]["paired"]["alias - first"]["mean"] == pytest.approx(0)


def test_a_fair_coin_is_not_better() -> None:
    assert sign_test(0, 0) == 1.0
    assert sign_test(3, 3) == 1.0
    assert sign_test(5, 0) == sign_test(0, 5) == pytest.approx(2 / 32)
    better = paired([1.0, 1.0, 0.5, 1.0], [0.0, 0.5, 0.5, 0.0])
    assert (better.better, better.worse) == (3, 0)
    assert better.mean == pytest.approx(0.625)
    assert better.low <= better.mean <= better.high
    assert paired([0.0] * 4, [1.0] * 4).high == -1


INCIDENT = "# Outage\n\n## Impact\n\nUsers saw errors.\n\n## Timeline\n\n- 09:12 alert\n"


async def test_an_edit_that_keeps_everything_is_counted_so(tmp_path: Path) -> None:
    template = Library.of().find("incident").template
    document = Document.of(INCIDENT.encode())
    trial = await restructuring.attempt(tmp_path / "a.md", document, template, WordScorer())
    assert trial.applied
    assert (trial.sentences_lost, trial.locks_changed) == (0, 0)
    assert trial.rests
    assert trial.parsed_alike


async def test_what_an_edit_lost_is_found_without_its_trace(tmp_path: Path) -> None:
    template = Library.of().find("incident").template
    document = Document.of(INCIDENT.encode())
    facts = Facts(datetime(2026, 1, 1), "note")
    whole = await restructure(document, template, WordScorer(), facts)
    output = whole.output.replace(b"Users saw errors.\n", b"").replace(b"09:12", b"09:13")
    kept = restructuring.judged(document, replace(whole, output=output))
    assert (kept["sentences_lost"], kept["locks_changed"]) == (2, 1)
    trial = restructuring.Trial(str(tmp_path), "incident", len(output), 1.0, **kept)
    figures = restructuring_figures.figures([trial])
    assert figures["sentences lost"] == 2
    assert figures["broken"] == [f"{tmp_path} (incident)"]


def test_refusals_are_counted_by_kind() -> None:
    trials = [
        restructuring.Trial("a.md", "adr", 1024, 2.0),
        restructuring.Trial("a.md", "rfc", 1024, 4.0, ("locks: number lost",)),
        restructuring.Trial("b.md", "rfc", 2048, 4.0),
    ]
    figures = restructuring_figures.figures(trials)
    assert figures["applied"] == pytest.approx(2 / 3)
    assert figures["files applied in every template"] == pytest.approx(1 / 2)
    assert figures["refusals"] == {"locks: number lost": 1}
    assert figures["refused"] == ["a.md (rfc)"]
    assert figures["median ms a KB"] == 2.0


def test_only_documents_that_are_text_are_found(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    for name, data in {"a.md": b"# A\n", "b.txt": b"\xff\xfe", "c.py": b"#", "e.md": b"\n"}.items():
        (tmp_path / "inner" / name).write_bytes(data)
    assert [path.name for path, _ in restructuring.found([tmp_path])] == ["a.md"]


def test_the_command_prints_tables_and_writes_figures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "note.md").write_text(INCIDENT, encoding="utf-8")
    out = tmp_path / "figures.json"
    arguments = ["--every", "12", "--scorer", "words,first", "--engine", "fake"]
    arguments += ["--documents", str(tmp_path), "--json", str(out)]
    assert main(["bench", "documents", *arguments]) == 0
    printed = capsys.readouterr().out
    assert "zh, shuffled: words - first:" in printed
    assert "sentences lost: 0" in printed
    figures = json.loads(out.read_text("utf-8"))
    assert set(figures["placing"]) == {f"{la}, {order}" for la in LANGUAGES for order in ORDERS}
    assert figures["loss"]["trials"] == restructuring.TEMPLATES
