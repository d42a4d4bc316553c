"""From a checkpoint to a transformer: every tensor checked, then put where it runs."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from clover_engine.checkpoint import Checkpoint
from clover_engine.kernels.dispatch import kernels_for
from clover_engine.layers.experts import Experts, FeedForward, Router
from clover_engine.layers.linear import FloatLinear
from clover_engine.models.backbones import (
    ExpertsConfig,
    TransformerConfig,
    read_config,
    spare_tensors,
    tensors_of,
)
from clover_engine.models.transformer import Layer, Transformer, rotated_order


def load_transformer(
    checkpoint: Checkpoint,
    backbone: str,
    device: torch.device,
    dtype: torch.dtype,
    *,
    mask: int,
    block: int = 1,
) -> Transformer:
    """The model of a checkpoint in `dtype` on a device; `mask` stands for MASK, and text is read in
    blocks of `block` tokens. Raises ModelError for an unknown config, CheckpointError for tensors.
    """
    config = read_config(backbone, checkpoint.config)
    checkpoint.check(tensors_of(config), spare=spare_tensors(config))
    reader = _Reader(checkpoint, config, device, dtype)
    embedding = reader.matrix("model.embed_tokens.weight")
    return Transformer(
        config,
        kernels_for(device),
        embedding,
        [reader.layer(number) for number in range(config.layers)],
        reader.vector("model.norm.weight"),
        FloatLinear(embedding if config.tied else reader.matrix("lm_head.weight")),
        mask,
        block,
    )


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads layers of one checkpoint."""

    checkpoint: Checkpoint
    config: TransformerConfig
    device: torch.device
    dtype: torch.dtype

    def matrix(self, *names: str) -> torch.Tensor:
        """One matrix, or several below one another."""
        if len(names) == 1:
            return self.checkpoint.read(names[0], self.device, self.dtype)
        return self.checkpoint.joined(names, self.device, self.dtype)

    def vector(self, *names: str) -> torch.Tensor:
        """Vectors behind one another, float32."""
        return self.checkpoint.joined(names, self.device, torch.float32)

    def layer(self, number: int) -> Layer:
        """Decoder layer `number`."""
        name = f"model.layers.{number}"
        attention, experts = f"{name}.self_attn", self.config.experts
        mixed = experts if experts and number >= experts.dense else None
        return Layer(
            attention_norm=self.vector(f"{name}.input_layernorm.weight"),
            qkv=self._qkv(attention),
            query_norm=self._head_norm(f"{attention}.q_norm.weight"),
            key_norm=self._head_norm(f"{attention}.k_norm.weight"),
            o=FloatLinear(self.matrix(f"{attention}.o_proj.weight")),
            mlp_norm=self.vector(f"{name}.post_attention_layernorm.weight"),
            mlp=self._experts(f"{name}.mlp", mixed) if mixed else self._feed_forward(f"{name}.mlp"),
        )

    def _qkv(self, name: str) -> FloatLinear:
        """Queries, keys and values of all heads, fused."""
        traits = self.config.traits
        parts = ["qkv"] if traits.qkv_fused else ["q", "k", "v"]
        weight = self.matrix(*(f"{name}.{part}_proj.weight" for part in parts))
        bias = None
        if traits.qkv_bias:
            bias = self._in_order(self.vector(*(f"{name}.{part}_proj.bias" for part in parts)))
        return FloatLinear(self._in_order(weight), bias)

    def _in_order(self, qkv: torch.Tensor) -> torch.Tensor:
        """Each head's queries and keys in the order in which they are rotated."""
        config = self.config
        if config.rotary_dim == config.head_dim:
            return qkv
        heads = qkv.view(-1, config.head_dim, *qkv.shape[1:])
        turned = config.heads + config.kv_heads
        heads[:turned] = heads[:turned][:, rotated_order(config).to(qkv.device)]
        return qkv

    def _head_norm(self, name: str) -> torch.Tensor | None:
        if self.config.traits.qk_norm == "none":
            return None
        norm = self.vector(name)
        order = rotated_order(self.config).to(norm.device)
        return norm.view(-1, self.config.head_dim)[:, order].flatten()

    def _feed_forward(self, name: str) -> FeedForward:
        gate_up = self.matrix(f"{name}.gate_proj.weight", f"{name}.up_proj.weight")
        return FeedForward(
            FloatLinear(gate_up), FloatLinear(self.matrix(f"{name}.down_proj.weight"))
        )

    def _experts(self, name: str, config: ExpertsConfig) -> Experts:
        hidden, logistic = self.config.hidden, self.config.traits.logistic
        router = Router(
            weight=self.checkpoint.read(f"{name}.gate.weight", self.device, torch.float32),
            bias=self.vector(f"{name}.gate.expert_bias") if logistic else None,
            top=config.top,
            logistic=logistic,
            renormalise=config.renormalise,
            groups=config.groups,
            top_groups=config.top_groups,
            scale=config.scale,
        )
        inner = (config.count, 2 * config.width, hidden)
        outer = (config.count, hidden, config.width)
        return Experts(
            router,
            self.checkpoint.experts(f"{name}.experts.gate_up_proj", inner, self.device, self.dtype),
            self.checkpoint.experts(f"{name}.experts.down_proj", outer, self.device, self.dtype),
            self._feed_forward(f"{name}.shared_experts") if config.shared else None,
        )
