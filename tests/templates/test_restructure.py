"""A document restructured: everything has a place, nothing is lost, and a second run rests."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib.resources import files
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clover_templates.blocks import Block
from clover_templates.builtins import Facts
from clover_templates.document import Document
from clover_templates.library import Library
from clover_templates.places import Place
from clover_templates.restructure import Proposal, refusal, restructure
from clover_templates.scoring import Scores, WordScorer
from clover_templates.template import Template
from clover_templates.template_reader import read_template
from clover_templates.template_settings import Numbering

FACTS = Facts(datetime(2026, 8, 1, 9, 30), "Untitled")
LIBRARY = Library.of()
REPORT = """\
# {{title}}

## Impact <!-- hint: who was hit -->

## Cause <!-- hint: why it happened -->

## Luck <!-- optional -->

## Follow-ups
- [ ] {{action}}

<!-- clover
Impact: {aliases: [What people saw, 影响]}
Cause: {aliases: [Root cause], required: true}
-->
"""


@dataclass(frozen=True, slots=True)
class Words:
    """A scorer that knows one word for each section."""

    words: dict[str, str]

    async def scores(
        self, template: Template, places: Sequence[Place], texts: Sequence[str]
    ) -> Scores:
        labels = [self.words.get(place.section.label, "\0") for place in places]
        return [[float(label in text) for label in labels] for text in texts]


WORDS = Words({"Impact": "users", "Cause": "disk", "Follow-ups": "will"})


async def proposed(text: str | bytes, template: str = REPORT) -> Proposal:
    data = text.encode() if isinstance(text, str) else text
    read = read_template(template, "report").template
    return await restructure(Document.of(data), read, WORDS, FACTS)


async def test_sections_move_to_the_headings_that_they_name() -> None:
    seen = "## What people saw\n\n- errors\n- slow pages\n"
    note = f"# Outage\n\n## Root cause\n\nIt was full.\n\n{seen}"
    proposal = await proposed(note)
    assert proposal.breaches == ()
    assert proposal.output.decode() == (
        "# Outage\n\n## Impact\n\n- errors\n- slow pages\n\n## Cause\n\nIt was full.\n\n"
        "## Follow-ups\n- [ ] TODO(action)\n"
    )


async def test_blocks_without_headings_are_placed_by_what_they_say() -> None:
    proposal = await proposed("The disk was full.\n\nMany users waited.\n\nWe will watch it.\n")
    assert proposal.breaches == ()
    assert proposal.output.decode() == (
        "# Untitled\n\n## Impact\n\nMany users waited.\n\n## Cause\n\nThe disk was full.\n\n"
        "## Follow-ups\n\nWe will watch it.\n"
    )


async def test_a_paragraph_of_chinese_lines_is_placed_line_by_line() -> None:
    text = (await proposed("disk坏了。\nusers等了很久。\nusers走了。\n")).output.decode()
    assert "## Impact\n\nusers等了很久。\nusers走了。\n\n## Cause\n\ndisk坏了。\n" in text


async def test_a_block_of_code_that_the_end_closed_is_closed_where_it_moves_to() -> None:
    proposal = await proposed("# Outage\n\nusers\n\n~~~sh\ndisk\n")
    assert proposal.breaches == ()
    text = proposal.output.decode()
    assert "## Cause\n\n~~~sh\ndisk\n~~~\n\n## Follow-ups" in text


async def test_code_by_indentation_does_not_run_into_what_it_comes_behind() -> None:
    proposal = await proposed("    users one\n\n## Impact\n\n    users two\n")
    assert proposal.breaches == ()
    assert "    users one\n\n<!-- -->\n\n    users two\n" in proposal.output.decode()


async def test_what_fits_nowhere_is_left_over_and_not_lost() -> None:
    proposal = await proposed("The disk was full.\n\nLorem ipsum dolor.\n")
    assert proposal.output.decode().endswith("\n\n## Unplaced\n\nLorem ipsum dolor.\n")
    assert [one.portion.text for one in proposal.placed if one.place is None] == [
        "Lorem ipsum dolor."
    ]


async def test_a_section_of_its_own_keeps_its_heading_below_the_place() -> None:
    proposal = await proposed("# Outage\n\n## The disk\n\nFull.\n\n### Details\n\nVery full.\n")
    assert "## Cause\n\n### The disk\n\nFull.\n\n#### Details\n\nVery full.\n" in (
        proposal.output.decode()
    )
    assert proposal.breaches == ()


async def test_missing_facts_stay_visible_holes_and_optional_sections_stay_away() -> None:
    text = (await proposed("# Outage\n\nMany users waited.\n")).output.decode()
    assert "## Cause\n\nTODO(Cause)\n" in text
    assert "Luck" not in text


@pytest.mark.parametrize("ending", [b"\n", b"\r\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("last", [True, False])
async def test_the_bytes_around_the_text_stay(ending: bytes, mark: bytes, last: bool) -> None:
    note = b"---\ntags: [a,  b]\n---\n# Outage\n\n## Root cause\nFull.\n\n## Impact\nusers"
    data = mark + (note + b"\n" * last).replace(b"\n", ending)
    proposal = await proposed(data)
    assert proposal.breaches == ()
    assert proposal.output.startswith(mark + b"---" + ending + b"tags: [a,  b]" + ending)
    assert proposal.output.endswith(ending) is last
    assert proposal.output.count(b"\r") == (
        proposal.output.count(b"\n") if ending == b"\r\n" else 0
    )


async def test_front_matter_gets_the_keys_it_lacks() -> None:
    template = "---\nstatus: {{status}}\nwhen: {{date}}\n---\n" + REPORT
    text = (await proposed("---\nstatus: open\n---\n# Outage\n\nusers\n", template)).output.decode()
    assert text.startswith("---\nstatus: open\nwhen: 2026-08-01\n---\n")


async def test_a_key_whose_value_may_be_left_away_is_not_asked_for() -> None:
    template = (
        "---\nstatus: {{status}}\ntopic: {{topic}}\n---\n"
        "# {{title}}\n\n## Impact\n\n<!-- clover\ntopic: {missing: drop}\n-->\n"
    )
    proposal = await proposed("---\nlang: en\n---\n# Outage\n\nusers\n", template)
    assert proposal.breaches == ()
    assert proposal.output.startswith(b"---\nlang: en\nstatus: TODO(status)\n---\n")
    assert (await proposed(proposal.output, template)).edits == ()


@pytest.mark.parametrize("closed", ["## Deep ##", "## **1 Deep** ####", "##\tDeep #\t"])
async def test_a_heading_may_be_closed_by_signs(closed: str) -> None:
    proposal = await proposed(f"# Outage\n\n## Impact\n\nusers\n\n#{closed}\n\ntext\n{closed}\n")
    assert proposal.breaches == ()
    assert proposal.output.count(b"Deep") == 2


async def test_an_underlined_heading_of_several_lines_stays_one() -> None:
    proposal = await proposed(
        "One\r\ntwo\r\n===\r\n\r\nusers\r\n\r\n= 3\r\n four\r\n---\r\n\r\ntext\r\n"
    )
    assert proposal.breaches == ()
    assert proposal.output.startswith(b"# One two\r\n\r\n## Impact\r\n")
    assert b"## = 3 four\r\n" in proposal.output


async def test_a_document_of_the_templates_shape_is_not_touched() -> None:
    note = "# Outage\n\n## Impact\nusers\n\n\n## Cause\ndisk\n## Follow-ups\n\n* one\n"
    proposal = await proposed(note)
    assert proposal.edits == ()
    assert proposal.output.decode() == note


async def test_edits_make_the_output_and_leave_what_stays() -> None:
    note = "# Outage\n\n## Impact\nusers\n\n## Cause\nThe disk was full.\n"
    proposal = await proposed(note)
    assert [(note[e.start : e.end], e.text) for e in proposal.edits] == [
        ("", "\n\n## Follow-ups\n- [ ] TODO(action)")
    ]


PIECES = st.sampled_from(
    [
        "# One\n\n",
        "## Impact\n",
        "## Root cause\n\n",
        "Title\n=====\n\n",
        "Part\n---\n\n",
        "Two\nlines\n---\n\n",
        "#### Deep\n",
        "## **2 Closed** ##\n",
        "The disk was full on 3 May. Nobody knew.\n\n",
        "- a\n- b\n\n",
        "1. one\n2. two\n\n",
        "| a | b |\n|---|---|\n| 1 | 2 |\n\n",
        "```sh\n# no heading\n```\n\n",
        "    indented code\n\n",
        "> quoted users\n\n",
        "<!-- kept -->\n\n",
        "[x]: https://example.org\n\n",
        "Text: \n",
        "一、基本情况\n\n",
        "本周完成 3 项，详见《报告》。\n\n",
        "会议开始。\n大家同意。\n下周再议。\n",
        "---\n\n",
        "$$\n# x\n$$\n\n",
        "TODO(Cause)\n\n",
        "\n",
    ]
)


MARKDOWN = [
    entry.template.name for entry in LIBRARY.entries() if entry.template.numbering is Numbering.MD
]


NAMES = [entry.template.name for entry in LIBRARY.entries()]
OFFICIAL = [
    entry.template.name
    for entry in LIBRARY.entries()
    if entry.template.numbering is Numbering.GONGWEN
]


@given(st.lists(PIECES, max_size=14), st.sampled_from(["", "no end"]), st.sampled_from(NAMES))
@settings(max_examples=150, deadline=None)
def test_any_document_takes_any_shape_and_keeps_it(pieces: list[str], last: str, name: str) -> None:
    template = LIBRARY.find(name).template
    if name in OFFICIAL:
        # a text without marks reads code, formulas and numbered lines in its own way
        pieces = [piece for piece in pieces if not piece.startswith(("一、", "    ", "$$"))]
    document = Document.of("".join([*pieces, last]).encode())
    proposal = asyncio.run(restructure(document, template, WordScorer(), FACTS))
    assert proposal.breaches == ()
    again = asyncio.run(restructure(Document.of(proposal.output), template, WordScorer(), FACTS))
    assert again.edits == ()


@given(st.lists(PIECES | st.text("ab \n#-`$%|>*1.一、。", max_size=12), max_size=14), st.data())
@settings(max_examples=150, deadline=None)
def test_what_is_not_refused_has_every_line(pieces: list[str], data: st.DataObject) -> None:
    template = LIBRARY.find(data.draw(st.sampled_from(NAMES))).template
    document = Document.of("".join(pieces).encode())
    proposal = asyncio.run(restructure(document, template, WordScorer(), FACTS))
    if refusal(proposal, template):
        return
    replaced = b"".join(document.data[s.start : s.end] for s in proposal.trace.replaced).decode()
    kept = Counter(_words(proposal.output.decode()))
    kept.update(_words(replaced))
    # a heading is numbered anew
    texts = [block.title if is_plain(block) else block.text for block in document.blocks]
    assert not Counter(_words("\n".join(texts))) - kept


def is_plain(block: Block) -> bool:
    return block.heading is not None and not block.heading.run_in


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text)


@pytest.mark.parametrize("name", OFFICIAL)
async def test_a_sample_of_an_official_document_is_put_in_order_again(name: str) -> None:
    folder = Path(str(files("clover_templates").joinpath("zh", "samples")))
    sample = folder.joinpath(f"{name}.md").read_bytes()
    template = LIBRARY.find(name).template
    proposal = await restructure(Document.of(sample), template, WordScorer(), FACTS)
    assert proposal.edits == ()
    # without its last lines they are holes, and the rest stays
    cut = b"\n".join(sample.rstrip().split(b"\n")[:-2]) + b"\n"
    proposal = await restructure(Document.of(cut), template, WordScorer(), FACTS)
    assert proposal.breaches == ()
    assert Counter(cut.split()) - Counter(proposal.output.split()) == Counter()


async def test_a_document_of_another_kind_is_none_without_its_title() -> None:
    note = "某站关于修缮屋顶的请示\n\n某局：\n\n请拨款3万元。\n"
    template = LIBRARY.find("批复").template
    proposal = await restructure(Document.of(note.encode()), template, WordScorer(), FACTS)
    assert proposal.breaches == ()
    assert proposal.output.decode().startswith(
        "【待补：发文机关】关于【待补：事由】的批复\n\n某局：\n"
    )


async def test_a_number_does_not_run_into_a_title_that_begins_with_one() -> None:
    note = "# 说明\n\n## 甲\n\n文。\n\n### 2.1 丙\n\n### 3 丁\n\n文。\n"
    template = LIBRARY.find("公告").template
    proposal = await restructure(Document.of(note.encode()), template, WordScorer(), FACTS)
    assert proposal.breaches == ()
    text = proposal.output.decode()
    assert "1. 2.1 丙\n" in text
    assert "2. 3 丁\n" in text


async def test_lines_of_an_official_document_find_their_places() -> None:
    lines = ["某局：", "现将有关事项请示如下。", "2026年5月1日", "某站关于修缮屋顶的请示", "某站"]
    note = "\n".join([*lines, "请拨款3万元。\n"])
    template = LIBRARY.find("请示").template
    proposal = await restructure(Document.of(note.encode()), template, WordScorer(), FACTS)
    assert proposal.breaches == ()
    text = proposal.output.decode()
    assert text.startswith("某站关于修缮屋顶的请示\n\n某局：\n")
    assert "\n妥否，请批示。\n" in text
    assert text.index("某站\n2026年5月1日\n") > text.index("请批示")
