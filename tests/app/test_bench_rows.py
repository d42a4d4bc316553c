"""Our rows: which there are, and that a new document is new to the engine."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from clover_engine.api import (
    CanvasRequest,
    Decoding,
    Draft,
    Drafting,
    Ends,
    EngineInfo,
    Fill,
    Filled,
    Finish,
)
from clover_write.bench.cases import benchmark_ask
from clover_write.bench.hei import KINDS
from clover_write.bench.rows import EngineRow, RowError, engine_rows
from clover_write.config import Config

ASK = benchmark_ask("a = ", "\n", KINDS["single-line"].hole)


class Recorder:
    """Keeps what it is asked."""

    def __init__(self) -> None:
        self.requests: list[CanvasRequest] = []

    async def fill(
        self, request: CanvasRequest, on_draft: Callable[[Draft], None] | None = None
    ) -> Filled:
        self.requests.append(request)
        return Filled((Fill("1", 1.0, Finish.STOP),))

    async def info(self) -> EngineInfo:
        return EngineInfo("recorder")

    async def close(self) -> None:
        pass


async def test_documents_are_kept_apart_by_run_and_row() -> None:
    engine = Recorder()
    rows = [
        EngineRow("int8-none", engine, Decoding.CAUSAL, Drafting.NONE, Ends.BOTH, "run 1"),
        EngineRow("int8-lookup", engine, Decoding.CAUSAL, Drafting.LOOKUP, Ends.BOTH, "run 1"),
        EngineRow("int8-none", engine, Decoding.CAUSAL, Drafting.NONE, Ends.BOTH, "run 2"),
    ]
    for row in rows:
        for document in ("T/1/cold", "T/1/next", "T/1/next"):
            assert (await row.answer(document, ASK, fresh=True)).text == "1"
    assert len({request.document for request in engine.requests}) == 6
    assert [request.drafting for request in engine.requests[::3]] == ["none", "lookup", "none"]


async def test_two_runs_have_two_names() -> None:
    config = Config(engine="fake")
    rows = [row for _ in range(2) for row in engine_rows(["int8-none"], config, None)]
    assert rows[0].session != rows[1].session
    for row in rows:
        await row.close()


def test_the_reference_needs_the_original_file() -> None:
    with pytest.raises(RowError, match="--gguf"):
        engine_rows(["reference-none"], Config(engine="inproc"), None)


@pytest.mark.parametrize(
    "name", ["int8", "int4-none", "int8-magic", "-none", "", "int8-none-sure", "int8-none-both-x"]
)
def test_unknown_rows_are_refused(name: str) -> None:
    with pytest.raises(RowError, match="no row is called"):
        engine_rows([name], Config(engine="fake"), None)
