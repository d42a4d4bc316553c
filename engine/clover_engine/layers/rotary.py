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
