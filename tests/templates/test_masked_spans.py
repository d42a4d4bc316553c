"""Which places of a text are masked spans, and what is put there."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clover_engine.api import Fill, Finish, Hole, Literal
from clover_engine.errors import RequestError
from clover_templates.masked_spans import (
    MaskedSpan,
    SpanError,
    find_spans,
    scan_spans,
)
from clover_templates.span_canvas import (
    LEFT_CHARS,
    RIGHT_CHARS,
    apply,
    canvas_request,
    placed,
    written,
)

# what the scanner and the Markdown grammar look at, so that they meet often
PIECES = st.sampled_from(
    [
        *("[MASK]", "___", "____", "_", "{{", "}}", "{", "}", "【待补", "：", "】", "【", "<fill"),
        *(" ", ">", 'choices="a|b"', "max=3", "x=1", '"', "\\", "`", "``", "```", "~~~", "    "),
        *("\n", "\r", "\r\n", "> ", "- ", "1. ", "# ", "| ", "|---|\n", "---\n", "\t", "<!--"),
        *("word", "元", "🙂", "\ud83d", "\0", "\x0c", "\u2028", "，", "<div>\n", "$", "]("),
    ]
)
TEXTS = st.lists(PIECES, max_size=40).map("".join) | st.text()


def masks(text: str, *, markdown: bool = True, in_code: bool = False) -> list[str]:
    scan = scan_spans(text, markdown=markdown, in_code=in_code)
    assert scan.problem is None
    return [text[span.start : span.end] for span in scan.spans]


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("[MASK]", MaskedSpan(0, 6, max_tokens=16)),
        ("___", None),
        ("a ___ b", MaskedSpan(2, 5, max_tokens=16)),
        ("【待补：原因】", MaskedSpan(0, 7, "原因")),
        ("【待补: why 】", MaskedSpan(0, 10, "why")),
        ("【待补】", MaskedSpan(0, 4)),
        ("【待补：见【附件】】", MaskedSpan(0, 10, "见【附件】")),
        ("{{ a name }}", MaskedSpan(0, 12, "a name")),
        ("{{}}", MaskedSpan(0, 4)),
        ("<fill>", MaskedSpan(0, 6)),
        ("<fill/>", MaskedSpan(0, 7)),
        ("<fill the user's name>", MaskedSpan(0, 22, "the user's name")),
        (
            '<fill how choices="a>b|c" it max=8 ended>',
            MaskedSpan(0, 41, "how it ended", ("a>b", "c"), None, 8),
        ),
        ("<fill choices='是|否'>", MaskedSpan(0, 20, choices=("是", "否"))),
        ('<fill pattern="[0-9]{4}">', MaskedSpan(0, 25, pattern="[0-9]{4}")),
        ("<fill pattern=[0-9]+>", MaskedSpan(0, 21, pattern="[0-9]+")),
    ],
)
def test_each_notation(text: str, span: MaskedSpan | None) -> None:
    assert scan_spans(text).spans == ((span,) if span else ())


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("snake____case ____x x____ __init__ __bold__ ___bold it___", []),
        ("我叫____，今年___岁", ["____", "___"]),
        ("共___元___角", ["___", "___"]),
        ("___年___月___日", ["___"] * 3),
        ("看，___重点___。", []),
        ("姓名：___，年龄：___。", ["___", "___"]),
        ("a\n___\n  _____  \r\n> b ____", ["____"]),
        ("| ____ | ____|", ["____", "____"]),
        (r"\[MASK] \____ \{{x}} \【待补】 \<fill> {{{x}}}", []),
        (r"\\[MASK]", ["[MASK]"]),
        ("[mask] 【待补充材料】 {x} <filler> <fill-x>", []),
        ("{{a}}{{b}}[MASK]____", ["{{a}}", "{{b}}", "[MASK]", "____"]),
    ],
)
def test_what_only_looks_like_a_span_is_left_alone(text: str, found: list[str]) -> None:
    assert masks(text) == found


CODE = """\
---
title: {{front}}
---
# Head `{{a}}` {{head}}

- item `____`
  `two {{b}}
  lines {{c}}` {{item}}

