"""The engine's Qwen2 over exact float32 layers: what error is left is the model's own."""

from __future__ import annotations

from pathlib import Path

import torch
from torch.nn import functional

from clover_engine import convert
from clover_engine.kernels.dispatch import Kernels
from clover_engine.models.qwen2 import Embedding, Layer, Qwen2, Qwen2Config


class FloatLinear:
    """A `clover_engine.layers.linear.Linear` that rounds nothing, without an adapter."""

    def __init__(self, weight: torch.Tensor, bias: torch.Tensor | None = None) -> None:
        self._weight = weight
        self._bias = bias

    def __call__(self, x: torch.Tensor, masks: slice | None = None) -> torch.Tensor:
        return functional.linear(x, self._weight, self._bias)

    def after_norm(
        self, x: torch.Tensor, weight: torch.Tensor, eps: float, masks: slice | None = None
    ) -> torch.Tensor:
        return self(functional.rms_norm(x, weight.shape, weight, eps))

    def after_swiglu(self, gate_up: torch.Tensor, masks: slice | None = None) -> torch.Tensor:
        gate, up = gate_up.chunk(2, dim=-1)
        return self(functional.silu(gate) * up)


def load_float(gguf: Path, kernels: Kernels) -> Qwen2:
    """The model of a GGUF in float32."""
    source = convert.GgufModel(gguf)
    values = dict(convert.tensors(source))
    config = source.config()
    layers = [
        Layer(
            attn_norm=values[f"layers.{number}.attn_norm"],
            qkv=FloatLinear(
                values[f"layers.{number}.qkv.weight"], values[f"layers.{number}.qkv.bias"]
            ),
            o=FloatLinear(values[f"layers.{number}.o.weight"]),
            ffn_norm=values[f"layers.{number}.ffn_norm"],
            gate_up=FloatLinear(values[f"layers.{number}.gate_up.weight"]),
            down=FloatLinear(values[f"layers.{number}.down.weight"]),
        )
        for number in range(int(config["num_hidden_layers"]))
    ]
    head = values["head.weight"]
    return Qwen2(
        Qwen2Config(**config),  # type: ignore[arg-type]
        kernels,
        Embedding(head, None),
        layers,
        values["norm"],
        FloatLinear(head),
    )
