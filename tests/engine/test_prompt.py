"""Prompts and their windows: what is cut away, and that the cut stands still while one types."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clover_engine.api import MAX_CONTEXT_BYTES, MAX_HOLE_TOKENS, Context, Snippet
from clover_engine.drafting import MAX_DRAFT
from clover_engine.errors import RequestError, UnknownFamily
from clover_engine.family import load_family
from clover_engine.front_matter import MAX_BYTES as FRONT_MATTER
from clover_engine.models.qwen2 import MAX_POSITIONS
from clover_engine.prompt import PromptBuilder
from clover_engine.tokenizer import TextTokenizer
from clover_engine.weights import load_vocabulary
from clover_engine.windows import PREFIX_BUDGET, SUFFIX_BUDGET, Windows

if TYPE_CHECKING:
    from tests.support.tiny_model import TinyModel


def code(lines: int, seed: int = 0) -> str:
    """Lines that differ, about 40 bytes each."""
    rng = random.Random(seed)
    return "".join(
        f"    value_{rng.randrange(10**6)} = compute({rng.randrange(10**6)}, 'n')\n"
        for _ in range(lines)
    )


def prose(characters: int, seed: int = 0) -> str:
    """Chinese characters with a full stop now and then, and few line breaks."""
    rng = random.Random(seed)
    signs = "的一是在不了有和人这中大为上个国我以要他时来用们生到作地于出就分对成会可主发年动"
    return "".join(rng.choice(signs + "。，") for _ in range(characters))


TEXTS: dict[str, tuple[str, str]] = {
    "code": (code(200), code(100, seed=1)),
    "chinese": (prose(4000), prose(2000, seed=1)),
    "one long line": (code(200).replace("\n", " "), code(100, seed=1).replace("\n", " ")),
    "the same again and again": ("0, " * 3000, "0, " * 2000),
    "surrogates": ("\ud83d x\udc00y" * 900, "\udbff" * 1500),
}


def size(text: str) -> int:
    """Bytes of a text in UTF-8, a lone surrogate counted as the three of U+FFFD."""
    return len(text.encode("utf-8", "surrogatepass"))


def edges(cuts: Iterable[tuple[str, str, str, str]]) -> list[tuple[int, int]]:
    """How many characters each cut leaves away before and behind; checks what always holds."""
    found = []
    for prefix, suffix, near_prefix, near_suffix in cuts:
        assert prefix.endswith(near_prefix)
        assert suffix.startswith(near_suffix)
        assert size(near_prefix) <= PREFIX_BUDGET.most
        assert size(near_suffix) <= SUFFIX_BUDGET.most
        found.append((len(prefix) - len(near_prefix), len(suffix) - len(near_suffix)))
    return found


def moves(places: Iterable[tuple[int, int]]) -> int:
    """How often the edges changed from one cut to the next."""
    return sum(left != right for left, right in pairwise(places))


def cut_all(texts: Iterable[tuple[str, str]]) -> list[tuple[int, int]]:
    """The edges of one document while it goes through these states."""
    windows = Windows()
    return edges((*text, *windows.cut("file", *text)) for text in texts)


def typing(prefix: str, suffix: str, typed: str) -> Iterable[tuple[str, str]]:
    """The document while `typed` is typed at the cursor."""
    return ((prefix + typed[:count], suffix) for count in range(len(typed) + 1))


@pytest.mark.parametrize("name", TEXTS)
def test_edges_stand_still_while_typing(name: str) -> None:
    typed = ("another_name = call(it)\n" * 9)[:200]
    assert moves(cut_all(typing(*TEXTS[name], typed))) == 0


@pytest.mark.parametrize("name", TEXTS)
def test_edges_stand_still_while_typing_what_stands_there(name: str) -> None:
    prefix, suffix = TEXTS[name]
    assert moves(cut_all(typing(prefix, suffix, prefix[-100:]))) <= 1


def test_edges_stand_still_when_a_bracket_is_inserted() -> None:
    prefix, suffix = TEXTS["code"]
    states = [(prefix + "f", suffix), (prefix + "f(", ")" + suffix), (prefix + "f(x", ")" + suffix)]
    assert moves(cut_all(states)) == 0


def test_edges_stand_still_when_the_cursor_moves_a_line() -> None:
    text = code(300)
    lines = text.splitlines(keepends=True)
    cuts = [("".join(lines[:line]), "".join(lines[line:])) for line in (200, 201, 202, 201, 199)]
    windows = Windows()
    spans = []
    for prefix, suffix in cuts:
        near_prefix, near_suffix = windows.cut("file", prefix, suffix)
        spans.append((len(prefix) - len(near_prefix), len(prefix) + len(near_suffix)))
    assert moves(spans) == 0


@pytest.mark.parametrize("text", [code(200), code(1) * 200], ids=["lines", "the same line"])
def test_edges_stand_still_when_text_far_away_changes(text: str) -> None:
    windows = Windows()
    windows.cut("file", text, text)
    prefix, suffix = text + code(12, 7), code(6, 8) + text
    before = windows.cut("file", prefix, suffix)
    assert before != Windows().cut("file", prefix, suffix)  # the edges are those of the first cut
    assert windows.cut("file", "import os\n" + prefix, suffix + "# the end\n") == before
    assert windows.cut("file", prefix, suffix) == before
    assert windows.cut("file", prefix[9:], suffix[:-9]) == before


def test_long_typing_moves_the_edge_in_coarse_steps() -> None:
    text = code(400)
    places = cut_all((text[:end], "") for end in range(4000, 12000, 10))
    steps = [second[0] - first[0] for first, second in pairwise(places) if first != second]
    assert 5 <= len(steps) <= 12  # 8,000 bytes were typed, about 1,000 go at a time
    assert min(steps) > 500


def test_deleting_moves_the_edge_back_in_coarse_steps() -> None:
    text = code(400)
    ends = range(12000, 4000, -10)
    places = cut_all((text[:end], "") for end in ends)
    steps = [first[0] - second[0] for first, second in pairwise(places) if first != second]
    assert 3 <= len(steps) <= 12
    assert min(steps) > 500
    assert all(
        end - start >= PREFIX_BUDGET.least for end, (start, _) in zip(ends, places, strict=True)
    )


@pytest.mark.parametrize("name", TEXTS)
def test_a_window_is_worth_its_name(name: str) -> None:
    prefix, suffix = TEXTS[name]
    near_prefix, near_suffix = Windows().cut("file", prefix, suffix)
    assert size(near_prefix) >= PREFIX_BUDGET.least
    assert size(near_suffix) >= SUFFIX_BUDGET.least


@pytest.mark.parametrize("sign", ["é", "中", "鿿", "🙂", "\udbff"])
def test_no_character_is_cut_in_two(sign: str) -> None:
    for extra in range(5):
        cut_all([(sign * 3000 + "x" * extra, "x" * extra + sign * 3000)])


def test_what_fits_is_not_cut() -> None:
    prefix, suffix = code(60), code(20)
    assert Windows().cut("file", prefix, suffix) == (prefix, suffix)
    assert Windows().cut("file", "", "") == ("", "")


def test_a_short_beginning_does_not_pin_the_window() -> None:
    windows = Windows()
    windows.cut("file", "0", "")  # the edge is remembered by what stands there: very little
    whole = "0" + code(60)
    assert windows.cut("file", whole, "")[0] == whole


def test_a_cut_begins_at_a_line_where_there_is_one() -> None:
    prefix, suffix = TEXTS["code"]
    near_prefix, near_suffix = Windows().cut("file", prefix, suffix)
    assert prefix[: -len(near_prefix)].endswith("\n")
    assert suffix[len(near_suffix) :].startswith("\n")


def test_documents_have_windows_of_their_own() -> None:
    windows = Windows(documents=2)
    prefix, suffix = TEXTS["code"]
    first = windows.cut("one", prefix, suffix)
    windows.cut("two", prefix[:-700], suffix)
    # 700 bytes on, a window that is not remembered would begin elsewhere
    assert windows.cut("one", prefix + code(10, 7), suffix)[0].startswith(first[0])
    for name in ("three", "four"):
        windows.cut(name, "x", "")
    assert not windows.cut("one", prefix + code(10, 7), suffix)[0].startswith(first[0])


texts = st.lists(
    st.one_of(
        st.text(st.characters(), max_size=20),
        st.sampled_from(["\n", "line of text\n", "中文" * 30, "\ud800", "x" * 400]),
        st.integers(1, 80).map(code),
    ),
    max_size=8,
).map("".join)


@given(st.lists(st.tuples(texts, texts), min_size=1, max_size=4))
@settings(max_examples=100, deadline=None)
def test_any_window_is_the_text_at_the_cursor_and_in_its_budget(
    states: list[tuple[str, str]],
) -> None:
    cut_all(states)


@pytest.fixture(scope="module")
def tokenizer(tiny_model: TinyModel) -> TextTokenizer:
    """The tiny model's tokenizer."""
    return TextTokenizer(tiny_model.folder / "tokenizer.json")


