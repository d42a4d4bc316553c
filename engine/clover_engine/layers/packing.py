"""int8 weights in the order of bytes in which oneDNN multiplies them.

Its own reorder to that order takes seven times as long as a copy and was a third of the engine's
start. It is asked once for every shape; where our copy gives the very same bytes, the other weights
of that shape are packed here. Elsewhere, on other CPUs or with other releases, oneDNN packs all.
Very large weights are multiplied in parts of one shape, of which oneDNN packs only the first.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, replace
from functools import cache, cached_property

import numpy as np
import torch

_OUTS = 64  # outputs that oneDNN keeps side by side: [out / 64, in / 4, 64, 4], its BA16a64b4a
_INS = 4  # inputs that one product takes
_PART = 16384  # outputs of a part: a vocabulary has nine, a layer one


@dataclass(frozen=True, slots=True)
class Packed:
    """An int8 weight packed for oneDNN: its parts, opaque, with the scale float32 and the zero
    point int32 of their rows."""

    parts: tuple[Part, ...]

    def multiply(self, rows: torch.Tensor) -> torch.Tensor:
        """(rows - 128) times the weight, times its scale: uint8 [M, in] -> float32 [M, out]."""
        products = [part.multiply(rows) for part in self.parts]
        return products[0] if len(products) == 1 else torch.cat(products, 1)

    def divided(self, divisor: float) -> Packed:
        """The weight divided by `divisor`."""
        return Packed(tuple(replace(part, scale=part.scale / divisor) for part in self.parts))


@dataclass(frozen=True, slots=True)
class Part:
    """Some outputs of a packed weight."""

    weight: torch.Tensor
    scale: torch.Tensor
    zero_points: torch.Tensor

    def multiply(self, rows: torch.Tensor) -> torch.Tensor:
        """As `Packed.multiply`, for these outputs."""
        y: torch.Tensor = torch.ops.onednn.qlinear_pointwise(
            rows,
            1.0,  # scale of the rows: each has its own, which the caller applies
            128,  # zero point of the rows
            self.weight,
            self.scale,
            self.zero_points,
            None,  # bias
            1.0,  # output scale
            0,  # output zero point
            torch.float32,
            "none",  # what oneDNN does to the result, and its arguments
            [],
            "",
        )
        return y


class Packer:
    """Packs the weights of one model. May be shared by threads."""

    def __init__(self) -> None:
        self._patterns: dict[torch.Size, _Pattern] = {}

    def pack(self, weight: torch.Tensor, scale: torch.Tensor) -> Packed:
        """int8 [out, in] and float32 [out] made ready to be multiplied with."""
        if sums_saturate():
            # half the weights' range keeps the sum of two products within 16 bits
            weight, scale = (weight / 2).round_().to(torch.int8), scale * 2
        parts = zip(torch.split(weight, _PART), torch.split(scale, _PART), strict=True)
        return Packed(tuple(self._part(some, scales) for some, scales in parts))

    def _part(self, weight: torch.Tensor, scale: torch.Tensor) -> Part:
        return Part(self._in_order(weight), scale, _zeros(len(scale)))

    def _in_order(self, weight: torch.Tensor) -> torch.Tensor:
        pattern = self._patterns.get(weight.shape)
        if pattern is None:
            packed = _packed_by_onednn(weight)
            # threads that meet here have packed one weight too many, and no harm is done
            self._patterns[weight.shape] = _Pattern(packed, weight)
            return packed
        if not pattern.is_ours:
            return _packed_by_onednn(weight)
        packed = pattern.packed.clone()
        _fill(_bytes_of(packed), weight)
        return packed


class _Pattern:
    """A weight that oneDNN has packed."""

    def __init__(self, packed: torch.Tensor, weight: torch.Tensor) -> None:
        self.packed = packed
        self._weight = weight

    @cached_property
    def is_ours(self) -> bool:
        """Whether we would have written the very same bytes."""
        return _same_bytes(self.packed, self._weight)


@cache
def sums_saturate() -> bool:
    """Whether this CPU's int8 products overflow: those without VNNI add two of them in 16 bits.

    Asked of oneDNN itself, whose choice of instructions can be limited by the environment.
    """
    weight = torch.full((16, 64), 127, dtype=torch.int8)
    part = Part(_packed_by_onednn(weight), torch.ones(16), _zeros(16))
    y = part.multiply(torch.full((1, 64), 255, dtype=torch.uint8))
    return bool((y != 127 * 127 * 64).any())


def _zeros(count: int) -> torch.Tensor:
    return torch.zeros(count, dtype=torch.int32)


def _packed_by_onednn(weight: torch.Tensor) -> torch.Tensor:
    packed: torch.Tensor = torch.ops.onednn.qlinear_prepack(weight, None)
    return packed


def _same_bytes(packed: torch.Tensor, weight: torch.Tensor) -> bool:
    outs, ins = weight.shape
    theirs = _bytes_of(packed)
    if outs % _OUTS or ins % _INS or len(theirs) != weight.numel() + 4 * outs:
        return False
    ours = torch.empty_like(theirs)
    _fill(ours, weight)
    return torch.equal(ours, theirs)


def _bytes_of(packed: torch.Tensor) -> torch.Tensor:
    """The memory of an opaque packed tensor, int8 [n], valid while that tensor lives."""
    size = torch.ops.mkldnn._nbytes(packed)
    address = torch.ops.mkldnn.data_ptr(packed)
    return torch.frombuffer((ctypes.c_int8 * size).from_address(address), dtype=torch.int8)


def _fill(target: torch.Tensor, weight: torch.Tensor) -> None:
    """Write int8 [out, in] in oneDNN's order, then what each row's zero point must give back."""
    outs, ins = weight.shape
    fours = weight.contiguous().view(torch.int32).view(outs // _OUTS, _OUTS, ins // _INS)
    body, sums = target[: weight.numel()], target[weight.numel() :]
    body.view(torch.int32).view(outs // _OUTS, ins // _INS, _OUTS).copy_(fours.transpose(1, 2))
    # numpy adds bytes to integers seven times as fast as torch
    np.negative(np.add.reduce(weight.numpy(), axis=1, dtype=np.int32), out=sums.numpy().view("i4"))
