"""Compile every kernel at the shipped configuration for every supported card, without a card.

python -m bench.compiled            print the table
python -m bench.compiled --write    and keep it, as compiled.txt
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.runtime import driver
from triton.runtime.jit import JITFunction

from bench.cases import Maker, cases
from bench.shape import CLOVER
from clover_engine.kernels import triton as twins
from clover_engine.kernels.dispatch import Kernels

TABLE = Path(__file__).with_name("compiled.txt")
ROWS, PREFIX = 32, 8192
# shared memory that one block of threads may have, in bytes
CARDS = {80: 166_912, 89: 101_376, 90: 232_448, 100: 232_448, 120: 101_376}
_USAGE = re.compile(r"REG:(\d+) STACK:(\d+) SHARED:\d+ LOCAL:(\d+)")


@dataclass(frozen=True, slots=True, order=True)
class Built:
    """What one kernel takes from one card; `local` is memory that registers spilled into."""

    kernel: str
    bits: int
    arch: int
    registers: int
    local: int
    shared: int


def built(arch: int) -> list[Built]:
    """All kernels of a step and a commit, for one architecture."""
    found: dict[tuple[str, int], Built] = {}
    for bits in (16, 8, 4):
        make = Maker(torch.device("meta"), torch.bfloat16, bits)
        with _compiling(arch) as kernels:
            for case in cases(CLOVER, make, ROWS, PREFIX):
                case.run(Kernels(vars(twins)))
        for name, kernel, stored in kernels:
            if (name, stored) not in found:
                found[name, stored] = _measured(name, stored, arch, kernel)
    return sorted(found.values())


def excess(rows: list[Built]) -> list[Built]:
    """Kernels that spill into local memory or take more shared memory than their card has."""
    return [row for row in rows if row.local or row.shared > CARDS[row.arch]]


def table(rows: list[Built]) -> str:
    """One line a kernel, one group of columns a card."""
    cards = "".join(f" | {f'sm_{arch} reg':>10} {'loc':>4} {'shared':>6}" for arch in CARDS)
    lines = [f"triton {triton.__version__}", f"{'kernel':20} bits{cards}"]
    for kernel, bits in sorted({(row.kernel, row.bits) for row in rows}):
        cells = [row for row in rows if (row.kernel, row.bits) == (kernel, bits)]
        line = f"{kernel:20} {bits:4}"
        for row in sorted(cells, key=lambda row: row.arch):
            line += f" | {row.registers:10} {row.local:4} {row.shared:6}"
        lines.append(line)
    return "\n".join(lines) + "\n"


class _Target:
    """Stands where the driver of a card would: it says what to compile for."""

    def __init__(self, arch: int) -> None:
        self._target = GPUTarget("cuda", arch, 32)

    def get_current_target(self) -> GPUTarget:
        return self._target

    def get_current_device(self) -> int:
        return int(self._target.arch)

    def get_current_stream(self, device: int) -> int:
        return 0


@contextmanager
def _compiling(arch: int) -> Iterator[list[tuple[str, Any, int]]]:
    """Launches inside compile instead, and are listed with their kernel and bits of weights. The
    process has no card after that."""
    kernels: list[tuple[str, Any, int]] = []
    launch = JITFunction.run

    def compile_only(self: Any, *args: Any, grid: Any, warmup: bool, **options: Any) -> None:
        kernel = launch(self, *args, grid=grid, warmup=True, **options)
        kernels.append((self.__name__, kernel, options.get("BITS", 0)))

    driver.set_active(cast(Any, _Target(arch)))
    JITFunction.run = compile_only
    try:
        yield kernels
    finally:
        JITFunction.run = launch


def _measured(name: str, bits: int, arch: int, kernel: Any) -> Built:
    tool = Path(triton.__file__).parent / "backends/nvidia/bin/cuobjdump"
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(kernel.asm["cubin"])
        file.flush()
        told = subprocess.run(
            [tool, "--dump-resource-usage", file.name], capture_output=True, text=True, check=True
        ).stdout
    usage = _USAGE.search(told)
    if not usage:
        raise RuntimeError(f"cuobjdump told nothing of {name}: {told}")
    registers, stack, local = map(int, usage.groups())
    return Built(name.strip("_"), bits, arch, registers, stack + local, kernel.metadata.shared)


def main() -> None:
    """Print the table, and fail if a kernel takes more than a card has."""
    parser = argparse.ArgumentParser(prog="python -m bench.compiled", description=__doc__)
    parser.add_argument("--write", action="store_true", help=f"write {TABLE.name}")
    write = parser.parse_args().write
    rows = [row for arch in CARDS for row in built(arch)]
    print(table(rows), end="")
    if write:
        TABLE.write_text(table(rows))
    if too_large := excess(rows):
        sys.exit("\n".join(f"too large: {row}" for row in too_large))


if __name__ == "__main__":
    main()
