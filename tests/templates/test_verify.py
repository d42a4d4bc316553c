"""The metrics catch what they are for, and nothing else: mutants of many documents."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from hypothesis import given, settings

from clover_templates.blocks import Block, Kind
from clover_templates.breach import Metric
from clover_templates.case import Expected
from clover_templates.document import Document
from clover_templates.source import Span
from clover_templates.trace import (
    Added,
    FromSource,
    Literal,
    Piece,
    Trace,
    Why,
    Written,
)
from clover_templates.verify import verify
from tests.support.documents import INCIDENT, LECTURE, REPORT, TEXTS, made_document, shuffled

REWRITE = Expected(rewritten=frozenset({"slot"}), written=frozenset({"summary"}))
DOCUMENTS = 40
_SWAPS = {"must": "may", "may": "must", "必须": "可以", "可以": "必须"}


def metrics(document: Document, trace: Trace, output: bytes | None = None) -> set[Metric]:
    made = trace.output(document.data) if output is None else output
    return {breach.metric for breach in verify(document, made, trace, REWRITE)}


def made(seed: int, end: str = "\n") -> tuple[Document, Trace, random.Random]:
    """A random document, and a trace that puts its sections in another order."""
    rnd = random.Random(seed)
    document = Document.of(made_document(rnd).replace("\n", end).encode())
    return document, shuffled(document, rnd), rnd


def sentences(document: Document) -> list[Span]:
    paragraphs = [block for block in document.blocks if block.kind is Kind.PARAGRAPH]
    return [span for block in paragraphs for span in block.sentences]


def without(trace: Trace, span: Span, instead: Piece | None = None) -> Trace:
    """The trace with `instead` in the place of the source's `span`."""
    pieces: list[Piece] = []
    for piece in trace.pieces:
        if isinstance(piece, FromSource) and piece.start <= span.start < piece.end:
            middle = [instead] if instead else []
            pieces += [FromSource(piece.start, span.start), *middle]
            pieces.append(FromSource(span.end, piece.end))
        else:
            pieces.append(piece)
    return Trace(tuple(pieces))


def rewritten(document: Document, trace: Trace, span: Span, new: str, slot: str = "slot") -> Trace:
    return without(trace, span, Written(new.encode(), slot, (span,)))


def text(document: Document, span: Span) -> str:
    return document.data[span.start : span.end].decode()


def numbered(document: Document) -> list[Span]:
    return [span for span in sentences(document) if re.search(r"\d", text(document, span))]


Mutant = tuple[Document, Trace]


def deleted(seed: int) -> Mutant:
    document, trace, rnd = made(seed)
    return document, without(trace, rnd.choice(sentences(document)))


def other_digit(seed: int) -> Mutant:
    document, trace, rnd = made(seed)
    span = rnd.choice(numbered(document))
    old = text(document, span)
    at = rnd.choice([found.start() for found in re.finditer(r"\d", old)])
    digit = str((int(old[at]) + rnd.randint(1, 9)) % 10)
    return document, rewritten(document, trace, span, old[:at] + digit + old[at + 1 :])


def other_obligation(seed: int) -> Mutant:
    document, trace, rnd = made(seed)
    pattern = re.compile(r"\b(?:must|may)\b|必须|可以")
    spans = [s for s in sentences(document) if pattern.search(text(document, s).lower())]
    if not spans:
        return other_obligation(seed + 1000)
    span = rnd.choice(spans)
    new = pattern.sub(lambda found: _SWAPS[found[0]], text(document, span).lower())
    return document, rewritten(document, trace, span, new)


def repeated(seed: int) -> Mutant:
    document, trace, rnd = made(seed)
    block = rnd.choice([b for b in document.blocks if b.kind not in (Kind.BLANK, Kind.HEADING)])
    again = (Added(b"\n", Why.SEPARATOR), FromSource(block.start, block.end))
    return document, Trace((*trace.pieces, *again))


def with_url(seed: int) -> Mutant:
    document, trace, rnd = made(seed)
    span = rnd.choice(sentences(document))
    new = f"{text(document, span).rstrip()} https://elsewhere.example/{seed}\n"
    return document, rewritten(document, trace, span, new)


