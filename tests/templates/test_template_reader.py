"""Templates are read to a tree that joins back to their text, and each fault has its code."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from clover_templates.template import (
    Expected,
    Literal,
    Note,
    Section,
    Slot,
    Template,
    Unit,
    UnitKind,
    hint_line,
)
from clover_templates.template_reader import read_template
from clover_templates.template_settings import (
    Format,
    FormatKind,
    Headings,
    Leftover,
    Limit,
    Measure,
    Missing,
    Mode,
    Numbering,
    Repeat,
)

# what the reader looks at, so that it meets often
PIECES = st.sampled_from(
    [
        *(
            "{{a}}",
            "{{b}}",
            "{{date:YYYY}}",
            "{{",
            "}}",
            "\\{{",
            "{{{",
            "{{a b}}",
            "${{c}}",
            "$",
            "$$",
        ),
        *(
            "<!-- hint: a\n# b\n\n- c -->",
            "<!-- clover\n\n一、x\n",
            "- {{y}} <!-- hint: d\n\ne -->",
        ),
        *("# ", "## ", "### ", "\n", "\n\n", "\r\n", "\r", "===\n", "---\n", "text ", "    ", "\t"),
        *("<!-- optional -->", "<!-- repeat 2..3 -->", "<!-- hint: x -->", "<!-- toc -->", "<!--"),
        *(
            "<!-- clover\n",
            "-->",
            "a: {required: true}\n",
            "numbering: gongwen\n",
            "*a: &b [",
            ": ",
        ),
        *(
            "一、",
            "（一）",
            "1.",
            "（1）",
            "特此通知。",
            "附件：{{n}}.{{c}}",
            "> q",
            "_it_",
            "- {{i}}",
        ),
        *(
            "| a |\n|---|\n| {{x}} |\n",
            "`{{c}}`",
            "```\n",
            "<% x %>",
            "\ud83d",
            "\0",
            "\u2028",
            "🙂",
        ),
    ]
)
TEXTS = st.lists(PIECES, max_size=30).map("".join) | st.text()

INCIDENT = """\
---
status: {{status}}
when: {{date}}
---
# {{title}} outage

## What people saw <!-- verbatim -->
{{impact}}

## Timeline
| UTC | Event |
|---|---|
| {{t}} | {{event}} |

## Why it happened <!-- hint: the change or condition, not a person -->
{{cause}}

## Lucky breaks <!-- optional -->
{{luck}}

## Follow-ups
- [ ] {{action}} (@{{owner}})
<!-- clover
status: {one of: [open, fixed, watching]}
cause: {mode: rewrite, max: 4 sentences, required: true, aliases: [Root cause, 原因]}
owner: {missing: hole}
-->
"""
REQUEST = """\
{{发文机关}}关于{{事由}}的请示

{{主送机关}}：

{{缘由}}
一、{{请示事项}}
二、{{理由与测算}} <!-- optional -->
妥否，请批示。

附件：{{n}}.{{附件名称}}

{{发文机关}}
{{成文日期}}
<!-- clover
numbering: gongwen
请示事项: {required: true, hint: 一文一事}
主送机关: {format: '^[^、，,]+$'}
成文日期: {format: 'YYYY年M月D日', missing: hole}
附件名称: {repeat: 0.., format: '[^。；]$'}
-->
"""
NOTE = """\
# {{title}}
## 要点
- {{point}}
## 例子 <!-- optional -->
## 还没懂的
## 相关
[[{{link}}]]
<!-- clover
point: {mode: rewrite, max: 40 chars}
link: {one of: vault}
-->
"""


def good(text: str) -> Template:
    reading = read_template(text, "note")
    assert reading.findings == ()
    return reading.template


def shown(template: Template) -> str:
    """What a document gets, slots by their names."""
    texts = (
        piece.text if isinstance(piece, Literal) else f"<{piece.name}>"
        for piece in template.pieces()
        if not isinstance(piece, Note)
    )
    return "".join(texts)


def section(template: Template, label: str) -> Section:
    return next(found for found in template.walk() if found.label == label)


def test_front_matter_is_text_with_slots_and_never_yaml() -> None:
    template = good(INCIDENT)
    names = [piece.name for piece in template.front_matter if isinstance(piece, Slot)]
    assert names == ["status", "date"]
    assert template.slots["status"].one_of == ("open", "fixed", "watching")


def test_what_is_put_out_is_the_text_without_comments() -> None:
    assert (
        shown(good(INCIDENT))
        == """\
