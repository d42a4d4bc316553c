"""Checkpoints of every family with random weights and a small tokenizer, laid out as published."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

from clover_engine.models.backbones import read_config, tensors_of
from clover_engine.tokenizer import build_tokenizer
from tests.support import llada2_torch
from tests.support.tiny_model import vocabulary

EXPAND, SPECIAL = "<|expand|>", 3
# every token that a family of families.toml names
TOKENS = (
    "<|mask|>",
    "<M>",
    "|<MASK>|",
    "<|mdm_mask|>",
    "<|beginoftext|>",
    "<|startoftext|>",
    "<|eot_id|>",
    "<|role_end|>",
    "<role>",
    "</role>",
    EXPAND,
)
SIZES: dict[str, Any] = {
    "hidden_size": 48,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 12,
    "max_position_embeddings": 4096,
    "rms_norm_eps": 1e-6,
    "rope_theta": 10_000.0,
    "tie_word_embeddings": False,
}


def write_tokenizer(folder: Path) -> dict[str, int]:
    """Write tokenizer.json; returns the ids of its tokens."""
    tokens, types, merges = vocabulary()
    tokens += TOKENS
    types += [SPECIAL] * len(TOKENS)
    tokenizer = build_tokenizer(tokens, types, merges)
    tokenizer.save(str(folder / "tokenizer.json"))
    found: dict[str, int] = tokenizer.get_vocab(with_added_tokens=True)
    return found


def write_checkpoint(
    folder: Path,
    architecture: str,
    model_type: str,
    backbone: str,
    *,
    likely: dict[str, float] | None = None,
    writes: str = "",
    **settings: Any,
) -> dict[str, torch.Tensor]:
    """Write a checkpoint in float32; `likely` tokens have heads so many times as large. With
    `writes` every mask is told by itself alone, and is that token. Returns the weights."""
    names = write_tokenizer(folder)
    config = SIZES | {
        "architectures": [architecture],
        "model_type": model_type,
        "vocab_size": max(names.values()) + 6,  # a model may have more tokens than its tokenizer
    }
    if backbone == "llada2":
        config = llada2_torch.CONFIG | {"vocab_size": config["vocab_size"]}
    config |= settings
    (folder / "config.json").write_text(json.dumps(config))
    weights = (
        llada2_torch.random_weights(config["vocab_size"])
        if backbone == "llada2"
        else _random(backbone, config)
    )
    for token, factor in (likely or {}).items():
        weights["lm_head.weight"][names[token]] *= factor
    if writes:
        for name in weights:
            if name.endswith(("o_proj.weight", "down_proj.weight")):
                weights[name].zero_()
        mask = weights["model.embed_tokens.weight"][names["<|mask|>"]]
        weights["lm_head.weight"][names[writes]] = 4 * mask
    save_file(weights, folder / "model.safetensors")
    return weights


def _random(backbone: str, config: dict[str, Any]) -> dict[str, torch.Tensor]:
    """Weights of such sizes that attention and position matter and text varies."""
    torch.manual_seed(17)
    weights: dict[str, torch.Tensor] = {}
    for name, shape in tensors_of(read_config(backbone, config)).items():
        if "norm" in name:
            weights[name] = torch.rand(shape) * 0.4 + 0.8
        elif name == "model.embed_tokens.weight":
            weights[name] = torch.randn(shape)
        else:
            size = 8.0 if name == "lm_head.weight" else 2.0
            weights[name] = torch.randn(shape) * size / shape[-1] ** 0.5
    return weights
