"""Rotary position embedding (Su et al., arXiv 2104.09864), rotate-half form."""

from __future__ import annotations

import torch


def rotary_tables(
    head_dim: int, positions: int, theta: float, device: torch.device
) -> tuple[torch.Tensor, torch.Tensor]:
    """Cosines and sines, float32 [positions, head_dim]; the sines carry rotate-half's sign."""
    exponents = torch.arange(0, head_dim, 2, dtype=torch.float64) / head_dim
    angles = torch.outer(torch.arange(positions, dtype=torch.float64), theta**-exponents)
    sines = angles.sin().float()
    cosines = angles.cos().float()
    return torch.cat((cosines, cosines), -1).to(device), torch.cat((-sines, sines), -1).to(device)


def turns(
    positions: torch.Tensor, width: int, theta: float, dtype: torch.dtype
) -> tuple[torch.Tensor, torch.Tensor]:
    """Cosines and sines of positions int64 [M], [M, width / 2]."""
    exponents = torch.arange(0, width, 2, dtype=torch.float64, device=positions.device) / width
    angles = positions[:, None] * theta**-exponents
    return angles.cos().to(dtype), angles.sin().to(dtype)


def turned(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """x [M, heads, D]: pair (i, i + width / 2) of the first `width` turns, the rest stays; cos and
    sin [M, width / 2]."""
    half = cos.shape[-1]
    cos, sin = cos[:, None], sin[:, None]
    left, right, rest = torch.split(x, [half, half, x.shape[-1] - 2 * half], -1)
    return torch.cat((left * cos - right * sin, right * cos + left * sin, rest), -1)