def with_name(seed: int) -> Mutant:
    document, trace, rnd = made(seed)
    span = rnd.choice(sentences(document))
    new = f"{text(document, span).rstrip()} as Walther Kowalsky says\n"
    return document, rewritten(document, trace, span, new)


def numbers_exchanged(seed: int) -> Mutant:
    document, trace, rnd = made(seed)
    one, other = rnd.sample(numbered(document), 2)
    numbers = [re.findall(r"\d+", text(document, span))[0] for span in (one, other)]
    for span, old, new in ((one, *numbers), (other, *reversed(numbers))):
        trace = rewritten(document, trace, span, text(document, span).replace(old, new))
    return document, trace


def verbatim_slot_written(seed: int) -> Mutant:
    document, trace, rnd = made(seed)
    span = rnd.choice(sentences(document))
    return document, rewritten(document, trace, span, text(document, span), "facts")


def without_bom(seed: int) -> Mutant:
    document, _, rnd = made(seed)
    document = Document.of(b"\xef\xbb\xbf" + document.data)
    return document, Trace(shuffled(document, rnd).pieces[1:])


def with_lf(seed: int) -> Mutant:
    document, trace, _ = made(seed, "\r\n")
    pieces: list[Piece] = []
    for piece in trace.pieces:
        if not isinstance(piece, FromSource):
            pieces.append(replace(piece, data=piece.data.replace(b"\r", b"")))
            continue
        at = piece.start
        for found in re.finditer(b"\r", document.data[piece.start : piece.end]):
            pieces.append(FromSource(at, piece.start + found.start()))
            at = piece.start + found.end()
        pieces.append(FromSource(at, piece.end))
    return document, Trace(tuple(pieces))


def text_of_no_one(seed: int) -> Mutant:
    document, trace, _ = made(seed)
    return document, Trace((*trace.pieces, Literal(b"All is well.\n")))


@pytest.mark.parametrize(
    ("mutant", "caught"),
    [
        (deleted, {Metric.COVERAGE, Metric.TRACE}),
        (other_digit, {Metric.LOCKS}),
        (other_obligation, {Metric.MODALITY}),
        (repeated, {Metric.COVERAGE, Metric.TRACE}),
        (with_url, {Metric.LOCKS, Metric.INVENTION}),
        (with_name, {Metric.INVENTION}),
        (numbers_exchanged, {Metric.LOCKS}),
        (verbatim_slot_written, {Metric.TRACE}),
        (without_bom, {Metric.EDIT}),
        (with_lf, {Metric.EDIT}),
        (text_of_no_one, {Metric.TRACE}),
    ],
)
def test_mutants_are_caught_by_their_metric(
    mutant: Callable[[int], Mutant], caught: set[Metric]
) -> None:
    for seed in range(DOCUMENTS):
        document, trace = mutant(seed)
        assert caught <= metrics(document, trace), seed


def byte_mutants(data: bytes, rnd: random.Random) -> Iterator[bytes]:
    """Outputs that were damaged behind the trace's back."""
    lines = data.splitlines(keepends=True)
    one, other = rnd.sample([n for n, line in enumerate(lines) if line.strip()], 2)
    yield b"".join([*lines[:one], *lines[one + 1 :]])
    yield b"".join([*lines, lines[one]])
    exchanged = [*lines]
    exchanged[one], exchanged[other] = lines[other], lines[one]
    if exchanged != lines:
        yield b"".join(exchanged)
    yield data.replace(b"\n", b"\r\n", 1)
    yield data + b" "
    at = rnd.choice([found.start() for found in re.finditer(rb"\d", data)])
    yield data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


def test_damage_behind_the_trace_is_caught() -> None:
    for seed in range(DOCUMENTS):
        document, trace, rnd = made(seed)
        for damaged in byte_mutants(trace.output(document.data), rnd):
            assert Metric.TRACE in metrics(document, trace, damaged), seed


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_shuffles_and_faithful_rewrites_raise_no_alarm(end: str) -> None:
    for seed in range(DOCUMENTS):
        document, trace, rnd = made(seed, end)
        span = rnd.choice(sentences(document))
        assert not metrics(document, trace), seed
        assert not metrics(document, rewritten(document, trace, span, text(document, span))), seed


