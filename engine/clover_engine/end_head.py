"""Says how likely a hole ends behind a written token, from the model's own states."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import safetensors.torch
import torch
from torch.nn import functional

LEAST = -12.0  # log-likelihoods below are all the same


def tapped(layers: int) -> tuple[int, ...]:
    """Of so many layers, those whose normed results the head reads."""
    return tuple(sorted({layers // 2, layers * 3 // 4, layers}))


@dataclass(frozen=True, slots=True)
class EndHead:
    """A two-layer head over F = tapped layers * H + 2 features: float32 weights [inner, F],
    [inner], [1, inner], [1]."""

    inner_weight: torch.Tensor
    inner_bias: torch.Tensor
    outer_weight: torch.Tensor
    outer_bias: torch.Tensor

    def __call__(self, features: torch.Tensor) -> torch.Tensor:
        """features float32 [R, F] -> the chance that the hole ends there, float32 [R]."""
        inner = functional.gelu(functional.linear(features, self.inner_weight, self.inner_bias))
        return functional.linear(inner, self.outer_weight, self.outer_bias)[:, 0].sigmoid()

    def save(self, path: Path) -> None:
        """Write what `load_end_head` reads, in half precision."""
        weights = {
            "inner.weight": self.inner_weight,
            "inner.bias": self.inner_bias,
            "outer.weight": self.outer_weight,
            "outer.bias": self.outer_bias,
        }
        halves = {name: weight.half().contiguous() for name, weight in weights.items()}
        safetensors.torch.save_file(halves, path)


def load_end_head(model: str) -> EndHead | None:
    """The head that ships for a model, if one does."""
    file = files("clover_engine").joinpath("adapters", f"{model}-ends.safetensors")
    if not file.is_file():
        return None
    stored = safetensors.torch.load(file.read_bytes())
    return EndHead(
        stored["inner.weight"].float(),
        stored["inner.bias"].float(),
        stored["outer.weight"].float(),
        stored["outer.bias"].float(),
    )


def likelihoods(logits: torch.Tensor, right: int) -> torch.Tensor:
    """Log-likelihoods, floored, of the right context's first token and of the best token next:
    logits float32 [R, V] -> float32 [R, 2]."""
    best = logits.max(-1).values
    both = torch.stack((logits[:, right], best), 1) - logits.logsumexp(-1, keepdim=True)
    return both.clamp_min(LEAST)
