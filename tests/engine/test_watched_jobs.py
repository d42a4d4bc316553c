"""What who watches a job is told with each draft, beside what it is made of."""

from __future__ import annotations

from dataclasses import replace

import pytest

from clover_engine.api import CanvasRequest, Decoding, Draft, Filled, Hole, Literal
from clover_engine.engine import LocalEngine
from clover_engine.fake import FakeEngine, Script
from clover_engine.inproc import InprocClient
from clover_engine.runner import Runner

SEVERAL = CanvasRequest(
    (Literal("a = "), Hole(6), Literal("\nb = "), Hole(4), Literal("\n"), Hole(3)), watch=True
)


async def watched(engine: LocalEngine | FakeEngine, request: CanvasRequest) -> list[Draft | Filled]:
    """The drafts, then what is filled."""
    client = InprocClient(Runner(lambda: engine))
    told: list[Draft | Filled] = []
    try:
        filled = await client.fill(request, told.append)
    finally:
        await client.close()
    return [*told, filled]


@pytest.mark.parametrize("decoding", Decoding)
async def test_each_draft_says_how_many_forwards_the_whole_job_took(
    block_engine: LocalEngine, decoding: Decoding
) -> None:
    *drafts, filled = await watched(block_engine, replace(SEVERAL, decoding=decoding))
    forwards = [draft.forwards for draft in drafts if isinstance(draft, Draft)]
    assert isinstance(filled, Filled)
    assert forwards[0] >= 1
    assert forwards == sorted(forwards)
    # holes that are written side by side share theirs
    assert len(set(forwards)) < len(forwards)
    assert forwards[-1] == filled.stats.forwards


async def test_the_fake_engine_counts_as_well() -> None:
    script = Script("one two three four", steps=3)
    *drafts, filled = await watched(FakeEngine(script), CanvasRequest((Hole(),), watch=True))
    assert [draft.forwards for draft in drafts if isinstance(draft, Draft)] == [1, 2, 3]
    assert isinstance(filled, Filled)
    assert filled.stats.forwards == 3


async def test_nobody_else_is_told() -> None:
    engine = FakeEngine(Script("one two"))
    *drafts, _ = await watched(engine, CanvasRequest((Hole(),)))
    assert drafts == [Draft("one"), Draft("one two")]
