"""Tags of a note: what is one, where a note has some, and how others are added."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from clover_templates.edit import Edit, applied
from clover_templates.front_matter import front_matter
from clover_templates.tag_names import TagError, is_tag, tag_name
from clover_templates.tag_property import FrontMatterError
from clover_templates.tag_suggestions import suggest_tags
from clover_templates.tags import read_tags, tag_edit

BOM = "\ufeff"
NAMES = st.sampled_from(
    ["python", "Python", "项目/写作", "yes", "2026-11-30", "1e5", "-x", "🍀", "a_b"]
)
VALUES = st.sampled_from(
    [
        *("", " ", " []", " [a]", " [a, b]", " [ 'a', 'b' ]", ' ["a"]', " a", " a, b", " a b"),
        *(" 'a'", ' "a, b"', " null", " ~", " # none", " #a #b", " [a, # one\n  b]", " [a,]"),
        *("\n  - a", "\n- a\n- 'b' # two", '\n  - "a"\n\n  # then\n  - b', "\n    - a\n    -"),
        *(
            " [\n  a,\n  b,\n]",
            "\n  a",
            " |\n  a",
            " >\n  a",
            " *a",
            " &x [a]",
            " {a: b}",
            " [[a]]",
        ),
        *(" [a", " 'a", "\n  - a\n - b", "\n  - a: b", "\n  - [a]", " a\n  b", " !t a", " [a]x"),
    ]
)
OTHERS = st.sampled_from(
    ["", "title: {{title}}\n", "formtags: book\n", "# note\n", "x: |\n  tags: no\n", "a: 'b'\n"]
)


def tagged(text: str, *names: str) -> str:
    """The text with tags added, after a look at what a second run does."""
    source = text.encode()
    edit = tag_edit(source, names)
    result = applied(source, [edit] if edit else [])
    assert tag_edit(result, names) is None
    return result.decode()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("tags: [a, b]", "tags: [a, b, c, d]"),
        ("tags: [ a , b ]", "tags: [ a , b , c , d ]"),
        ("tags: ['a', 'b']", "tags: ['a', 'b', 'c', 'd']"),
        ('tags: [a, "b"] # my tags', 'tags: [a, "b", "c", "d"] # my tags'),
        ("tags: []", "tags: [c, d]"),
        ("tags: [a,]", "tags: [a, c, d,]"),
        ("tags: [\n  a,\n  b\n]", "tags: [\n  a,\n  b,\n  c,\n  d\n]"),
        ("tags: [\n  a\n]", "tags: [\n  a,\n  c,\n  d\n]"),
        ("tags:\n  - a\n  - b", "tags:\n  - a\n  - b\n  - c\n  - d"),
        ("tags:\n- a\nx: 1", "tags:\n- a\n- c\n- d\nx: 1"),
        (
            "tags:\n  -   'a' # one\n\n  # two\nx: 1",
            "tags:\n  -   'a' # one\n  -   'c'\n  -   'd'\n\n  # two\nx: 1",
        ),
        ("tags: a", "tags: [a, c, d]"),
        ("tags: 'a' # one", "tags: ['a', 'c', 'd'] # one"),
        ("tags: a, b", "tags: a, b, c, d"),
        ("tags: a b # two", "tags: a b c d # two"),
        ('tags: "a, b"', 'tags: "a, b, c, d"'),
        ("tags:", "tags:\n  - c\n  - d"),
        ("tags:  # none\nx: 1", "tags:  # none\n  - c\n  - d\nx: 1"),
        ("tags: #a #b", "tags: #a #b\n  - c\n  - d"),
        ("tags: null", "tags: [c, d]"),
        ("tag: a", "tag: [a, c, d]"),
        ("Tags: [a]", "Tags: [a, c, d]"),
        ('"tags": [a]', '"tags": [a, c, d]'),
        ("x: 1", "x: 1\ntags:\n  - c\n  - d"),
        ("formtags: [a]", "formtags: [a]\ntags:\n  - c\n  - d"),
        ("x: |\n  tags: [a]", "x: |\n  tags: [a]\ntags:\n  - c\n  - d"),
        ("when: {{date}}\ntags: [a]", "when: {{date}}\ntags: [a, c, d]"),
        ("tags: [C, d]", "tags: [C, d]"),
        ("tags: ['#a', c]", "tags: ['#a', c, d]"),
    ],
)
@pytest.mark.parametrize("eol", ["\n", "\r\n"])
@pytest.mark.parametrize("bom", ["", "\ufeff"])
def test_tags_are_added_in_the_style_of_those_there(
    before: str, after: str, eol: str, bom: str
) -> None:
    start, end = f"{bom}---\n", "\n---\n# A #no\n"
    expected = f"{start}{after}{end}".replace("\n", eol)
    assert tagged(f"{start}{before}{end}".replace("\n", eol), "c", "#d") == expected


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "---\ntags:\n  - c\n---\n"),
        ("text\n", "---\ntags:\n  - c\n---\n\ntext\n"),
        ("\n# A\n", "---\ntags:\n  - c\n---\n\n# A\n"),
        ("\ufefftext\n", "\ufeff---\ntags:\n  - c\n---\n\ntext\n"),
        ("---\n\nrule\n", "---\ntags:\n  - c\n---\n\n---\n\nrule\n"),
        ("---\n\na\n\n---\n", "---\ntags:\n  - c\n---\n\n---\n\na\n\n---\n"),
        ("---\nnever closed\n", "---\ntags:\n  - c\n---\n\n---\nnever closed\n"),
        ("---\n---\ntext\n", "---\ntags:\n  - c\n---\ntext\n"),
        ("---\nx: 1\n...\ntext", "---\nx: 1\ntags:\n  - c\n...\ntext"),
    ],
)
@pytest.mark.parametrize("eol", ["\n", "\r\n"])
def test_front_matter_is_made_where_none_is(before: str, after: str, eol: str) -> None:
    if "\n" not in before:
        eol = "\n"
    assert tagged(before.replace("\n", eol), "c") == after.replace("\n", eol)
    assert tag_edit(before.encode(), []) is None


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("---\nx: 1\ntags: |\n  a\n---\n", "3:1"),
        ("---\ntags: {a: b}\n---\n", "2:1"),
        ("---\ntags: *a\n---\n", "2:1"),
        ("---\ntags: &a [b]\n---\n", "2:1"),
        ("---\ntags: !a [b]\n---\n", "2:1"),
        ("---\ntags: [[a]]\n---\n", "2:1"),
        ("---\ntags: [a\n---\n", "2:1"),
        ("---\ntags: a\n  b\n---\n", "2:1"),
        ("---\ntags:\n  a: b\n---\n", "2:1"),
        ("---\ntags: [a]\nx: 1\ntags: [b]\n---\n", "4:1"),
        ("---\na sentence\n---\n", "1:1"),
        ("+++\ntags = ['a']\n+++\n", "1:1"),
    ],
)
def test_other_front_matter_is_refused_with_its_place(text: str, place: str) -> None:
    with pytest.raises(FrontMatterError, match=f"^{place}: "):
        tag_edit(text.encode(), ["c"])


@pytest.mark.parametrize(
    ("name", "written"),
    [
        *[(name, f'"{name}"') for name in ("yes", "No", "null", "2026-11-30", "1e5", "-x", "0x1f")],
        *[(name, name) for name in ("yesterday", "项目/写作", "🍀", "a_b", "v2", "2026年", "x-1")],
    ],
)
def test_what_yaml_would_take_for_something_else_is_quoted(name: str, written: str) -> None:
    assert tagged("---\ntags: [a]\n---\n", name) == f"---\ntags: [a, {written}]\n---\n"
    assert yaml.safe_load(f"[a, {written}]") == ["a", name]


@pytest.mark.parametrize(
    "name",
    ["a", "a1", "1a", "a-b", "a_b", "a/b", "项目", "🍀", "👨‍👩‍👧", "é", "e\u0301", "⚙️", "y1984"],
)
def test_what_is_a_tag(name: str) -> None:
    assert tag_name(f"#{name}") == tag_name(f" {name} ") == name


@pytest.mark.parametrize(
    "name",
    [
        "",
        "#",
        "1984",
        "19/84",
        "a b",
        "a,b",
        "a.b",
        "a#b",
        "a/",
        "/a",
        "a//b",
        "a，b",
        "a。",
        "a\nb",
        '"a"',
    ],
)
def test_what_is_no_tag(name: str) -> None:
    assert not is_tag(name)
    with pytest.raises(TagError, match="is no tag"):
        tag_edit(b"text", [name])


NOTE = """\
---
tags: [Python, '#lua', two words, 12, 项目/写作]
---
# Heading #one #python
##no #1984 a#no http://a.b/#no [x](#no) [[Note#no]] <a href=" #no"> `#no` \\#no
#二，其余 (#no) #three/four/ #five, #🍀
$x #no$ costs $5 #six and $6 <!-- #no -->

