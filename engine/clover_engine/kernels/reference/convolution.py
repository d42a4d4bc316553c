"""The short convolution over time that stands before Gated DeltaNet, and its state.

The state is the last k - 1 inputs, [k - 1, C], the newest last.
"""

from __future__ import annotations

import torch
from torch.nn import functional

from clover_engine.kernels.reference.width import wide


def block_convolution(
    u: torch.Tensor, state: torch.Tensor, taps: torch.Tensor, right: torch.Tensor
) -> torch.Tensor:
    """silu of the sum of every row's k - 1 left neighbours, itself and its R right neighbours.

    u [L, C], state [k - 1, C], taps [C, k] with the row's own tap last, right [C, R] with the
    nearest neighbour's tap first. What lies past the block's end counts as 0. The state is read
    and stays. Returns [L, C] in the type of u; the sum is in float32.
    """
    rows, reach = u.shape[0], right.shape[1]
    total = _left(u, state, taps)
    ahead = functional.pad(wide(u), (0, 0, 0, reach))
    for distance in range(1, reach + 1):
        total += ahead[distance : distance + rows] * wide(right[:, distance - 1])
    return functional.silu(total).to(u.dtype)


def causal_convolution(u: torch.Tensor, state: torch.Tensor, taps: torch.Tensor) -> torch.Tensor:
    """As `block_convolution` without right neighbours; moves the state on, in place."""
    out = functional.silu(_left(u, state, taps)).to(u.dtype)
    state.copy_(torch.cat((state, u.to(state.dtype)))[u.shape[0] :])
    return out


def _left(u: torch.Tensor, state: torch.Tensor, taps: torch.Tensor) -> torch.Tensor:
    known = torch.cat((wide(state), wide(u)))
    rows, width = u.shape[0], taps.shape[1]
    total = torch.zeros_like(known[:rows])
    for tap in range(width):
        total += known[tap : tap + rows] * wide(taps[:, tap])
    return total
