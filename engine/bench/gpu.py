"""Measure the kernels and the whole step of a synthetic Clover-35B on the card at hand.

python -m bench.gpu                       (under 8 minutes; also `make gpu`)
python -m bench.gpu --device cpu --tiny   the same code at toy sizes, to check the script
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import torch

from bench.cases import Maker, cases
from bench.measure import ceilings, passed, seconds, worst_error
from bench.model import SyntheticModel
from bench.roofline import TOKENS_PER_FORWARD, Card, counted, speed, weight_bytes
from bench.shape import CLOVER, TINY, Shape
from bench.torch_kernels import torch_kernels
from clover_engine.kernels.block_steps import recorded
from clover_engine.kernels.dispatch import Kernels, kernels_for
from clover_engine.kernels.fallback import why_not

BITS = (16, 4)
WORST = 1e-2  # of a bfloat16 result; float32 ones are compared at 1e-4
HEADROOM = 1.1  # memory beyond the weights: keys, states, workspaces


@dataclass(frozen=True, slots=True)
class Setting:
    """What is measured, and on what."""

    device: torch.device
    dtype: torch.dtype
    shape: Shape
    rows: Sequence[int]
    prefixes: Sequence[int]
    kernels: Kernels
    card: Card  # with what it was measured to reach
    backend: str  # of torch.compile

    def maker(self, bits: int) -> Maker:
        return Maker(self.device, self.dtype, bits)


def setting(device: torch.device, tiny: bool) -> Setting:
    """The card's ceilings are measured here."""
    dtype = torch.bfloat16 if device.type == "cuda" else torch.float32
    bandwidth, operations = ceilings(device, dtype, tiny)
    name, memory = "CPU", 8e9
    if device.type == "cuda":
        name = torch.cuda.get_device_name(device)
        memory = float(torch.cuda.mem_get_info(device)[0])
    return Setting(
        device,
        dtype,
        TINY if tiny else CLOVER,
        (8,) if tiny else (8, 16, 32),
        (64,) if tiny else (1024, 8192, 65_536),
        kernels_for(device),
        Card(name, bandwidth, operations, memory),
        "inductor" if device.type == "cuda" else "eager",
    )


def report(at: Setting) -> Iterator[str]:
    """The table, line by line, as it is measured."""
    card = at.card
    yield (
        f"{card.name}, {card.memory / 1e9:.0f} GB free, torch {torch.__version__}: reads"
        f" {card.bandwidth / 1e9:.0f} GB/s, multiplies {card.operations / 1e12:.2f} TFLOP/s"
    )
    for bits in BITS:
        yield from _kernels(at, bits)
    for bits in reversed(BITS):  # the compiled peers come last: what they hold is not freed
        needed = HEADROOM * weight_bytes(at.shape, bits)
        if needed > card.memory:
            yield f"{_kind(bits)}: not measured, it takes {needed / 1e9:.0f} GB"
            continue
        yield from _steps(at, bits)
        if at.device.type == "cuda":
            torch.cuda.empty_cache()


def _kernels(at: Setting, bits: int) -> Iterator[str]:
    rows, prefix = at.rows[-1], at.prefixes[len(at.prefixes) // 2]
    yield ""
    yield f"{_kind(bits)} weights, block of {rows}, prefix of {prefix}"
    yield f"{'':26}{'us':>10}{'floor us':>10}{'of floor':>9}{'GB/s':>8}{'TFLOP/s':>9}{'error':>10}"
    with torch.inference_mode():
        for case in cases(at.shape, at.maker(bits), rows, prefix):
            error = worst_error(case, at.kernels)
            took = seconds(partial(case.run, at.kernels), at.device)
            floor = at.card.floor(case)
            limit = WORST if at.dtype == torch.bfloat16 else 1e-4
            yield (
                f"{case.name:26}{took * 1e6:10.1f}{floor * 1e6:10.2f}{floor / took:9.0%}"
                f"{case.bytes / took / 1e9:8.0f}{case.operations / took / 1e12:9.2f}{error:10.1e}"
                f"{'  WRONG' if error > limit else ''}"
            )


def _steps(at: Setting, bits: int) -> Iterator[str]:
    model = SyntheticModel(at.shape, at.maker(bits), at.prefixes[-1])
    yield ""
    rates = "".join(f"{f'{tokens:g}/fwd':>9}" for tokens in TOKENS_PER_FORWARD)
    times = f"{'graph ms':>10}{'no graph':>10}{'floor':>8}{'of floor':>9}"
    yield f"{_kind(bits)}, whole step; tokens/s at so many a forward, the commit counted"
    yield f"{'block':>6}{'prefix':>8}{times}{rates}"
    with torch.inference_mode():
        for prefix in at.prefixes:
            model.put_prefix(prefix)
            for rows in at.rows:
                yield _step(at, model, bits, rows, prefix)
        if bits == 16:
            yield from _peers(at, model)


def _step(at: Setting, model: SyntheticModel, bits: int, rows: int, prefix: int) -> str:
    tokens = _tokens(at, rows)
    step, commit = partial(model.step, at.kernels), partial(model.commit, at.kernels)
    plain = passed(partial(step, tokens), at.device)
    graphed = passed(recorded(step, tokens), at.device)
    committed = passed(recorded(commit, tokens), at.device)
    floor = counted(at.shape, bits, rows, prefix).step(at.card)
    rates = "".join(f"{speed(graphed, committed, rows, n):9.0f}" for n in TOKENS_PER_FORWARD)
    return (
        f"{rows:6}{prefix:8}{graphed * 1e3:10.2f}{plain * 1e3:10.2f}{floor * 1e3:8.2f}"
        f"{floor / graphed:9.0%}{rates}"
    )


def _peers(at: Setting, model: SyntheticModel) -> Iterator[str]:
    """The same layers by torch, at the largest block and the middle prefix."""
    rows, prefix = at.rows[-1], at.prefixes[-1]
    model.put_prefix(prefix)
    tokens, peer = _tokens(at, rows), torch_kernels()
    yield f"the same layers, block of {rows}, prefix of {prefix}"
    step = partial(model.step, peer)
    yield f"  torch eager            {passed(partial(step, tokens), at.device) * 1e3:10.2f} ms"
    model.compile_layers(at.backend)
    yield f"  torch.compile          {passed(partial(step, tokens), at.device) * 1e3:10.2f} ms"


def _tokens(at: Setting, rows: int) -> torch.Tensor:
    """Different tokens and no masks: experts are chosen evenly, and a step repeats itself."""
    random = torch.Generator().manual_seed(rows)
    return torch.randint(100, at.shape.vocabulary, (rows,), generator=random).to(at.device)


def _kind(bits: int) -> str:
    return "dense" if bits == 16 else f"int{bits}"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.gpu", description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--tiny", action="store_true", help="toy sizes, to check the script")
    options = parser.parse_args()
    device = torch.device(options.device)
    if device.type == "cuda" and not torch.cuda.is_available():
        sys.exit("bench.gpu: torch sees no card (no driver, one too old, or a CPU build of torch)")
    if device.type == "cuda" and (reason := why_not(device)):
        sys.exit(f"bench.gpu: the Triton kernels cannot run here: {reason}")
    torch.manual_seed(0)
    for line in report(setting(device, options.tiny)):
        print(line, flush=True)


if __name__ == "__main__":
    main()
