"""What torch itself offers for the same operations: the peer that the kernels are measured against.

The definitions loop over experts and wait for the host; here nothing does, so that torch can
compile the layers. Weights are dense: torch has no grouped product of quantised ones.
"""

from __future__ import annotations

import torch
from torch.nn import functional

from clover_engine.kernels import reference
from clover_engine.kernels.dispatch import Kernels
from clover_engine.kernels.quantised import Weight, dense
from clover_engine.kernels.reference import Confidence, Prefix, Sorted


def torch_kernels() -> Kernels:
    """The definitions, with the vendor's products in place of loops."""
    return Kernels(
        {
            "sort_pairs": sort_pairs,
            "expert_gate_up": expert_gate_up,
            "expert_down": expert_down,
            "block_attention": block_attention,
            "head_confidence": head_confidence,
        }
    )


def sort_pairs(experts: torch.Tensor, count: int) -> Sorted:
    """As `reference.sort_pairs`."""
    inside, pairs = experts.flatten().sort(stable=True)
    edges = torch.arange(count + 1, dtype=inside.dtype, device=inside.device)
    return Sorted(pairs.to(torch.int32), torch.searchsorted(inside, edges, out_int32=True))


def expert_gate_up(x: torch.Tensor, weight: Weight, order: Sorted) -> torch.Tensor:
    """As `reference.expert_gate_up`, rounded between the product and the gate."""
    top = order.pairs.shape[0] // x.shape[0]
    gate, up = _grouped(x[order.pairs // top], weight, order).chunk(2, dim=1)
    return functional.silu(gate) * up


def expert_down(
    hidden: torch.Tensor, weight: Weight, order: Sorted, weights: torch.Tensor
) -> torch.Tensor:
    """As `reference.expert_down`, rounded between the products and their sum."""
    parts = _grouped(hidden, weight, order)
    by_pair = torch.empty_like(parts).index_copy_(0, order.pairs.long(), parts)
    by_row = by_pair.view(*weights.shape, -1) * weights.to(parts.dtype).unsqueeze(-1)
    return by_row.sum(1)


def _grouped(rows: torch.Tensor, weight: Weight, order: Sorted) -> torch.Tensor:
    # torch multiplies groups in bfloat16 only
    stack = dense(weight, torch.bfloat16).transpose(1, 2)
    product = functional.grouped_mm(rows.to(torch.bfloat16), stack, offs=order.starts[1:])
    return product.to(rows.dtype)


def block_attention(
    queries: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    prefix: Prefix,
    starts: torch.Tensor,
    scale: float,
    causal: bool = False,
) -> torch.Tensor:
    """As `reference.block_attention`, for one segment that sees the whole of its pages."""
    pages = prefix.table[0].long()
    seen, read = (
        torch.cat((old[pages].flatten(0, 1), own)).transpose(0, 1)[None]
        for old, own in ((prefix.keys, keys), (prefix.values, values))
    )
    mask = None
    if causal:
        rows, length = queries.shape[0], seen.shape[2]
        mask = torch.ones(rows, length, dtype=torch.bool, device=keys.device)
        mask = mask.tril(length - rows)
    q = queries.transpose(0, 1)[None]
    out = functional.scaled_dot_product_attention(
        q, seen, read, attn_mask=mask, scale=scale, enable_gqa=True
    )
    return out[0].transpose(0, 1)


def head_confidence(
    hidden: torch.Tensor, weight: Weight, allowed: torch.Tensor | None = None
) -> Confidence:
    """As `reference.head_confidence`, of rounded logits."""
    return reference.confidence(reference.linear(hidden, weight), allowed)
