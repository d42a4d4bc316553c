"""Constraints: every walk through allowed tokens ends right, and nothing that fits is forbidden."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from clover_engine.api import Hole
from clover_engine.constraints import All, Constraint, Constraints
from clover_engine.errors import RequestError
from clover_engine.tokenizer import TextTokenizer, Vocabulary
from clover_engine.weights import load_vocabulary

if TYPE_CHECKING:
    from tests.support.tiny_model import TinyModel

STEPS = 300
ends = re.compile(r"\r\n|\r|\n")

texts = st.text(st.sampled_from("abr =\n\r中的文字é😀"), max_size=8)
# behind the cursor a text may begin inside a character
healed_bytes = st.builds(
    lambda text, cut: text.encode()[cut:], st.text("ret =中的é😀\n", max_size=4), st.integers(0, 3)
)
choice_sets = st.lists(
    st.one_of(texts, st.sampled_from(["return", "return self", "retu", " name", "文字"])),
    min_size=1,
    max_size=5,
)
atoms = st.sampled_from(
    [
        "a",
        "b",
        "re",
        "中",
        "é",
        " ",
        r"\n",
        ".",
        "[a-e]",
        "[^a]",
        "[0-9]",
        "[中-文]",
        "/",
        '"',
        "😀",
    ]
)
# what Python's re and Rust's regex read alike
patterns = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.builds("{}{}".format, inner, inner),
        st.builds("(?:{}|{})".format, inner, inner),
        st.builds("(?:{}){}".format, inner, st.sampled_from(["?", "*", "+", "{2}", "{0,3}"])),
    ),
    max_leaves=6,
)
randoms = st.integers(0, 2**32).map(Random)
Make = Callable[[Constraints], Constraint | None]
makers: st.SearchStrategy[Make] = st.one_of(
    st.builds(
        lambda pattern, healed: lambda make: make.of(Hole(512, pattern=pattern), healed),
        patterns,
        healed_bytes,
    ),
    st.builds(lambda healed: lambda make: make.of(Hole(), healed), healed_bytes),
    st.builds(
        lambda count, healed: lambda make: make.max_lines(count, healed),
        st.integers(1, 3),
        healed_bytes,
    ),
)


@pytest.fixture(scope="module")
def vocabulary(tiny_model: TinyModel) -> Vocabulary:
    """The tiny model's byte table."""
    return load_vocabulary(tiny_model.folder)


@pytest.fixture(scope="module")
def tokenizer(tiny_model: TinyModel) -> TextTokenizer:
    """The tiny model's tokenizer."""
    return TextTokenizer(tiny_model.folder / "tokenizer.json")


@pytest.fixture(scope="module")
def make(vocabulary: Vocabulary) -> Constraints:
    """Makes constraints over the tiny vocabulary."""
    return Constraints(vocabulary)


@pytest.fixture(scope="module")
def walk(vocabulary: Vocabulary) -> Walk:
    """Goes through allowed tokens at random."""
    return Walk(vocabulary)


