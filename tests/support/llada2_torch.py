"""LLaDA2's layers written a second time, slow and obvious, in the tensors' stored names."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch.nn import functional

CONFIG: dict[str, Any] = {
    "architectures": ["LLaDA2MoeModelLM"],
    "model_type": "llada2_moe",
    "vocab_size": 97,
    "hidden_size": 36,
    "intermediate_size": 41,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 12,
    "partial_rotary_factor": 0.5,
    "rope_theta": 600.0,
    "rms_norm_eps": 1e-6,
    "max_position_embeddings": 512,
    "num_experts": 8,
    "num_experts_per_tok": 3,
    "moe_intermediate_size": 13,
    "num_shared_experts": 2,
    "n_group": 4,
    "topk_group": 2,
    "routed_scaling_factor": 2.5,
    "first_k_dense_replace": 1,
    "hidden_act": "silu",
    "tie_word_embeddings": False,
}


def random_weights(vocabulary: int = CONFIG["vocab_size"]) -> dict[str, torch.Tensor]:
    """A checkpoint in the published layout, experts one by one."""
    torch.manual_seed(11)
    c = CONFIG
    hidden, width, head = c["hidden_size"], c["moe_intermediate_size"], c["head_dim"]
    heads, kv = c["num_attention_heads"], c["num_key_value_heads"]

    def matrix(out: int, into: int) -> torch.Tensor:
        return torch.randn(out, into) / math.sqrt(into)

    def mlp(name: str, inner: int) -> dict[str, torch.Tensor]:
        return {
            f"{name}.gate_proj.weight": matrix(inner, hidden),
            f"{name}.up_proj.weight": matrix(inner, hidden),
            f"{name}.down_proj.weight": matrix(hidden, inner),
        }

    weights = {
        "model.word_embeddings.weight": torch.randn(vocabulary, hidden),
        "model.norm.weight": torch.rand(hidden) + 0.5,
        "lm_head.weight": matrix(vocabulary, hidden) * 4,
    }
    for number in range(c["num_hidden_layers"]):
        layer = f"model.layers.{number}"
        weights[f"{layer}.input_layernorm.weight"] = torch.rand(hidden) + 0.5
        weights[f"{layer}.post_attention_layernorm.weight"] = torch.rand(hidden) + 0.5
        weights[f"{layer}.attention.query_key_value.weight"] = matrix(
            (heads + 2 * kv) * head, hidden
        )
        weights[f"{layer}.attention.dense.weight"] = matrix(hidden, heads * head)
        weights[f"{layer}.attention.query_layernorm.weight"] = torch.rand(head) + 0.5
        weights[f"{layer}.attention.key_layernorm.weight"] = torch.rand(head) + 0.5
        if number < c["first_k_dense_replace"]:
            weights |= mlp(f"{layer}.mlp", c["intermediate_size"])
            continue
        weights[f"{layer}.mlp.gate.weight"] = matrix(c["num_experts"], hidden) * 3
        weights[f"{layer}.mlp.gate.expert_bias"] = torch.randn(c["num_experts"]) * 0.2
        weights |= mlp(f"{layer}.mlp.shared_experts", width * c["num_shared_experts"])
        for expert in range(c["num_experts"]):
            weights |= mlp(f"{layer}.mlp.experts.{expert}", width)
    return weights


def logits(
    weights: Mapping[str, torch.Tensor], tokens: list[int], visible: torch.Tensor
) -> torch.Tensor:
    """float32 [M, V] of tokens, each of which sees those that `visible` [M, M] says."""
    hidden = weights["model.word_embeddings.weight"][tokens]
    for number in range(CONFIG["num_hidden_layers"]):
        layer = f"model.layers.{number}"
        normed = _rms(hidden, weights[f"{layer}.input_layernorm.weight"])
        hidden = hidden + _attention(weights, f"{layer}.attention", normed, visible)
        normed = _rms(hidden, weights[f"{layer}.post_attention_layernorm.weight"])
        mixed = number >= CONFIG["first_k_dense_replace"]
        hidden = hidden + (_mixture if mixed else _mlp)(weights, f"{layer}.mlp", normed)
    return _rms(hidden, weights["model.norm.weight"]) @ weights["lm_head.weight"].T


def _rms(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + CONFIG["rms_norm_eps"]) * weight


def _attention(
    weights: Mapping[str, torch.Tensor], name: str, x: torch.Tensor, visible: torch.Tensor
) -> torch.Tensor:
    heads, kv = CONFIG["num_attention_heads"], CONFIG["num_key_value_heads"]
    qkv = (x @ weights[f"{name}.query_key_value.weight"].T).view(len(x), heads + 2 * kv, -1)
    seen = []
    for number in range(heads):
        query = _turn(_rms(qkv[:, number], weights[f"{name}.query_layernorm.weight"]))
        of = number // (heads // kv)
        key = _turn(_rms(qkv[:, heads + of], weights[f"{name}.key_layernorm.weight"]))
        scores = (query @ key.T / math.sqrt(CONFIG["head_dim"])).masked_fill(~visible, -math.inf)
        seen.append(scores.softmax(-1) @ qkv[:, heads + kv + of])
    return torch.cat(seen, -1) @ weights[f"{name}.dense.weight"].T


def _turn(x: torch.Tensor) -> torch.Tensor:
    """Rotate the first half of each head, pairs a quarter of a head apart."""
    turned = x.clone()
    width = int(CONFIG["head_dim"] * CONFIG["partial_rotary_factor"])
    for place in range(len(x)):
        for pair in range(width // 2):
            angle = place * CONFIG["rope_theta"] ** (-2 * pair / width)
            a, b = x[place, pair], x[place, pair + width // 2]
            turned[place, pair] = a * math.cos(angle) - b * math.sin(angle)
            turned[place, pair + width // 2] = b * math.cos(angle) + a * math.sin(angle)
    return turned


def _mlp(weights: Mapping[str, torch.Tensor], name: str, x: torch.Tensor) -> torch.Tensor:
    gate, up = (x @ weights[f"{name}.{part}_proj.weight"].T for part in ("gate", "up"))
    return (functional.silu(gate) * up) @ weights[f"{name}.down_proj.weight"].T


def _mixture(weights: Mapping[str, torch.Tensor], name: str, x: torch.Tensor) -> torch.Tensor:
    groups, size = CONFIG["n_group"], CONFIG["num_experts"] // CONFIG["n_group"]
    out = _mlp(weights, f"{name}.shared_experts", x)
    for row in range(len(x)):
        scores = (weights[f"{name}.gate.weight"] @ x[row]).sigmoid()
        wanted = (scores + weights[f"{name}.gate.expert_bias"]).tolist()
        worth = [
            sum(sorted(wanted[group * size : (group + 1) * size])[-2:]) for group in range(groups)
        ]
        best = sorted(range(groups), key=lambda group: -worth[group])[: CONFIG["topk_group"]]
        allowed = [expert for expert in range(len(wanted)) if expert // size in best]
        chosen = sorted(allowed, key=lambda expert: -wanted[expert])
        chosen = chosen[: CONFIG["num_experts_per_tok"]]
        total = sum(float(scores[expert]) for expert in chosen)
        for expert in chosen:
            share = float(scores[expert]) / total * CONFIG["routed_scaling_factor"]
            y = _mlp(weights, f"{name}.experts.{expert}", x[row : row + 1])
            out[row] += share * y[0]
    return out