---
status: <status>
when: <date>
---
# <title> outage

## What people saw
<impact>

## Timeline
| UTC | Event |
|---|---|
| <t> | <event> |

## Why it happened
<cause>

## Lucky breaks
<luck>

## Follow-ups
- [ ] <action> (@<owner>)
"""
    )


def test_sections_are_a_tree_with_what_is_said_about_them() -> None:
    template = good(INCIDENT)
    (top,) = (found for found in template.sections if found.level)
    assert [below.label for below in top.sections] == [
        "What people saw",
        "Timeline",
        "Why it happened",
        "Lucky breaks",
        "Follow-ups",
    ]
    assert section(template, "What people saw").verbatim
    verbatim = read_template(INCIDENT + "<!-- clover\nimpact: {mode: write}\n-->\n").template
    assert verbatim.slots["impact"].mode is Mode.VERBATIM
    assert section(template, "Lucky breaks").optional
    cause = section(template, "Why it happened")
    assert cause.hint == "the change or condition, not a person"
    assert cause.aliases == ("Root cause", "原因")
    assert hint_line(cause) == "## Why it happened (the change or condition, not a person)"
    assert template.slots["cause"].hint == cause.hint
    assert hint_line(template.slots["cause"]) == "## cause (the change or condition, not a person)"
    assert template.kind_line == "# note"


def test_the_expected_outline_is_plain_data() -> None:
    assert good(INCIDENT).expected_outline()[:3] == (
        Expected(1, None, 1, 1, False),
        Expected(2, "What people saw", 1, 1, False),
        Expected(2, "Timeline", 1, 1, False),
    )
    assert good(INCIDENT).expected_outline()[4] == Expected(2, "Lucky breaks", 0, 1, True)


def test_slots_have_typed_settings() -> None:
    slots = good(INCIDENT).slots
    assert slots["cause"].mode is Mode.REWRITE
    assert slots["cause"].maximum == Limit(4, Measure.SENTENCES)
    assert slots["cause"].required
    assert slots["cause"].line == 16
    assert slots["owner"].missing is Missing.HOLE
    assert slots["impact"].mode is Mode.VERBATIM
    assert "title" not in slots
    assert good(NOTE).slots["link"].from_vault


def test_the_only_row_and_the_only_item_are_repeated() -> None:
    template = good(INCIDENT)
    (row,) = section(template, "Timeline").units
    assert (row.kind, [slot.name for slot in row.slots]) == (UnitKind.ROW, ["t", "event"])
    (item,) = section(template, "Follow-ups").units
    assert (item.kind, item.repeat) == (UnitKind.ITEM, Repeat(1, None))
    assert [slot.name for slot in item.slots] == ["action", "owner"]
    two = good("# A\n- {{x}}\n- {{y}}\n")
    assert section(two, "A").units == ()


def test_settings_may_follow_a_table_at_once() -> None:
    template = good("# A\n| a |\n|---|\n| {{x}} |\n<!-- clover\nx: {repeat: 2..3}\n-->\n")
    (row,) = section(template, "A").units
    assert (row.kind, row.repeat) == (UnitKind.ROW, Repeat(2, 3))


def test_a_heading_with_a_slot_is_repeated_unless_it_is_the_title() -> None:
    template = good("# {{name}}\n## {{option}}\n### {{third}} <!-- repeat 2..5 -->\n{{x}}\n")
    assert [found.repeat for found in template.walk()] == [
        Repeat(1, 1),
        Repeat(1, None),
        Repeat(2, 5),
    ]


def test_document_numbering_makes_sections_and_a_closing() -> None:
    template = good(REQUEST)
    assert template.numbering is Numbering.GONGWEN
    assert [(s.level, s.marker, s.label) for s in template.walk()] == [
        (0, "", ""),
        (1, "一、", "请示事项"),
        (1, "二、", "理由与测算"),
        (0, "", ""),
    ]
    assert [section.optional for section in template.sections] == [False, False, True, False]
    closing = template.sections[-1]
    assert isinstance(closing.body[0], Literal)
    assert closing.body[0].text == "妥否，请批示。\n\n"
    (line,) = closing.units
    assert line.kind is UnitKind.LINE
    assert [piece.text for piece in line.lead if isinstance(piece, Literal)] == ["附件："]
    assert [slot.name for slot in line.slots] == ["n", "附件名称"]
    assert line.repeat == Repeat(0, None)
    assert template.slots["成文日期"].format == Format(FormatKind.DATE, "YYYY年M月D日")
    assert template.slots["主送机关"].format == Format(FormatKind.PATTERN, "^[^、，,]+$")


def test_attachments_and_comments_are_no_sections() -> None:
    template = good("一、甲\n{{a}}\n\n附件：\n1.{{b}}\n")
    assert [(found.level, found.label) for found in template.walk()] == [(1, "甲"), (0, "")]
    template = good("一、甲\n<!-- no\n\n二、乙\n-->\n{{a}}\n<!-- clover\n\nlang: en\n-->\n")
    assert [(found.level, found.label) for found in template.walk()] == [(1, "甲")]


def test_numbering_may_be_said_where_it_cannot_be_seen() -> None:
    text = "# 甲\n{{a}}\n一、乙\n{{b}}\n<!-- clover\nnumbering: gongwen\n-->\n"
    assert [found.label for found in good(text).walk() if found.level] == ["乙"]
    assert [found.level for found in good("# A\n<!-- clover\nnumbering: none\n-->\n").walk()] == [0]


def test_all_four_levels_of_numbering_nest() -> None:
    template = good("一、甲\n（一）乙\n1.丙\n（1）丁\n二、戊\n")
    first, second = template.sections
    assert [(s.level, s.label) for s in first.walk()] == [
        (1, "甲"),
        (2, "乙"),
        (3, "丙"),
        (4, "丁"),
    ]
    assert second.label == "戊"


def test_a_section_without_a_slot_takes_the_text_under_its_heading() -> None:
    template = good(NOTE)
    (slot,) = section(template, "例子").slots
    assert slot.implicit
    assert slot.start == slot.end
    assert shown(template) == (
        "# <title>\n## 要点\n- <point>\n## 例子\n<例子>\n## 还没懂的\n<还没懂的>\n"
        "## 相关\n[[<link>]]\n"
    )
    assert template.slots["例子"].implicit


def test_blank_lines_around_such_text_are_those_of_the_template() -> None:
    assert shown(good("# A\n\n## B\n\n## C")) == "# A\n\n## B\n\n<B>\n\n## C\n\n<C>\n"
    assert shown(good("## B\nFixed.\n## C\n")) == "## B\nFixed.\n\n<B>\n## C\n<C>\n"


def test_slots_of_equal_headings_have_names_of_their_own() -> None:
    reading = read_template("# A\n## Notes\n# B\n## Notes\n# Notes\n")
    assert list(reading.template.slots) == ["Notes", "B/Notes", "Notes 2"]


def test_a_template_of_headings_alone_may_say_hints_in_prose() -> None:
    template = good(
        "# Incident\n\n## Lead\n\n_Who leads\nthis_\n\n## Why\n\n> the reason\n> in words\n"
    )
    assert [found.hint for found in template.walk()] == [
        "",
        "Who leads this",
        "the reason in words",
    ]
    assert shown(template) == "# Incident\n\n## Lead\n\n<Lead>\n\n## Why\n\n<Why>\n"
    # with slots, italics are text
    assert "_Who_" in shown(good("# A\n_Who_\n\n{{x}}\n"))


def test_only_our_comments_are_consumed() -> None:
    text = "<!-- toc -->\n# A <!-- This is an optional element. Feel free to remove. -->\n{{x}}\n"
    template = good(text + "<!-- licence: free -->\n")
    assert section(template, "A").optional
    assert shown(template) == "<!-- toc -->\n# A\n<x>\n<!-- licence: free -->\n"


def test_comments_of_ours_leave_no_blank_lines() -> None:
    text = "# A\n\n<!-- hint: x -->\n\n{{y}}\n\nz <!-- hint: w -->\n\n<!-- clover\nlang: en\n-->\n"
    assert shown(good(text)) == "# A\n\n<y>\n\nz\n"


def test_front_matter_hides_what_looks_like_headings() -> None:
    template = good("---\n# a: {{b}}\n---\n# A\n{{c}}\n")
    assert [found.label for found in template.walk()] == ["A"]
    # a rule is none
    assert [s.label for s in good("---\n\n# A\n\n---\n{{c}}\n").walk()] == ["", "A"]


def test_braces_that_are_no_slots_stay() -> None:
    template = good("# A\n\\{{x}} {{{y}}} `code` {z} {{ spaced }}\n")
    assert shown(template) == "# A\n{{x}} {{{y}}} `code` {z} <spaced>\n"


def test_line_ends_of_the_template_are_not_those_of_the_document() -> None:
    template = good("# A\r\n{{x}}\r\n\r\n## B\r\n- {{y}}\r\n")
    assert shown(template) == "# A\n<x>\n\n## B\n- <y>\n"


def test_document_settings() -> None:
    settings = good(
        "# A\n<!-- clover\ntitle: Note, short\ndescription: one line\naliases: [n, 笔记]\n"
        "lang: zh\nleftover: refuse\nleftover heading: 其他\nmissing: drop\n"
        "headings: keep-source\n-->\n"
    ).settings
    assert (settings.title, settings.description) == ("Note, short", "one line")
    assert settings.aliases == ("n", "笔记")
    assert settings.leftover is Leftover.REFUSE
    assert settings.unplaced == "其他"
    assert settings.missing is Missing.DROP
    assert settings.headings is Headings.KEEP_SOURCE
    assert good("# A\n").settings.unplaced == "Unplaced"
    assert good("# A\n").settings.hole("Impact") == "TODO(Impact)"
    assert good("# 甲\n").settings.unplaced == "未归类内容"
    assert good("# 甲\n").settings.hole("影响") == "【待补：影响】"


def test_yaml_words_stay_text() -> None:
    slots = good("# A\n{{x}}\n<!-- clover\nx: {one of: [yes, no, 1.0, null]}\n-->\n").slots
    assert slots["x"].one_of == ("yes", "no", "1.0", "null")


@example("一、x\n\n<!-- hint: a -->\n\n")  # a blank line that begins the closing part
@given(TEXTS)
def test_reading_raises_nothing_and_loses_nothing(text: str) -> None:
    reading = read_template(text, "any")
    at = 0
    for piece in reading.template.pieces():
        assert piece.start == at
        at = piece.end
    assert at == len(text)
    for found in reading.findings:
        assert 0 <= found.start <= found.end <= len(text)
        assert found.shown("any.md", text)


@given(TEXTS)
def test_escaped_braces_are_text(text: str) -> None:
    plain = text.replace("`", "").replace("$", "").replace("\\", "").replace("<!--", "")
    template = read_template(f"text {plain}".replace("{{", "\\{{")).template
    assert not any(isinstance(p, Slot) and not p.implicit for p in template.pieces())


@given(TEXTS)
def test_a_template_without_comments_and_escapes_is_put_out_as_it_is(text: str) -> None:
    plain = text.replace("<!--", "").replace("\\", "").replace("\r", "")
    template = read_template(f"{{{{first}}}}\n{plain}").template
    if not any(slot.implicit for slot in template.slots.values()):
        texts = (
            piece.text if isinstance(piece, Literal) else template.text[piece.start : piece.end]
            for piece in template.pieces()
        )
        assert "".join(texts) == template.text


def test_units_hold_their_pieces() -> None:
    for found in good(INCIDENT).walk():
        for part in found.body:
            if isinstance(part, Unit):
                assert part.start == (*part.lead, *part.pieces)[0].start
                assert part.end == part.pieces[-1].end
