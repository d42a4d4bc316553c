"""The one format of quantised weights: packing, rounding, errors."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from clover_engine.kernels.quantised import Bits, Quantised, dense, quantise

bits_of = st.sampled_from([4, 8])
groups = st.sampled_from([2, 8, 32, 64])
shapes = st.lists(st.integers(1, 5), min_size=1, max_size=3)
seeds = st.integers(0, 2**32 - 1)


def weights(seed: int, *size: int) -> torch.Tensor:
    return torch.randn(size, generator=torch.Generator().manual_seed(seed))


@given(shapes, st.integers(1, 70), bits_of, groups, st.booleans(), seeds, st.integers(-6, 4))
@settings(max_examples=80, deadline=None)
def test_no_value_is_further_off_than_half_a_level(
    lead: list[int], columns: int, bits: Bits, group: int, zeros: bool, seed: int, exponent: int
) -> None:
    weight = weights(seed, *lead, columns) * 10.0**exponent
    packed = quantise(weight, bits, group=group, zero_points=zeros)
    assert packed.shape == weight.shape
    step = packed.scales.float().repeat_interleave(group, -1)[..., :columns]
    # the ends of a group's range: its scale is itself rounded to 8 bits, its zero to a level
    slack = 0.51 + 2.0**-9 * 2**bits + (0.5 if zeros else 0.0)
    assert ((packed.dequantised() - weight).abs() <= slack * step).all()


@given(st.integers(1, 3), bits_of, groups, st.booleans(), seeds)
@settings(max_examples=40, deadline=None)
def test_what_was_rounded_once_stays(
    count: int, bits: Bits, group: int, zeros: bool, seed: int
) -> None:
    """Levels survive packing: weights that are levels already come back to the bit."""
    top = 2**bits
    random = torch.Generator().manual_seed(seed)
    levels = torch.randint(1, top, (3, count * group), generator=random)
    # the largest level of each group and its least give it the scale 1
    levels[:, ::group] = top - 1
    levels[:, 1::group] = 0 if zeros else 1
    levels -= top // 4 if zeros else top // 2
    packed = quantise(levels.float(), bits, group=group, zero_points=zeros)
    assert torch.equal(packed.dequantised(), levels.float())


def test_four_bits_take_half_a_byte_and_a_scale_a_group() -> None:
    packed = quantise(weights(0, 8, 256), 4, group=128)
    assert packed.values.shape == (8, 128)
    assert packed.scales.shape == (8, 2)
    assert packed.nbytes == 8 * 128 + 2 * 8 * 2
    assert quantise(weights(0, 8, 256), 4, group=128, zero_points=True).nbytes == 8 * 134


def test_a_byte_holds_columns_half_a_group_apart() -> None:
    weight = torch.tensor([[7.0, -7.0, 1.0, -2.0]])
    packed = quantise(weight, 4, group=4)
    assert packed.values.tolist() == [[15 | 9 << 4, 1 | 6 << 4]]


@pytest.mark.parametrize("zeros", [False, True])
def test_zero_stays_zero(zeros: bool) -> None:
    weight = weights(1, 4, 64)
    weight[:, ::3] = 0
    weight[2] = 0
    packed = quantise(weight, 4, group=16, zero_points=zeros)
    assert (packed.dequantised()[weight == 0] == 0).all()


def test_zero_points_serve_values_on_one_side() -> None:
    weight = weights(2, 16, 128).abs() + 1
    with_zeros = quantise(weight, 4, zero_points=True).error(weight)
    assert with_zeros.relative < quantise(weight, 4).error(weight).relative


def test_error_is_that_of_the_weights() -> None:
    weight = weights(3, 5, 40)
    packed = quantise(weight, 8, group=8)
    apart = (packed.dequantised() - weight).double()
    error = packed.error(weight)
    assert error.worst == pytest.approx(float(apart.abs().max()))
    assert error.relative == pytest.approx(float(apart.norm() / weight.double().norm()))
    assert quantise(weight, 4, group=8).error(weight).relative > 8 * error.relative
    assert packed.error(packed.dequantised()).relative == 0


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_not_finite_are_refused(value: float) -> None:
    weight = weights(4, 2, 8)
    weight[1, 3] = value
    for zeros in (False, True):
        with pytest.raises(ValueError, match="not finite"):
            quantise(weight, 4, group=8, zero_points=zeros)


def test_parts_that_do_not_fit_together_are_refused() -> None:
    packed = quantise(weights(5, 4, 64), 4, group=32)
    with pytest.raises(ValueError, match="columns"):
        Quantised(packed.values, packed.scales, None, 8, 32, 64)
    with pytest.raises(ValueError, match="groups"):
        Quantised(packed.values, packed.scales, packed.scales[:, :1], 4, 32, 64)
    with pytest.raises(ValueError, match="even"):
        quantise(weights(5, 4, 64), 4, group=7)


def test_one_expert_of_a_stack() -> None:
    weight = weights(6, 3, 4, 20)
    packed = quantise(weight, 4, group=8, zero_points=True)
    for expert in range(3):
        assert torch.equal(packed[expert].dequantised(), packed.dequantised()[expert])
    assert torch.equal(dense(packed, torch.float16), packed.dequantised().half())
    assert dense(weight) is weight
