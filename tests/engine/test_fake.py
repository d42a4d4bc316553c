"""The fake engine's answers."""

from __future__ import annotations

from typing import Any

import pytest

from clover_engine.api import (
    CanvasRequest,
    Draft,
    Engine,
    Fill,
    Finish,
    Hole,
    Literal,
    Piece,
    Segment,
    infill_request,
)
from clover_engine.errors import RequestError
from clover_engine.fake import FakeEngine, Script
from clover_engine.inproc import InprocClient
from clover_engine.runner import Runner


async def fill(prefix: str, suffix: str = "", script: Script | None = None, **more: Any) -> Fill:
    engine: Engine = FakeEngine(script)
    client = InprocClient(Runner(lambda: engine))
    try:
        return (await client.fill(infill_request(prefix, suffix, **more))).fills[0]
    finally:
        await client.close()


@pytest.mark.parametrize(
    ("prefix", "suffix", "text"),
    [
        ("total = a + b\nto", "", "tal = a + b"),
        ("    to", "\ntotal = a + b\n", "tal = a + b"),
        ("near = 1\nnear = 2\nnear", "\nnear = 3", " = 2"),
        ("print(x, y)\nprint(", ")\n", "x, y"),
        ("会议纪要：周一\n会议", "", "纪要：周一"),
        ("nothing like it\n", "", ""),
        ("unheard of", "", ""),
    ],
)
async def test_it_copies_the_rest_of_a_line_that_begins_alike(
    prefix: str, suffix: str, text: str
) -> None:
    assert await fill(prefix, suffix) == Fill(text, 1.0, Finish.STOP)


async def test_a_script_in_the_document_comes_first() -> None:
    marked = '<!-- clover-fake: {"text": "scripted", "confidence": 0.5} -->\n'
    assert await fill(marked, script=Script("made with")) == Fill("scripted", 0.5, Finish.STOP)
    assert await fill("", "\n" + marked) == Fill("scripted", 0.5, Finish.STOP)
    assert (await fill("", script=Script("made with"))).text == "made with"


async def test_stops_and_lengths_hold() -> None:
    script = Script("one two\nthree")
    assert await fill("", script=script, stop=["\n"]) == Fill("one two", 1.0, Finish.STOP)
    assert await fill("", script=script, max_tokens=1) == Fill("one", 1.0, Finish.LENGTH)
    assert await fill("", script=script, max_tokens=0) == Fill("", 1.0, Finish.LENGTH)
    late = await fill("", script=Script("one two", steps=1000, step_ms=5), deadline_ms=20)
    assert late.finish is Finish.DEADLINE


async def test_what_is_only_read_takes_one_forward() -> None:
    client = InprocClient(Runner(lambda: FakeEngine(Script("one two", steps=1000))))
    try:
        filled = await client.fill(infill_request("x = ", "", max_tokens=0))
    finally:
        await client.close()
    assert filled.stats.forwards == 1


@pytest.mark.parametrize("marked", ["clover-fake: {", 'clover-fake: {"txt": ""}', "clover-fake: 5"])
async def test_a_script_that_cannot_be_read_is_an_error(marked: str) -> None:
    with pytest.raises(RequestError, match="cannot be read"):
        await fill(marked)


async def fill_all(*segments: Segment, script: Script | None = None) -> tuple[Fill, ...]:
    client = InprocClient(Runner(lambda: FakeEngine(script)))
    drafts: list[Draft] = []
    try:
        filled = await client.fill(CanvasRequest(segments), drafts.append)
    finally:
        await client.close()
    last = {draft.hole: draft.text for draft in drafts}
    assert [last[at] for at in range(len(filled.fills))] == [fill.text for fill in filled.fills]
    return filled.fills


async def test_each_of_several_holes_takes_the_next_script_then_copies() -> None:
    marks = Literal('clover-fake: {"text": "one"}\nclover-fake: {"text": "two three"}\nsum = 1\nsu')
    fills = await fill_all(Hole(), marks, Hole(1), Literal("\nsum"), Hole())
    assert [fill.text for fill in fills] == ["one", "two", " = 1"]
    assert [fill.finish for fill in fills] == [Finish.STOP, Finish.LENGTH, Finish.STOP]
    fills = await fill_all(Hole(), Hole(), script=Script("made with"))
    assert [fill.text for fill in fills] == ["made with", "made with"]


async def test_a_hole_with_choices_takes_the_first() -> None:
    hole = Hole(1, choices=("two words", "x"))
    chosen, free = await fill_all(hole, Literal(" "), Hole())
    assert (chosen.text, free.text) == ("two words", "")
    assert chosen.scores.index(max(chosen.scores)) == 0
    assert free.scores == ()


async def test_who_watches_sees_a_piece_a_token_and_masks_before() -> None:
    client = InprocClient(Runner(lambda: FakeEngine(Script("one two!", confidence=0.5))))
    drafts: list[Draft] = []
    try:
        await client.fill(CanvasRequest((Hole(),), watch=True), drafts.append)
        await client.fill(CanvasRequest((Hole(),)), drafts.append)
    finally:
        await client.close()
    mask = Piece("", 0.0, settled=False)
    assert drafts[0].pieces == (Piece("one", 0.5), mask, mask)
    assert drafts[2].pieces == (Piece("one", 0.5), Piece(" two", 0.5), Piece("!", 0.5))
    assert [draft.pieces for draft in drafts[3:]] == [()] * 3


async def test_a_hole_of_one_line_has_one() -> None:
    request = CanvasRequest((Literal("x = "), Hole(20, max_lines=1)))
    client = InprocClient(Runner(lambda: FakeEngine(Script("1\ny = 2"))))
    try:
        assert (await client.fill(request)).fills[0].text == "1"
    finally:
        await client.close()


async def test_what_is_unlike_another_answer_is_the_next_of_the_script() -> None:
    client = InprocClient(Runner(lambda: FakeEngine(Script("a + b", others=("a - b", "b + a")))))
    answers: list[str] = []
    for _ in range(3):
        hole = Hole(unlike=tuple(answers))
        filled = await client.fill(CanvasRequest((Literal("return "), hole)))
        answers.append(filled.fills[0].text)
    await client.close()
    assert answers == ["a + b", "b + a", ""]
