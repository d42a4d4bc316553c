"""The tables about the GPU: what must be right on paper, what is compiled, and the script that
measures, run at toy sizes on the CPU."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from bench import gpu
from bench.cases import MASK, Maker, cases
from bench.measure import worst_error
from bench.model import SyntheticModel
from bench.roofline import CARDS, counted, report, speed, streamed, weight_bytes
from bench.shape import CLOVER, TINY
from clover_engine.kernels import block_steps
from clover_engine.kernels.block_steps import BlockSteps
from clover_engine.kernels.dispatch import Kernels

CPU = torch.device("cpu")
H200, RTX_5070_TI, _ = CARDS
KERNELS = Kernels({})


def test_the_model_is_as_large_as_its_makers_say() -> None:
    assert CLOVER.parameters == pytest.approx(34.66e9, rel=1e-3)
    assert weight_bytes(CLOVER, 16) == pytest.approx(69.3e9, rel=1e-3)
    assert weight_bytes(CLOVER, 4) == pytest.approx(17.3e9 * (1 + 4 / 128), rel=2e-3)


def test_experts_touched() -> None:
    assert CLOVER.touched(1) == pytest.approx(8)
    assert CLOVER.touched(32) == pytest.approx(163, abs=0.5)


@pytest.mark.parametrize(("bits", "gigabytes"), [(16, 45.4), (4, 12.1)])
def test_a_step_reads_its_weights_once(bits: int, gigabytes: float) -> None:
    """By hand: 163 of 256 experts in 40 layers, all other weights but the embedding, the keys."""
    found = counted(CLOVER, bits, 32, 8192)
    each = 2.0 if bits == 16 else 0.5 + 2 / 128
    experts = 40 * CLOVER.touched(32) * 3 * 2048 * 512
    rest = CLOVER.parameters - 40 * 256 * 3 * 2048 * 512 - CLOVER.vocabulary * 2048
    by_hand = (experts + rest) * each + 10 * 8192 * 2048
    assert 0 < found.bytes() - by_hand < 0.5e9  # activations, recurrent states
    assert found.bytes() / 1e9 == pytest.approx(gigabytes, rel=0.02)
    assert found.step(H200) >= found.bytes() / H200.bandwidth * 0.999


def test_every_operation_has_a_case() -> None:
    """Whatever is compiled and measured is everything that has a twin."""
    from tests.support.interpreted import twins

    called: set[str] = set()

    class Listening:
        def __getattr__(self, name: str) -> object:
            called.add(name)
            return lambda *_: None

    for case in cases(TINY, Maker(CPU, torch.float32, 4), 8, 64):
        case.run(Listening())  # type: ignore[arg-type]
    assert called == set(twins.__all__)


def test_tokens_a_second_count_the_commit() -> None:
    assert speed(0.01, 0.02, 32, 8.0) == pytest.approx(32 / 0.06)


def test_weights_that_do_not_fit_come_over_the_bus() -> None:
    found = counted(CLOVER, 4, 32, 8192)
    assert streamed(CLOVER, H200, found) == 0
    assert streamed(CLOVER, RTX_5070_TI, found) > found.step(RTX_5070_TI)


def test_the_report_names_the_claims() -> None:
    text = "\n".join(report(CLOVER, 32, 8192))
    assert "515.0" in text
    assert "101.8" in text
    assert "at least 5.7 tokens a forward" in text


def test_errors_are_found() -> None:
    """A kernel that is a hundredth off, or leaves a state behind, shows."""
    by_name = {case.name: case for case in cases(TINY, Maker(CPU, torch.float32, 16), 8, 64)}
    for name in ("rms_norm q, k", "causal_convolution", "sort_pairs"):
        assert worst_error(by_name[name], KERNELS) <= 1e-6
    wrong = Kernels({"rms_norm": lambda *x: KERNELS.rms_norm(*x) * 1.01})
    assert worst_error(by_name["rms_norm q, k"], wrong) > 5e-3
    still = Kernels(
        {"causal_convolution": lambda u, s, t: KERNELS.causal_convolution(u, s.clone(), t)}
    )
    assert worst_error(by_name["causal_convolution"], still) > 0.1
    swapped = Kernels({"sort_pairs": lambda e, n: KERNELS.sort_pairs(e.flip(0), n)})
    assert worst_error(by_name["sort_pairs"], swapped) == float("inf")


@pytest.mark.slow
def test_the_measuring_script_runs_at_toy_sizes() -> None:
    lines = list(gpu.report(gpu.setting(CPU, tiny=True)))
    assert not [line for line in lines if "WRONG" in line]
    assert sum("whole step" in line for line in lines) == 2
    assert any("torch.compile" in line for line in lines)


def test_without_a_card_the_measuring_script_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(sys, "argv", ["gpu"])
    with pytest.raises(SystemExit, match="torch sees no card"):
        gpu.main()


@pytest.mark.slow
def test_kernels_fit_every_card_and_the_table_is_up_to_date(tmp_path: Path) -> None:
    """Compiled in a process of its own: the interpreter is on in this one."""
    root = Path(__file__).parents[2]
    environment = {**os.environ, "TRITON_INTERPRET": "0"}
    told = subprocess.run(
        [sys.executable, "-m", "bench.compiled"],
        capture_output=True,
        text=True,
        env={**environment, "PYTHONPATH": str(root / "engine")},
        check=False,
    )
    assert told.returncode == 0, told.stderr
    kept = (root / "engine/bench/compiled.txt").read_text()
    if kept.splitlines()[0] == told.stdout.splitlines()[0]:
        assert told.stdout == kept, "python -m bench.compiled --write"


class FakeGraph:
    """Stands where CUDA's recording would: it replays what the step did last."""

    def __init__(self, step: block_steps.Step, tokens: torch.Tensor) -> None:
        self.replayed = 0
        self._step, self._tokens = step, tokens

    def __call__(self) -> torch.Tensor:
        self.replayed += 1
        return self._step(self._tokens)


