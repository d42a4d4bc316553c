"""Where sentences end."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given

from clover_templates.sentences import sentence_ends
from tests.support.documents import TEXTS

WRAPPED = (
    "The archive keeps every snapshot of the last thirty days on a second disk in\n"
    "Dresden and copies the oldest ones to tape before they are deleted from there,\n"
    "Mondays at noon. Nobody has to do this by hand"
)


def sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in pairwise([0, *sentence_ends(text)])]


@given(TEXTS)
def test_sentences_join_to_the_text(text: str) -> None:
    assert "".join(sentences(text)) == text
    assert all(sentences(text))
    assert sentence_ends(text) == sorted(set(sentence_ends(text)))


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("", []),
        ("One. Two? Three!", ["One. ", "Two? ", "Three!"]),
        ("It said “Stop.” Then it ran.", ["It said “Stop.” ", "Then it ran."]),
        ('He left (at 5 p.m.) early. "Why?" She knew.', None),
        ("See e.g. Smith et al. Later work, i.e. Jones vs. Doe, Fig. 3.", None),
        (
            "Version 2.4.1 of foo.bar is out. Use it.",
            ["Version 2.4.1 of foo.bar is out. ", "Use it."],
        ),
        ("Wait... what? no. Yes.", ["Wait... what? no. ", "Yes."]),
        ("The U.S. Army came. J. Doe went.", ["The U.S. Army came. ", "J. Doe went."]),
        ("In May. 3. June", ["In May. 3. ", "June"]),
        ("In May. 30 came.", ["In May. ", "30 came."]),
        ("Run `a. B. c` now. Then [c. D](e.F). End.", None),
        ("甲。乙！丙？丁；戊……己", ["甲。", "乙！", "丙？", "丁；", "戊……", "己"]),
        ("他说：“好。走吧。”然后走了。", ["他说：“好。走吧。”然后走了。"]),
        ("“走吧。”\n他走了。", ["“走吧。”\n", "他走了。"]),
        ("见附件（含说明。）。《一。二》好。", ["见附件（含说明。）。", "《一。二》好。"]),
        ("甲。 乙。\n", ["甲。 ", "乙。\n"]),
        ("中文。English one. 再来", ["中文。", "English one. ", "再来"]),
        # line ends: meant, wrapped, hard, and lists
        ("负责人：张某\n电话：12", ["负责人：张某\n", "电话：12"]),
        ("Impact: 5 users\nOwner: Ann", ["Impact: 5 users\n", "Owner: Ann"]),
        ("it goes\non here", ["it goes\non here"]),
        ("it goes  \non here", ["it goes  \n", "on here"]),
        ("it goes\\\non here", ["it goes\\\n", "on here"]),
        ("some:\n- one\n- two", ["some:\n", "- one\n", "- two"]),
        ("One.\r\nTwo.\rThree.", ["One.\r\n", "Two.\r", "Three."]),
        ("  \n One.", ["  \n One."]),
    ],
)
def test_ends(text: str, cut: list[str] | None) -> None:
    wanted = cut
    if cut is None:
        wanted = {
            "H": ["He left (at 5 p.m.) early. ", '"Why?" ', "She knew."],
            "S": ["See e.g. Smith et al. Later work, i.e. Jones vs. Doe, Fig. 3."],
            "R": ["Run `a. B. c` now. ", "Then [c. D](e.F). ", "End."],
        }[text[0]]
    assert sentences(text) == wanted


def test_a_wrapped_paragraph_is_cut_at_its_sentences_alone() -> None:
    assert [text.replace("\n", " ")[-7:] for text in sentences(WRAPPED)] == [" noon. ", "by hand"]
