"""Attention of a block to committed keys and to itself."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import torch

from clover_engine.kernels.reference.width import wide


class Prefix(NamedTuple):
    """Committed keys and values, turned to their positions, in pages.

    A page of any size: a cache that is one run [capacity, KV, D] is one page of it. A right context
    that stays as it is (frozen suffix keys) stands in the pages too: rows see all of them, so their
    order does not matter.
    """

    keys: torch.Tensor  # [pages, page, KV, D]
    values: torch.Tensor  # [pages, page, KV, D]
    table: torch.Tensor  # int32 [S, P]: the pages of each segment, in order
    lengths: torch.Tensor  # int32 [S]: how many of their keys each segment sees


def block_attention(
    queries: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    prefix: Prefix,
    starts: torch.Tensor,
    scale: float,
    causal: bool = False,
) -> torch.Tensor:
    """softmax(scale * q k) v in float32; queries [M, H, D], keys and values [M, KV, D], H a
    multiple of KV, head h reads key-value head h // (H / KV).

    Rows starts[s] .. starts[s+1] (int32 [S + 1]) are segment s: a hole with its pinned tokens, or
    rows that are committed. A row sees its segment's prefix and, of its own segment's rows, all,
    or with `causal` itself and those before it. Returns [M, H, D] in the type of queries.
    """
    groups = queries.shape[1] // keys.shape[1]
    out = torch.empty_like(queries)
    edges = starts.tolist()
    for segment, (begin, end) in enumerate(itertools.pairwise(edges)):
        old_keys, old_values = _committed(prefix, segment)
        seen = torch.cat((old_keys, wide(keys[begin:end]))).repeat_interleave(groups, 1)
        read = torch.cat((old_values, wide(values[begin:end]))).repeat_interleave(groups, 1)
        scores = torch.einsum("mhd,nhd->hmn", wide(queries[begin:end]), seen) * scale
        if causal:
            length, rows = old_keys.shape[0], end - begin
            hidden = torch.ones(rows, length + rows, dtype=torch.bool, device=scores.device)
            scores = scores.masked_fill(hidden.triu(length + 1), float("-inf"))
        out[begin:end] = torch.einsum("hmn,nhd->mhd", scores.softmax(-1), read).to(out.dtype)
    return out


def _committed(prefix: Prefix, segment: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The keys and values that a segment sees, float32 [length, KV, D]."""
    pages, length = prefix.table[segment].long(), int(prefix.lengths[segment])
    held = -(-length // prefix.keys.shape[1])
    keys = prefix.keys[pages[:held]].flatten(0, 1)[:length]
    values = prefix.values[pages[:held]].flatten(0, 1)[:length]
    return wide(keys), wide(values)
