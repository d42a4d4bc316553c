"""One conversion, at pull time: a Qwen2 GGUF becomes the int8 safetensors file the engine maps.

Layout of `model.safetensors` (format 1), L layers, hidden H, vocabulary V:
`layers.N.{qkv,o,gate_up,down}.weight` int8 [out, in] with `.scale` float32 [out],
`layers.N.qkv.bias`, `layers.N.{attn,ffn}_norm`, `norm`, `head.weight` int8 [V, H] with `.scale`
(also the embedding: the model was trained with both tied, and the GGUF keeps the head at the higher
precision), and `vocab.{bytes,offsets,order}`: every token's bytes, where they start, and the ids in
byte order.
"""

from __future__ import annotations

import errno
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from gguf import GGUFReader, ReaderField
from gguf.quants import dequantize
from safetensors import SafetensorError
from safetensors.torch import save_file

from clover_engine.errors import ModelError
from clover_engine.kernels.dispatch import kernels_for
from clover_engine.tokenizer import Vocabulary, build_tokenizer, byte_table

FORMAT = 1

_FUSED = {
    "qkv": ("attn_q", "attn_k", "attn_v"),
    "o": ("attn_output",),
    "gate_up": ("ffn_gate", "ffn_up"),
    "down": ("ffn_down",),
}


class GgufModel:
    """A Qwen2 GGUF opened for reading: configuration, tokenizer and dequantised tensors."""

    def __init__(self, path: Path) -> None:
        try:
            self._reader = GGUFReader(path)
        except (OSError, ValueError, IndexError, KeyError) as error:
            raise ModelError(f"{path.name} is not a readable GGUF file: {error}") from error
        self._tensors = {tensor.name: tensor for tensor in self._reader.tensors}
        architecture = self.field("general.architecture")
        if architecture != "qwen2":
            raise ModelError(f"{path.name} holds a {architecture!r} model; qwen2 is what runs here")

    def field(self, name: str) -> Any:
        """One metadata value. Raises ModelError when the file lacks it."""
        found: ReaderField | None = self._reader.fields.get(name)
        if found is None:
            raise ModelError(f"the GGUF file lacks {name}")
        return found.contents()

    def config(self) -> dict[str, int | float]:
        """The numbers that shape the model, under the names of a Hugging Face config."""
        return {
            "num_hidden_layers": self.field("qwen2.block_count"),
            "hidden_size": self.field("qwen2.embedding_length"),
            "intermediate_size": self.field("qwen2.feed_forward_length"),
            "num_attention_heads": self.field("qwen2.attention.head_count"),
            "num_key_value_heads": self.field("qwen2.attention.head_count_kv"),
            "rms_norm_eps": self.field("qwen2.attention.layer_norm_rms_epsilon"),
            "rope_theta": self.field("qwen2.rope.freq_base"),
            "max_position_embeddings": self.field("qwen2.context_length"),
        }

    def tensor(self, name: str) -> torch.Tensor:
        """One tensor dequantised to float32, shape [out, in] or [n]."""
        tensor = self._tensors.get(name)
        if tensor is None:
            raise ModelError(f"the GGUF file lacks the tensor {name}")
        return torch.tensor(dequantize(tensor.data, tensor.tensor_type))

    def linear(self, layer: int, name: str) -> torch.Tensor:
        """The weight of one fused projection, float32 [out, in]."""
        return torch.cat([self.tensor(f"blk.{layer}.{part}.weight") for part in _FUSED[name]])

    def qkv_bias(self, layer: int) -> torch.Tensor:
        """The bias of the fused query, key and value projection, float32 [out]."""
        return torch.cat([self.tensor(f"blk.{layer}.{part}.bias") for part in _FUSED["qkv"]])

    def head(self) -> torch.Tensor:
        """The output matrix, float32 [V, H]; models without one share the embedding."""
        return self.tensor(
            "output.weight" if "output.weight" in self._tensors else "token_embd.weight"
        )


def tensors(model: GgufModel) -> Iterator[tuple[str, torch.Tensor]]:
    """Name and float32 value of every tensor of the engine's layout, one at a time."""
    for layer in range(int(model.config()["num_hidden_layers"])):
        for name in _FUSED:
            yield f"layers.{layer}.{name}.weight", model.linear(layer, name)
        yield f"layers.{layer}.qkv.bias", model.qkv_bias(layer)
        yield f"layers.{layer}.attn_norm", model.tensor(f"blk.{layer}.attn_norm.weight")
        yield f"layers.{layer}.ffn_norm", model.tensor(f"blk.{layer}.ffn_norm.weight")
    yield "norm", model.tensor("output_norm.weight")
    yield "head.weight", model.head()


def quantise_rows(weight: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Symmetric per output channel: float32 [out, in] -> int8 [out, in], float32 scale [out]."""
    scale = weight.abs().amax(dim=1).clamp_min_(1e-12) / 127
    return (weight / scale[:, None]).round_().to(torch.int8), scale


def convert_gguf(gguf: Path, folder: Path, progress: Callable[[float], None]) -> None:
    """Write `model.safetensors` and `tokenizer.json` into `folder`; `progress` is told 0 to 1.

    Raises ModelError when the file is not a Qwen2 GGUF, OSError when the disk refuses.
    """
    model = GgufModel(gguf)
    count = len(_FUSED) + 3
    total = int(model.config()["num_hidden_layers"]) * count + 2
    written: dict[str, torch.Tensor] = {}
    for done, (name, value) in enumerate(tensors(model), start=1):
        if name.endswith(".weight"):
            written[name], written[name.replace(".weight", ".scale")] = quantise_rows(value)
        else:
            written[name] = value
        progress(done / total)
    written |= vocabulary(model)
    try:
        save_file(written, folder / "model.safetensors", metadata=_metadata(model.config()))
    except SafetensorError as error:
        # the library wraps what the system said, a full disk above all
        raise OSError(errno.EIO, f"model.safetensors cannot be written: {error}") from error
    build_tokenizer(*token_list(model)).save(str(folder / "tokenizer.json"), pretty=False)
    # compiled now, which takes seconds, and not while somebody waits for the first completion
    kernels_for(torch.device("cpu"))


def token_list(model: GgufModel) -> tuple[list[str], list[int], list[str]]:
    """Tokens, their types (1 normal, 3 control, 4 user defined, 5 unused) and the merges."""
    return (
        model.field("tokenizer.ggml.tokens"),
        model.field("tokenizer.ggml.token_type"),
        model.field("tokenizer.ggml.merges"),
    )


def vocabulary(model: GgufModel) -> dict[str, torch.Tensor]:
    """The byte table of the vocabulary; special and unused tokens have no bytes."""
    tokens, types, _ = token_list(model)
    data, offsets, order = Vocabulary.of(byte_table(tokens, types)).arrays
    return {
        "vocab.bytes": torch.from_numpy(data.copy()),
        "vocab.offsets": torch.from_numpy(offsets),
        "vocab.order": torch.from_numpy(order),
    }


def _metadata(config: Mapping[str, int | float]) -> dict[str, str]:
    return {"format": str(FORMAT), "architecture": "qwen2", "config": json.dumps(config)}
