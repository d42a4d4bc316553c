"""Clovers of odd sizes with random weights, as checkpoints on disk and as models."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import torch
from safetensors.torch import save_file

from clover_engine.checkpoint import Checkpoint
from clover_engine.models.clover import Clover
from clover_engine.models.clover_config import CloverConfig, Switches
from clover_engine.models.clover_weights import load_clover, tensors_of
from tests.support.toy_language import document

CPU = torch.device("cpu")
MASK_TOKEN = 91

ODD: Mapping[str, Any] = {
    "architectures": ["CloverMoeForCausalLM"],
    "model_type": "clover_moe",
    "vocab_size": 97,
    "hidden_size": 36,
    "num_hidden_layers": 5,
    "layer_types": [
        "linear_attention",
        "full_attention",
        "linear_attention",
        "linear_attention",
        "full_attention",
    ],
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "head_dim": 24,
    "linear_num_key_heads": 3,
    "linear_num_value_heads": 6,
    "linear_key_head_dim": 10,
    "linear_value_head_dim": 14,
    "linear_conv_kernel_dim": 4,
    "num_experts": 7,
    "num_experts_per_tok": 3,
    "moe_intermediate_size": 11,
    "shared_expert_intermediate_size": 13,
    "rms_norm_eps": 1e-6,
    "rope_parameters": {
        "rope_type": "default",
        "rope_theta": 10_000_000.0,
        "partial_rotary_factor": 0.25,
        "mrope_section": [1, 1, 1],
        "mrope_interleaved": True,
    },
    "max_position_embeddings": 4096,
    "mask_token_id": MASK_TOKEN,
}


@dataclass(frozen=True, slots=True)
class TinyClover:
    """A model in float32, its weights as the checkpoint has them, and its numbers."""

    model: Clover
    weights: Mapping[str, torch.Tensor]
    config: CloverConfig
    folder: Path


def random_weights(
    config: CloverConfig, switches: Switches, seed: int = 3
) -> dict[str, torch.Tensor]:
    """Weights of such sizes that every part of every layer matters."""
    random = torch.Generator().manual_seed(seed)
    weights = {}
    for name, shape in tensors_of(config, switches).items():
        value = torch.randn(shape, generator=random)
        if name.endswith("bd_gdn_softmax_scalars"):
            value = value * 0.5 + torch.tensor([6.0, 0.0, 1.0])[: shape[0], None]
        elif name.endswith("conv1d.weight"):
            value = value * 0.5
        elif len(shape) > 1:
            value = value * shape[-1] ** -0.5
        else:
            value = value * 0.3
        weights[name] = value
    return weights


def write_checkpoint(
    folder: Path, config: Mapping[str, Any], weights: Mapping[str, torch.Tensor]
) -> None:
    """The two files of a checkpoint without a tokenizer."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(dict(config)), encoding="utf-8")
    save_file({k: v.contiguous() for k, v in weights.items()}, folder / "model.safetensors")


def tiny_clover(
    folder: Path,
    switches: Switches | None = None,
    changed: Mapping[str, torch.Tensor] | None = None,
    config: Mapping[str, Any] = ODD,
) -> TinyClover:
    """A random Clover, written and read again; `changed` takes the place of some weights."""
    chosen, numbers = switches or Switches(), CloverConfig.of(config)
    weights = random_weights(numbers, chosen) | dict(changed or {})
    write_checkpoint(folder, config, weights)
    with Checkpoint(folder) as checkpoint:
        model = load_clover(checkpoint, CPU, torch.float32, switches=chosen, mask=MASK_TOKEN)
    return TinyClover(model, weights, numbers, folder)


TRAINED = Path(__file__).parent / "clover_tiny"  # made by train_clover.py


def toy_text(lines: int = 60) -> str:
    """A text of the language that the trained one has learned."""
    return document(Random(3), lines)
