"""A proposal taken section by section: whatever is chosen, nothing is lost or doubled."""

from __future__ import annotations

import asyncio
from datetime import datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clover_templates.builtins import Facts
from clover_templates.changes import UnknownSection, changes_of, part_of
from clover_templates.document import Document
from clover_templates.edit import applied
from clover_templates.library import Library
from clover_templates.restructure import Proposal, restructure
from clover_templates.scoring import WordScorer
from clover_templates.template import Template

FACTS = Facts(datetime(2026, 8, 1, 9, 30), "Untitled")
INCIDENT = Library.of().find("incident").template
NOTE = """\
# Outage

## Root causes

The disk was full.

## Impact

Users waited.

## Trigger

A log file grew.
"""


def proposed(text: str, template: Template = INCIDENT) -> Proposal:
    return asyncio.run(restructure(Document.of(text.encode()), template, WordScorer(), FACTS))


def sections(proposal: Proposal, template: Template = INCIDENT) -> list[str]:
    return list(dict.fromkeys(change.section for change in changes_of(proposal, template)))


def test_one_section_moves_and_the_others_stay_as_they_were() -> None:
    part = part_of(proposed(NOTE), INCIDENT, ["Root Causes"])
    assert part.breaches == ()
    assert part.output.decode() == (
        "# Outage\n\n## Impact\n\nUsers waited.\n\n## Root Causes\n\nThe disk was full.\n\n"
        "## Trigger\n\nA log file grew.\n"
    )


def test_a_missing_section_comes_in_alone() -> None:
    part = part_of(proposed(NOTE), INCIDENT, ["Resolution"])
    assert part.breaches == ()
    assert part.output.decode() == f"{NOTE}\n## Resolution\n\nTODO(Resolution)\n"


def test_a_section_that_is_in_no_change_is_named() -> None:
    with pytest.raises(UnknownSection, match='did you mean "Timeline"'):
        part_of(proposed(NOTE), INCIDENT, ["Timelime"])


def test_a_document_of_the_templates_shape_has_no_changes() -> None:
    once = proposed(NOTE)
    assert changes_of(proposed(once.output.decode()), INCIDENT) == ()


def test_what_marks_a_heading_goes_with_it() -> None:
    minutes = Library.of().find("minutes").template
    note = "Part\n---\n\n## Impact\n## Impact\nThe disk was full on 3 May. Nobody knew.\n\n"
    proposal = proposed(note, minutes)
    for section in sections(proposal, minutes):
        part = part_of(proposal, minutes, [section])
        assert part.breaches == ()
        assert part.output.count(b"Impact") == 2


PIECES = st.sampled_from(
    [
        "# One\n\n",
        "## Impact\n",
        "## Root causes\n\n",
        "Part\n---\n\n",
        "The disk was full on 3 May. Nobody knew.\n\n",
        "Users saw an impact in the summary.\n\n",
        "- a\n- b\n\n",
        "| a | b |\n|---|---|\n| 1 | 2 |\n\n",
        "```sh\n# no heading\n```\n\n",
        "> quoted users\n\n",
        "一、基本情况\n\n",
        "\n",
        "no end",
    ]
)
TEMPLATES = st.sampled_from(["incident", "adr", "readme", "minutes", "工作总结", "请示"])


@given(st.lists(PIECES, max_size=10), TEMPLATES, st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None)
def test_any_choice_of_sections_loses_nothing(pieces: list[str], name: str, rng: object) -> None:
    import random

    assert isinstance(rng, random.Random)
    template = Library.of().find(name).template
    for ending in ("\n", "\r\n"):
        proposal = proposed("".join(pieces).replace("\n", ending), template)
        changes = changes_of(proposal, template)
        edits = [change.edit for change in changes]
        assert applied(proposal.source.data, edits) == proposal.output
        known = sections(proposal, template)
        chosen = rng.sample(known, rng.randint(0, len(known)))
        part = part_of(proposal, template, chosen)
        assert part.breaches == ()
        own = [change.edit for change in changes if change.section in chosen]
        assert applied(proposal.source.data, own) == part.output
    assert part_of(proposal, template, known).output == proposal.output
