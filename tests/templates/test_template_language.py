"""What an editor shows in a template file."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clover_templates.settings_reader import DOCUMENT_SETTINGS, SLOT_SETTINGS
from clover_templates.template_findings import Code
from clover_templates.template_language import complete, diagnose, hover, texts
from clover_templates.template_settings import BUILTINS

TEMPLATE = """\
# {{title}}
## Cause <!-- hint: the change --> <!-- optional -->
{{cause}}
## Links
<!-- clover
lang: en
cause: {mode: rewrite, max: 4 sentences, aliases: [Why]}
Links: {hint: where}
-->
"""


def at(text: str) -> tuple[str, int]:
    """A text and the offset of its `^`, which is taken out."""
    offset = text.index("^")
    return text[:offset] + text[offset + 1 :], offset


def offered(text: str) -> dict[str, str]:
    return {one.label: one.insert for one in complete(*at(text))}


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("{{title", "the title of the document"),
        ("{{cause", "the change; rewrite; at most 4 sentences; from Why"),
        ("<!-- hint", "says in words what belongs into the section"),
        ("<!-- optional", "may be left out"),
        ("lang", "`en` or `zh`"),
        ("mode", "a model may rephrase it"),
        ("cause: {", "at most 4 sentences"),
        ("Links: {", "where"),
    ],
)
def test_hover(word: str, said: str) -> None:
    start = TEMPLATE.index(word)
    found = hover(TEMPLATE, start + 1)
    assert found is not None
    assert said in found.markdown
    assert found.start <= start + 1 < found.end


@pytest.mark.parametrize("word", ["Cause", "## L", "rewrite"])
def test_nothing_is_said_about_plain_text(word: str) -> None:
    assert hover(TEMPLATE, TEMPLATE.index(word)) is None


def test_slots_are_offered_behind_braces() -> None:
    assert offered(TEMPLATE.replace("## Links", "{{^")) == {
        "cause": "cause}}",
        **{name: f"{name}}}}}" for name in ("date", "time", "title", "n")},
    }
    assert offered(TEMPLATE.replace("## Links", "{{ca^}}")) == {"cause": "cause"}
    assert offered("\\{{^") == {}


def test_flags_are_offered_in_a_comment() -> None:
    assert offered("# A <!-- re^") == {"repeat": "repeat -->"}
    assert offered("# A <!-- re^ -->") == {"repeat": "repeat"}


def test_settings_and_their_values_are_offered() -> None:
    keys = offered(TEMPLATE.replace("lang: en", "^"))
    assert {"cause", "Links", "lang", "title"} <= set(keys)
    assert offered(TEMPLATE.replace("lang: en", "ca^")) == {"cause": "cause: "}
    inside = offered(TEMPLATE.replace("mode: rewrite, ", "^"))
    assert set(inside) == set(SLOT_SETTINGS)
    assert offered(TEMPLATE.replace("rewrite", "w^")) == {"write": "write"}
    assert offered(TEMPLATE.replace("mode: rewrite", "mode: rewrite, req^")) == {
        "required": "required: "
    }


def test_nothing_is_offered_in_text() -> None:
    assert offered("# A\ntext ^") == {}
    assert offered(TEMPLATE + "^") == {}


def test_there_is_a_text_about_everything_the_reader_knows() -> None:
    assert set(texts()["slot"]) == set(SLOT_SETTINGS)
    assert set(texts()["document"]) == set(DOCUMENT_SETTINGS)
    assert set(texts()["builtin"]) == set(BUILTINS)


def test_values_that_are_offered_are_right() -> None:
    for name in SLOT_SETTINGS:
        for value in texts()["values"].get(name, ()):
            text = f"# A\n- {{{{a}}}}\n<!-- clover\na: {{{name}: {value}}}\n-->\n"
            assert diagnose(text) == ()
    for name in DOCUMENT_SETTINGS:
        for value in texts()["values"].get(name, ()):
            assert diagnose(f"# A\n<!-- clover\n{name}: {value}\n-->\n") == ()


def test_findings_are_those_of_the_reader() -> None:
    assert [found.code for found in diagnose("# {{a\n")] == [Code.T04]


@given(st.lists(st.sampled_from(list(TEMPLATE)), max_size=200).map("".join), st.integers(0, 200))
def test_nothing_raises(text: str, offset: int) -> None:
    where = min(offset, len(text))
    hover(text, where)
    for one in complete(text, where):
        assert 0 <= one.start <= one.end == where


@given(st.integers(0, len(TEMPLATE)))
def test_every_place_of_a_template_can_be_asked_about(offset: int) -> None:
    hover(TEMPLATE, offset)
    complete(TEMPLATE, offset)
    complete(TEMPLATE[:offset], offset)
