"""From a checkpoint of a Qwen3.5 hybrid to a Clover: names, shapes, and where each tensor goes."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from clover_engine.checkpoint import Checkpoint, Shape
from clover_engine.kernels.dispatch import Kernels, kernels_for
from clover_engine.kernels.reference import History
from clover_engine.layers.gated_attention import AttentionWeights, GatedAttention
from clover_engine.layers.gated_delta_net import (
    BlockWeights,
    DeltaShape,
    DeltaWeights,
    GatedDeltaNet,
)
from clover_engine.layers.mixture import Mixture, MixtureWeights, SwiGlu
from clover_engine.models.clover import Clover, CloverLayer
from clover_engine.models.clover_config import CloverConfig, Mixer, Switches

_RIGHT = "bd_gdn_conv_right_weight"
_SCALARS = "bd_gdn_softmax_scalars"
_USUAL = {"temperature": 1.0, "bias": 0.0, "growth": 1.0}  # of scalars that were not learned


def load_clover(
    checkpoint: Checkpoint,
    device: torch.device,
    dtype: torch.dtype,
    *,
    switches: Switches,
    mask: int,
) -> Clover:
    """The model of a checkpoint in `dtype` on a device; token `mask` stands in open slots.

    Raises ModelError for a config and CheckpointError for tensors that it is not.
    """
    config = CloverConfig.of(checkpoint.config)
    check_clover(checkpoint, config, switches)
    reader = _Reader(checkpoint, config, switches, kernels_for(device), device, dtype)
    embedding = reader.matrix("model.embed_tokens.weight")
    return Clover(
        config,
        reader.kernels,
        embedding,
        [reader.layer(number) for number in range(len(config.layer_types))],
        reader.matrix("model.norm.weight"),
        embedding if config.tie_word_embeddings else reader.matrix("lm_head.weight"),
        mask,
    )


def check_clover(checkpoint: Checkpoint, config: CloverConfig, switches: Switches) -> None:
    """Compare a checkpoint's tensors with those of the model. Raises CheckpointError."""
    spare = ["lm_head.weight"] if config.tie_word_embeddings else []
    checkpoint.check(tensors_of(config, switches, checkpoint), spare=spare)


def tensors_of(
    config: CloverConfig, switches: Switches, checkpoint: Checkpoint | None = None
) -> dict[str, Shape]:
    """Name and shape of every tensor, experts fused; where several shapes will do, the one that a
    checkpoint has."""
    found = {
        "model.embed_tokens.weight": (config.vocab_size, config.hidden_size),
        "model.norm.weight": (config.hidden_size,),
    }
    if not config.tie_word_embeddings:
        found["lm_head.weight"] = (config.vocab_size, config.hidden_size)
    stored = checkpoint.shapes if checkpoint else {}
    for number in range(len(config.layer_types)):
        layer = f"model.layers.{number}"
        for norm in ("input_layernorm", "post_attention_layernorm"):
            found[f"{layer}.{norm}.weight"] = (config.hidden_size,)
        if config.is_linear(number):
            mixer = {"linear_attn": _delta_tensors(config)}
            for name, shapes in _block_tensors(config, switches).items():
                full = f"{layer}.linear_attn.{name}"
                found[full] = next((s for s in shapes if s == stored.get(full)), shapes[0])
        else:
            mixer = {"self_attn": _attention_tensors(config)}
        for part, tensors in (*mixer.items(), ("mlp", _feed_forward_tensors(config))):
            found |= {f"{layer}.{part}.{name}": shape for name, shape in tensors.items()}
    return found


def _delta_tensors(config: CloverConfig) -> dict[str, Shape]:
    hidden, heads = config.hidden_size, config.linear_num_value_heads
    return {
        "in_proj_qkv.weight": (config.conv_dim, hidden),
        "in_proj_z.weight": (config.value_dim, hidden),
        "in_proj_b.weight": (heads, hidden),
        "in_proj_a.weight": (heads, hidden),
        "conv1d.weight": (config.conv_dim, 1, config.linear_conv_kernel_dim),
        "A_log": (heads,),
        "dt_bias": (heads,),
        "norm.weight": (config.linear_value_head_dim,),
        "out_proj.weight": (hidden, config.value_dim),
    }


def _block_tensors(config: CloverConfig, switches: Switches) -> dict[str, list[Shape]]:
    """What Clover adds to a layer, in the shapes that its exports may have it."""
    if switches.mixer is not Mixer.SELECTION:
        return {}
    channels, taps = config.conv_dim, config.linear_conv_kernel_dim - 1
    heads, count = config.linear_num_value_heads, len(switches.scalars)
    return {
        _RIGHT: [(channels, taps), (channels, 1, taps)],
        _SCALARS: [(count, heads), (heads, count), (count,)],
    }


def _attention_tensors(config: CloverConfig) -> dict[str, Shape]:
    hidden, width = config.hidden_size, config.head_dim
    queries, keys = config.num_attention_heads * width, config.num_key_value_heads * width
    return {
        "q_proj.weight": (2 * queries, hidden),
        "k_proj.weight": (keys, hidden),
        "v_proj.weight": (keys, hidden),
        "o_proj.weight": (hidden, queries),
        "q_norm.weight": (width,),
        "k_norm.weight": (width,),
    }