@pytest.mark.parametrize("article", [REPORT, LECTURE, INCIDENT])
def test_shuffled_articles_raise_no_alarm(article: str) -> None:
    for seed in range(20):
        document = Document.of(article.encode())
        trace = shuffled(document, random.Random(seed))
        breaches = verify(document, trace.output(document.data), trace, Expected())
        assert not breaches, [str(breach) for breach in breaches]


@settings(max_examples=200)
@given(TEXTS)
def test_a_document_as_it_is_raises_no_alarm(article: str) -> None:
    document = Document.of(article.encode())
    trace = Trace((FromSource(0, len(document.data)),))
    assert not verify(document, document.data, trace, Expected())
    assert trace.moved == ()


def test_sentences_placed_one_by_one_raise_no_alarm() -> None:
    for seed in range(DOCUMENTS):
        document, _, rnd = made(seed)
        blocks = [*document.blocks]
        rnd.shuffle(blocks)
        pieces: list[Piece] = []
        for block in blocks:
            spans = [*block.sentences]
            rnd.shuffle(spans)
            for span in spans:
                pieces += [FromSource(span.start, span.end), Added(b"\n\n", Why.SEPARATOR)]
        trace = Trace((*pieces[:-1], Added(b"\n", Why.SEPARATOR)))
        output = trace.output(document.data)
        breaches = verify(document, output, trace, Expected())
        assert not breaches, (seed, [str(breach) for breach in breaches])


def block_of(document: Document, kind: Kind) -> Block:
    return next(block for block in document.blocks if block.kind is kind)


def test_a_replaced_heading_is_not_lost_but_a_replaced_sentence_is() -> None:
    document = Document.of(b"## Root cause\n\nThe disk was full.\n")
    heading, sentence = (block_of(document, k).span for k in (Kind.HEADING, Kind.PARAGRAPH))
    expected = Expected(literals="## Why\n\n")
    pieces = (Literal(b"## Why\n\n"), FromSource(sentence.start, sentence.end))
    output = Trace(pieces).output(document.data)
    assert not verify(document, output, Trace(pieces, (heading,)), expected)
    assert {b.metric for b in verify(document, output, Trace(pieces), expected)} == {
        Metric.COVERAGE,
        Metric.TRACE,
    }
    gone = Trace((Literal(b"## Why\n\n"),), (heading, sentence))
    found = verify(document, b"## Why\n\n", gone, expected)
    assert "neither heading nor label" in str(found[0])


def test_a_heading_with_its_text_in_one_line_is_not_replaced() -> None:
    document = Document.of("一、甲。这一行还有正文。\n二、乙\n正文。\n".encode())
    line = block_of(document, Kind.HEADING).span
    trace = Trace((FromSource(line.end, len(document.data)),), (line,))
    assert metrics(document, trace) == {Metric.TRACE}


def test_template_text_beside_source_text_hides_nothing() -> None:
    document = Document.of("各区人民政府\n\n共3处。见1.2.3。\n".encode())
    name, rest = (block for block in document.blocks if block.kind is Kind.PARAGRAPH)
    pieces = (
        FromSource(name.start, name.end - 1),
        Literal("：\n\n".encode()),
        FromSource(rest.start, rest.end),
    )
    trace = Trace(pieces)
    output = trace.output(document.data)
    assert not verify(document, output, trace, Expected(literals="：\n\n"))


def test_an_open_fence_may_not_swallow_what_follows_it_now() -> None:
    document = Document.of(b"## A\n\ntext\n\n## B\n\n```\ncode\n")
    second = document.data.index(b"## B")
    moved = (FromSource(second, len(document.data)), FromSource(0, second - 1))
    assert Metric.STRUCTURE in metrics(document, Trace(moved))
    closed = (moved[0], Added(b"```\n\n", Why.FENCE), moved[1])
    assert not metrics(document, Trace(closed))


def test_a_summary_may_say_again_what_is_there_and_nothing_else() -> None:
    document = Document.of(b"The queue held 1,200 jobs.\n")
    whole = FromSource(0, len(document.data))
    for summary, caught in (
        (b"It held 1200 jobs.\n", set[Metric]()),
        (b"It held 1300 jobs.\n", {Metric.INVENTION}),
        ("经市政府批准。\n".encode(), {Metric.INVENTION}),
    ):
        trace = Trace((Written(summary, "summary"), Added(b"\n", Why.SEPARATOR), whole))
        assert metrics(document, trace) == caught


