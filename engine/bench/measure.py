"""Clocks, ceilings and errors: how the figures of the GPU tables come about."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, cast

import torch

from bench.cases import Case
from clover_engine.kernels import reference
from clover_engine.kernels.dispatch import Kernels
from clover_engine.kernels.quantised import Quantised

_REPEATED = 10


def seconds(run: Callable[[], object], device: torch.device) -> float:
    """The median time of a call. On a card its caches are cleared before each, as a step does."""
    if device.type == "cuda":
        from triton.testing import do_bench

        milliseconds: Any = do_bench(run, warmup=10, rep=40, return_mode="median")
        return float(milliseconds) / 1e3
    return passed(run, device, repeated=1)


def passed(run: Callable[[], object], device: torch.device, repeated: int = _REPEATED) -> float:
    """The mean time of a call among several, which leaves its own traces in the caches."""
    run()
    _wait(device)
    begun = time.perf_counter()
    for _ in range(repeated):
        run()
    _wait(device)
    return (time.perf_counter() - begun) / repeated


def ceilings(device: torch.device, dtype: torch.dtype, tiny: bool) -> tuple[float, float]:
    """What this card reaches: bytes a second read, operations a second of a large product."""
    size, side = (2**20, 128) if tiny else (2**31, 8192)
    memory = torch.zeros(size, dtype=torch.uint8, device=device).view(torch.float32)
    read = size / seconds(memory.sum, device)
    x = torch.randn(side, side, dtype=dtype, device=device)
    return read, 2 * side**3 / seconds(lambda: x @ x, device)


def worst_error(case: Case, kernels: Kernels) -> float:
    """The largest error against the definition in float64, in parts of its row's largest value;
    infinite where whole numbers differ or something is not finite."""
    wanted = case.run(cast(Kernels, _Before(reference, _exact)))
    return _apart(case.run(cast(Kernels, _Before(kernels, _copied))), wanted)


class _Before:
    """A set of operations whose inputs are changed before: cases keep theirs."""

    def __init__(self, operations: Any, change: Callable[[Any], Any]) -> None:
        self._operations = operations
        self._change = change

    def __getattr__(self, name: str) -> Callable[..., Any]:
        operation = getattr(self._operations, name)

        def changed(*inputs: Any) -> tuple[Any, list[Any]]:
            kept = [self._change(value) for value in inputs]
            result = operation(*kept)
            # a state that has moved counts too
            return result, [value for value in kept if isinstance(value, torch.Tensor)]

        return changed


def _copied(value: Any) -> Any:
    return value.clone() if isinstance(value, torch.Tensor) else value


def _exact(value: Any) -> Any:
    match value:
        case torch.Tensor():
            return value.double() if value.is_floating_point() else value.clone()
        case tuple() if hasattr(value, "_fields"):
            return type(value)(*map(_exact, value))
        case Quantised():
            return value
    return value


def _apart(got: Any, wanted: Any) -> float:
    if isinstance(wanted, tuple | list):
        return max((_apart(one, other) for one, other in zip(got, wanted, strict=True)), default=0)
    if not wanted.is_floating_point():
        return 0.0 if torch.equal(got, wanted) else float("inf")
    if not bool(got.isfinite().all()):
        return float("inf")
    largest = wanted.abs().amax(-1, keepdim=True).clamp_min(1e-30)
    return float(((got.double() - wanted) / largest).abs().max())


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
