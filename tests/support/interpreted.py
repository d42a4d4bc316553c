"""The Triton kernels under Triton's interpreter, which needs no card, on poisoned memory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch

os.environ["TRITON_INTERPRET"] = "1"  # read when a kernel is defined
pytest.importorskip("triton", reason="Triton is for Linux")

from clover_engine.kernels import triton as twins
from clover_engine.kernels.quantised import Quantised

__all__ = ["assert_close", "exact", "poisoned", "some", "twins"]

POISON = -(2**30)
KINDS = ("ordinary", "uneven", "zeros", "huge", "tiny")


def some(seed: int, *size: int, kind: str = "ordinary", dtype: torch.dtype = torch.float32) -> Any:
    """Random values of a kind that rounding, overflow or a missing mask would show in."""
    random = torch.Generator().manual_seed(seed)
    x = torch.randn(size, generator=random)
    match kind:
        case "uneven":
            x *= 10.0 ** torch.randint(-3, 4, (*size[:-1], 1), generator=random)
        case "zeros":
            x *= torch.rand(*size[:-1], 1, generator=random) > 0.5
        case "huge":
            x *= 1e6
        case "tiny":
            x *= 1e-6
    return x.to(dtype)


def exact(value: Any) -> Any:
    """Inputs in float64, with which a definition is exact; what is not a float stays."""
    match value:
        case torch.Tensor():
            return value.double() if value.is_floating_point() else value.clone()
        case Quantised():
            return value
        case tuple():
            parts = [exact(part) for part in value]
            return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value


def assert_close(got: Any, wanted: Any, tolerance: float = 1e-5, floor: float = 1e-30) -> None:
    """No value is further off than `tolerance` of the largest of its row; whole numbers agree."""
    if isinstance(wanted, tuple):
        assert len(got) == len(wanted)
        for one, other in zip(got, wanted, strict=True):
            assert_close(one, other, tolerance, floor)
        return
    assert got.shape == wanted.shape
    if not wanted.is_floating_point():
        assert torch.equal(got, wanted)
        return
    assert torch.isfinite(got).all()
    largest = wanted.abs().amax(-1, keepdim=True).clamp_min(floor)
    apart = ((got.double() - wanted.double()).abs() / largest).max()
    assert apart <= tolerance, f"off by {apart:.2g}"


@contextmanager
def poisoned() -> Iterator[None]:
    """Fresh memory holds NaN or a far number, so that what is never written shows."""
    fresh = torch.empty

    def poison(*size: Any, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
        memory = fresh(*size, dtype=dtype, device=device)
        return memory.fill_(float("nan") if dtype.is_floating_point else POISON)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch, "empty", poison)
        yield