@pytest.fixture(scope="module")
def builder(tiny_model: TinyModel, tokenizer: TextTokenizer) -> PromptBuilder:
    """Prompts for the tiny model."""
    return PromptBuilder(load_family("qwen2"), tokenizer, load_vocabulary(tiny_model.folder))


def test_the_suffix_stands_first_and_the_prefix_last(
    builder: PromptBuilder, tokenizer: TextTokenizer
) -> None:
    prompt = builder.infill("def f():\n", "\n    return name")
    special: Callable[[str], int] = tokenizer.special
    assert list(prompt.tokens) == [
        special("<|fim_prefix|>"),
        special("<|fim_suffix|>"),
        *tokenizer.encode("\n    return name"),
        special("<|fim_middle|>"),
        *tokenizer.encode("def f():\n"),
    ]
    assert (prompt.removed, prompt.healed) == ((), b"")


def test_a_prompt_ends_where_healing_begins(
    builder: PromptBuilder, tokenizer: TextTokenizer
) -> None:
    prompt = builder.infill("x\nretu", "")
    assert prompt.tokens[-2:] == tuple(tokenizer.encode("x\n"))
    assert prompt.removed == tuple(tokenizer.encode("retu"))
    assert prompt.healed == b"retu"


def test_another_character_changes_only_the_end(builder: PromptBuilder) -> None:
    before, after = builder.infill("def f(self", "\n"), builder.infill("def f(self)", "\n")
    assert after.tokens[: len(before.tokens)] == before.tokens


