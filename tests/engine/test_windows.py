"""Where windows are cut, and the front matter that stays."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clover_engine.front_matter import MAX_BYTES, front_matter
from clover_engine.windows import PREFIX_BUDGET, SUFFIX_BUDGET, Windows


def size(text: str) -> int:
    """Bytes in UTF-8."""
    return len(text.encode("utf-8", "surrogatepass"))


def functions(count: int) -> str:
    """Functions of about 130 bytes, a blank line inside and two between them."""
    body = "    first = {0} + 1\n\n    second = compute(first, {0})\n    return second * first\n"
    return "\n\n".join(f"def function_{at}(x, y):\n{body.format(at)}" for at in range(count))


def note(count: int) -> str:
    """Sections of about 300 bytes: a heading and two paragraphs."""
    return "\n".join(
        f"## Section {at}\n\n{'Words of a first part. ' * 5}\n\n{'A second one follows. ' * 5}\n"
        for at in range(count)
    )


def chinese(count: int) -> str:
    """Paragraphs of about 200 bytes, a line each, indented as Chinese indents them."""
    return "".join(f"　　第{at}段：{'今天天气很好，我们去公园散步。' * 4}\n" for at in range(count))


def cut(prefix: str, suffix: str = "") -> tuple[str, str]:
    return Windows().cut("", prefix, suffix)


@pytest.mark.parametrize("extra", range(0, 140, 7))
def test_code_is_cut_between_functions(extra: int) -> None:
    text = functions(60)
    prefix, suffix = cut(text[: 5000 + extra], text[5000 + extra :])
    assert prefix.startswith("def function_")
    # up to the last line of a function, or the blank ones behind it
    assert suffix.rstrip("\n").endswith("return second * first")


@pytest.mark.parametrize("extra", range(0, 330, 17))
def test_a_note_is_cut_before_a_heading(extra: int) -> None:
    text = note(40)
    prefix, suffix = cut(text[: 6000 + extra], text[6000 + extra :])
    assert prefix.startswith("## Section")
    # its window holds few headings, but always the end of a paragraph
    assert "\n\n" in text[6000 + extra + len(suffix) - 1 :][:3]


@pytest.mark.parametrize("extra", range(0, 60, 5))
def test_chinese_is_cut_between_paragraphs(extra: int) -> None:
    text = chinese(80)
    prefix, suffix = cut(text[: 2400 + extra], text[2400 + extra :])
    assert prefix.startswith("　　第")
    assert suffix.endswith("。")


def test_a_closing_bracket_stays_with_what_it_closes() -> None:
    text = "".join(f"value_{at} = [\n    {at},\n]\n" for at in range(400))
    prefix, suffix = cut(text[:5000], text[5000:])
    assert prefix.startswith("value_")
    assert suffix.endswith("]")


lines = st.lists(st.integers(0, 900), min_size=20, max_size=60).map(
    lambda sizes: "\n".join("x" * size for size in sizes)
)


@given(lines, lines)
@settings(max_examples=60, deadline=None)
def test_no_cut_inside_a_line_that_a_window_holds(left: str, right: str) -> None:
    prefix, suffix = cut(left, right)
    start, end = len(left) - len(prefix), len(suffix)
    if start and left[start - 1] != "\n":
        line = left[left.rfind("\n", 0, start) + 1 :].partition("\n")[0]
        assert size(line) > PREFIX_BUDGET.target
    if end < len(right) and right[end] != "\n":
        line = right[right.rfind("\n", 0, end) + 1 :].partition("\n")[0]
        assert size(line) > SUFFIX_BUDGET.target


@pytest.mark.parametrize("length", [700, 1500, 2000, 2500])
def test_a_long_line_at_the_edge_leaves_a_window_of_worth(length: int) -> None:
    for near in range(200, 2000, 90):
        prefix, _ = cut("word " * 900 + "\n" + "y" * length + "\n" + "short\n" * (near // 6))
        assert PREFIX_BUDGET.least <= size(prefix) <= PREFIX_BUDGET.most


MATTER = "---\ntitle: The harbour\ntags: [sea, town]\n---\n"


@pytest.mark.parametrize("matter", [MATTER, MATTER.replace("---", "+++")])
def test_front_matter_stays_before_a_cut_window(matter: str) -> None:
    prefix, _ = cut(matter + "\n" + note(40))
    assert prefix.startswith(matter)
    assert prefix.removeprefix(matter).startswith("## Section")


def test_front_matter_is_not_doubled() -> None:
    text = MATTER + "\n" + note(2)
    assert cut(text) == (text, "")


def test_the_edge_stands_still_before_front_matter_too() -> None:
    windows, text = Windows(), MATTER + note(40)
    first, _ = windows.cut("note", text, "")
    assert windows.cut("note", text + "typed on", "") == (first + "typed on", "")


def test_long_front_matter_is_cut_between_lines() -> None:
    long = "---\n" + "".join(f"key_{at}: {'v' * 60}\n" for at in range(40)) + "---\n"
    kept = front_matter(long + "text\n")
    assert size(kept) <= MAX_BYTES
    assert kept.endswith("v\n---\n")
    assert long.startswith(kept.removesuffix("---\n"))


@pytest.mark.parametrize(
    "text",
    ["", "text\n---\n", "---\n" + "never closed\n" * 300, "--- \n", "----\na: b\n----\n", "# A\n"],
)
def test_texts_without_front_matter(text: str) -> None:
    assert front_matter(text) == ""
