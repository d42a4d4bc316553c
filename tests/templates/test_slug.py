"""The anchors of headings, by each page's own rule."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clover_templates.slug import Style, anchors

# 34 kinds of characters by Unicode 13.0, each a heading and the anchor github-slugger 2.0 gives it
CATEGORIES: dict[str, list[str]] = json.loads(
    Path(__file__).with_name("data").joinpath("anchor_categories.json").read_text("utf-8")
)
# the other 44 cases of github-slugger's own tests by what they are about: one document
DOCUMENT = [
    ("kilo", "kilo"),
    ("kilo", "kilo-1"),
    ("limaMikeNovember", "limamikenovember"),
    ("__init__", "__init__"),
    ("__init__", "__init__-1"),
    ("toString", "tostring"),
    ("oscar", "oscar"),
    ("oscar", "oscar-1"),
    ("oscar 1", "oscar-1-1"),
    ("oscar-1", "oscar-1-2"),
    ("oscar", "oscar-2"),
    ("papa-1", "papa-1"),
    ("papa", "papa"),
    ("papa", "papa-2"),
    ("before - after", "before---after"),
    ("left _ right", "left-_-right"),
    ("read me.txt", "read-metxt"),
    ("queue.push_all(queue, items [, done])", "queuepush_allqueue-items--done"),
    (" ", "-"),
    (" q", "-q"),
    ("q ", "q-"),
    (" q ", "-q-"),
    ("-q-", "-q--1"),
    ("writer’s block", "writers-block"),
    ("romeo", "romeo"),
    ("romeo", "romeo-1"),
    ("romeo", "romeo-2"),
    ("we ♥ notes", "we--notes"),
    ("half-done", "half-done"),
    ("from–to", "fromto"),
    ("from—to", "fromto-1"),
    ("🍀 luck", "-luck"),
    ("🍀-🍀 luck", "--luck"),
    ("🍀_🍀 luck", "_-luck"),
    ("🍀 - luck", "---luck"),
    (":leaves: - luck", "leaves---luck"),
    ("Здравствуй", "здравствуй"),
    ("Список заметок", "список-заметок"),
    ("Список notes 笔记", "список-notes-笔记"),
    (":ok: no sign", "ok-no-sign"),
    (":ok_hand: one", "ok_hand-one"),
    (":ok_hand::leaves: two", "ok_handleaves-two"),
    (":ok_hand: :leaves: two", "ok_hand-leaves-two"),
    ("日々の記録〇番ー", "日々の記録〇番ー"),
]


@pytest.mark.parametrize("category", CATEGORIES)
def test_each_kind_of_character_is_kept_or_deleted_as_on_github(category: str) -> None:
    text, anchor = CATEGORIES[category]
    assert anchors([text], Style.GITHUB) == [anchor]


def test_one_document_on_github() -> None:
    assert len(CATEGORIES) + len(DOCUMENT) == 78
    found = anchors([text for text, _ in DOCUMENT], Style.GITHUB)
    assert list(zip((text for text, _ in DOCUMENT), found, strict=True)) == DOCUMENT


@pytest.mark.parametrize(
    ("text", "github", "gitlab", "vscode"),
    [
        ("Foo & Bar", "foo--bar", "foo-bar", "foo--bar"),
        ("⚙️ 设置", "\ufe0f-设置", "\ufe0f-设置", "\ufe0f-设置"),
        ("①第一步", "第一步", "第一步", "第一步"),
        ("（一）总体", "一总体", "一总体", "一总体"),
        ("a\u3000，？！、：（）・b", "ab", "ab", "ab"),
        ("！？", "", "", ""),
        (" padded ", "-padded-", "padded", "padded"),
        ("μ μm", "μ-μm", "μ-μm", "μ-μm"),
        ("2026", "2026", "anchor-2026", "2026"),
        ("٢٠٢٦", "٢٠٢٦", "٢٠٢٦", "٢٠٢٦"),
        ("二〇二六", "二〇二六", "二〇二六", "二〇二六"),
        ("Labels **(PREMIUM ONLY)**", "labels-premium-only", "labels", "labels-premium-only"),
        ("𝒳² ½", "𝒳-", "𝒳-", "𝒳-"),
        ("e\u0301te\u0301", "e\u0301te\u0301", "e\u0301te\u0301", "e\u0301te\u0301"),
    ],
)
def test_the_same_text_on_each_page(text: str, github: str, gitlab: str, vscode: str) -> None:
    assert anchors([text], Style.GITHUB) == [github]
    assert anchors([text], Style.GITLAB) == [gitlab]
    assert anchors([text], Style.VSCODE) == [vscode]


@pytest.mark.parametrize(
    ("style", "expected"),
    [
        (Style.GITHUB, ["foo", "foo-1", "foo-1-1", "foo-2", "", ""]),
        (Style.VSCODE, ["foo", "foo-1", "foo-1", "foo-2", "", ""]),
        (Style.GITLAB, ["foo", "foo-1", "foo-1", "foo-2", "", ""]),
    ],
)
def test_repeats_are_numbered_and_what_has_no_letters_has_no_anchor(
    style: Style, expected: list[str]
) -> None:
    assert anchors(["Foo", "foo", "Foo 1", "FOO", "!", "?"], style) == expected


@given(st.lists(st.sampled_from(["a", "a-1", "a 1", "A", "a-1-1", "b", "！"]), max_size=12))
def test_github_gives_no_anchor_twice(texts: list[str]) -> None:
    found = [anchor for anchor in anchors(texts, Style.GITHUB) if anchor]
    assert len(set(found)) == len(found)


def test_as_github_slugger_itself() -> None:
    texts = [text for text, _ in DOCUMENT] + [text for text, _ in CATEGORIES.values()]
    script = (
        "import('github-slugger').then(({default: Slugger}) => { const one = new Slugger();"
        " console.log(JSON.stringify(JSON.parse(process.argv[1]).map(t => one.slug(t)))) },"
        " () => process.exit(3))"
    )
    node = shutil.which("node")
    if node is None:
        pytest.skip("no node here")
    ran = subprocess.run(
        [node, "-e", script, json.dumps(texts)], capture_output=True, timeout=30, check=False
    )
    if ran.returncode == 3:
        pytest.skip("node has no github-slugger here: npm install github-slugger")
    assert json.loads(ran.stdout) == anchors(texts, Style.GITHUB)
