"""What a step of Clover must cost at least: its bytes and operations over what a card can do.

python -m bench.roofline [--rows 32] [--prefix 8192]
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass

import torch

from bench.cases import Case, Maker, cases
from bench.shape import CLOVER, Shape

TOKENS_PER_FORWARD = (3.0, 5.0, 5.5, 8.0)
BITS = (16, 4)
PCIE = 64e9  # bytes a second, fifth generation, 16 lanes
WORKSPACE = 1.5e9  # bytes of a card that hold no weights: driver, state, keys, the step's own


@dataclass(frozen=True, slots=True)
class Card:
    """Data sheet figures: what no kernel exceeds."""

    name: str
    bandwidth: float  # bytes a second
    operations: float  # bfloat16 on tensor cores, dense, summed in float32, a second
    memory: float  # bytes

    def floor(self, case: Case) -> float:
        """Seconds that one call takes at least."""
        return max(case.bytes / self.bandwidth, case.operations / self.operations)


CARDS = (
    Card("H200", 4.8e12, 989e12, 141e9),
    Card("RTX 5070 Ti", 0.896e12, 88e12, 16e9),
    Card("RTX 4090", 1.008e12, 165e12, 24e9),
)
# tokens a second that the vendor claims, by card and bits of the weights
CLAIMED = {("H200", 16): 515.0, ("RTX 5070 Ti", 4): 101.8}


@dataclass(frozen=True, slots=True)
class Pass:
    """All calls of a denoise step and of a commit."""

    bits: int
    found: list[Case]

    def step(self, card: Card) -> float:
        """Seconds of a denoise step."""
        return sum(case.step * card.floor(case) for case in self.found)

    def commit(self, card: Card) -> float:
        """Seconds of the pass that commits a block."""
        return sum(case.commit * card.floor(case) for case in self.found)

    def bytes(self) -> float:
        """Of a denoise step."""
        return sum(case.step * case.bytes for case in self.found)


def counted(shape: Shape, bits: int, rows: int, prefix: int) -> Pass:
    """The calls of a block of `rows` behind `prefix` tokens; nothing is computed."""
    make = Maker(torch.device("meta"), torch.bfloat16, bits)
    return Pass(bits, cases(shape, make, rows, prefix))


def speed(step: float, commit: float, rows: int, tokens: float) -> float:
    """Tokens a second at `tokens` settled a forward, with one commit a block."""
    return rows / (rows / tokens * step + commit)


def weight_bytes(shape: Shape, bits: int) -> float:
    """Of all weights; quantised ones have a scale of two bytes a group."""
    return shape.parameters * (2.0 if bits == 16 else bits / 8 + 2 / shape.group)


def streamed(shape: Shape, card: Card, found: Pass) -> float:
    """Seconds that a step takes longer because weights do not fit: touched ones of those left in
    host memory come over PCIe."""
    whole = weight_bytes(shape, found.bits)
    outside = max(0.0, 1 - (card.memory - WORKSPACE) / whole)
    return outside * found.bytes() / PCIE


def report(shape: Shape, rows: int, prefix: int) -> Iterator[str]:
    """The lines of the tables."""
    for bits in BITS:
        found = counted(shape, bits, rows, prefix)
        yield from _operations(found, rows, prefix)
        yield from _speeds(shape, found, rows)


def _operations(found: Pass, rows: int, prefix: int) -> Iterator[str]:
    kind = "bf16" if found.bits == 16 else f"int{found.bits}"
    yield f"{kind} weights, block of {rows}, prefix of {prefix}: floor of one call in microseconds"
    head = "".join(f"{card.name:>13}" for card in CARDS)
    yield f"{'':26}{'step':>5}{'commit':>7}{'MB':>10}{'MFLOP':>10}{head}"
    for case in found.found:
        floors = "".join(f"{card.floor(case) * 1e6:13.2f}" for card in CARDS)
        size = f"{case.bytes / 1e6:10.3f}{case.operations / 1e6:10.2f}"
        yield f"{case.name:26}{case.step:5}{case.commit:7}{size}{floors}"
    for name, total in (("one step, ms", found.step), ("one commit, ms", found.commit)):
        yield f"{name:58}" + "".join(f"{total(card) * 1e3:13.2f}" for card in CARDS)
    yield ""


def _speeds(shape: Shape, found: Pass, rows: int) -> Iterator[str]:
    whole = weight_bytes(shape, found.bits) / 1e9
    touched = shape.touched(rows)
    yield (
        f"weights {whole:.1f} GB; a step reads {found.bytes() / 1e9:.1f} GB"
        f" ({touched:.0f} of {shape.experts} experts a layer)"
    )
    columns = "".join(f"{f'{tokens:g} a forward':>14}" for tokens in TOKENS_PER_FORWARD)
    yield f"{'tokens/s at most':28}{columns}   vendor's claim"
    for card in CARDS:
        yield from _card_speeds(shape, card, found, rows)
    yield ""


def _card_speeds(shape: Shape, card: Card, found: Pass, rows: int) -> Iterator[str]:
    claimed = CLAIMED.get((card.name, found.bits))
    claim = f"{claimed:17}" if claimed else ""
    step, commit = found.step(card), found.commit(card)
    extra = streamed(shape, card, found)
    yield f"{card.name + ', all on the card':28}" + _row(step, commit, rows) + claim
    if extra:
        row = _row(step + extra, commit + extra, rows)
        yield f"{card.name + ', rest by PCIe':28}" + row + claim
    if claimed:
        needed = rows / claimed
        forwards = (needed - commit - extra) / (step + extra)
        yield (
            f"  {claimed:g} tokens/s is {needed * 1e3:.1f} ms a block of {rows}: at most"
            f" {forwards:.1f} forwards and a commit at the floor, so at least"
            f" {rows / forwards:.1f} tokens a forward"
        )


def _row(step: float, commit: float, rows: int) -> str:
    return "".join(f"{speed(step, commit, rows, tokens):14.0f}" for tokens in TOKENS_PER_FORWARD)


def main() -> None:
    """Print the tables of Clover-35B-A3B."""
    parser = argparse.ArgumentParser(prog="python -m bench.roofline", description=__doc__)
    parser.add_argument("--rows", type=int, default=32, help="tokens of a block")
    parser.add_argument("--prefix", type=int, default=8192, help="committed tokens")
    options = parser.parse_args()
    for line in report(CLOVER, options.rows, options.prefix):
        print(line)


if __name__ == "__main__":
    main()
