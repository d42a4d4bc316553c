"""Pure diffusion on the tiny model: within its limits, at any interruption, with any length."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from clover_engine.api import (
    CanvasRequest,
    Decoding,
    Drafting,
    Ends,
    Finish,
    Hole,
    Literal,
    infill_request,
)
from clover_engine.diffusion import BLOCK, LENGTHS, PINNED
from clover_engine.errors import RequestError
from clover_engine.models.parts import MASK
from tests.support.driving import close_at, random_document, run

if TYPE_CHECKING:
    from clover_engine.engine import LocalEngine

SEEDS = range(10)


def ask(
    prefix: str,
    suffix: str = "",
    *,
    max_tokens: int = 24,
    ends: Ends = Ends.BOTH,
    document: str = "",
) -> CanvasRequest:
    """An infill by diffusion."""
    asked = infill_request(prefix, suffix, max_tokens=max_tokens, document=document)
    return replace(asked, decoding=Decoding.DIFFUSION, ends=ends)


@pytest.mark.parametrize("ends", [Ends.BOTH, Ends.NONE])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_hole_is_filled_within_its_limits(
    block_engine: LocalEngine, seed: int, ends: Ends
) -> None:
    prefix, suffix = random_document(seed)
    for max_tokens in (1, 3, 20, 40):
        done = run(block_engine, ask(prefix, suffix, max_tokens=max_tokens, ends=ends))
        stats = done.filled.stats
        assert stats.tokens <= max_tokens
        assert 0.0 <= done.filled.fills[0].confidence <= 1.0
        assert stats.forwards == len(done.needs)
        # every step settles a mask at least; each block may be doubted once
        assert stats.forwards <= 3 + 2 * (max_tokens + BLOCK)
        assert done.drafts[-1] == done.text


def test_masks_see_the_pinned_right_context(block_engine: LocalEngine) -> None:
    prefix, suffix = "def name(self):\n    return ", "self.value\n    self.name = value\n"
    need = next(need for need in run(block_engine, ask(prefix, suffix)).needs if need.rows)
    assert need.layout is not None
    masks = need.tokens.count(MASK)
    assert need.rows == masks
    assert BLOCK - 2 <= masks <= BLOCK  # token healing may have taken the last tokens back
    pinned = range(len(need.tokens) - masks - PINNED, len(need.tokens) - masks)
    assert need.layout.visible[-masks:, list(pinned)].all()


def test_the_length_is_asked_for_in_one_forward(block_engine: LocalEngine) -> None:
    prefix, suffix = "def name(self):\n    return ", "self.value\n"
    done = run(block_engine, ask(prefix, suffix, max_tokens=12, ends=Ends.NONE))
    probe = next(need for need in done.needs if need.rows)
    asked = [length for length in LENGTHS if length <= 12]
    assert probe.rows == sum(asked)
    assert done.filled.stats.tokens <= max(asked)
    assert done.filled.fills[0].finish in (Finish.STOP, Finish.LENGTH)


def test_lines_and_stops_hold(block_engine: LocalEngine) -> None:
    for seed in SEEDS:
        prefix, suffix = random_document(seed)
        hole = Hole(24, max_lines=1)
        asked = CanvasRequest((Literal(prefix), hole, Literal(suffix)), decoding=Decoding.DIFFUSION)
        assert "\n" not in run(block_engine, asked).text
        whole = run(block_engine, ask(prefix, suffix)).text
        if len(whole) > 4:
            stopped = replace(
                ask(prefix, suffix),
                segments=(Literal(prefix), Hole(24, stop=(whole[2:4],)), Literal(suffix)),
            )
            assert run(block_engine, stopped).text == whole[: whole.index(whole[2:4])]


def test_interruptions_leave_a_valid_cache(block_engine: LocalEngine, exact_rows: bool) -> None:
    prefix, suffix = "def name(self):\n    return self.value\n" * 9, "    return val\n"
    wanted = run(block_engine, infill_request(prefix, suffix, max_tokens=8)).text
    whole = run(block_engine, ask(prefix, suffix))
    for forward in range(len(whole.needs)):
        name = f"diffusion {forward}"
        cut = run(block_engine, ask(prefix, suffix, document=name), forward)
        assert cut.filled.fills[0].finish is Finish.DEADLINE
        assert whole.text.startswith(cut.text)
        after = run(block_engine, infill_request(prefix, suffix, document=name, max_tokens=8)).text
        assert after == wanted or not exact_rows
    closed = 0
    while close_at(
        block_engine, ask(prefix, suffix, document=f"closed {closed}"), closed, computed=True
    ):
        name = f"closed {closed}"
        after = run(block_engine, infill_request(prefix, suffix, document=name, max_tokens=8)).text
        assert after == wanted or not exact_rows
        closed += 1
    assert closed > 2


def test_holes_that_ask_for_a_text_are_written_causally(block_engine: LocalEngine) -> None:
    hole = Hole(12, pattern="[0-9]{3}")
    asked = CanvasRequest((Literal("x = "), hole), decoding=Decoding.DIFFUSION)
    text = run(block_engine, asked).text
    assert text.isdigit()
    assert len(text) == 3


def test_a_model_without_an_adapter_says_so(int8_engine: LocalEngine) -> None:
    for asked in (ask("x = "), infill_request("x = ", "", drafting=Drafting.MASKS)):
        with pytest.raises(RequestError, match="no block adapter"):
            int8_engine.start(asked)
