"""A template made of a document has its shape and none of its text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from clover_templates.conformance import check_document
from clover_templates.derive import derive
from clover_templates.library import Library
from clover_templates.template_findings import Code, errors_of
from clover_templates.template_reader import read_template
from tests.support.outlines import outline

MINUTES = """\
---
date: 2026-05-04
people: [a, b]
---
# Crew meeting of 4 May

We met in the boat house.

## Present

- one
- two

## Money

| Item | Cost |
|:--|--:|
| rope | 12 |
| {{paint}} | 30 |

## Talk

Long and loud, see `{{log}}`.

### Next steps {{soon}}

- [ ] buy rope
"""
TEXTS = st.lists(
    st.sampled_from(
        [
            *("# ", "## ", "### ", "\n", "\n\n", "\r\n", "text ", "{{a}}", "{{", "\\{{", "`{{c}}`"),
            *(
                "<!-- optional -->",
                "<!-- repeat -->",
                "<!-- hint: x -->",
                "<!--",
                "-->",
                "<!-- clover",
            ),
            *(
                "| a |\n|---|\n| x |\n",
                "| {{ | b |\n|--|--|\n",
                "- item\n",
                "- [ ] do\n",
                "1. one\n",
            ),
            *(
                "---\n",
                "title: {{x}}\n",
                "a b: c\n",
                "一、甲\n",
                "（一）乙\n",
                "特此通知。\n",
                "\ud83d",
            ),
            *("===\n", "[x]", "<% y %>", "    ", "\t", "```\n", "\0", "***", "> "),
        ]
    ),
    max_size=30,
).map("".join)


def test_a_template_of_a_document() -> None:
    assert (
        derive(MINUTES, "Crew minutes")
        == """\
---
date: {{date}}
people: {{people}}
---
# {{title}}

{{crew_meeting_of_4_may}}

## Present

- {{present}}

## Money

| Item | Cost |
|:--|--:|
| {{item}} | {{cost}} |

## Talk

{{talk}}

### Next steps \\{{soon}}

- [ ] {{next_steps_soon}}

<!-- clover
title: "Crew minutes"
numbering: md
-->
"""
    )


def test_the_document_conforms_to_its_template() -> None:
    template = read_template(derive(MINUTES, "Crew minutes")).template
    text = MINUTES.replace("{{paint}}", "paint").replace("`{{log}}`", "the log")
    codes = {found.code for found in check_document(template, outline(text))}
    assert codes <= {Code.D07}


def test_official_documents_keep_their_numbers() -> None:
    text = "关于值守的通知\n\n各所：\n一、安排值守\n两人。\n（一）名单\n三人。\n特此通知。\n"
    template = read_template(derive(text, "值守通知")).template
    labels = [(s.marker, s.label) for s in template.walk() if s.level]
    assert labels == [("一、", "安排值守"), ("（一）", "名单")]


def test_a_heading_that_comes_again_is_one_section() -> None:
    text = "# A\n\n## B\n\nx\n\n## B\n\ny\n"
    assert derive(text, "t").count("## B") == 1


@given(TEXTS | st.text(), st.text())
def test_a_derived_template_has_no_errors(text: str, title: str) -> None:
    derived = derive(text, title)
    assert errors_of(read_template(derived).findings) == ()


def test_samples_make_templates_that_are_used() -> None:
    for entry in Library.of().entries():
        sample = (entry.path.parent / "samples" / entry.path.name).read_text(encoding="utf-8")
        template = read_template(derive(sample, entry.template.title)).template
        headings = {section.label for section in template.walk() if section.heading}
        fixed = {p.heading for p in outline(sample, template.numbering) if p.level > 1}
        assert fixed <= headings
