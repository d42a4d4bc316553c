"""What config.json of each backbone says: the numbers of its layers, and the tensors it must have.

`known`: transformers 5.24 for qwen2, qwen3, qwen3-moe, llama and olmoe, under whose names all
tensors go; the others' names and numbers are in the table of README.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from clover_engine.checkpoint import Shape
from clover_engine.errors import ModelError

QkNorm = Literal["none", "head", "all"]


@dataclass(frozen=True, slots=True)
class Traits:
    """What a backbone's config.json does not say: what its queries, keys and values have, and
    whether its layers are mixtures of experts, scored by the logistic function or by softmax."""

    qkv_bias: bool = False
    qkv_fused: bool = False
    qk_norm: QkNorm = "none"  # of each head, or of all heads' values together
    experts: bool = False
    logistic: bool = False
    renormalise: bool = False  # where config.json does not say


BACKBONES = {
    "qwen2": Traits(qkv_bias=True),
    "qwen3": Traits(qk_norm="head"),
    "qwen3-moe": Traits(qk_norm="head", experts=True),
    "llama": Traits(),
    "olmoe": Traits(qk_norm="all", experts=True),
    "llada": Traits(),
    "llada-moe": Traits(qk_norm="head", experts=True),
    "llada2": Traits(qkv_fused=True, qk_norm="head", experts=True, logistic=True, renormalise=True),
}


@dataclass(frozen=True, slots=True)
class ExpertsConfig:
    """A mixture: `top` of `count` experts of inner width `width`, chosen among the `top_groups`
    best of `groups`; their weights are made to sum to 1 and are scaled. `shared` is the width of
    the experts that all tokens go to; the first `dense` layers have no experts."""

    count: int
    top: int
    width: int
    shared: int
    groups: int
    top_groups: int
    renormalise: bool
    scale: float
    dense: int


@dataclass(frozen=True, slots=True)
class TransformerConfig:
    """The numbers that shape a transformer; `width` is that of its dense feed-forward layers."""

    traits: Traits
    layers: int
    hidden: int
    vocabulary: int
    heads: int
    kv_heads: int
    head_dim: int
    rotary_dim: int
    width: int
    eps: float
    theta: float
    positions: int
    tied: bool
    experts: ExpertsConfig | None


def read_config(backbone: str, config: Mapping[str, Any]) -> TransformerConfig:
    """Read config.json as that of a backbone. Raises ModelError for what is missing or unknown."""
    if backbone not in BACKBONES:
        raise ModelError(f"no backbone is called {backbone!r}: choose from {', '.join(BACKBONES)}")
    traits = BACKBONES[backbone]
    _refuse_unknown(config)
    hidden = _number(config, "hidden_size", "d_model")
    heads = _number(config, "num_attention_heads", "n_heads")
    head_dim = int(config.get("head_dim") or hidden // heads)
    rope = config.get("rope_parameters") or {}
    return TransformerConfig(
        traits=traits,
        layers=_number(config, "num_hidden_layers", "n_layers"),
        hidden=hidden,
        vocabulary=_number(config, "embedding_size", "vocab_size"),
        heads=heads,
        kv_heads=_number(config, "num_key_value_heads", "n_kv_heads", default=heads),
        head_dim=head_dim,
        rotary_dim=int(head_dim * float(config.get("partial_rotary_factor") or 1.0)),
        width=_number(
            config, "dense_intermediate_size", "mlp_hidden_size", "intermediate_size", default=0
        ),
        eps=float(config.get("rms_norm_eps") or 1e-6),
        theta=float(rope.get("rope_theta") or config.get("rope_theta") or 10_000.0),
        positions=_number(config, "max_position_embeddings", "max_sequence_length", default=8192),
        tied=bool(config.get("tie_word_embeddings") or config.get("weight_tying")),
        experts=_experts(traits, config) if traits.experts else None,
    )


def tensors_of(config: TransformerConfig) -> dict[str, Shape]:
    """Name and shape of every tensor, experts fused."""
    hidden = config.hidden
    shapes: dict[str, Shape] = {
        "model.embed_tokens.weight": (config.vocabulary, hidden),
        "model.norm.weight": (hidden,),
    }
    if not config.tied:
        shapes["lm_head.weight"] = (config.vocabulary, hidden)
    for number in range(config.layers):
        layer = f"model.layers.{number}"
        shapes[f"{layer}.input_layernorm.weight"] = (hidden,)
        shapes[f"{layer}.post_attention_layernorm.weight"] = (hidden,)
        shapes |= _attention(f"{layer}.self_attn", config)
        if config.experts and number >= config.experts.dense:
            shapes |= _mixture(f"{layer}.mlp", config.experts, hidden, config.traits.logistic)
        else:
            shapes |= _feed_forward(f"{layer}.mlp", hidden, config.width)
    return shapes


def spare_tensors(config: TransformerConfig) -> tuple[str, ...]:
    """Tensors that may be there and are not used."""
    return ("lm_head.weight",) if config.tied else ()


def _attention(name: str, config: TransformerConfig) -> dict[str, Shape]:
    traits, queries = config.traits, config.heads * config.head_dim
    keys = config.kv_heads * config.head_dim
    outs = {"q": queries, "k": keys, "v": keys}
    if traits.qkv_fused:
        outs = {"qkv": queries + 2 * keys}
    shapes: dict[str, Shape] = {f"{name}.o_proj.weight": (config.hidden, queries)}
    for part, out in outs.items():
        shapes[f"{name}.{part}_proj.weight"] = (out, config.hidden)
        if traits.qkv_bias:
            shapes[f"{name}.{part}_proj.bias"] = (out,)
    if traits.qk_norm != "none":
        each = traits.qk_norm == "head"
        shapes[f"{name}.q_norm.weight"] = (config.head_dim if each else queries,)
        shapes[f"{name}.k_norm.weight"] = (config.head_dim if each else keys,)
    return shapes


def _feed_forward(name: str, hidden: int, width: int) -> dict[str, Shape]:
    return {
        f"{name}.gate_proj.weight": (width, hidden),
        f"{name}.up_proj.weight": (width, hidden),
        f"{name}.down_proj.weight": (hidden, width),
    }


def _mixture(name: str, experts: ExpertsConfig, hidden: int, biased: bool) -> dict[str, Shape]:
    shapes: dict[str, Shape] = {
        f"{name}.gate.weight": (experts.count, hidden),
        f"{name}.experts.gate_up_proj": (experts.count, 2 * experts.width, hidden),
        f"{name}.experts.down_proj": (experts.count, hidden, experts.width),
    }
    if biased:
        shapes[f"{name}.gate.expert_bias"] = (experts.count,)
    if experts.shared:
        shapes |= _feed_forward(f"{name}.shared_experts", hidden, experts.shared)
    return shapes


def _experts(traits: Traits, config: Mapping[str, Any]) -> ExpertsConfig:
    width = _number(
        config, "moe_intermediate_size", "expert_intermediate_size", "intermediate_size"
    )
    renormalise = config.get("norm_topk_prob")
    return ExpertsConfig(
        count=_number(config, "num_experts", "num_local_experts", "n_routed_experts"),
        top=_number(config, "num_experts_per_tok"),
        width=width,
        shared=width * int(config.get("num_shared_experts") or 0),
        groups=int(config.get("n_group") or 1),
        top_groups=int(config.get("topk_group") or 1),
        renormalise=traits.renormalise if renormalise is None else bool(renormalise),
        scale=float(config.get("routed_scaling_factor") or 1.0),
        dense=int(config.get("first_k_dense_replace") or 0),
    )


def _refuse_unknown(config: Mapping[str, Any]) -> None:
    """Settings that change what layers compute, and that no layer here computes."""
    rope = config.get("rope_parameters") or config.get("rope_scaling") or {}
    kind = rope.get("rope_type") or rope.get("type") or "default"
    activation = config.get("hidden_act") or config.get("activation_type") or "silu"
    refused = {
        f"rope type {kind}": kind != "default",
        f"activation {activation}": activation not in ("silu", "swiglu"),
        "a sliding window": bool(config.get("use_sliding_window")),
        "experts in some layers only": config.get("decoder_sparse_step", 1) != 1,
        "clipped projections": config.get("clip_qkv") is not None,
    }
    for what, is_asked in refused.items():
        if is_asked:
            raise ModelError(f"config.json asks for {what}, which no layer here computes")


def _number(config: Mapping[str, Any], *names: str, default: int | None = None) -> int:
    """The first of the settings that is there."""
    for name in names:
        if config.get(name) is not None:
            return int(config[name])
    if default is None:
        raise ModelError(f"config.json has no {names[0]}")
    return default
