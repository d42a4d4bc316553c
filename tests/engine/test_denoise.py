"""Decoding on the tiny model: drafts change nothing, and no interruption does any harm."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import count, product
from typing import TYPE_CHECKING

import numpy as np
import pytest
import torch

from clover_engine.api import (
    CanvasRequest,
    Decoding,
    Draft,
    Drafting,
    Filled,
    Finish,
    infill_request,
)
from clover_engine.ending import PLAUSIBLE
from clover_engine.inproc import InprocClient
from clover_engine.models.parts import MASK
from clover_engine.runner import Runner
from clover_engine.sampler import Sampler
from clover_engine.steps import PREFILL_ROWS
from clover_engine.weights import load_vocabulary
from tests.support.driving import Run, close_at, random_document, run
from tests.support.tiny_model import SPECIALS, UNUSED, USER_DEFINED

if TYPE_CHECKING:
    from clover_engine.engine import LocalEngine
    from tests.support.tiny_model import TinyModel

SEEDS = range(20)
# behind 300 tokens the prompt is read in three chunks
LONG_PREFIX = "def name(self):\n    return self.value\n\n" * 12 + "def val"
_names = count()


def new_name() -> str:
    """A document the engine has not seen."""
    return f"document {next(_names)}"


def ask(
    prefix: str,
    suffix: str = "",
    *,
    max_tokens: int = 20,
    stop: tuple[str, ...] = (),
    document: str = "",
    drafting: Drafting = Drafting.BOTH,
) -> CanvasRequest:
    """An infill request; unnamed documents find nothing in the cache."""
    return infill_request(
        prefix, suffix, document=document, max_tokens=max_tokens, stop=stop, drafting=drafting
    )


def answer(filled: Filled) -> tuple[str, Finish]:
    """What of an answer must not depend on how it was computed."""
    return filled.fills[0].text, filled.fills[0].finish


@pytest.mark.parametrize("engine_name", ["float_engine", "int8_engine", "bf16_engine"])
def test_drafts_change_nothing_but_the_number_of_forwards(
    request: pytest.FixtureRequest, exact_rows: bool, engine_name: str
) -> None:
    engine: LocalEngine = request.getfixturevalue(engine_name)
    # matrix products in floats sum in an order that depends on the rows: enough to turn a rounding
    # to bf16, and rarely a token
    exact = exact_rows if engine_name == "int8_engine" else engine_name == "float_engine"
    plain = [
        run(engine, ask(*random_document(seed), drafting=Drafting.NONE)).filled for seed in SEEDS
    ]
    drafted = [run(engine, ask(*random_document(seed))).filled for seed in SEEDS]
    same = [answer(one) == answer(other) for one, other in zip(plain, drafted, strict=True)]
    assert sum(same) >= len(SEEDS) * (1.0 if exact else 0.9)
    # some ended by the model's own end token: there is no stop string
    assert {filled.fills[0].finish for filled in plain} == {Finish.STOP, Finish.LENGTH}
    accepted = sum(filled.stats.accepted for filled in drafted)
    assert accepted > sum(filled.stats.accepted for filled in plain) + 10
    assert sum(filled.stats.forwards for filled in drafted) < sum(
        filled.stats.forwards for filled in plain
    )


@pytest.mark.parametrize("drafting", [Drafting.MASKS, Drafting.BOTH])
def test_masks_change_nothing(
    int8_engine: LocalEngine, block_engine: LocalEngine, exact_rows: bool, drafting: Drafting
) -> None:
    masked = same = 0
    for seed in SEEDS:
        plain = run(int8_engine, ask(*random_document(seed), drafting=Drafting.NONE))
        drafted = run(block_engine, ask(*random_document(seed), drafting=drafting))
        same += answer(plain.filled) == answer(drafted.filled)
        masked += sum(need.tokens.count(MASK) for need in drafted.needs)
        none = run(block_engine, ask(*random_document(seed), drafting=Drafting.NONE))
        # without masks the adapter is as if it were not there
        assert answer(none.filled) == answer(plain.filled)
        assert none.filled.fills[0].confidence == plain.filled.fills[0].confidence
        assert not any(MASK in need.tokens for need in none.needs)
    assert masked > 100
    assert same >= len(SEEDS) * (1.0 if exact_rows else 0.9)


async def test_a_runner_gives_the_same_answers(float_engine: LocalEngine) -> None:
    wanted = [run(float_engine, ask(*random_document(seed))) for seed in SEEDS[:8]]
    client = InprocClient(Runner(lambda: float_engine))
    try:
        for seed, expected in zip(SEEDS[:8], wanted, strict=True):
            drafts: list[Draft] = []
            filled = await client.fill(ask(*random_document(seed)), drafts.append)
            assert answer(filled) == answer(expected.filled)
            assert drafts[-1].text == expected.drafts[-1]
        overdue = infill_request(LONG_PREFIX, "", deadline_ms=0)
        assert answer(await client.fill(overdue)) == ("", Finish.DEADLINE)
    finally:
        await client.close()


@pytest.mark.parametrize("seed", SEEDS[:8])
def test_a_stop_string_cuts_where_it_would_stand(float_engine: LocalEngine, seed: int) -> None:
    prefix, suffix = random_document(seed)
    whole = run(float_engine, ask(prefix, suffix, max_tokens=24)).text
    for length in (1, 2, 5):
        for start in range(0, len(whole) - length + 1, 3):
            stop = whole[start : start + length]
            got = run(float_engine, ask(prefix, suffix, max_tokens=24, stop=("no such", stop)))
            assert answer(got.filled) == (whole.split(stop)[0], Finish.STOP)
            assert all(got.text.startswith(draft) for draft in got.drafts)


@pytest.mark.parametrize("seed", SEEDS[:8])
def test_a_shorter_hole_holds_the_beginning(float_engine: LocalEngine, seed: int) -> None:
    whole = run(float_engine, ask(*random_document(seed)))
    for max_tokens in range(12):
        short = run(float_engine, ask(*random_document(seed), max_tokens=max_tokens))
        assert whole.text.startswith(short.text)
        assert short.filled.stats.tokens <= max_tokens
        if short.filled.fills[0].finish is Finish.LENGTH:
            assert short.filled.stats.tokens == max_tokens


@pytest.mark.parametrize("seed", SEEDS[:8])
def test_drafts_grow_into_the_answer(float_engine: LocalEngine, seed: int) -> None:
    done = run(float_engine, ask(*random_document(seed), stop=("\n\n", "  ")))
    assert done.drafts
    assert done.drafts == sorted(done.drafts, key=len)
    assert done.drafts[-1] == done.text
    assert all(done.text.startswith(draft) for draft in done.drafts)


def test_who_watches_sees_what_drafts_are_made_of(block_engine: LocalEngine) -> None:
    guessed = 0
    for seed, decoding in product(SEEDS[:8], Decoding):
        asked = replace(ask(*random_document(seed)), decoding=decoding)
        unwatched = run(block_engine, asked).shown
        assert not any(draft.pieces for draft in unwatched)
        watched = run(block_engine, replace(asked, watch=True)).shown
        assert watched[-1].text == unwatched[-1].text
        for draft in watched:
            shown = "".join(piece.text for piece in draft.pieces if piece.settled)
            # what is settled in a block is shown before it is committed
            assert shown.startswith(draft.text)
            assert shown == draft.text or decoding is Decoding.DIFFUSION
            assert all(0.0 <= piece.confidence <= 1.0 for piece in draft.pieces)
            guessed += sum(not piece.settled for piece in draft.pieces)
    assert guessed > 100


@pytest.mark.parametrize("stop", [(), ("e\n", "\n\n")])
def test_a_deadline_at_any_forward_returns_what_is_clean(
    float_engine: LocalEngine, stop: tuple[str, ...]
) -> None:
    for prefix, suffix in (random_document(3), random_document(11), (LONG_PREFIX, "\n" * 9)):
        whole = run(float_engine, ask(prefix, suffix, stop=stop, max_tokens=10))
        texts = []
        for forward in range(len(whole.needs)):
            cut = run(float_engine, ask(prefix, suffix, stop=stop, max_tokens=10), forward)
            assert cut.filled.fills[0].finish is Finish.DEADLINE
            assert cut.filled.stats.forwards == forward
            texts.append(cut.text)
        assert texts == sorted(texts, key=len)
        assert all(whole.text.startswith(text) for text in texts)


@pytest.mark.parametrize("computed", [False, True])
def test_closing_at_any_yield_leaves_a_valid_cache(
    float_engine: LocalEngine, computed: bool
) -> None:
    for prefix, suffix in (random_document(3), (LONG_PREFIX, "\n    return val\n")):
        wanted = run(float_engine, ask(prefix, suffix, max_tokens=8)).filled
        closed = 0
        # a new name each time, so that the beginning is not found finished in the cache
        while close_at(
            float_engine,
            request := ask(prefix, suffix, max_tokens=8, document=new_name()),
            closed,
            computed=computed,
        ):
            assert answer(run(float_engine, request).filled) == answer(wanted)
            closed += 1
        assert closed > 8


def test_a_deadline_leaves_a_valid_cache(float_engine: LocalEngine) -> None:
    request = ask(LONG_PREFIX, "\n", document=new_name())
    wanted = run(float_engine, ask(LONG_PREFIX, "\n"))
    for forward in range(len(wanted.needs)):
        run(float_engine, request, deadline_at=forward)
    assert answer(run(float_engine, request).filled) == answer(wanted.filled)


def test_a_hole_of_no_tokens_reads_the_context_ahead(float_engine: LocalEngine) -> None:
    name = new_name()
    warm = run(float_engine, ask(LONG_PREFIX, "\n", max_tokens=0, document=name)).filled
    assert answer(warm) == ("", Finish.LENGTH)
    assert warm.stats.tokens == 0
    wanted = run(float_engine, ask(LONG_PREFIX, "\n"))
    got = run(float_engine, ask(LONG_PREFIX, "\n", document=name))
    assert answer(got.filled) == answer(wanted.filled)
    stats = got.filled.stats
    assert stats.reused_tokens == stats.prompt_tokens - 1  # the last is read again for its logits
    assert len(got.needs[0].tokens) < len(wanted.needs[0].tokens)


def test_typing_costs_only_what_was_typed(float_engine: LocalEngine) -> None:
    name = new_name()
    run(float_engine, ask(LONG_PREFIX, "\n    return name\n", max_tokens=4, document=name))
    for end in range(1, 30):
        prefix = LONG_PREFIX + "ue(self, name, value):\n    self"[:end]
        request = ask(prefix, "\n    return name\n", max_tokens=4, document=name)
        stats = run(float_engine, request).filled.stats
        assert stats.prompt_tokens - stats.reused_tokens <= 4


def test_documents_do_not_disturb_each_other(float_engine: LocalEngine) -> None:
    names = [new_name() for _ in range(4)]
    requests = [
        ask(*random_document(seed), document=name)
        for seed, name in zip(range(4), names, strict=True)
    ]
    wanted = [run(float_engine, ask(*random_document(seed))).text for seed in range(4)]
    for _ in range(3):
        assert [run(float_engine, request).text for request in requests] == wanted


def test_jobs_may_share_a_forward(float_engine: LocalEngine) -> None:
    requests = [ask(*random_document(seed), document=new_name()) for seed in (1, 2)]
    wanted = [answer(run(float_engine, ask(*random_document(seed))).filled) for seed in (1, 2)]
    jobs = [float_engine.start(request) for request in requests]
    events = [next(job) for job in jobs]
    answers: dict[int, Filled] = {}
    while len(answers) < 2:
        asking = [i for i in (0, 1) if i not in answers and isinstance(events[i], tuple)]
        results = float_engine.forward([events[i] for i in asking])
        for i in (0, 1):
            if i in answers:
                continue
            try:
                result = results[asking.index(i)] if i in asking else None
                events[i] = jobs[i].send(result)
            except StopIteration as end:
                answers[i] = end.value
    assert [answer(answers[i]) for i in (0, 1)] == wanted


@pytest.mark.parametrize("seed", SEEDS[:10])
def test_what_was_taken_back_is_spelled_first(
    float_engine: LocalEngine, tiny_model: TinyModel, seed: int
) -> None:
    vocabulary = load_vocabulary(tiny_model.folder)
    prefix = "\n" + random_document(seed)[0].strip() + "retu"
    done = run(float_engine, ask(prefix))
    assert done.filled.stats.tokens > 2
    committed = committed_tokens(done)
    written = b"".join(vocabulary.token_bytes(token) for token in committed)
    healed = re.sub(rb".*?( ?retu)$", rb"\1", prefix.encode(), flags=re.DOTALL)
    assert written.startswith(healed)
    # the rest is the text, whose last character may lack a byte here
    rest = written[len(healed) :].decode(errors="replace").rstrip("\ufffd")
    assert done.text.startswith(rest)


def committed_tokens(done: Run) -> list[int]:
    """The tokens behind the prompt that the cache holds in the end; the last may lack."""
    return done.needs[-1].cache.tokens[done.filled.stats.prompt_tokens :]


def test_no_special_token_is_ever_written(float_engine: LocalEngine, tiny_model: TinyModel) -> None:
    silent = set(load_vocabulary(tiny_model.folder).without_bytes().tolist())
    looks_special = "".join((*SPECIALS, *USER_DEFINED))
    for seed in SEEDS[:10]:
        prefix, suffix = random_document(seed)
        done = run(float_engine, ask(prefix + looks_special + prefix, looks_special + suffix))
        assert not silent & set(committed_tokens(done))
        assert not any(name in done.text for name in (*SPECIALS, *USER_DEFINED, *UNUSED))


class ConstantHead:
    """An end head that says the same everywhere."""

    def __init__(self, chance: float) -> None:
        self._chance = chance

    def __call__(self, features: torch.Tensor) -> torch.Tensor:
        return torch.full((len(features),), self._chance)


@pytest.mark.parametrize("drafting", [Drafting.NONE, Drafting.BOTH])
@pytest.mark.parametrize("seed", SEEDS[:8])
def test_a_plausible_end_is_put_to_the_test(
    block_engine: LocalEngine, monkeypatch: pytest.MonkeyPatch, seed: int, drafting: Drafting
) -> None:
    prefix, right = random_document(seed)[0], "\n\nwhat stands right of it"
    whole = run(block_engine, ask(prefix, right, drafting=drafting)).text
    monkeypatch.setattr(block_engine, "_end_head", ConstantHead(PLAUSIBLE + 0.1))
    # the right text never fits well: all is written, and cut where it fits best
    monkeypatch.setattr("clover_engine.hole_text.FITTING", 1.0)
    refused = run(block_engine, ask(prefix, right, drafting=drafting))
    assert whole.startswith(refused.text)
    assert refused.filled.stats.forwards == len(refused.needs)
    # it always fits: the hole ends where it may for the first time
    monkeypatch.setattr("clover_engine.hole_text.FITTING", -10_000.0)
    ended = run(block_engine, ask(prefix, right, drafting=drafting))
    assert whole.startswith(ended.text)
    assert ended.filled.stats.tokens <= refused.filled.stats.tokens


def test_the_sampler_passes_over_forbidden_tokens() -> None:
    sampler = Sampler(forbidden=[0, 3], end=[4], device=torch.device("cpu"))
    logits = torch.tensor([[9.0, 1.0, 2.0, 9.0, 0.0], [9.0, 0.0, 0.0, 9.0, 3.0]])
    [(first, chance), (second, _)] = sampler.choose(logits)
    assert (first, second) == (2, 4)
    assert sampler.is_end(second)
    assert not sampler.is_end(first)
    # among the tokens that may be written: exp(2) / (exp(1) + exp(2) + exp(0))
    assert chance == pytest.approx(0.6652, abs=1e-4)
    token, chance = sampler.choose_among(
        torch.tensor([5.0, 1.0, 0.0]), np.array([False, True, True])
    )
    assert token == 1
    assert chance == pytest.approx(0.7311, abs=1e-4)


def test_typing_along_drafts_the_last_answer(float_engine: LocalEngine) -> None:
    drafted = 0
    for seed in SEEDS[:10]:
        prefix, suffix = random_document(seed)
        name = new_name()
        first = run(float_engine, ask(prefix, suffix, document=name))
        if len(first.text) < 8:
            continue
        typed = prefix + first.text[:2]
        alone = run(float_engine, ask(typed, suffix, document=new_name()))
        along = run(float_engine, ask(typed, suffix, document=name))
        assert answer(along.filled) == answer(alone.filled)
        drafted += alone.filled.stats.forwards - along.filled.stats.forwards
    # what was just written is verified, not written again
    assert drafted >= 10


@pytest.mark.parametrize("drafting", [Drafting.NONE, Drafting.LOOKUP, Drafting.BOTH])
def test_the_figures_add_up(float_engine: LocalEngine, drafting: Drafting) -> None:
    for prefix, suffix in [*map(random_document, SEEDS[:10]), (LONG_PREFIX, "")]:
        done = run(float_engine, ask(prefix, suffix, drafting=drafting, document=new_name()))
        [fill], stats = done.filled.fills, done.filled.stats
        verifications = [need for need in done.needs if need.rows]
        assert stats.forwards == len(done.needs)
        assert stats.reused_tokens == 0
        read = sum(len(need.tokens) - max(0, need.rows - 1) for need in done.needs)
        # every verification but the first reads one token that was written before it
        assert read == stats.prompt_tokens + len(verifications) - 1
        assert stats.drafted == sum(need.rows - 1 for need in verifications)
        assert stats.accepted <= stats.drafted
        # each forward brings a token beside the accepted ones, unless the last says: finished
        ended = fill.finish is Finish.STOP
        assert stats.tokens == stats.accepted + len(verifications) - ended
        assert max(len(need.tokens) for need in done.needs) <= PREFILL_ROWS + 2
        assert 0.0 < fill.confidence <= 1.0
        assert min(stats.prefill_ms, stats.decode_ms) >= 0.0


def test_an_engine_says_what_it_is(int8_engine: LocalEngine, bf16_engine: LocalEngine) -> None:
    assert (int8_engine.info.model, int8_engine.info.precision) == ("tiny", "int8")
    assert bf16_engine.info.precision == "bf16"
    assert "rows" in int8_engine.info.detail
