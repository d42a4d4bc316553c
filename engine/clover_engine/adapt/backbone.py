"""The frozen causal model in bf16, with gradients through it: what the adapter is trained on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import safe_open
from torch.nn import functional

from clover_engine.adapt.blocks import Blocks
from clover_engine.adapt.weights import PARTS, AdapterWeights
from clover_engine.end_head import tapped
from clover_engine.layers.rotary import rotary_tables
from clover_engine.models.qwen2 import MAX_POSITIONS
from clover_engine.weights import MODEL_FILE, read_config


@dataclass(frozen=True, slots=True)
class Context:
    """A causal reading of L tokens: keys and values of each layer, bf16 [KV, L, D]; the normed
    results of the tapped layers, bf16 [L, taps, H]; the last is what the head reads."""

    keys: list[torch.Tensor]
    values: list[torch.Tensor]
    taps: torch.Tensor

    @property
    def last(self) -> torch.Tensor:
        """bf16 [L, H]: the last layer's normed result."""
        return self.taps[:, -1]


class Backbone:
    """The int8 weights of a converted folder, expanded to bf16."""

    def __init__(self, folder: Path) -> None:
        path = folder / MODEL_FILE
        self.config = read_config(path)
        config = self.config
        with safe_open(path, framework="pt") as file:

            def weight(name: str) -> torch.Tensor:
                scale = file.get_tensor(f"{name}.scale")
                expanded: torch.Tensor = file.get_tensor(f"{name}.weight").float() * scale[:, None]
                return expanded.to(torch.bfloat16)

            numbers = range(config.num_hidden_layers)
            self._weights = [
                {part: weight(f"layers.{i}.{part}") for part in PARTS} for i in numbers
            ]
            self._bias = [file.get_tensor(f"layers.{i}.qkv.bias").bfloat16() for i in numbers]
            self._norms = [
                [file.get_tensor(f"layers.{i}.{n}_norm").clone() for n in ("attn", "ffn")]
                for i in numbers
            ]
            self._norm = file.get_tensor("norm").clone()
            self.head = weight("head")
        self._cos, self._sin = rotary_tables(
            config.head_dim, MAX_POSITIONS, config.rope_theta, torch.device("cpu")
        )

    @torch.no_grad()
    def read(self, tokens: Sequence[int]) -> Context:
        """Read a context causally."""
        hidden = self.head[torch.tensor(tokens)].float()
        places = torch.arange(len(tokens))
        keys, values, taps = [], [], []
        wanted = tapped(self.config.num_hidden_layers)
        for number in range(self.config.num_hidden_layers):
            qkv = self._project(number, "qkv", self._normed(hidden, self._norms[number][0]))
            queries, key, value = self._heads(qkv + self._bias[number], places)
            keys.append(key)
            values.append(value)
            group = queries.shape[0] // key.shape[0]
            attended = functional.scaled_dot_product_attention(
                queries[None],
                key.repeat_interleave(group, 0)[None],
                value.repeat_interleave(group, 0)[None],
                is_causal=True,
            )[0]
            hidden = hidden + self._project(number, "o", _joined(attended))
            hidden = hidden + self._feed_forward(number, hidden, None)
            if number + 1 in wanted:
                last = number + 1 == self.config.num_hidden_layers
                weight = self._norm if last else torch.ones_like(self._norm)
                taps.append(self._normed(hidden, weight))
        return Context(keys, values, torch.stack(taps, 1))

    def denoise(self, context: Context, blocks: Blocks, adapter: AdapterWeights) -> torch.Tensor:
        """The normed last hidden states of the blocks' mask rows, bf16 [masks, H]."""
        masks = blocks.masks[:, None]
        literal = self.head[blocks.tokens.clamp_min(0)].float()
        hidden = torch.where(masks, adapter.mask, literal)
        # masks first: the adapter then works on a slice
        for number in range(self.config.num_hidden_layers):
            normed = self._normed(hidden, self._norms[number][0])
            qkv = self._project(number, "qkv", normed)
            qkv = qkv + torch.where(masks, adapter(number, "qkv", normed), 0) + self._bias[number]
            queries, key, value = self._heads(qkv, blocks.positions)
            joined = _joined(self._attend(queries, key, value, context, number, blocks.visible))
            out = self._project(number, "o", joined)
            hidden = hidden + out + torch.where(masks, adapter(number, "o", joined), 0)
            hidden = hidden + self._feed_forward(number, hidden, (adapter, masks))
        return self._normed(hidden[blocks.masks], self._norm)

    def logits(self, hidden: torch.Tensor) -> torch.Tensor:
        """The head: bf16 [M, H] -> bf16 [M, V]."""
        return functional.linear(hidden, self.head)

    def _attend(
        self,
        queries: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        context: Context,
        number: int,
        visible: torch.Tensor,
    ) -> torch.Tensor:
        kv_heads, rows, width = key.shape
        grouped = queries.view(kv_heads, -1, width)  # [KV, G * R, D]
        keys = torch.cat((context.keys[number], key), 1)
        values = torch.cat((context.values[number], value), 1)
        mask = visible.repeat(grouped.shape[1] // rows, 1)
        return functional.scaled_dot_product_attention(
            grouped[None], keys[None], values[None], attn_mask=mask
        )[0].view(-1, rows, width)

    def _feed_forward(
        self,
        number: int,
        hidden: torch.Tensor,
        adapted: tuple[AdapterWeights, torch.Tensor] | None,
    ) -> torch.Tensor:
        normed = self._normed(hidden, self._norms[number][1])
        gate_up = self._project(number, "gate_up", normed)
        if adapted:
            adapter, masks = adapted
            gate_up = gate_up + torch.where(masks, adapter(number, "gate_up", normed), 0)
        gate, up = gate_up.chunk(2, -1)
        inner = functional.silu(gate) * up
        out = self._project(number, "down", inner)
        if adapted:
            adapter, masks = adapted
            out = out + torch.where(masks, adapter(number, "down", inner), 0)
        return out

    def _project(self, number: int, part: str, x: torch.Tensor) -> torch.Tensor:
        return functional.linear(x, self._weights[number][part])

    def _heads(
        self, qkv: torch.Tensor, positions: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Rotated queries [Q, M, D] and keys [KV, M, D], values [KV, M, D]."""
        width, kv_heads = self.config.head_dim, self.config.num_key_value_heads
        heads = qkv.view(len(qkv), -1, width)
        turned = heads[:, :-kv_heads]
        cos = self._cos[positions, None].to(qkv.dtype)
        sin = self._sin[positions, None].to(qkv.dtype)
        rotated = turned * cos + turned.roll(width // 2, -1) * sin
        queries, keys = rotated[:, :-kv_heads], rotated[:, -kv_heads:]
        return (
            queries.transpose(0, 1).contiguous(),
            keys.transpose(0, 1).contiguous(),
            heads[:, -kv_heads:].transpose(0, 1).contiguous(),
        )

    def _normed(self, hidden: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        normed = functional.rms_norm(hidden, weight.shape, weight, self.config.rms_norm_eps)
        return normed.to(torch.bfloat16)


def _joined(heads: torch.Tensor) -> torch.Tensor:
    """[heads, M, D] -> [M, heads * D]."""
    return heads.transpose(0, 1).reshape(heads.shape[1], -1)
