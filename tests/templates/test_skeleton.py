"""What a section looks like that nothing is there for yet."""

from __future__ import annotations

import pytest

from clover_templates.conforming import findings
from clover_templates.document import Document
from clover_templates.library import Library
from clover_templates.skeleton import skeleton
from clover_templates.template_findings import Code
from clover_templates.template_reader import read_template

TEXT = """\
# {{title}}

## Impact <!-- hint: who was hit -->

## Actions
| What | Who |
|---|---|
| {{action}} | {{owner}} |

### Later <!-- optional -->

### Now
"""


def test_a_hole_stands_in_each_slot_and_optional_sections_are_left_out() -> None:
    template = read_template(TEXT, "report").template
    _, impact, actions, *_ = template.walk()
    assert skeleton(impact, template) == "## Impact\n\nTODO(Impact)\n"
    assert skeleton(actions, template) == (
        "## Actions\n\n| What | Who |\n|---|---|\n| TODO(action) | TODO(owner) |\n\n"
        "### Now\n\nTODO(Now)\n"
    )


@pytest.mark.parametrize("name", [entry.template.name for entry in Library.of().entries()])
def test_nothing_but_holes_is_wanting_in_a_skeleton(name: str) -> None:
    template = Library.of().find(name).template
    for section in template.walk():
        if section.level == 2 and section.heading:
            found = findings(Document.of(skeleton(section, template).encode()), template)
            missing = [each for each in found if each.code is Code.D01]
            assert not any(f'"{section.label}"' in each.message for each in missing)
