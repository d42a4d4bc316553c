"""The compiled kernels against their definitions, on memory that is poisoned before they write."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from clover_engine.errors import ModelError
from clover_engine.kernels import cpu, reference
from clover_engine.kernels.dispatch import OVERRIDE, kernels_for
from clover_engine.kernels.reference import Rows

EPS = 1e-6
# A byte may be rounded the other way, and then the value is off by one part in 127 of the row's
# largest; a row whose largest value is under 1e-12 is all but zero, whatever its bytes.
ONE_BYTE, ALL_BUT_ZERO = 1.01, 1e-9

row_counts = st.integers(1, 17)
widths = st.sampled_from([1, 2, 3, 7, 16, 31, 64, 65, 129])
seeds = st.integers(0, 2**32 - 1)
# what a float can be: zeros, denormals, tiny, ordinary and huge values; products stay finite
specials = st.lists(
    st.sampled_from([0.0, -0.0, 1e-40, -3e-39, 1e-20, -1.0, 1e4, -1e15]), max_size=8
)
exponents = st.integers(-6, 6)


def some_rows(count: int, width: int, seed: int, exponent: int, odd: list[float]) -> torch.Tensor:
    """Random rows of sizes that differ, with odd values strewn in."""
    random = np.random.default_rng(seed)
    x = random.standard_normal((count, width)) * 10.0**exponent
    x *= 10.0 ** random.integers(-2, 3, (count, 1))
    for value in odd:
        x[random.integers(count), random.integers(width)] = value
    return torch.from_numpy(x.astype(np.float32))


@contextmanager
def poisoned() -> Iterator[None]:
    """Fresh memory holds NaN (as bytes: 0), so that what is never written shows."""
    torch_empty, numpy_empty = torch.empty, np.empty

    def poisoned_torch(*size: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        memory = torch_empty(*size, dtype=dtype)
        return memory.fill_(float("nan") if dtype.is_floating_point else 0)

    def poisoned_numpy(size: int, dtype: type[np.number[Any]]) -> npt.NDArray[np.number[Any]]:
        memory = numpy_empty(size, dtype)
        memory.fill(np.nan if issubclass(dtype, np.floating) else -(2**30))
        return memory

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch, "empty", poisoned_torch)
        patch.setattr(np, "empty", poisoned_numpy)
        yield


def assert_twins(got: Rows, wanted: Rows) -> None:
    """Bytes differ by at most one, scales by 1e-5, except where the row is all but zero."""
    assert torch.isfinite(got[1]).all()
    assert got[0].min() >= 1  # symmetric around 128; a byte never written is 0
    apart = (got[0].int() - wanted[0].int()).abs()
    alive = wanted[1] > ALL_BUT_ZERO
    assert (apart * alive).max() <= 1
    torch.testing.assert_close(got[1] * alive, wanted[1] * alive, rtol=1e-5, atol=0)
    assert (got[1] * ~alive <= ALL_BUT_ZERO * 1.01).all()


def values(rows: Rows) -> torch.Tensor:
    """What the bytes stand for, in float64."""
    return (rows[0].double() - 128) * rows[1].double() / 127


def assert_stands_for(rows: Rows, exact: torch.Tensor) -> None:
    """No value is further off than one part in 127 of its row's largest."""
    largest = exact.abs().amax(dim=1, keepdim=True)
    assert ((values(rows) - exact).abs() <= ONE_BYTE * largest / 127 + ALL_BUT_ZERO).all()


@given(row_counts, widths, seeds, exponents, specials)
@settings(max_examples=60, deadline=None)
def test_to_rows(count: int, width: int, seed: int, exponent: int, odd: list[float]) -> None:
    x = some_rows(count, width, seed, exponent, odd)
    with poisoned():
        got = cpu.to_rows(x)
    assert_twins(got, reference.to_rows(x))
    assert_stands_for(got, x.double())


@given(row_counts, widths, seeds, exponents, specials)
@settings(max_examples=60, deadline=None)
def test_norm_to_rows(count: int, width: int, seed: int, exponent: int, odd: list[float]) -> None:
    x = some_rows(count, width, seed, exponent, odd)
    weight = some_rows(1, width, seed + 1, 0, [])[0]
    with poisoned():
        got = cpu.norm_to_rows(x, weight, EPS)
    assert_twins(got, reference.norm_to_rows(x, weight, EPS))
    root = (x.double().square().mean(dim=1, keepdim=True) + EPS).sqrt()
    assert_stands_for(got, x.double() / root * weight)


