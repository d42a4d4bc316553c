"""What is compared: a row answers asks, timed from the request sent to the text complete."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol
from uuid import uuid4

from clover_engine.api import Decoding, Drafting, Ends, Engine, EngineClient, Stats
from clover_engine.errors import CloverError
from clover_engine.inproc import InprocClient
from clover_engine.runner import Runner
from clover_write.app import connect
from clover_write.bench.cases import Ask
from clover_write.config import PRECISIONS, Config
from clover_write.store import Store

REFERENCE = "reference"


class RowError(CloverError):
    """A row of the table cannot be had as it was asked for."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The text of a hole, the milliseconds it took end to end, and what it cost inside."""

    text: str
    ms: float
    stats: Stats


class Row(Protocol):
    """One line of the table; only one row works at a time."""

    @property
    def name(self) -> str:
        """Its name in the table."""
        ...

    @property
    def ours(self) -> bool:
        """Whether it is ours, or a peer to be compared with."""
        ...

    async def answer(self, document: str, ask: Ask, *, fresh: bool) -> Answer:
        """Fill the hole; `fresh` when the document was never asked about. Raises CloverError."""
        ...

    async def about(self) -> str:
        """What answers, in one line."""
        ...

    async def close(self) -> None:
        """End what was started for this row."""
        ...


@dataclass(frozen=True, slots=True)
class EngineRow:
    """Our engine through its public door, in one precision with one kind of decoding and ends."""

    name: str
    client: EngineClient
    decoding: Decoding
    drafting: Drafting
    ends: Ends
    session: str  # an engine that outlives this run has other runs' documents in its cache
    ours: bool = True

    async def answer(self, document: str, ask: Ask, *, fresh: bool) -> Answer:
        """Fill the hole; a fresh document has a name of its own, so nothing of it is cached."""
        document = f"bench/{self.session}/{self.name}/{document}"
        request = replace(
            ask.canvas,
            document=document,
            decoding=self.decoding,
            drafting=self.drafting,
            ends=self.ends,
        )
        start = time.perf_counter()
        filled = await self.client.fill(request)
        ms = (time.perf_counter() - start) * 1000
        return Answer(filled.fills[0].text, ms, filled.stats)

    async def about(self) -> str:
        """The engine's model, precision and kernels."""
        info = await self.client.info()
        return f"{info.model} {info.precision} on {info.device}, {info.detail}"

    async def close(self) -> None:
        """Let go of the engine; rows of one precision share it."""
        await self.client.close()


def engine_rows(names: Sequence[str], config: Config, gguf: Path | None) -> list[EngineRow]:
    """Rows named PRECISION-DRAFTING or PRECISION-DRAFTING-ENDS, for example int8-lookup-rules;
    with "diffusion" for the drafting, nothing is verified.

    Precision "reference" is bf16 straight from `gguf`, the file that the model was converted from.
    Raises RowError.
    """
    session = uuid4().hex
    parsed = [_parse(name) for name in names]
    clients = {precision: _client(precision, config, gguf) for precision, _, _, _ in parsed}
    return [
        EngineRow(name, clients[precision], decoding, drafting, ends, session)
        for name, (precision, decoding, drafting, ends) in zip(names, parsed, strict=True)
    ]


def _parse(name: str) -> tuple[str, Decoding, Drafting, Ends]:
    precision, _, rest = name.partition("-")
    how, _, ends = rest.partition("-")
    ends = ends or Ends.BOTH
    ways = (*Drafting, Decoding.DIFFUSION)
    known = precision in (*PRECISIONS, REFERENCE) and how in ways
    if not known or ends not in list(Ends):
        raise RowError(
            f"no row is called {name!r}: there are {', '.join((*PRECISIONS, REFERENCE))}, each "
            f"with -{' or -'.join(ways)}, and then at will -{', -'.join(Ends)}"
        )
    if how == Decoding.DIFFUSION:
        return precision, Decoding.DIFFUSION, Drafting.NONE, Ends(ends)
    return precision, Decoding.CAUSAL, Drafting(how), Ends(ends)


def _client(precision: str, config: Config, gguf: Path | None) -> EngineClient:
    if precision != REFERENCE or config.engine == "fake":
        return connect(replace(config, precision=precision))
    if gguf is None:
        raise RowError("the reference reads the model's original file: give it by --gguf PATH")
    original = gguf

    def load() -> Engine:
        from clover_engine.engine import load_reference

        folder = Store(config.cache_dir, config.sources).require(config.model)
        return load_reference(original, folder, model=config.model, threads=config.threads)

    return InprocClient(Runner(load))
