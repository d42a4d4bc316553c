"""Where the bytes of an output come from, what moved, and the edits that make it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from clover_templates.breach import Metric
from clover_templates.case import Expected
from clover_templates.document import Document
from clover_templates.edit import Edit
from clover_templates.source import Span
from clover_templates.trace import FromSource, Literal, Trace
from clover_templates.verify import anchors, edit, idempotence, verify


def test_a_byte_of_the_source_is_found_in_the_output() -> None:
    trace = Trace((Literal(b"ab"), FromSource(5, 9), FromSource(0, 2)))
    assert [trace.place_of(at) for at in (0, 1, 2, 5, 8, 9)] == [6, 7, None, 2, 5, None]


def test_moves_are_told_with_the_fewest_bytes() -> None:
    trace = Trace((FromSource(50, 60), FromSource(0, 5), FromSource(5, 40), FromSource(60, 90)))
    assert trace.runs == (Span(50, 60), Span(0, 40), Span(60, 90))
    assert trace.moved == (Span(50, 60),)
    assert trace.unused(100) == (Span(40, 50), Span(90, 100))


@given(st.permutations(range(8)))
def test_what_did_not_move_stands_in_order(order: list[int]) -> None:
    trace = Trace(tuple(FromSource(10 * n, 10 * n + n + 1) for n in order))
    kept = [run for run in trace.runs if run not in trace.moved]
    assert kept == sorted(kept)
    assert sum(run.end - run.start for run in kept) >= max(n + 1 for n in order)


def test_edits_make_the_output() -> None:
    source, output = b"one two three", b"one 2 three!"
    good = [Edit(4, 7, "2"), Edit(13, 13, "!")]
    assert not list(edit(source, output, good))
    assert [b.message for b in edit(source, output, good[:1])] == [
        "the edits do not make the output"
    ]
    idle = [*good, Edit(8, 9, "t")]
    assert [b.message for b in edit(source, output, idle)] == ["an edit that changes nothing"]
    assert "overlapping edits" in {b.message for b in edit(source, output, [*good, Edit(6, 8, "")])}


def test_a_second_run_changes_nothing() -> None:
    assert not list(idempotence(b"a\n", b"a\n"))
    [breach] = idempotence(b"ab\n", b"abc\n")
    assert (breach.metric, breach.at) == (Metric.IDEMPOTENCE, 2)
    document = Document.of(b"a\n")
    trace = Trace((FromSource(0, 2),))
    found = verify(document, b"a\n", trace, Expected(), again=lambda data: data + b"b\n")
    assert [breach.metric for breach in found] == [Metric.IDEMPOTENCE]


def test_links_lead_to_headings_in_order() -> None:
    there = ["a", "b", "a-1"]
    assert not list(anchors([("a", 0), ("a-1", 9)], there))
    assert [b.text for b in anchors([("b", 0), ("a", 5), ("c", 9)], there)] == ["a", "c"]
