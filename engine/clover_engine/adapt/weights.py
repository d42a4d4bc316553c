"""What is trained: low-rank weights beside every linear layer, and the mask's embedding.

LoRA (Hu et al., arXiv 2106.09685), on the rows of masks only: with no masks the base is untouched.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import safetensors.torch
import torch
from torch import nn

from clover_engine.models.qwen2 import Qwen2Config

PARTS = ("qkv", "o", "gate_up", "down")


def shapes(config: Qwen2Config) -> dict[str, tuple[int, int]]:
    """Inputs and outputs of each fused projection of a layer."""
    hidden, feed = config.hidden_size, config.intermediate_size
    keys = config.num_key_value_heads * config.head_dim
    return {
        "qkv": (hidden, hidden + 2 * keys),
        "o": (hidden, hidden),
        "gate_up": (hidden, 2 * feed),
        "down": (feed, hidden),
    }


class AdapterWeights(nn.Module):
    """float32 parameters: `down` [rank, in] and `up` [out, rank] of each projection; `mask` [H]."""

    def __init__(self, config: Qwen2Config, rank: int, mask: torch.Tensor) -> None:
        super().__init__()
        self.mask = nn.Parameter(mask.clone().float())
        self.down = nn.ParameterDict()
        self.up = nn.ParameterDict()
        for name, (ins, outs) in _projections(config):
            self.down[name] = nn.Parameter(torch.randn(rank, ins) * ins**-0.5)
            self.up[name] = nn.Parameter(torch.zeros(outs, rank))

    def __call__(self, layer: int, part: str, x: torch.Tensor) -> torch.Tensor:
        """What the adapter adds to a projection of x bf16 [M, in]: bf16 [M, out]."""
        name = f"{layer}_{part}"
        narrow = x @ self.down[name].to(x.dtype).T
        added: torch.Tensor = narrow @ self.up[name].to(x.dtype).T
        return added


def _projections(config: Qwen2Config) -> Iterator[tuple[str, tuple[int, int]]]:
    for layer in range(config.num_hidden_layers):
        for part, shape in shapes(config).items():
            yield f"{layer}_{part}", shape


def export(
    parameters: Mapping[str, torch.Tensor], path: Path, card: Mapping[str, str], rank: int
) -> None:
    """Write trained parameters as the engine reads them, cut to the best `rank` directions of each
    projection: int8 rows with a scale each, named as the layers that they stand beside."""
    stored = {"mask": parameters["mask"].float()}
    for name in parameters:
        if not name.startswith("down."):
            continue
        projection = name.removeprefix("down.")
        layer, _, part = projection.partition("_")
        down, up = _cut(parameters[name], parameters[f"up.{projection}"], rank)
        for side, value in (("down", down), ("up", up)):
            scale = value.abs().amax(1).clamp_min(1e-12) / 127
            full = f"layers.{layer}.{part}.{side}"
            stored[f"{full}.weight"] = (value / scale[:, None]).round().to(torch.int8).contiguous()
            stored[f"{full}.scale"] = scale.float()
    safetensors.torch.save_file(stored, path, dict(card))


def _cut(down: torch.Tensor, up: torch.Tensor, rank: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The product of up [out, R] and down [R, in] as that of [out, rank] and [rank, in], by its
    largest singular values."""
    left, inner = torch.linalg.qr(up)
    right, other = torch.linalg.qr(down.T)
    u, sizes, v = torch.linalg.svd(inner @ other.T)
    root = sizes[:rank].sqrt()
    return root[:, None] * (right @ v.T[:, :rank]).T, left @ u[:, :rank] * root
