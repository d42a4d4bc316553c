"""Where a hole ends: what stands right of it is never written twice."""

from __future__ import annotations

from math import exp
from pathlib import Path
from typing import cast

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from clover_engine.api import Ends, Finish, Hole
from clover_engine.end_head import EndHead, likelihoods, load_end_head
from clover_engine.ending import FITTING, PATIENCE, End, Ending
from clover_engine.hole_text import HoleText
from clover_engine.seam import beginning, overhang
from clover_engine.tokenizer import Vocabulary

pieces = st.text("ab_1 ():\n中文.", max_size=12)


@given(pieces, pieces)
def test_the_beginning_is_a_beginning_without_blanks(hole: str, right: str) -> None:
    again = beginning(right)
    assert right.startswith(again)
    assert not any(sign.isspace() for sign in again)
    assert bool(again) == bool(right[:1].strip())


@given(pieces, pieces, st.data())
def test_what_hangs_over_stands_at_the_right(hole: str, right: str, data: st.DataObject) -> None:
    least = len(beginning(right))
    beyond = data.draw(st.integers(least, len(right)))
    written = hole + right[:beyond]
    found = overhang(written, right, last=beyond - least + 1)
    assert found is not None
    assert least <= found
    assert written.endswith(right[:found])


@given(pieces, pieces, st.integers(0, 6))
def test_only_the_last_token_may_hang_over(written: str, right: str, last: int) -> None:
    found = overhang(written, right, last)
    least = len(beginning(right))
    if found is None:
        assert not written.endswith(right[:least])
    else:
        assert written.endswith(right[:found])
        assert found <= least + max(last - 1, 0)


@pytest.mark.parametrize(
    ("written", "right", "last", "hole"),
    [
        ("f(x)\n", "\n    return", 2, "f(x)"),  # `)` and the line break are one token
        ("return", "urn x\n", 6, "ret"),  # the hole ended inside a word
        ("a, b)", ")\n", 2, "a, b"),
        ("f(b))", ")\n", 2, "f(b)"),  # the hole's own bracket stays
        ("    x = 1\n", "    y = 2\n", 1, "    x = 1\n"),
        ("去年的", "的计划", 1, "去年"),
        ("all", "", 3, "all"),
    ],
)
def test_a_certain_end_cuts_what_stands_at_the_right(
    written: str, right: str, last: int, hole: str
) -> None:
    ending = Ending("", right, Ends.LEARNED)
    end = ending.place(7, written, last, 0.9)
    assert end is not None
    assert written[: end.length] == hole
    assert (end.tokens, end.chance) == (7, 0.9)
    assert end.right == right[len(written) - end.length :]
    assert ending.is_plausible(end)


def test_no_end_where_the_right_text_has_not_begun_again() -> None:
    assert Ending("", "urn\n", Ends.BOTH).place(1, "ret", 3, 0.9) is None
    # which can be tested, but is not what the head speaks of
    right = "urn x + y\n"
    assert Ending("", right, Ends.BOTH).place(1, "ret", 3, 0.9) == End(1, 3, 0.0, right)
    assert Ending("", "\n", Ends.RULES).place(1, "ret", 3, 0.9) is None
    assert Ending("", "\n", Ends.BOTH).place(0, "", 0, 0.9) is None


def test_ends_are_tested_where_there_is_something_to_test_them_by() -> None:
    alone, between = Ending("", "\n", Ends.BOTH), Ending("", "\nreturn x + y\n", Ends.BOTH)
    end = alone.place(1, "ret", 3, 0.7)
    assert end is not None
    assert (alone.is_plausible(end), alone.is_certain(end)) == (True, True)
    assert (between.is_plausible(end), between.is_certain(end)) == (True, False)
    assert (alone.is_testable, between.is_testable) == (False, True)
    unlikely = alone.place(1, "ret", 3, 0.4)
    assert unlikely is not None
    assert (alone.is_plausible(unlikely), between.is_plausible(unlikely)) == (False, True)


def test_the_rule_ends_where_the_right_text_is_written_again() -> None:
    right = "    return total\n\n\ndef main():\n    print(total_of([1, 2, 3]), end='')\n"
    short, long = ("    total += 1\n" + right[:length] for length in (30, 70))
    assert Ending("", right, Ends.RULES).by_rule(short) == len("    total += 1\n")
    assert Ending("", right, Ends.RULES).by_rule("    total += 1\n    return") is None
    assert Ending("", right, Ends.LEARNED).by_rule(long) is None
    # where the head finds ends it may take longer to be sure
    assert Ending("", right, Ends.BOTH).by_rule(short) is None
    assert Ending("", right, Ends.BOTH).by_rule(long) == len("    total += 1\n")
    # too little to tell it from chance
    assert Ending("", "\n\n", Ends.RULES).by_rule("x\n\n") is None