$$
#no
$$

```
#no
```

    #no
"""


@pytest.mark.parametrize("eol", ["\n", "\r\n"])
def test_a_note_has_the_tags_of_its_front_matter_and_its_prose(eol: str) -> None:
    expected = "Python lua 项目/写作 one 二 three/four five 🍀 six"
    assert " ".join(read_tags(NOTE.replace("\n", eol).encode())) == expected


def test_unreadable_front_matter_hides_no_tags_of_the_text() -> None:
    assert read_tags(b"---\ntags: {a: b}\n---\n#c\n") == ("c",)
    assert read_tags(b"+++\ntags = ['a']\n+++\n#c\n") == ("c",)


VOCABULARY = {
    "python": 9,
    "写作": 4,
    "诗": 1,
    "ml/deep-learning": 3,
    "ml": 2,
    "MachineLearning": 1,
    "meeting": 5,
    "garden": 7,
    "AI工具": 2,
    "work/notes": 1,
    "home/notes": 1,
}


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("# Python\nnotes on gardens", ["python", "garden", "home/notes", "work/notes"]),
        ("gardens and gardens, python once", ["garden", "python"]),
        ("pythonic, gardener, commeeting", []),
        ("今天的写作很顺，用AI工具和Python写诗", ["python", "写作", "AI工具"]),
        ("deep learning is ML", ["ml/deep-learning"]),
        ("deep thoughts, learning", []),
        ("machine learning, MachineLearning", ["MachineLearning"]),
        ("work notes", ["work/notes", "home/notes"]),
        ("---\ntags: [python]\n---\nPython garden", ["garden"]),
        ("#ml/x and ml, garden", ["garden"]),
        ("---\ntitle: python\n---\n", []),
        ("", []),
    ],
)
def test_tags_are_suggested_whose_words_stand_in_the_note(text: str, tags: list[str]) -> None:
    assert suggest_tags(text.encode(), VOCABULARY) == tags


def test_a_ranking_chooses_among_the_tags_in_use_alone() -> None:
    asked: list[str] = []

    def rank(text: str, names: object) -> list[float]:
        assert text == "about plants"
        assert isinstance(names, list)
        asked.extend(names)
        return [1.0 if name == "garden" else -len(name) for name in names]

    found = suggest_tags(b"---\ntags: [x]\n---\nabout plants", VOCABULARY, limit=2, rank=rank)
    assert found == ["garden", "诗"]
    assert set(asked) == set(VOCABULARY)


@given(
    OTHERS, VALUES, OTHERS, st.lists(NAMES, min_size=1, max_size=3), st.booleans(), st.booleans()
)
def test_nothing_but_the_tags_changes(
    above: str, value: str, below: str, names: list[str], crlf: bool, bom: bool
) -> None:
    text = f"{BOM * bom}---\n{above}tags:{value}\n{below}---\nbody #in\n"
    source = (text.replace("\n", "\r\n") if crlf else text).encode()
    try:
        edit = tag_edit(source, names)
    except FrontMatterError:
        return
    result = applied(source, [edit] if edit else [])
    assert tag_edit(result, names) is None
    assert {name.casefold() for name in names} <= {name.casefold() for name in read_tags(result)}
    assert set(read_tags(source)) <= set(read_tags(result))
    if edit:
        only_in_property(source, edit, above)
    if "{{" not in above + below:
        as_yaml_reads(source, result)


def only_in_property(source: bytes, edit: Edit, above: str) -> None:
    """The edit keeps what it replaces and stands in the lines of the property."""
    matter = front_matter(source)
    assert matter
    assert matter.start + len(above.encode()) <= edit.start <= edit.end <= matter.end
    gone = source[edit.start : edit.end].decode()
    assert gone in edit.text or gone in ("null", "~")


def as_yaml_reads(source: bytes, result: bytes) -> None:
    """Other properties are the same; tags are the old ones, then the new."""
    before, after = (
        yaml.safe_load(each.decode("utf-8-sig").split("---")[1]) for each in (source, result)
    )
    assert {**before, "tags": 0} == {**after, "tags": 0}
    old, new = (words(each["tags"]) for each in (before, after))
    assert new[: len(old)] == old
    assert all(isinstance(name, str) for name in new[len(old) :])


def words(value: object) -> list[object]:
    if isinstance(value, list):
        return [each for each in value if each is not None]
    return [*str(value).replace(",", " ").split()] if value is not None else []