@pytest.mark.parametrize("length", block_steps.BLOCK_LENGTHS)
def test_a_block_is_denoised_in_steps_that_are_recorded_once(
    length: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    graphs: list[FakeGraph] = []

    def record(step: block_steps.Step, tokens: torch.Tensor) -> FakeGraph:
        graphs.append(FakeGraph(step, tokens))
        return graphs[-1]

    monkeypatch.setattr(block_steps, "recorded", record)
    torch.manual_seed(0)
    model = SyntheticModel(TINY, Maker(CPU, torch.float32, 16), 100)
    steps = BlockSteps(lambda tokens: model.step(KERNELS, tokens), CPU)
    block = [5, *[MASK] * (length - 2), 3]
    first, count = steps.denoise(block)
    again, _ = steps.denoise(block)
    assert first == again
    assert MASK not in first
    assert (first[0], first[-1]) == (5, 3)
    assert len(graphs) == 1
    assert graphs[0].replayed == 2 * count


def test_a_step_is_what_a_slow_loop_does() -> None:
    torch.manual_seed(1)
    model = SyntheticModel(TINY, Maker(CPU, torch.float32, 4), 30)
    tokens = torch.tensor([9, *[MASK] * 7])
    wanted = tokens.clone()
    while bool((wanted == MASK).any()):
        model.step(KERNELS, wanted)
    steps = BlockSteps(lambda block: model.step(KERNELS, block), CPU)
    assert steps.denoise(tokens.tolist())[0] == wanted.tolist()


def test_a_block_of_another_length_is_refused() -> None:
    with pytest.raises(ValueError, match="a block has one of"):
        BlockSteps(lambda tokens: tokens, CPU).denoise([1, 2, 3])


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no card")
def test_a_recorded_step_is_the_step() -> None:
    from clover_engine.kernels.dispatch import kernels_for

    device = torch.device("cuda")
    torch.manual_seed(0)
    model = SyntheticModel(TINY, Maker(device, torch.float32, 16), 100)
    kernels = kernels_for(device)
    block = [5, *[MASK] * 6, 3]
    recorded, _ = BlockSteps(lambda tokens: model.step(kernels, tokens), device).denoise(block)
    tokens = torch.tensor(block, device=device)
    while int(model.step(kernels, tokens)):
        pass
    assert recorded == tokens.tolist()