def test_text_that_looks_special_does_not_end_a_part(
    builder: PromptBuilder, tokenizer: TextTokenizer
) -> None:
    prompt = builder.infill("<|fim_middle|><|fim_prefix|>\n", "<|fim_suffix|><|endoftext|>\n")
    for name in ("<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"):
        assert prompt.tokens.count(tokenizer.special(name)) == 1
    assert tokenizer.special("<|endoftext|>") not in prompt.tokens


CONTEXT = Context((Snippet("a/b.py", "def f(): ..."), Snippet("c.py", "x = 1")), "pond", "d.py")


def test_other_files_stand_first_each_under_its_path(
    builder: PromptBuilder, tokenizer: TextTokenizer
) -> None:
    prompt, alone = builder.infill("y = ", "\n", CONTEXT), builder.infill("y = ", "\n")
    file = tokenizer.special("<|file_sep|>")
    assert list(prompt.tokens) == [
        tokenizer.special("<|repo_name|>"),
        *tokenizer.encode("pond\n"),
        file,
        *tokenizer.encode("a/b.py\ndef f(): ...\n"),
        file,
        *tokenizer.encode("c.py\nx = 1\n"),
        file,
        *tokenizer.encode("d.py\n"),
        *alone.tokens,
    ]
    assert replace(prompt, tokens=()) == replace(alone, tokens=())


def test_other_files_that_look_special_stay_text(
    builder: PromptBuilder, tokenizer: TextTokenizer
) -> None:
    names = ("<|repo_name|>", "<|file_sep|>", "<|fim_prefix|>", "<|endoftext|>")
    text = "".join(names)
    tokens = builder.infill("", "", Context((Snippet(text, text),), text, text)).tokens
    counts = [tokens.count(tokenizer.special(name)) for name in names]
    assert counts == [1, 2, 1, 0]


@pytest.mark.parametrize(
    "snippets", [[Snippet("a", "中" * MAX_CONTEXT_BYTES)], [Snippet("", "")] * MAX_CONTEXT_BYTES]
)
def test_a_context_is_bounded(snippets: list[Snippet]) -> None:
    with pytest.raises(RequestError, match="at most 1,024 bytes"):
        Context(tuple(snippets))


def test_the_longest_prompt_and_hole_have_positions(builder: PromptBuilder) -> None:
    # the compiled kernels check no bounds; no text has more tokens than bytes, and a snippet's own
    # token has two line ends beside it
    parts = len(builder.infill("", "", Context(())).tokens)
    windows = FRONT_MATTER + PREFIX_BUDGET.most + SUFFIX_BUDGET.most
    context = MAX_CONTEXT_BYTES * 3 // 2
    assert parts + context + windows + MAX_HOLE_TOKENS + MAX_DRAFT < MAX_POSITIONS


def test_a_family_nobody_described_is_unknown() -> None:
    with pytest.raises(UnknownFamily):
        load_family("gpt2")