@pytest.mark.parametrize(
    ("left", "written", "hole"),
    [
        ("def f(x):\n", "    return x\n\n\ndef g(y):", "    return x"),
        ("def f(x):\n    ", "return x\n\n# Test\n", "return x"),
        ("def f(x):", "\n    return x\nprint(f(1))", "\n    return x"),
        ("    y = ", "1\n```\n", "1"),
        ("def f(x):\n", "    return g(\n        x\n    )\n", None),
        ("x = g(", "\n    1,\n)\n", None),
        ("if x:\n", "    y()\nelse:\n    z()\n", None),
        ("if x:\n", "    y()\nel", None),  # may become an else
        ("", "one line\nanother line\n", None),
        ("para", "graph\n\nnext\n", None),
    ],
)
def test_a_hole_in_indented_lines_ends_with_them(left: str, written: str, hole: str | None) -> None:
    for right in ("", "\n", "\n\n    more of these lines\n"):
        found = Ending(left, right, Ends.RULES).by_scope(written)
        assert (None if found is None else written[:found]) == hole
    # what stands right need not belong to the same lines
    assert Ending(left, "\nanother line\n", Ends.RULES).by_scope(written) is None
    assert Ending(left, "\n", Ends.LEARNED).by_scope(written) is None


class Bytes:
    """A vocabulary of single bytes."""

    def token_bytes(self, token: int) -> bytes:
        return bytes([token])


def hole_text(left: str, right: str, stop: tuple[str, ...] = ()) -> HoleText:
    """The text of a hole of 40 bytes."""
    ending = Ending(left, right, Ends.BOTH)
    return HoleText(Hole(40, stop), b"", ending, None, cast(Vocabulary, Bytes()))


def write(text: HoleText, written: str, chance: float = 0.0, confidence: float = 0.99) -> None:
    """Commit bytes until the hole ends or doubts."""
    for byte in written.encode():
        if text.finish or text.doubts:
            return
        text.append(byte, confidence)
        if not text.finish:
            text.end_by_chance(chance)


def test_a_dedent_ends_a_hole_whose_ends_cannot_be_tested() -> None:
    text = hole_text("def f():\n", "\n")
    write(text, "    return 1\n\nprint(f())")
    assert (text.text, text.finish, text.doubts) == ("    return 1", Finish.STOP, [])


RIGHT = " and what follows it"


def test_the_best_end_of_a_hole_that_runs_on_is_the_likeliest_text() -> None:
    text = hole_text("the ", RIGHT)
    write(text, "meeting was held and everybody was there")
    assert text.finish is Finish.LENGTH
    assert all(end.right == RIGHT for end in text.doubts)
    fits = [-5.0 if end.length == len("meeting") else -30.0 for end in text.doubts]
    text.settle(fits)
    assert text.text == "meeting"


def test_a_stop_string_is_an_end_that_nobody_doubts() -> None:
    text = hole_text("the ", RIGHT, stop=("\n",))
    write(text, "meeting was held\nand")
    assert (text.text, text.finish, text.doubts) == ("meeting was held", Finish.STOP, [])


def test_a_good_end_ends_the_hole_and_a_bad_one_is_only_remembered() -> None:
    text = hole_text("the ", RIGHT)
    write(text, "meeting was", chance=0.5)
    [end] = text.doubts
    assert (end.length, end.right) == (1, RIGHT)
    text.settle([-20.0])
    assert (text.finish, text.doubts) == (None, [])
    write(text, "eeting", chance=0.5)
    text.settle([FITTING + 1])
    assert (text.text, text.finish) == ("me", Finish.STOP)


def test_nothing_more_is_written_than_could_still_be_better() -> None:
    text = hole_text("the ", RIGHT)
    # every byte makes the text unlikelier by 1
    write(text, "meeting that was held", confidence=exp(-1))
    assert len(text.tokens) == PATIENCE + 1
    assert [end.length for end in text.doubts] == list(range(1, 8))
    text.settle([-1000.0] * 7)
    assert text.finish is None
    write(text, "that was held", confidence=exp(-1))
    # a text that ends there is likelier than what is written by now
    text.settle([-5.0] + [-1000.0] * (len(text.doubts) - 1))
    assert text.finish is Finish.STOP


def test_a_head_survives_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    random = torch.Generator().manual_seed(0)
    head = EndHead(*(torch.randn(size, generator=random) for size in ((4, 6), (4,), (1, 4), (1,))))
    (tmp_path / "adapters").mkdir()
    head.save(tmp_path / "adapters" / "some-ends.safetensors")
    monkeypatch.setattr("clover_engine.end_head.files", lambda package: tmp_path)
    loaded = load_end_head("some")
    assert loaded is not None
    features = torch.randn(3, 6, generator=random)
    assert torch.allclose(loaded(features), head(features), atol=1e-2)
    assert load_end_head("another") is None


def test_likelihoods_are_those_of_the_softmax() -> None:
    logits = torch.tensor([[0.0, 1.0, -50.0], [3.0, 0.0, 0.0]])
    found = likelihoods(logits, 2)
    expected = logits.log_softmax(-1)
    assert torch.allclose(found[:, 0], expected[:, 2].clamp_min(-12))
    assert torch.allclose(found[:, 1], expected.max(-1).values)