def _feed_forward_tensors(config: CloverConfig) -> dict[str, Shape]:
    hidden, experts = config.hidden_size, config.num_experts
    if not experts:
        return _swiglu_tensors("", hidden, config.intermediate_size)
    return {
        "gate.weight": (experts, hidden),
        "experts.gate_up_proj": (experts, 2 * config.moe_intermediate_size, hidden),
        "experts.down_proj": (experts, hidden, config.moe_intermediate_size),
        "shared_expert_gate.weight": (1, hidden),
        **_swiglu_tensors("shared_expert.", hidden, config.shared_expert_intermediate_size),
    }


def _swiglu_tensors(name: str, hidden: int, width: int) -> dict[str, Shape]:
    return {
        f"{name}gate_proj.weight": (width, hidden),
        f"{name}up_proj.weight": (width, hidden),
        f"{name}down_proj.weight": (hidden, width),
    }


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads layers of one checkpoint."""

    checkpoint: Checkpoint
    config: CloverConfig
    switches: Switches
    kernels: Kernels
    device: torch.device
    dtype: torch.dtype

    def matrix(self, *names: str) -> torch.Tensor:
        """One tensor, or several below one another, in the model's type."""
        if len(names) == 1:
            return self.checkpoint.read(names[0], self.device, self.dtype)
        return self.checkpoint.joined(names, self.device, self.dtype)

    def exact(self, name: str) -> torch.Tensor:
        """One small tensor in float32."""
        return self.checkpoint.read(name, self.device, torch.float32)

    def layer(self, number: int) -> CloverLayer:
        """Decoder layer `number`."""
        name = f"model.layers.{number}"
        linear = self.config.is_linear(number)
        return CloverLayer(
            mixer_norm=self.matrix(f"{name}.input_layernorm.weight"),
            mixer=self._delta_net(f"{name}.linear_attn")
            if linear
            else self._attention(f"{name}.self_attn"),
            norm=self.matrix(f"{name}.post_attention_layernorm.weight"),
            feed_forward=self._mixture(f"{name}.mlp")
            if self.config.num_experts
            else self._swiglu(f"{name}.mlp"),
        )

    def _delta_net(self, name: str) -> GatedDeltaNet:
        config = self.config
        weights = DeltaWeights(
            qkv=self.matrix(f"{name}.in_proj_qkv.weight"),
            z=self.matrix(f"{name}.in_proj_z.weight"),
            b=self.matrix(f"{name}.in_proj_b.weight"),
            a=self.matrix(f"{name}.in_proj_a.weight"),
            out=self.matrix(f"{name}.out_proj.weight"),
            taps=self.matrix(f"{name}.conv1d.weight")[:, 0],
            a_log=self.exact(f"{name}.A_log"),
            dt_bias=self.exact(f"{name}.dt_bias"),
            norm=self.matrix(f"{name}.norm.weight"),
            block=self._block(name) if self.switches.mixer is Mixer.SELECTION else None,
        )
        shape = DeltaShape(
            config.linear_num_key_heads,
            config.linear_num_value_heads,
            config.linear_key_head_dim,
            config.linear_value_head_dim,
        )
        return GatedDeltaNet(self.kernels, shape, weights, config.rms_norm_eps)

    def _block(self, name: str) -> BlockWeights:
        right = self.matrix(f"{name}.{_RIGHT}")
        return BlockWeights(
            right.flatten(1), self._history(f"{name}.{_SCALARS}"), self.switches.readout
        )

    def _history(self, name: str) -> History:
        """The scalars by their names, for each value head."""
        stored, names = self.exact(name), self.switches.scalars
        if stored.ndim == 1:
            stored = stored[:, None]
        table = stored if len(stored) == len(names) else stored.T
        heads = self.config.linear_num_value_heads
        learned = {key: row.expand(heads) for key, row in zip(names, table, strict=True)}
        usual = {key: table.new_full((heads,), value) for key, value in _USUAL.items()}
        return History(**(usual | learned))

    def _attention(self, name: str) -> GatedAttention:
        weights = AttentionWeights(
            q=self.matrix(f"{name}.q_proj.weight"),
            k=self.matrix(f"{name}.k_proj.weight"),
            v=self.matrix(f"{name}.v_proj.weight"),
            out=self.matrix(f"{name}.o_proj.weight"),
            q_norm=self.matrix(f"{name}.q_norm.weight"),
            k_norm=self.matrix(f"{name}.k_norm.weight"),
        )
        return GatedAttention(self.kernels, weights, self.config.head_dim, self.config.rms_norm_eps)

    def _mixture(self, name: str) -> Mixture:
        shapes = _feed_forward_tensors(self.config)
        up, down = (
            self.checkpoint.experts(f"{name}.{part}", shapes[part], self.device, self.dtype)
            for part in ("experts.gate_up_proj", "experts.down_proj")
        )
        weights = MixtureWeights(
            self.matrix(f"{name}.gate.weight"),
            up,
            down,
            self.matrix(f"{name}.shared_expert_gate.weight"),
        )
        shared = self._swiglu(f"{name}.shared_expert")
        return Mixture(self.kernels, weights, shared, self.config.num_experts_per_tok)

    def _swiglu(self, name: str) -> SwiGlu:
        gate_up = self.matrix(f"{name}.gate_proj.weight", f"{name}.up_proj.weight")
        return SwiGlu(self.kernels, gate_up, self.matrix(f"{name}.down_proj.weight"))
