"""One transformer in floats for the layers of Qwen2, Qwen3, Llama, OLMoE and LLaDA2.

What a row sees is said with each forward, so that the same weights read text causally, block by
block, or as a whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch.nn import functional

from clover_engine.kernels.dispatch import Kernels
from clover_engine.kv_cache import CacheShape, KVCache
from clover_engine.layers.experts import Experts, FeedForward
from clover_engine.layers.linear import FloatLinear
from clover_engine.layers.rotary import rotary_tables
from clover_engine.models.backbones import TransformerConfig
from clover_engine.models.parts import MASK, Layout, Output, Part, noted

MAX_POSITIONS = 8192


@dataclass(frozen=True, slots=True)
class Layer:
    """One decoder layer. Norms are float32; those of queries and keys are [head_dim] or [all heads'
    values], or None."""

    attention_norm: torch.Tensor
    qkv: FloatLinear
    query_norm: torch.Tensor | None
    key_norm: torch.Tensor | None
    o: FloatLinear
    mlp_norm: torch.Tensor
    mlp: FeedForward | Experts


class Transformer:
    """Activations are float32; the weights' type decides in what products are taken."""

    def __init__(
        self,
        config: TransformerConfig,
        kernels: Kernels,
        embedding: torch.Tensor,
        layers: Sequence[Layer],
        norm: torch.Tensor,
        head: FloatLinear,
        mask: int,
        block: int,
    ) -> None:
        """`mask` is the token that stands for MASK; text is read in blocks of so many tokens."""
        self.config = config
        self.device = embedding.device
        self.block = block
        self._kernels = kernels
        self._embedding = embedding
        self._layers = layers
        self._norm = norm
        self._head = head
        self._mask = mask
        places = min(config.positions, MAX_POSITIONS)
        self._cos, self._sin = _tables(config, places, self.device)

    @property
    def cache_shape(self) -> CacheShape:
        """What its key-value cache holds for each token."""
        config = self.config
        return CacheShape(config.layers, config.kv_heads, config.head_dim, self.device)

    @property
    def vocabulary(self) -> int:
        """How many tokens it tells apart."""
        return self.config.vocabulary

    def new_cache(self) -> KVCache:
        """A cache for one text."""
        return KVCache(self.cache_shape)

    @torch.no_grad()
    def forward(self, parts: Sequence[Part]) -> list[Output]:
        """Read the tokens of one or more jobs, each behind its own cache, causally where a part has
        no layout; no row's result depends on rows of other parts."""
        blocks, begin = [], 0
        for part in parts:
            blocks.append(_block(part, begin, self.device))
            begin += len(part.tokens)
        tokens = [self._mask if token == MASK else token for part in parts for token in part.tokens]
        hidden = self._embedding[torch.tensor(tokens, device=self.device)].float()
        eps = self.config.eps
        for number, layer in enumerate(self._layers):
            qkv = self._normed(layer, layer.qkv.after_norm(hidden, layer.attention_norm, eps))
            seen = [self._attend(qkv[block.rows], block, number) for block in blocks]
            hidden = hidden + layer.o(torch.cat(seen))
            normed = functional.rms_norm(hidden, layer.mlp_norm.shape, layer.mlp_norm, eps)
            hidden = hidden + layer.mlp(normed)
        for part in parts:
            start = len(part.cache)
            part.cache.append(noted(part.tokens, part.layout, start, self.block))
        last = torch.cat([hidden[block.last] for block in blocks])
        logits = self._head.after_norm(last, self._norm, eps)
        none = last.new_empty(len(last), 0)
        sizes = [part.logits for part in parts]
        return list(map(Output, torch.split(logits, sizes), torch.split(none, sizes)))

    def _normed(self, layer: Layer, qkv: torch.Tensor) -> torch.Tensor:
        """Fused projections [M, out] with queries and keys normed where the layer does that."""
        if layer.query_norm is None or layer.key_norm is None:
            return qkv
        config = self.config
        sizes = [config.heads * config.head_dim, *[config.kv_heads * config.head_dim] * 2]
        queries, keys, values = torch.split(qkv, sizes, -1)
        pairs = ((queries, layer.query_norm), (keys, layer.key_norm))
        return torch.cat([*(_rms(x, norm, config.eps) for x, norm in pairs), values], -1)

    def _attend(self, qkv: torch.Tensor, block: _Block, number: int) -> torch.Tensor:
        """Attention of fused projections [M, out] over cache and block, float32 [M, heads * D]."""
        rows = qkv.shape[0]
        keys, values = block.cache.keys[number], block.cache.values[number]
        queries = self._kernels.rotate_and_store(
            qkv, self._cos, self._sin, keys, values, block.start, block.positions
        )
        end, groups = block.start + rows, self.config.heads // self.config.kv_heads
        attended = functional.scaled_dot_product_attention(
            queries[None],
            keys[None, :, :end],
            values[None, :, :end],
            attn_mask=block.visible.repeat(groups, 1),
        )
        by_head = attended.view(self.config.heads, rows, -1)
        return by_head.transpose(0, 1).reshape(rows, -1)


