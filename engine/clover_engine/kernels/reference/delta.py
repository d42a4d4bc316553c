"""Gated DeltaNet: what commits rows to the recurrent state, and what reads it inside a block.

All of it in float32. queries and keys [T, HK, D], values [T, H, DV], H a multiple of HK: key head j
serves value heads j * H / HK and on. The state is float32 [H, D, DV].
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from torch.nn import functional

from clover_engine.kernels.reference.norms import gated_rms_norm
from clover_engine.kernels.reference.width import wide

CHUNK = 64
_EPS = 1e-6  # of the norm of queries and keys, inside the root


class Gates(NamedTuple):
    """How much of the state a row keeps, and how much it writes."""

    decay: torch.Tensor  # float32 [T, H]: the logarithm, at most 0
    beta: torch.Tensor  # float32 [T, H], between 0 and 1


class History(NamedTuple):
    """The learned scalars of the block readout, float32 [H] each."""

    temperature: torch.Tensor  # tau: of the similarity of the block's rows
    bias: torch.Tensor  # a: of the history unit's score
    growth: torch.Tensor  # c: of its score with log(L), which keeps its share as blocks grow


@dataclass(frozen=True, slots=True)
class Readout:
    """What the block readout's public descriptions leave open; the defaults are the likeliest."""

    decayed_history: bool = False  # read the state decayed up to the row, not as committed
    content_score: bool = False  # tau * |h_i| is added to the history unit's score
    beta: Literal["unused", "score", "value"] = "unused"  # + log beta_j, or beta_j * v_j
    delta_values: bool = False  # the block's values without what the state already says of them


def gdn_gates(
    a: torch.Tensor, b: torch.Tensor, a_log: torch.Tensor, dt_bias: torch.Tensor
) -> Gates:
    """decay = -exp(a_log [H]) * softplus(a [T, H] + dt_bias [H]), beta = sigmoid(b [T, H])."""
    decay = -wide(a_log).exp() * functional.softplus(wide(a) + wide(dt_bias))
    return Gates(decay, wide(b).sigmoid())


def gdn_commit(
    queries: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    gates: Gates,
    state: torch.Tensor,
) -> torch.Tensor:
    """Row by row: S *= exp(g);  d = beta * (v - S^T k);  S += k d^T;  o = S^T q.

    q and k are first divided by their length, q also by sqrt(D). Returns o float32 [T, H, DV];
    moves the state on, in place.
    """
    q, k = _unit_heads(queries, keys, values.shape[1])
    out = torch.empty_like(wide(values))
    for row in range(values.shape[0]):
        state *= gates.decay[row].exp()[:, None, None]
        known = torch.einsum("hkv,hk->hv", state, k[row])
        delta = gates.beta[row, :, None] * (wide(values[row]) - known)
        state += k[row, :, :, None] * delta[:, None, :]
        out[row] = torch.einsum("hkv,hk->hv", state, q[row])
    return out


def gdn_prefill(
    queries: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    gates: Gates,
    state: torch.Tensor,
) -> torch.Tensor:
    """As `gdn_commit`, in chunks of 64 rows: inside a chunk the deltas solve a triangular system
    (the UT transform; Yang et al., arXiv 2412.06464)."""
    q, k = _unit_heads(queries, keys, values.shape[1])
    q, k, v, decay, beta = (x.transpose(0, 1) for x in (q, k, wide(values), *gates))
    chunks = (slice(first, first + CHUNK) for first in range(0, q.shape[1], CHUNK))
    parts = [_chunk(q[:, c], k[:, c], v[:, c], decay[:, c], beta[:, c], state) for c in chunks]
    return torch.cat(parts)


def gdn_block(
    queries: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    gates: Gates,
    state: torch.Tensor,
    history: History,
    z: torch.Tensor,
    norm: torch.Tensor,
    eps: float,
    readout: Readout,
) -> torch.Tensor:
    """One softmax over the block's L rows, seen from both sides, and the history unit.

    h_i = S^T q_i; s_i0 = a + c * log(L); s_ij = tau * <q_i, k_j>; o_i = alpha_i0 h_i + sum_j
    alpha_ij v_j, and then the gated norm with z [L, H, DV] and norm [DV]. q and k as in
    `gdn_commit`. The state is read and stays. Returns [L, H, DV] in the type of z.
    """
    q, k = (x.transpose(0, 1) for x in _unit_heads(queries, keys, values.shape[1]))
    v, beta = wide(values).transpose(0, 1), gates.beta.T
    temperature = history.temperature[:, None, None]
    read = q @ state
    if readout.decayed_history:
        read = read * gates.decay.cumsum(0).T.exp().unsqueeze(-1)
    own = history.bias + history.growth * math.log(q.shape[1])
    own = own[:, None, None].expand(-1, q.shape[1], 1)
    if readout.content_score:
        own = own + temperature * torch.linalg.vector_norm(read, dim=-1, keepdim=True)
    scores = temperature * (q @ k.transpose(1, 2))
    if readout.beta == "score":
        scores = scores + beta.log().unsqueeze(1)
    if readout.delta_values:
        v = v - k @ state
    if readout.beta == "value":
        v = v * beta.unsqueeze(-1)
    share = torch.cat((own, scores), dim=-1).softmax(-1)
    out = share[..., :1] * read + share[..., 1:] @ v
    return gated_rms_norm(out.transpose(0, 1), z, norm, eps)


def _unit_heads(
    queries: torch.Tensor, keys: torch.Tensor, heads: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Queries and keys of length 1 (and 1 / sqrt(D)), once a value head: float32 [T, H, D]."""
    groups = heads // keys.shape[1]
    q, k = (wide(x).repeat_interleave(groups, 1) for x in (queries, keys))
    q = q * torch.rsqrt(q.square().sum(-1, keepdim=True) + _EPS)
    k = k * torch.rsqrt(k.square().sum(-1, keepdim=True) + _EPS)
    return q * q.shape[-1] ** -0.5, k


def _chunk(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    decay: torch.Tensor,
    beta: torch.Tensor,
    state: torch.Tensor,
) -> torch.Tensor:
    """One chunk, heads first: [H, C, ...] and state [H, D, DV] moved on -> [C, H, DV]."""
    rows = q.shape[1]
    total = decay.cumsum(-1)
    later = torch.ones(rows, rows, dtype=torch.bool, device=q.device).tril()
    apart = (total[:, :, None] - total[:, None, :]).masked_fill(~later, float("-inf")).exp()
    grown = total.exp().unsqueeze(-1)
    mixing = (beta.unsqueeze(-1) * (k @ k.transpose(1, 2)) * apart).tril(-1)
    wanted = beta.unsqueeze(-1) * (v - grown * (k @ state))
    # the diagonal of ones is not stored: it is not read either
    delta: torch.Tensor = torch.linalg.solve_triangular(
        mixing, wanted, upper=False, unitriangular=True
    )
    out = grown * (q @ state) + (q @ k.transpose(1, 2) * apart) @ delta
    left = (total[:, -1:] - total).exp().unsqueeze(-1)
    state.mul_(grown[:, -1:]).add_((k * left).transpose(1, 2) @ delta)
    return out.transpose(0, 1)
