"""The type that definitions compute in."""

from __future__ import annotations

import torch


def wide(x: torch.Tensor) -> torch.Tensor:
    """x in float32, or in float64 if it is: so every definition is its own exact check."""
    return x if x.dtype == torch.float64 else x.float()
