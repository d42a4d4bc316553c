"""Feed-forward layers: a gated one, and mixtures of them that a router chooses among."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch.nn import functional

from clover_engine.layers.linear import FloatLinear


@dataclass(frozen=True, slots=True)
class FeedForward:
    """down(silu(gate) * up), gate and up fused."""

    gate_up: FloatLinear
    down: FloatLinear

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        """x float32 [M, H] -> float32 [M, H]."""
        return self.down.after_swiglu(self.gate_up(x))


@dataclass(frozen=True, slots=True)
class Router:
    """Chooses `top` experts for each row.

    Softmax over all experts, or the logistic function of each with a `bias` that counts for the
    choice alone; of `groups` of experts only the `top_groups` whose two best are best may be chosen
    from (LLaDA2, as DeepSeek-V3). Weights sum to 1 where `renormalise`, times `scale`.
    """

    weight: torch.Tensor  # float32 [E, H]
    bias: torch.Tensor | None  # float32 [E]
    top: int
    logistic: bool = False
    renormalise: bool = True
    groups: int = 1
    top_groups: int = 1
    scale: float = 1.0

    def __call__(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """x float32 [M, H] -> weights float32 [M, top] and experts int64 [M, top]."""
        logits = functional.linear(x, self.weight)
        scores = logits.sigmoid() if self.logistic else logits.softmax(-1)
        wanted = scores if self.bias is None else scores + self.bias
        if self.groups > 1:
            wanted = wanted.masked_fill(~self._in_best_groups(wanted), float("-inf"))
        experts = wanted.topk(self.top, dim=-1).indices
        weights = scores.gather(1, experts)
        if self.renormalise:
            weights = weights / (weights.sum(-1, keepdim=True) + 1e-20)
        return weights * self.scale, experts

    def _in_best_groups(self, wanted: torch.Tensor) -> torch.Tensor:
        """Which experts are in the best groups, bool [M, E]."""
        rows, count = wanted.shape
        grouped = wanted.view(rows, self.groups, -1)
        worth = grouped.topk(2, dim=-1).values.sum(-1)
        best = torch.zeros_like(worth, dtype=torch.bool)
        best.scatter_(1, worth.topk(self.top_groups, dim=-1).indices, True)
        return best.repeat_interleave(count // self.groups, dim=1)


@dataclass(frozen=True, slots=True)
class Experts:
    """A router's experts, [E, 2F, H] (the rows of gate first) and [E, H, F], and a shared one."""

    router: Router
    gate_up: torch.Tensor
    down: torch.Tensor
    shared: FeedForward | None = None

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        """x float32 [M, H] -> float32 [M, H]."""
        weights, experts = self.router(x)
        y = self.shared(x) if self.shared else torch.zeros_like(x)
        narrow = x.to(self.gate_up.dtype)
        for expert in set(experts.flatten().tolist()):
            rows, choice = (experts == expert).nonzero(as_tuple=True)
            gate, up = functional.linear(narrow[rows], self.gate_up[expert]).chunk(2, dim=-1)
            out = functional.linear(functional.silu(gate) * up, self.down[expert])
            y.index_add_(0, rows, out.float() * weights[rows, choice, None])
        return y
