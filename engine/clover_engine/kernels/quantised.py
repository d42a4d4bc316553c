"""Quantised weights: 4 or 8 bits a value, one scale for each group of a row, read by every path."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import torch
from torch.nn import functional

Bits: TypeAlias = Literal[4, 8]
GROUP = 128  # columns that share a scale; 64 costs 3 % more memory and errs a little less

_SMALLEST_SCALE = 1e-30  # a group of zeros has no scale of its own


@dataclass(frozen=True, slots=True)
class WeightError:
    """How far quantised weights are from what they were made of."""

    relative: float  # root of the summed squared error over that of the summed squared weights
    worst: float  # the largest single error


@dataclass(frozen=True, slots=True)
class Quantised:
    """Weights [..., N, K] in groups of `group` columns: (level - zero) * scale.

    values  uint8 [..., N, G * group * bits / 8], G = ceil(K / group): a level a byte for 8 bits;
            for 4 bits, byte j of a group holds column j of the group in its low half and column
            j + group / 2 in its high half, so that both halves are read as runs.
    scales  bfloat16 [..., N, G]: float16 would lose those of small weights.
    zeros   uint8 [..., N, G], or None for symmetric weights, whose zero is 2 ** (bits - 1).
    columns K; what lies behind it in the last group stands for 0.
    """

    values: torch.Tensor
    scales: torch.Tensor
    zeros: torch.Tensor | None
    bits: Bits
    group: int
    columns: int

    def __post_init__(self) -> None:
        groups = -(-self.columns // self.group)
        lead = self.scales.shape[:-1]
        if self.values.shape != (*lead, groups * self.group * self.bits // 8):
            raise ValueError(f"{self.columns} columns do not fit values {tuple(self.values.shape)}")
        if self.scales.shape[-1] != groups or (
            self.zeros is not None and self.zeros.shape != self.scales.shape
        ):
            raise ValueError(f"{groups} groups a row, but scales {tuple(self.scales.shape)}")

    @property
    def shape(self) -> torch.Size:
        """The shape of the weights that these stand for."""
        return torch.Size((*self.scales.shape[:-1], self.columns))

    @property
    def nbytes(self) -> int:
        """Bytes in memory, scales and zeros included."""
        zeros = 0 if self.zeros is None else self.zeros.nbytes
        return self.values.nbytes + self.scales.nbytes + zeros

    def __getitem__(self, expert: int) -> Quantised:
        """One matrix of a stack."""
        zeros = None if self.zeros is None else self.zeros[expert]
        return Quantised(
            self.values[expert], self.scales[expert], zeros, self.bits, self.group, self.columns
        )

    def levels(self) -> torch.Tensor:
        """The unpacked levels, uint8 [..., N, G, group]."""
        grouped = self.values.view(*self.scales.shape, -1)
        if self.bits == 8:
            return grouped
        return torch.cat((grouped & 15, grouped >> 4), dim=-1)

    def dequantised(self, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        """The weights [..., N, K] that the levels stand for, computed in float32."""
        zero: torch.Tensor | float = float(2 ** (self.bits - 1))
        if self.zeros is not None:
            zero = self.zeros.float().unsqueeze(-1)
        weight = (self.levels().float() - zero) * self.scales.float().unsqueeze(-1)
        return weight.flatten(-2)[..., : self.columns].to(dtype)

    def error(self, weight: torch.Tensor) -> WeightError:
        """How far these are from `weight` [..., N, K]."""
        wanted = weight.float()
        apart = self.dequantised() - wanted
        size = float(wanted.square().sum().sqrt())
        relative = float(apart.square().sum().sqrt()) / size if size else 0.0
        return WeightError(relative, float(apart.abs().max()))


Weight: TypeAlias = torch.Tensor | Quantised


def quantise(
    weight: torch.Tensor, bits: Bits, *, group: int = GROUP, zero_points: bool = False
) -> Quantised:
    """Round weights [..., N, K] to the nearest level of their group.

    Symmetric: the largest value of a group is level 2 ** (bits - 1) - 1 above or below the middle.
    With zero points the levels span smallest to largest value, 0 among them. Raises ValueError for
    weights that are not finite.
    """
    if group % 2:
        raise ValueError(f"a group is an even number of columns, not {group}")
    columns = weight.shape[-1]
    padded = functional.pad(weight.float(), (0, -columns % group))
    padded = padded.view(*weight.shape[:-1], -1, group)
    top = 2**bits - 1
    if zero_points:
        low, high = padded.amin(-1).clamp_max(0), padded.amax(-1).clamp_min(0)
        scales = _scales((high - low) / top)
        zeros = (-low / scales.float()).round().clamp(0, top).to(torch.uint8)
        middle, least = zeros.float(), 0
    else:
        scales = _scales(padded.abs().amax(-1) / (top // 2))
        zeros, middle, least = None, torch.full_like(scales, 2 ** (bits - 1)).float(), 1
    levels = (padded / scales.float().unsqueeze(-1)).round() + middle.unsqueeze(-1)
    packed = _packed(levels.clamp(least, top).to(torch.uint8), bits)
    return Quantised(packed.flatten(-2), scales, zeros, bits, group, columns)


def dense(weight: Weight, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """The weights as numbers."""
    return weight.dequantised(dtype) if isinstance(weight, Quantised) else weight.to(dtype)


def _scales(exact: torch.Tensor) -> torch.Tensor:
    scales = exact.clamp_min(_SMALLEST_SCALE).to(torch.bfloat16)
    if not bool(scales.isfinite().all()):
        raise ValueError("weights that are not finite cannot be quantised")
    return scales


def _packed(levels: torch.Tensor, bits: Bits) -> torch.Tensor:
    if bits == 8:
        return levels
    low, high = levels.chunk(2, dim=-1)
    return low | (high << 4)
