"""Attention as in Qwen3.5: normed heads, turned in part, and a gate on what was found."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from clover_engine.kernels.dispatch import Kernels
from clover_engine.kernels.quantised import Weight
from clover_engine.kernels.reference import Prefix
from clover_engine.layers.rotary import turned


@dataclass(frozen=True, slots=True)
class AttentionWeights:
    """Projections [out, in], q with each head's query and then its gate; norms [D] of the heads of
    queries and keys."""

    q: Weight
    k: Weight
    v: Weight
    out: Weight
    q_norm: torch.Tensor
    k_norm: torch.Tensor


@dataclass(frozen=True, slots=True)
class Heads:
    """Queries [M, H, D], keys and values [M, KV, D], and the output's gate [M, H * D]."""

    queries: torch.Tensor
    keys: torch.Tensor
    values: torch.Tensor
    gate: torch.Tensor


class GatedAttention:
    """One layer. What it is given to read has passed the norm before it."""

    def __init__(
        self, kernels: Kernels, weights: AttentionWeights, head_dim: int, eps: float
    ) -> None:
        self._kernels = kernels
        self._weights = weights
        self._head_dim = head_dim
        self._eps = eps

    def project(self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> Heads:
        """x [M, hidden], each row turned by its cos and sin [M, turned width]."""
        kernels, weights = self._kernels, self._weights
        query, gate = self._heads(x, weights.q, 2 * self._head_dim).chunk(2, -1)
        queries = kernels.rms_norm(query, weights.q_norm, self._eps)
        keys = kernels.rms_norm(
            self._heads(x, weights.k, self._head_dim), weights.k_norm, self._eps
        )
        values = self._heads(x, weights.v, self._head_dim)
        return Heads(turned(queries, cos, sin), turned(keys, cos, sin), values, gate.flatten(1))

    def attend(
        self,
        heads: Heads,
        rows: slice,
        keys: torch.Tensor,
        values: torch.Tensor,
        behind: int,
        causal: bool,
    ) -> torch.Tensor:
        """Some rows over the first `behind` cached keys and values [KV, capacity, D] and over one
        another: [rows, H * D]."""
        queries = heads.queries[rows]
        device = queries.device
        prefix = Prefix(
            keys.transpose(0, 1)[None],
            values.transpose(0, 1)[None],
            torch.zeros(1, 1, dtype=torch.int32, device=device),
            torch.tensor([behind], dtype=torch.int32, device=device),
        )
        starts = torch.tensor([0, len(queries)], dtype=torch.int32, device=device)
        scale = self._head_dim**-0.5
        found = self._kernels.block_attention(
            queries, heads.keys[rows], heads.values[rows], prefix, starts, scale, causal
        )
        return found.flatten(1)

    def out(self, found: torch.Tensor, gate: torch.Tensor) -> torch.Tensor:
        """The gated output projection: [M, H * D] -> [M, hidden]."""
        return self._kernels.linear(found * gate.sigmoid(), self._weights.out)

    def _heads(self, x: torch.Tensor, weight: Weight, width: int) -> torch.Tensor:
        return self._kernels.linear(x, weight).view(len(x), -1, width)
