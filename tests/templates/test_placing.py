"""One assignment for the whole document: scores first, the template's order where they are even."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from clover_templates.document import Document
from clover_templates.places import Place, Places
from clover_templates.placing import place
from clover_templates.portions import portions_of
from clover_templates.scoring import Scores
from clover_templates.template import Template
from clover_templates.template_reader import read_template

PLACES = Places(
    read_template("# {{title}}\n\n## One\n\n## Two\n\n## Three\n\n## Four\n", "t").template
)


@dataclass(frozen=True, slots=True)
class Given:
    """A scorer with its answer ready."""

    rows: Scores

    async def scores(
        self, template: Template, places: Sequence[Place], texts: Sequence[str]
    ) -> Scores:
        return self.rows


async def placed(*rows: tuple[float, ...]) -> list[str | None]:
    """The sections that portions with these scores for One, Two … come to stand in."""
    text = "\n\n".join(f"Text {number}." for number in range(len(rows)))
    portions = portions_of(Document.of(text.encode()), PLACES).all
    found = await place(portions, PLACES, Given([[*row, *[0.0] * (4 - len(row))] for row in rows]))
    return [one.place.section.label if one.place else None for one in found]


async def test_what_is_clear_stands_where_it_fits_in_any_order() -> None:
    rows = (0, 0, 9), (9, 0, 0), (0, 9, 0)
    assert await placed(*rows) == ["Three", "One", "Two"]


async def test_the_order_decides_what_scores_leave_open() -> None:
    even = (0.0, 4.0, 4.0)
    assert await placed((9, 0, 0), even, (9, 0, 0)) == ["One", "Two", "One"]
    assert await placed((0, 0, 9), even, (0, 0, 9)) == ["Three", "Three", "Three"]
    assert await placed((4, 4, 0), (0, 0, 9)) == ["Two", "Three"]
    assert await placed((0, 9, 0), (4, 0, 0, 4)) == ["Two", "Four"]
    # and what they say with little force
    assert await placed((0, 0, 9), (0, 4.2, 4), (0, 0, 9)) == ["Three", "Three", "Three"]


async def test_two_places_about_as_good_are_none() -> None:
    assert await placed((5, 5, 0)) == [None]
    assert await placed((5, 4, 0)) == ["One"]


@pytest.mark.parametrize("around", [(9, 0, 0), (0, 9, 0), (0, 0, 9)])
async def test_the_order_alone_places_nothing(around: tuple[float, ...]) -> None:
    assert (await placed(around, (0, 0, 0), around))[1] is None


async def test_a_portion_with_one_place_needs_no_score() -> None:
    text = "## One\n\nText.\n"
    portions = portions_of(Document.of(text.encode()), PLACES).all
    found = await place(portions, PLACES, Given([]))
    assert [one.place and one.place.section.label for one in found] == ["One"]
