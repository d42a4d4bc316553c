"""What holds of every item, whatever stands in the document and whatever a model writes."""

from __future__ import annotations

from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from clover_lsp.infill import Trigger, settle
from clover_lsp.place import place_at
from clover_lsp.postprocess.brackets import PAIRS, only_closers

PIECES = (
    "def f(a, b):",
    "    return f(a, [1, 2])",
    "\tif (x) {",
    "}",
    "x = {'a': (1, 2)}",
    'print("he")',
    "# a note about it",
    "/* a comment",
    " */",
    '"""A thing."""',
    "The plan is good. We go on (see below).",
    "- milk",
    "  - bread",
    "1. open it",
    "2. close it",
    "## Title",
    "> quoted",
    "| a | b |",
    "|---|---|",
    "---",
    "```python",
    "```",
    "",
    "今天天气很好。我们去公园（见下文）。",
    "「你好」，他说。",
    "1、第一项",
    "**粗体** 和 `代码`",
    "the 😀 family 👩‍👩‍👧",
)
LANGUAGES = ("python", "c", "markdown", "plaintext", "")
pieces = st.sampled_from(PIECES)
documents = st.builds(
    lambda eol, lines: eol.join(lines),
    st.sampled_from(["\n", "\r\n"]),
    st.lists(pieces, max_size=8),
)
triggers = st.sampled_from(Trigger)
languages = st.sampled_from(LANGUAGES)


@st.composite
def cursors(draw: st.DrawFn) -> tuple[str, int]:
    """A document and an offset in it, not inside a line end."""
    text = draw(documents)
    offset = draw(st.integers(0, len(text)))
    return text, offset - 1 if text[max(offset - 1, 0) : offset + 1] == "\r\n" else offset


@st.composite
def answers(draw: st.DrawFn, text: str) -> str:
    """Parts of the document, other pieces and closing signs, glued together."""
    parts = draw(
        st.lists(
            st.one_of(
                st.tuples(st.integers(0, len(text)), st.integers(0, 40)).map(
                    lambda cut: text[cut[0] : cut[0] + cut[1]]
                ),
                pieces,
                st.sampled_from(["\n", " ", ")", "]", '"', "）", "。", "<|im_end|>", "a", "，"]),
            ),
            max_size=6,
        )
    )
    return "".join(parts)


@st.composite
def cases(draw: st.DrawFn) -> tuple[str, int, str]:
    """A document, a cursor and an answer."""
    text, offset = draw(cursors())
    return text, offset, draw(answers(text))


@settings(max_examples=300, deadline=None)
@given(case=cases(), language=languages, trigger=triggers)
def test_an_item_is_visible_and_as_long_as_was_asked(
    case: tuple[str, int, str], language: str, trigger: Trigger
) -> None:
    answer = settle(*case, language, trigger=trigger)
    if answer is not None:
        assert answer.strip()
        assert "\r" not in answer
        assert "<|" not in answer
        assert trigger is Trigger.INVOKED or "\n" not in answer


@settings(max_examples=300, deadline=None)
@given(case=cases(), language=languages, trigger=triggers)
def test_what_was_settled_stays(
    case: tuple[str, int, str], language: str, trigger: Trigger
) -> None:
    text, offset, _ = case
    answer = settle(*case, language, trigger=trigger)
    assume(answer and not answer.lstrip().startswith(("```", "~~~")))
    assert settle(text, offset, answer or "", language, trigger=trigger) == answer


@settings(max_examples=300, deadline=None)
@given(case=cases(), language=languages, trigger=triggers)
def test_the_rest_of_the_line_and_the_next_line_stand_once(
    case: tuple[str, int, str], language: str, trigger: Trigger
) -> None:
    text, offset, _ = case
    place = place_at(text, offset, language)
    answer = settle(*case, language, trigger=trigger) or ""
    rest = place.rest.rstrip()
    if not only_closers(rest) and len(rest.strip()) > 2 and not rest[0].isalnum():
        assert rest not in answer
    following = next((line.strip() for line in place.below.split("\n") if line.strip()), "")
    if any(sign.isalnum() for sign in following):
        assert following not in [line.strip() for line in answer.split("\n")[1:]]


blocks = st.recursive(
    st.sampled_from(["x", ", ", " = ", "\n", "\n    ", "你好"]),
    lambda inner: st.tuples(st.sampled_from(["()", "[]", "{}", "（）"]), inner, inner).map(
        lambda parts: parts[0][0] + parts[1] + parts[0][1] + parts[2]
    ),
    max_leaves=8,
)


def is_balanced(text: str) -> bool:
    """Whether each bracket has its partner; there are no strings in `text`."""
    expected: list[str] = []
    for sign in text:
        if sign in PAIRS:
            expected.append(PAIRS[sign])
        elif sign in PAIRS.values() and (not expected or expected.pop() != sign):
            return False
    return not expected


@settings(max_examples=400, deadline=None)
@given(
    text=blocks,
    place=st.integers(0, 200),
    wrote=st.text(st.sampled_from("()[]{}（）x, \n"), max_size=20),
    trigger=triggers,
)
@example(text="f(g(x))", place=5, wrote=")) + h(", trigger=Trigger.INVOKED)
def test_balanced_brackets_stay_balanced(
    text: str, place: int, wrote: str, trigger: Trigger
) -> None:
    offset = min(place, len(text))
    answer = settle(text, offset, wrote, "c", trigger=trigger) or ""
    assert is_balanced(text[:offset] + answer + text[offset:])


@settings(max_examples=300, deadline=None)
@given(
    before=st.text(max_size=30),
    after=st.text(max_size=30),
    wrote=st.text(max_size=30),
    language=languages,
    trigger=triggers,
    indent=st.sampled_from([None, "\t", "  ", "    "]),
)
def test_any_text_is_taken(
    before: str, after: str, wrote: str, language: str, trigger: Trigger, indent: str | None
) -> None:
    answer = settle(before + after, len(before), wrote, language, trigger=trigger, indent=indent)
    assert answer is None or answer.strip()
