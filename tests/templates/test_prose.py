"""Prose from a model: taken where every promise holds, else the text stays as it was."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass, field, replace
from datetime import datetime
from importlib.resources import files
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clover_engine.api import CanvasRequest, Fill, Filled, Finish, Literal
from clover_templates.builtins import Facts
from clover_templates.changes import changes_of, part_of
from clover_templates.document import Document
from clover_templates.edit import applied
from clover_templates.engine_scorer import EngineScorer
from clover_templates.library import Library
from clover_templates.prose import Prose
from clover_templates.report import report
from clover_templates.restructure import Proposal, restructure
from clover_templates.rewording import Rewording, reword
from clover_templates.scoring import WordScorer
from clover_templates.sentence_check import breaches
from clover_templates.source import Span
from clover_templates.template_reader import read_template
from clover_templates.template_settings import Mode
from clover_templates.trace import Written
from clover_templates.wordings import UnknownWording, rewording, rewordings, writing
from clover_write.app import connect
from clover_write.config import load_config

FACTS = Facts(datetime(2026, 8, 1, 9, 30), "Untitled")
TEMPLATE = read_template(
    "# {{title}}\n\n## Summary <!-- hint: what happened -->\n\n{{summary}}\n\n## Cause\n\n{{cause}}"
    "\n\n## Impact\n\n<!-- clover\nsummary: {mode: write, max: 2 sentences}\n"
    "cause: {mode: rewrite}\n-->\n",
    "report",
).template
LONG = "In the night of 3 May the disk of db1 became full due to the fact that no job removed logs."
SHORT = "On 3 May the disk of db1 became full due to the fact that no job removed logs."
NOTE = f"# Outage\n\n## Cause\n\n{LONG}\n\n## Impact\n\n{LONG}\n"


@dataclass(slots=True)
class Model:
    """Answers a prompt about a text with what it knows for the text; of a second attempt too."""

    answers: dict[str, str]
    finish: Finish = Finish.STOP
    asked: list[str] = field(default_factory=list)

    async def fill(self, request: CanvasRequest) -> Filled:
        prompt = request.segments[0]
        assert isinstance(prompt, Literal)
        self.asked.append(prompt.text)
        told = re.findall(r"^(?:Text|Notes|原文|材料)[:：] ?(.*)$", prompt.text, re.MULTILINE)[-1]
        answer = next((new for old, new in self.answers.items() if old in told), told)
        return Filled((Fill(f" {answer}", 0.9, self.finish),))


def proposed(text: str, answers: dict[str, str], finish: Finish = Finish.STOP) -> Proposal:
    async def both() -> Proposal:
        found = await restructure(Document.of(text.encode()), TEMPLATE, WordScorer(), FACTS)
        return await Prose(Model(answers, finish)).for_slots(found, TEMPLATE)

    return asyncio.run(both())


def selected(text: str, part: str, answers: dict[str, str]) -> Rewording:
    start = len(text[: text.index(part)].encode())
    span = Span(start, start + len(part.encode()))
    how = rewording("tighten", "en")
    return asyncio.run(reword(Document.of(text.encode()), span, how, Prose(Model(answers))))


def test_a_rewrite_slot_takes_other_words_and_verbatim_ones_do_not() -> None:
    proposal = proposed(NOTE, {LONG: SHORT})
    assert proposal.breaches == ()
    text = proposal.output.decode()
    assert f"## Cause\n\n{SHORT}\n" in text
    assert f"## Impact\n\n{LONG}\n" in text
    assert applied(NOTE.encode(), list(proposal.edits)) == proposal.output


def test_a_write_slot_is_written_from_the_document_in_place_of_its_hole() -> None:
    proposal = proposed(NOTE, {"# Outage": "On 3 May the disk of db1 became full."})
    assert proposal.breaches == ()
    assert "## Summary\n\nOn 3 May the disk of db1 became full.\n" in proposal.output.decode()


@pytest.mark.parametrize(
    ("answer", "finish"),
    [
        ("On 4 May the disk became full.", Finish.STOP),  # a date that no source has
        ("Boris filled the disk, and Anna Blum knew.", Finish.STOP),  # a name
        ("The disk became full. It was. It really was.", Finish.STOP),  # too long
        ("The disk became", Finish.LENGTH),  # not to its end
        ("", Finish.STOP),
    ],
)
def test_what_may_not_be_written_leaves_the_hole(answer: str, finish: Finish) -> None:
    proposal = proposed(NOTE, {"# Outage": answer}, finish)
    assert proposal.breaches == ()
    assert "## Summary\n\nTODO(summary)\n" in proposal.output.decode()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The disk was full on 3 May at noon.", "The disk was full on 4 May at noon."),
        ("See https://example.org/a for the list of hosts.", "See the list of hosts."),
        ("Run `make all` before the next build starts.", "Run make all before the build starts."),
        ("The report of Anna Blum names the cause.", "The report names the cause."),
        ("The team met and named the cause at once.", "The team met Anna Blum and named it."),
        ("You must not open the valve by hand.", "You may open the valve by hand."),
        ("各单位应当在5月1日前上报。", "各单位可以在5月1日前上报。"),
        ("费用为3万元，由市局承担。", "费用为3元，由市局承担。"),
        ("The fan of the pump was loud.", "Music is nice when bells ring far away."),
        ("The fan was loud.", "# The fan was loud."),
        ("The fan was loud.", "The fan was loud:"),
        ("Was the fan loud in the night?", "The fan was loud in the night."),
    ],
)
def test_a_sentence_that_breaks_a_promise_is_refused(old: str, new: str) -> None:
    assert list(breaches(old, new))
    outcome = selected(f"# N\n\n{old}\n", old, {old: new})
    assert (outcome.edits, len(outcome.refused)) == ((), outcome.sentences)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (LONG, SHORT),
        (
            "值班人员在这种情况下应当在5分钟内拨打`0123`，并在记录本上逐条写明时间、地点和结果。",
            "值班人员应当在5分钟内拨打`0123`，并在记录本上逐条写明时间、地点和结果。",
        ),
        (
            "It's 45 minutes by car from the old gate to the new bridge at the river.",
            "It is 45 minutes by car from the old gate to the new bridge at the river.",
        ),
    ],
)
def test_a_sentence_that_keeps_them_is_taken(old: str, new: str) -> None:
    assert list(breaches(old, new)) == []


def test_a_selection_is_reworded_and_all_around_it_stays() -> None:
    text = f"# N\r\n\r\n{LONG} Users waited.\r\n\r\n- {LONG}\r\n\r\n```\r\n{LONG}\r\n```\r\n"
    outcome = selected(text, LONG, {LONG: SHORT})
    assert applied(text.encode(), list(outcome.edits)).decode() == text.replace(LONG, SHORT, 1)
    whole = selected(text, text, {LONG: SHORT})
    assert applied(text.encode(), list(whole.edits)).decode() == text.replace(LONG, SHORT, 2)
    assert whole.sentences == 3  # code is none


def test_a_second_attempt_begins_differently() -> None:
    model = Model({})
    text = f"{LONG}\n"
    how = rewording("tighten", "en")
    outcome = asyncio.run(reword(Document.of(text.encode()), Span(0, 9), how, Prose(model)))
    assert (outcome.edits, outcome.refused, len(model.asked)) == ((), (), 2)


def test_the_report_shows_what_a_model_wrote_and_what_was_not_taken() -> None:
    shown = report(proposed(NOTE, {"# Outage": "", LONG: SHORT}), TEMPLATE, "note.md")
    assert f"## Written by the model\n\n- cause: “{LONG}” → “{SHORT}”\n" in shown
    wrong = {"# Outage": "", LONG: LONG.replace("3 May", "4 May")}
    refused = report(proposed(NOTE, wrong), TEMPLATE, "note.md")
    assert "## Words of the model that were not taken\n\n- locks: date" in refused


def test_taken_section_by_section_prose_replaces_what_it_stands_for() -> None:
    # the sentence stands elsewhere in the source than its rewrite in the output
    note = f"# Outage\n\n## Impact\n\nUsers waited.\n\n## Cause\n\n{LONG}\n"
    proposal = proposed(note, {"# Outage": "", LONG: SHORT})
    assert any(isinstance(piece, Written) for piece in proposal.trace.pieces)
    names = [change.section for change in changes_of(proposal, TEMPLATE)]
    for name in names:
        part = part_of(proposal, TEMPLATE, [name])
        assert part.breaches == ()
        kept = SHORT if name == "Cause" else LONG
        assert [s for s in (LONG, SHORT) if s in part.output.decode()] == [kept]


@given(
    st.lists(st.sampled_from([LONG, "Users waited.", "第3条应当公布。", "- a `b` 5 km\n"])),
    st.data(),
)
@settings(max_examples=60, deadline=None)
def test_whatever_a_model_says_no_promise_is_broken(parts: list[str], data: st.DataObject) -> None:
    note = "# Outage\n\n## Cause\n\n" + "\n\n".join(parts) + "\n"
    said = st.text("ab 5#`-。\n", max_size=12) | st.sampled_from(
        [SHORT, "Users wait.", "第3条应当发布。"]
    )
    answers = {part: data.draw(said) for part in dict.fromkeys(["# Outage", *parts])}
    proposal = proposed(note, answers)
    assert proposal.breaches == ()
    again = asyncio.run(restructure(Document.of(proposal.output), TEMPLATE, WordScorer(), FACTS))
    assert again.edits == ()


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_every_wording_is_told_all_that_it_asks_for(lang: str) -> None:
    assert {each.name for each in rewordings("en")} == {each.name for each in rewordings("zh")}
    for each in (*rewordings(lang), writing(lang)):
        prompt = each.asked(text="{{place}}", place="a\n b", source="{{place}}")
        assert "{{place}}" in prompt  # what is told is not read again
        assert each.title
        assert "{{text}}" not in prompt
        assert "{{source}}" not in prompt
        assert not prompt.endswith("\n")


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_examples_of_a_prompt_keep_what_is_asked_of_the_model(lang: str) -> None:
    for each in rewordings(lang):
        lines = [re.split(r"[:：] ?", line, maxsplit=1)[-1] for line in each.prompt.splitlines()]
        olds = [n for n, line in enumerate(each.prompt.splitlines()) if re.match("Text|原文", line)]
        assert len(olds) > 2
        for number in olds[:-1]:
            assert list(breaches(lines[number], lines[number + 1])) == [], lines[number]


def test_a_wording_that_is_not_there_is_named() -> None:
    with pytest.raises(UnknownWording, match="there are formal, rewrite, terms, tighten"):
        rewording("sing", "en")


@pytest.mark.model
@pytest.mark.parametrize(
    ("folder", "name"), [("en", "minutes"), ("en", "incident"), ("zh", "通知")]
)
async def test_with_the_model_no_promise_is_broken(
    real_model: Path, folder: str, name: str
) -> None:
    template = Library.of().find(name).template
    sample = files("clover_templates").joinpath(folder, "samples", f"{name}.md").read_bytes()
    # without its headings it has to be placed, and every slot takes a model's words
    text = b"\n\n".join(b for b in sample.split(b"\n\n") if not b.startswith((b"#", b"---")))
    slots = {each: replace(one, mode=Mode.REWRITE) for each, one in template.slots.items()}
    worded = replace(template, slots=slots)
    client = connect(replace(load_config(), engine="inproc"))
    try:
        document = Document.of(text)
        placed = await restructure(document, worded, EngineScorer(client), FACTS)
        proposal = await Prose(client).for_slots(placed, worded)
    finally:
        await client.close()
    assert proposal.breaches == ()
    again = await restructure(Document.of(proposal.output), worded, WordScorer(), FACTS)
    assert again.edits == ()