@dataclass(frozen=True, slots=True)
class _Block:
    """A part in a batch: its rows there, those that are looked at, the cached tokens before it, the
    places that rows are rotated to, and what they see of cache and rows, bool [M, start + M]."""

    cache: KVCache
    rows: slice
    last: slice
    start: int
    positions: torch.Tensor
    visible: torch.Tensor


def _block(part: Part, begin: int, device: torch.device) -> _Block:
    rows, start = len(part.tokens), len(part.cache)
    part.cache.reserve(rows)
    end = begin + rows
    layout = part.layout or _causal(rows, start)
    return _Block(
        part.cache,
        slice(begin, end),
        slice(end - part.logits, end),
        start,
        layout.positions.to(device),
        _visible(layout, start).to(device),
    )


def _causal(rows: int, start: int) -> Layout:
    visible = torch.ones(rows, rows, dtype=torch.bool).tril_()
    return Layout(torch.arange(start, start + rows), visible)


def _visible(layout: Layout, start: int) -> torch.Tensor:
    cached = torch.ones(len(layout.positions), start, dtype=torch.bool)
    if layout.reach is not None:
        cached = torch.arange(start) < layout.reach[:, None]
    return torch.cat((cached, layout.visible), 1)


def _rms(x: torch.Tensor, weight: torch.Tensor, eps: float) -> torch.Tensor:
    """RMSNorm of x [M, heads * D] in pieces as wide as the weight."""
    pieces = x.view(len(x), -1, len(weight))
    return functional.rms_norm(pieces, weight.shape, weight, eps).flatten(1)


def _tables(
    config: TransformerConfig, places: int, device: torch.device
) -> tuple[torch.Tensor, torch.Tensor]:
    """Cosines and sines [places, head_dim]; what is not rotated stands behind what is, in each
    half (see `rotated_order`)."""
    cos, sin = rotary_tables(config.rotary_dim, places, config.theta, device)
    still = (config.head_dim - config.rotary_dim) // 2
    ones, zeros = cos.new_ones(places, still), cos.new_zeros(places, still)
    cosines = torch.cat([part for half in cos.chunk(2, -1) for part in (half, ones)], -1)
    sines = torch.cat([part for half in sin.chunk(2, -1) for part in (half, zeros)], -1)
    return cosines, sines


def rotated_order(config: TransformerConfig) -> torch.Tensor:
    """The order of a head's values, int64 [head_dim], in which the two that turn together stand
    half a head apart, also where only the first `rotary_dim` turn."""
    turned = torch.arange(config.rotary_dim).chunk(2)
    still = torch.arange(config.rotary_dim, config.head_dim).chunk(2)
    if config.rotary_dim == config.head_dim:
        return torch.cat(turned)
    return torch.cat((turned[0], still[0], turned[1], still[1]))