> ~~~
> {{ open in code
> ~~~
> a ``b ` {{d}}`` \\`{{quote}}\\`

    [MASK]

| `{{e}}` | {{cell}} |
|---|---|

```py
x = {{
```

中文`{{f}}`，{{last}} `{{` and `}}`"""


@pytest.mark.parametrize("eol", ["\n", "\r\n", "\r"])
def test_markdown_code_is_left_alone(eol: str) -> None:
    found = ["{{front}}", "{{head}}", "{{item}}", "{{quote}}", "{{cell}}", "{{last}}"]
    assert masks(CODE.replace("\n", eol)) == found


def test_code_counts_where_it_is_asked_for_and_outside_markdown() -> None:
    text = "`{{a}}` \n\n    [MASK]\n\n___\n"
    assert masks(text) == []
    assert masks(text, in_code=True) == ["{{a}}", "[MASK]"]
    assert masks(text, markdown=False) == ["{{a}}", "[MASK]", "___"]


def test_a_span_that_cannot_be_read_hides_no_other() -> None:
    scan = scan_spans("{{ a\n{{b}} <fill x=1>")
    assert [span.hint for span in scan.spans] == ["b"]
    assert str(scan.problem).startswith("1:1: {{ has no }}")


def test_a_deep_document_is_read() -> None:
    assert masks("> - " * 3000 + "[MASK]") == ["[MASK]"]


@given(TEXTS, st.booleans(), st.booleans())
def test_any_text_is_read_and_only_its_spans_change(
    text: str, markdown: bool, in_code: bool
) -> None:
    spans = scan_spans(text, markdown=markdown, in_code=in_code).spans
    ends = [0, *[span.end for span in spans]]
    assert all(end <= span.start < span.end for end, span in zip(ends, spans, strict=False))
    assert apply(text, spans, [None] * len(spans)) == text
    kept = [text[end : span.start] for end, span in zip(ends, spans, strict=False)]
    parts = [part for each in kept for part in (each, "\N{BLACK SQUARE}")]
    assert (
        apply(text, spans, ["\N{BLACK SQUARE}"] * len(spans)) == "".join(parts) + text[ends[-1] :]
    )


@given(TEXTS, st.booleans(), st.booleans())
def test_finding_either_raises_or_gives_what_the_scan_gives(
    text: str, markdown: bool, in_code: bool
) -> None:
    scan = scan_spans(text, markdown=markdown, in_code=in_code)
    if scan.spans and not scan.problem:
        assert find_spans(text, markdown=markdown, in_code=in_code) == scan.spans
    else:
        with pytest.raises(SpanError, match=r"\A\d+:\d+: [^\n]+\Z"):
            find_spans(text, markdown=markdown, in_code=in_code)


@given(TEXTS)
def test_whatever_stands_in_a_fence_is_code(text: str) -> None:
    fenced = f"```\n{text.replace('`', '')}\n```\n\nafter {{{{x}}}}"
    assert masks(fenced) == ["{{x}}"]


def test_the_canvas_has_a_hole_for_each_span() -> None:
    text = "a\r\n\ud83d ____{{b}} <fill choices='x|y' max=3>"
    spans = find_spans(text)
    request = canvas_request(text, spans, document="file:///a")
    assert request.segments == (
        Literal("a\n\ufffd "),
        Hole(16, ("\n",)),
        Hole(32, ("\n",), hint="b"),
        Literal(" "),
        Hole(3, ("\n",), choices=("x", "y")),
    )
    assert canvas_request(text, spans[1:2]).segments == (
        Literal("a\n\ufffd ____"),
        Hole(32, ("\n",), hint="b"),
        Literal(" <fill choices='x|y' max=3>"),
    )
    with pytest.raises(RequestError):
        canvas_request(text, ())


def test_of_a_long_text_the_canvas_holds_what_stands_near() -> None:
    text = "a" * 100_000 + " ____ " + "b" * 100_000
    left, _, right = canvas_request(text, find_spans(text)).segments
    assert isinstance(left, Literal)
    assert isinstance(right, Literal)
    assert left.text == text[100_001 - LEFT_CHARS : 100_001]
    assert len(right.text) == RIGHT_CHARS


@pytest.mark.parametrize(
    ("text", "fill", "expected"),
    [
        ("a ____ b", " x ", "a x b"),
        ("a{{h}}b", " x ", "a x b"),
        ("叫{{h}}。", "x ", "叫x。"),
        ("{{h}}", "\tx\ny", "x"),
        ("{{h}}", " \n", "{{h}}"),
        ("{{h}}", "", "{{h}}"),
        ("a <fill choices='x y'>", "x y", "a x y"),
        ("a <fill pattern='.*'>", " x", "a  x"),
    ],
)
def test_a_fill_takes_its_place_in_the_line(text: str, fill: str, expected: str) -> None:
    spans = find_spans(text)
    assert apply(text, spans, written(text, spans, [Fill(fill, 1.0, Finish.STOP)])) == expected


def test_a_pattern_that_does_not_serve_is_found_in_the_text() -> None:
    text = 'a <fill pattern="[0-9]">\n<fill pattern="[0-9">'
    spans = find_spans(text)
    error = RequestError("the pattern '[0-9' does not serve: unclosed character class")
    assert str(placed(error, text, spans)) == f"2:1: {error}"
    assert placed(error, text, spans[:1]) is error