class Walk:
    """Random walks over a vocabulary."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self._special = vocabulary.without_bytes()

    def allowed(self, constraint: Constraint) -> list[int]:
        """The allowed tokens; no special one is among them."""
        mask = constraint.allowed()
        if mask is None:
            every = set(range(len(self.vocabulary)))
            return sorted(every - set(self._special.tolist()))
        assert not mask[self._special].any()
        return [int(token) for token in np.flatnonzero(mask)]

    def step(self, constraint: Constraint, random: Random) -> bytes:
        """Write one allowed token."""
        token = random.choice(self.allowed(constraint))
        constraint.advance(token)
        return self.vocabulary.token_bytes(token)

    def to_the_end(self, constraint: Constraint, random: Random) -> bytes:
        """Write until the text must end, or may and a coin falls so."""
        written = b""
        for _ in range(STEPS):
            if constraint.must_end or (constraint.may_end and random.random() < 0.4):
                return written
            written += self.step(constraint, random)
        assume(False)
        return written

    def spell(self, constraint: Constraint, text: bytes, random: Random) -> None:
        """Write `text` in tokens cut at random; each must be allowed."""
        while text:
            beginnings = [
                token
                for token in range(len(self.vocabulary))
                if (data := self.vocabulary.token_bytes(token)) and text.startswith(data)
            ]
            token = random.choice(beginnings)
            assert token in self.allowed(constraint)
            constraint.advance(token)
            text = text[len(self.vocabulary.token_bytes(token)) :]


def of(make: Constraints, hole: Hole, healed: bytes = b"") -> Constraint:
    """The constraint of a hole that has one."""
    constraint = make.of(hole, healed)
    assert constraint is not None
    return constraint


@given(pattern=patterns, healed=healed_bytes, random=randoms)
@settings(max_examples=150, deadline=None)
def test_a_walk_ends_in_a_text_that_matches(
    make: Constraints, walk: Walk, pattern: str, healed: bytes, random: Random
) -> None:
    written = walk.to_the_end(of(make, Hole(512, pattern=pattern), healed), random)
    assert written.startswith(healed)
    assert re.fullmatch(pattern, written[len(healed) :].decode())


@given(pattern=patterns, healed=healed_bytes, data=st.data(), random=randoms)
@settings(max_examples=100, deadline=None)
def test_a_text_that_matches_may_be_written_in_any_tokens(
    make: Constraints,
    walk: Walk,
    pattern: str,
    healed: bytes,
    data: st.DataObject,
    random: Random,
) -> None:
    text = data.draw(st.from_regex(pattern, fullmatch=True)).encode(errors="replace")
    constraint = of(make, Hole(512, pattern=pattern), healed)
    walk.spell(constraint, healed + text, random)
    assert constraint.may_end


@given(count=st.integers(1, 3), healed=healed_bytes, random=randoms, steps=st.integers(0, 12))
@settings(max_examples=100, deadline=None)
def test_lines_are_counted_across_tokens(
    make: Constraints, walk: Walk, count: int, healed: bytes, random: Random, steps: int
) -> None:
    constraint, written = make.max_lines(count, healed), ""
    walk.spell(constraint, healed, random)
    for piece in random.choices(["a", "\r", "\n", "\r\n", "\n\n"], k=steps):
        fits = len(ends.findall(written + piece)) < count
        token = next(
            token
            for token in range(len(walk.vocabulary))
            if walk.vocabulary.token_bytes(token) == piece.encode()
        )
        assert (token in walk.allowed(constraint)) == fits
        if fits:
            constraint.advance(token)
            written += piece
    assert constraint.may_end


@given(healed=healed_bytes, pattern=patterns, random=randoms)
@settings(max_examples=60, deadline=None)
def test_constraints_hold_together(
    make: Constraints, walk: Walk, healed: bytes, pattern: str, random: Random
) -> None:
    constraint = make.of(Hole(512, pattern=f"(?:{pattern})z", max_lines=9), healed)
    assert constraint is not None
    written = walk.to_the_end(constraint, random)
    assert written.startswith(healed)
    assert re.fullmatch(f"(?:{pattern})z", written[len(healed) :].decode())
    assert len(ends.findall(written.decode(errors="replace"))) < 9 + len(healed)


@given(others=st.lists(texts, max_size=3), healed=healed_bytes, random=randoms)
@settings(max_examples=100, deadline=None)
def test_an_answer_unlike_others_parts_from_them_at_its_first_token(
    make: Constraints, walk: Walk, others: list[str], healed: bytes, random: Random
) -> None:
    constraint = make.of(Hole(512, unlike=tuple(others)), healed)
    if constraint is None:
        assert not healed
        assert not others
        return
    written = b""
    while len(written) <= len(healed):
        written += walk.step(constraint, random)
    assert written.startswith(healed)
    for other in filter(None, others):
        full = healed + other.encode()
        assert not written.startswith(full)
        assert not full.startswith(written)
    assert constraint.may_end


def test_a_choice_is_not_unlike_another() -> None:
    with pytest.raises(RequestError, match="leave out"):
        Hole(choices=("a", "b"), unlike=("a",))


def test_a_dead_end_is_an_error(make: Constraints, walk: Walk) -> None:
    constraint = All([of(make, Hole(pattern=r"a\nb")), make.max_lines(1)])
    walk.spell(constraint, b"a", Random(0))
    with pytest.raises(RequestError, match="excludes itself"):
        constraint.allowed()
    with pytest.raises(ValueError, match="does not allow"):
        of(make, Hole(pattern="a")).advance(ord("b"))


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("(", "unclosed group"),
        ("a\\", "unfinished escape"),
        (r"(a)\1", "backreferences are not supported"),
        (r"\bword", "lookarounds not supported"),
        ("[a&&b]", "no text that fits"),
        ("a{5000}", "no text that fits"),
        ("a\ud800", "half a character"),
    ],
)
def test_a_pattern_that_does_not_serve_says_why(
    make: Constraints, pattern: str, reason: str
) -> None:
    with pytest.raises(RequestError, match=reason) as caught:
        make.of(Hole(8, pattern=pattern))
    assert "\n" not in str(caught.value)
    assert repr(pattern) in str(caught.value)


def test_a_hole_that_asks_for_nothing_is_free(make: Constraints) -> None:
    assert make.of(Hole()) is None
    assert make.of(Hole(0, pattern="a"), b"x") is None  # only reads the context
    with pytest.raises(RequestError, match="at least one line"):
        Hole(max_lines=0)
