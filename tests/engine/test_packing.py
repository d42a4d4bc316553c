"""Weights packed for oneDNN multiply as plain integers would, whoever packed them."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from clover_engine.layers import packing
from clover_engine.layers.packing import Packer

WITHOUT_VNNI = """
import torch
from clover_engine.layers.packing import Packer, sums_saturate
assert sums_saturate()
random = torch.Generator().manual_seed(0)
weight = torch.randint(-127, 128, (128, 256), generator=random, dtype=torch.int8)
rows = torch.randint(0, 256, (4, 256), generator=random, dtype=torch.uint8)
wanted = (rows.float() - 128) @ weight.float().T
packer = Packer()
for _ in range(2):
    product = packer.pack(weight, torch.ones(128)).multiply(rows)
    assert (product - wanted).norm() < 0.02 * wanted.norm()
"""


def random_weight(outs: int, ins: int, seed: int) -> torch.Tensor:
    random = torch.Generator().manual_seed(seed)
    return torch.randint(-127, 128, (outs, ins), generator=random, dtype=torch.int8)


@given(
    outs=st.sampled_from([1, 16, 64, 65, 128, 192]),
    ins=st.sampled_from([1, 4, 30, 64, 68, 96, 256]),
    seed=st.integers(0, 1000),
)
@settings(max_examples=60, deadline=None)
def test_every_weight_of_a_shape_multiplies_exactly(outs: int, ins: int, seed: int) -> None:
    if packing.sums_saturate():
        pytest.skip("this CPU's int8 products are rounded")
    packer = Packer()
    rows = torch.randint(0, 256, (3, ins), dtype=torch.uint8)
    for number in range(3):
        weight = random_weight(outs, ins, seed + number)
        product = packer.pack(weight, torch.full((outs,), 0.5)).multiply(rows)
        assert torch.equal(product, (rows.float() - 128) @ weight.float().T * 0.5)


def test_a_large_weight_multiplies_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Packer().pack(random_weight(320, 64, 0), torch.rand(320))
    monkeypatch.setattr(packing, "_PART", 128)
    rows = torch.randint(0, 256, (5, 64), dtype=torch.uint8)
    parts = Packer().pack(random_weight(320, 64, 0), whole.parts[0].scale)
    assert [len(part.scale) for part in parts.parts] == [128, 128, 64]
    assert torch.equal(parts.multiply(rows), whole.multiply(rows))


def test_an_order_that_is_not_ours_is_left_to_onednn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "_same_bytes", lambda packed, weight: False)
    monkeypatch.setattr(packing, "_fill", None)
    test_every_weight_of_a_shape_multiplies_exactly()


def test_cpus_whose_sums_saturate_get_half_the_range() -> None:
    environment = os.environ | {"ONEDNN_MAX_CPU_ISA": "AVX2"}
    subprocess.run([sys.executable, "-c", WITHOUT_VNNI], env=environment, check=True)