@given(row_counts, widths, seeds, st.integers(-6, 3), specials)
@settings(max_examples=60, deadline=None)
def test_swiglu_to_rows(count: int, width: int, seed: int, exponent: int, odd: list[float]) -> None:
    gate_up = some_rows(count, 2 * width, seed, exponent, odd)
    with poisoned():
        got = cpu.swiglu_to_rows(gate_up)
    assert_twins(got, reference.swiglu_to_rows(gate_up))
    gate, up = gate_up.double().chunk(2, dim=1)
    assert_stands_for(got, gate * gate.sigmoid() * up)


@given(row_counts, widths, widths, st.integers(1, 9), seeds)
@settings(max_examples=60, deadline=None)
def test_add_low_rank(count: int, ins: int, outs: int, rank: int, seed: int) -> None:
    rows = reference.to_rows(some_rows(count, ins, seed, 0, []))
    down, up = some_rows(rank, ins, seed + 1, 0, []), some_rows(rank, outs, seed + 2, 0, [])
    before = some_rows(count, outs, seed + 3, 0, [])
    wanted, got = before.clone(), before.clone()
    reference.add_low_rank(rows, down, up, wanted)
    with poisoned():
        cpu.add_low_rank(rows, down, up, got)
    torch.testing.assert_close(got, wanted, rtol=1e-4, atol=1e-3 * float(wanted.abs().max()))


@given(
    count=row_counts,
    start=st.integers(0, 20),
    kv_heads=st.integers(1, 3),
    groups=st.integers(1, 7),
    width=st.sampled_from([2, 6, 16, 64]),
    seed=seeds,
)
@settings(max_examples=60, deadline=None)
def test_rotate_and_store(
    count: int, start: int, kv_heads: int, groups: int, width: int, seed: int
) -> None:
    qkv = some_rows(count, (groups + 2) * kv_heads * width, seed, 0, [])
    cos, sin = some_rows(40, width, seed + 1, 0, []), some_rows(40, width, seed + 2, 0, [])
    positions = torch.randint(40, (count,), generator=torch.Generator().manual_seed(seed))

    def run(
        rotate: Callable[..., torch.Tensor],
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        keys, values = torch.full((2, kv_heads, 40, width), float("nan"))
        return rotate(qkv, cos, sin, keys, values, start, positions), keys, values

    wanted = run(reference.rotate_and_store)
    with poisoned():
        got = run(cpu.rotate_and_store)
    assert torch.isfinite(got[0]).all()
    for ours, theirs in zip(got, wanted, strict=True):
        # what lies outside start .. start + count is still poison
        torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-4, equal_nan=True)


def test_a_row_of_zeros_stays_zero() -> None:
    zeros = torch.zeros(3, 10)
    for rows in (
        cpu.to_rows(zeros),
        cpu.norm_to_rows(zeros, torch.ones(10), EPS),
        cpu.swiglu_to_rows(zeros),
    ):
        assert (values(rows) == 0).all()


@given(row_counts, widths, seeds)
@settings(max_examples=20, deadline=None)
def test_a_row_does_not_depend_on_the_rows_beside_it(count: int, width: int, seed: int) -> None:
    x, weight = some_rows(count, 2 * width, seed, 0, [1e4]), torch.ones(2 * width)
    for kernel in (
        cpu.to_rows,
        cpu.swiglu_to_rows,
        lambda rows: cpu.norm_to_rows(rows, weight, EPS),
    ):
        together = kernel(x)
        for row in range(count):
            alone = kernel(x[row : row + 1])
            assert torch.equal(alone[0][0], together[0][row])
            assert torch.equal(alone[1][0], together[1][row])


def test_the_kernels_are_chosen_by_device_and_override(monkeypatch: pytest.MonkeyPatch) -> None:
    on_cpu = torch.device("cpu")
    monkeypatch.delenv(OVERRIDE, raising=False)
    assert kernels_for(on_cpu).to_rows is cpu.to_rows
    assert kernels_for(on_cpu).route is reference.route  # no twin of its own
    monkeypatch.setenv(OVERRIDE, "reference")
    assert kernels_for(on_cpu).to_rows is reference.to_rows
    monkeypatch.setenv(OVERRIDE, "cpu, to_rows=reference")
    assert kernels_for(on_cpu).to_rows is reference.to_rows
    assert kernels_for(on_cpu).norm_to_rows is cpu.norm_to_rows


@pytest.mark.parametrize("override", ["fastest", "to_rows=fastest", "to_row=reference"])
def test_an_override_that_does_not_exist_is_refused(
    override: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(OVERRIDE, override)
    with pytest.raises(ModelError, match=OVERRIDE):
        kernels_for(torch.device("cpu"))