def test_a_rewrite_of_its_own_words_is_invention() -> None:
    document = Document.of(b"The disk was full at noon.\n")
    span = Span(0, len(document.data))
    new = "some cats do sleep on warm stones every single morning while birds sing songs\n"
    trace = Trace((Written(new.encode(), "slot", (span,)),))
    assert {Metric.COVERAGE, Metric.INVENTION} <= metrics(document, trace)


def test_a_rewrite_keeps_blocks_of_code_and_math() -> None:
    document = Document.of(b"Run it:\n\n```\nls -l 3\n```\n\n$$\nx\n$$\n")
    span = Span(0, len(document.data))
    for old, new, caught in ((b"", b"", False), (b"-l", b"-a", True), (b"x\n", b"y\n", True)):
        trace = Trace((Written(document.data.replace(old, new), "slot", (span,)),))
        assert (Metric.LOCKS in metrics(document, trace)) is caught


def test_obligation_is_compared_sentence_by_sentence() -> None:
    long = "Every team {} file a short report on all open points before the end of the week. "
    more = "Guests from other sites {} read the minutes of all meetings of last quarter there.\n"
    document = Document.of((long.format("must") + more.format("may")).encode())
    new = (long.format("may") + more.format("must")).encode()
    trace = Trace((Written(new, "slot", (Span(0, len(document.data)),)),))
    assert metrics(document, trace) == {Metric.MODALITY}


@pytest.mark.parametrize(
    ("added", "fits"),
    [
        (Added(b"\n\n", Why.SEPARATOR), True),
        (Added(b"oh\n", Why.SEPARATOR), False),
        (Added(b"\n### ", Why.HEADING_MARK), True),
        (Added("（三）".encode(), Why.NUMBER), True),
        (Added("（三）某".encode(), Why.NUMBER), False),
        (Added(b"```\n", Why.FENCE), True),
        (Added("【待补：金额】".encode(), Why.HOLE), True),
        (Added(b"TODO(owner)", Why.HOLE), True),
        (Added(b"see TODO(owner)", Why.HOLE), False),
        (Added(b"2026-05-04", Why.BUILT_IN), True),
        (Added(b"a\nb", Why.BUILT_IN), False),
    ],
)
def test_what_is_added_is_what_it_says(added: Added, fits: bool) -> None:
    document = Document.of(b"Text.\n")
    trace = Trace((FromSource(0, 6), added, Added(b"\n", Why.SEPARATOR)))
    assert (Metric.TRACE in metrics(document, trace)) is not fits


@pytest.mark.parametrize(("start", "end"), [(0, 1), (1, 3), (2, 4), (0, 9)])
def test_pieces_cut_nothing_in_two(start: int, end: int) -> None:
    document = Document.of("é\r\n".encode())
    assert Metric.TRACE in metrics(document, Trace((FromSource(start, end),)), b"x")


def test_a_number_that_runs_into_a_number_of_the_source_is_caught() -> None:
    document = Document.of("## 2.1 丙\n".encode())
    for number, caught in (("3.", True), ("3. ", False), ("（3）", False)):
        title = FromSource(3, len(document.data) - 1)
        trace = Trace((Added(number.encode(), Why.NUMBER), title, Added(b"\n", Why.SEPARATOR)))
        assert (Metric.LOCKS in metrics(document, trace)) is caught, number


def test_a_sentence_and_its_rewrite_are_not_both_there() -> None:
    document = Document.of(b"The disk was full.\n")
    whole = Span(0, len(document.data) - 1)
    again = Written(b"The disk was full now.", "slot", (whole,))
    trace = Trace((FromSource(0, whole.end), Added(b"\n\n", Why.SEPARATOR), again))
    assert Metric.TRACE in metrics(document, trace)


def test_a_rewrite_keeps_the_names_of_its_source() -> None:
    document = Document.of(b"On Monday the report of Anna Blum named the cause of all this.\n")
    whole = Span(0, len(document.data) - 1)
    for new, lost in (("the report of Anna Blum", False), ("the long report", True)):
        text = f"On Monday {new} named the cause of all this."
        trace = rewritten(document, Trace((FromSource(0, len(document.data)),)), whole, text)
        assert (Metric.LOCKS in metrics(document, trace)) is lost
