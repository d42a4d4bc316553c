"""Qwen2 (transformers: models/qwen2): grouped-query attention with biased queries, keys, values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch.nn import functional

from clover_engine.kernels.dispatch import Kernels
from clover_engine.kv_cache import CacheShape, KVCache, whole_units
from clover_engine.layers.linear import Linear
from clover_engine.layers.rotary import rotary_tables
from clover_engine.models.parts import MASK, Layout, Output, Part, noted

MAX_POSITIONS = 8192


@dataclass(frozen=True, slots=True)
class Qwen2Config:
    """The numbers that shape the model, named as in its Hugging Face config."""

    num_hidden_layers: int
    hidden_size: int
    intermediate_size: int
    num_attention_heads: int
    num_key_value_heads: int
    rms_norm_eps: float
    rope_theta: float
    max_position_embeddings: int

    @property
    def head_dim(self) -> int:
        """Width of one attention head."""
        return self.hidden_size // self.num_attention_heads


@dataclass(frozen=True, slots=True)
class Layer:
    """One decoder layer: fused projections and the weights of its two norms, float32 [hidden]."""

    attn_norm: torch.Tensor
    qkv: Linear
    o: Linear
    ffn_norm: torch.Tensor
    gate_up: Linear
    down: Linear


@dataclass(frozen=True, slots=True)
class Embedding:
    """Token vectors kept as int8 rows [V, hidden] with a float32 scale [V], or as floats."""

    weight: torch.Tensor
    scale: torch.Tensor | None

    def __call__(self, tokens: torch.Tensor) -> torch.Tensor:
        """tokens int64 [M] -> float32 [M, hidden]."""
        rows = self.weight[tokens].float()
        return rows if self.scale is None else rows * self.scale[tokens, None]


class Qwen2:
    """The causal model. Activations are float32; the linear layers decide their own precision."""

    def __init__(
        self,
        config: Qwen2Config,
        kernels: Kernels,
        embedding: Embedding,
        layers: Sequence[Layer],
        norm: torch.Tensor,
        head: Linear,
        mask: torch.Tensor | None = None,
    ) -> None:
        """`mask` float32 [hidden] is the block adapter's embedding of masks."""
        self.config = config
        self.device = norm.device
        self._kernels = kernels
        self._embedding = embedding
        self._layers = layers
        self._norm = norm
        self._head = head
        self._mask_embedding = mask
        self._cos, self._sin = rotary_tables(
            config.head_dim, MAX_POSITIONS, config.rope_theta, self.device
        )

    @property
    def cache_shape(self) -> CacheShape:
        """What its key-value cache holds for each token."""
        config = self.config
        return CacheShape(
            config.num_hidden_layers, config.num_key_value_heads, config.head_dim, self.device
        )

    def new_cache(self) -> KVCache:
        """A cache for one text."""
        return KVCache(self.cache_shape)

    @property
    def denoises(self) -> bool:
        """Whether a block adapter is there, so that tokens may be MASK."""
        return self._mask_embedding is not None

    @torch.no_grad()
    def forward(self, parts: Sequence[Part], taps: Sequence[int] = ()) -> list[Output]:
        """Read the tokens of one or more jobs, each behind its own cache; no row's result depends
        on rows of other parts. Masks come last among a part's tokens, and only in the last part.
        """
        blocks = self._blocks(parts)
        masks = blocks[-1].masks
        hidden = self._embed(blocks)
        eps = self.config.rms_norm_eps
        states = []
        for number, layer in enumerate(self._layers):
            qkv = layer.qkv.after_norm(hidden, layer.attn_norm, eps, masks)
            attended = [self._attend(qkv[block.rows], block, number) for block in blocks]
            hidden += layer.o(_joined(attended, len(hidden)), masks)
            gate_up = layer.gate_up.after_norm(hidden, layer.ffn_norm, eps, masks)
            hidden += layer.down.after_swiglu(gate_up, masks)
            if number + 1 in taps:
                final = number + 1 == len(self._layers)
                weight = self._norm if final else None
                last = _joined([hidden[block.last] for block in blocks])
                states.append(functional.rms_norm(last, hidden.shape[1:], weight, eps))
        for part in parts:
            tokens, start = part.tokens, len(part.cache)
            part.cache.append(noted(tokens, part.layout, start))
        last = _joined([hidden[block.last] for block in blocks])
        none = hidden.new_empty(len(last), 0)
        logits = self._head.after_norm(last, self._norm, eps) if len(last) else none
        sizes = [part.logits for part in parts]
        by_part = zip(
            torch.split(logits, sizes),
            torch.split(torch.cat(states, -1) if states else none, sizes),
            strict=True,
        )
        return [Output(*each) for each in by_part]

    def _blocks(self, parts: Sequence[Part]) -> list[_Block]:
        """Where in the batch each part's rows stand."""
        blocks: list[_Block] = []
        begin = 0
        for part in parts:
            rows, start = len(part.tokens), len(part.cache)
            padded = _few_shapes(rows)
            part.cache.reserve(padded)
            known = rows - part.tokens.count(MASK)
            positions = torch.arange(start, start + padded, device=self.device)
            if part.layout:
                positions[:rows] = part.layout.positions
            blocks.append(
                _Block(
                    part.cache,
                    (*part.tokens[:known], *[0] * (padded - known)),
                    slice(begin, begin + padded),
                    slice(begin + known, begin + rows) if known < rows else None,
                    slice(begin + rows - part.logits, begin + rows),
                    self._mask(padded, start, part.layout),
                    positions,
                )
            )
            begin += padded
        return blocks

    def _embed(self, blocks: Sequence[_Block]) -> torch.Tensor:
        """The vectors of all rows, float32 [rows, hidden], a few rows of padding behind them."""
        tokens = [token for block in blocks for token in block.tokens]
        tokens += [0] * (_few_shapes(len(tokens)) - len(tokens))
        hidden = self._embedding(torch.tensor(tokens, device=self.device))
        masks = blocks[-1].masks
        if masks and self._mask_embedding is not None:
            hidden[masks] = self._mask_embedding
        return hidden

    def _attend(self, qkv: torch.Tensor, block: _Block, number: int) -> torch.Tensor:
        """Attention of fused projections [M, out] over cache and block, float32 [M, hidden]."""
        start, rows = len(block.cache), qkv.shape[0]
        seen = block.mask.shape[1]
        keys, values = block.cache.keys[number], block.cache.values[number]
        queries = self._kernels.rotate_and_store(
            qkv, self._cos, self._sin, keys, values, start, block.positions
        )
        attended = functional.scaled_dot_product_attention(
            queries[None],
            keys[None, :, :seen],
            values[None, :, :seen],
            attn_mask=block.mask,
        )
        by_head = attended.view(self.config.num_attention_heads, rows, -1)
        return by_head.transpose(0, 1).reshape(rows, -1)

    def _mask(self, rows: int, start: int, layout: Layout | None) -> torch.Tensor:
        """Added to the scores: 0 where a query sees the key, else -inf; [group * rows, keys]."""
        size = (rows, whole_units(start + rows))
        mask = torch.full(size, float("-inf"), device=self.device).triu_(start + 1)
        if layout:
            count = len(layout.positions)
            mask[:count, start:] = float("-inf")
            mask[:count, start : start + count].masked_fill_(layout.visible, 0.0)
            if layout.reach is not None:
                beyond = torch.arange(start, device=self.device) >= layout.reach[:, None]
                mask[:count, :start].masked_fill_(beyond, float("-inf"))
        return mask.repeat(self.config.num_attention_heads // self.config.num_key_value_heads, 1)


@dataclass(frozen=True, slots=True)
class _Block:
    """A part in a batch: its tokens, 0 for masks and padding, its rows there, which of them are
    masks and which are looked at, what they see and the places they are rotated to."""

    cache: KVCache
    tokens: Sequence[int]
    rows: slice
    masks: slice | None
    last: slice
    mask: torch.Tensor
    positions: torch.Tensor


def _joined(some: Sequence[torch.Tensor], rows: int = 0) -> torch.Tensor:
    """Tensors one below the other, zeros to fill up `rows`; a single one is not copied."""
    missing = rows - sum(map(len, some))
    if missing > 0:
        some = [*some, some[0].new_zeros(missing, some[0].shape[1])]
    return some[0] if len(some) == 1 else torch.cat(tuple(some))


def _few_shapes(rows: int) -> int:
    """The rows to compute for so many tokens: oneDNN compiles and keeps code for every number of
    rows it meets, so prompts are padded; padding stands behind all tokens, where none sees it.
    Just below a full unit attention takes the last rows' sums in another order than single ones."""
    return rows if rows <= 12 else -(-rows // 16) * 16
