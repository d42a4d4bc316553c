"""Feed-forward layers of the Qwen3.5 models: one for all rows, or experts that rows are sent to."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch.nn import functional

from clover_engine.kernels.dispatch import Kernels
from clover_engine.kernels.quantised import Weight


class SwiGlu:
    """silu(gate) * up, then down; weights [out, in], the rows of gate before those of up."""

    def __init__(self, kernels: Kernels, gate_up: Weight, down: Weight) -> None:
        self._kernels = kernels
        self._gate_up = gate_up
        self._down = down

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        """x [M, hidden] -> [M, hidden]."""
        gate, up = self._kernels.linear(x, self._gate_up).chunk(2, -1)
        return self._kernels.linear(functional.silu(gate) * up, self._down)


@dataclass(frozen=True, slots=True)
class MixtureWeights:
    """router [E, hidden]; gate_up [E, 2F, hidden], gate first; down [E, hidden, F]; share, of the
    shared expert, [1, hidden]."""

    router: Weight
    gate_up: Weight
    down: Weight
    share: Weight


class Mixture:
    """Each row goes to the `top` experts that the router holds best for it, and a shared one."""

    def __init__(self, kernels: Kernels, weights: MixtureWeights, shared: SwiGlu, top: int) -> None:
        self._kernels = kernels
        self._weights = weights
        self._shared = shared
        self._top = top

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        """x [M, hidden] -> [M, hidden]."""
        kernels, weights = self._kernels, self._weights
        routing = kernels.route(kernels.linear(x, weights.router), self._top)
        order = kernels.sort_pairs(routing.experts, weights.router.shape[0])
        inner = kernels.expert_gate_up(x, weights.gate_up, order)
        routed = kernels.expert_down(inner, weights.down, order, routing.weights)
        share = kernels.linear(x, weights.share).sigmoid()
        return routed + share * self._shared(x)
