"""From files to a model: the converted int8 folder, or a GGUF for the bf16 reference."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import safetensors.torch
import torch
from safetensors import SafetensorError, safe_open

from clover_engine import convert
from clover_engine.errors import ModelError
from clover_engine.kernels.dispatch import kernels_for
from clover_engine.layers.linear import FloatLinear, Int8Linear, Linear, LowRank
from clover_engine.layers.packing import Packer
from clover_engine.models.qwen2 import Embedding, Layer, Qwen2, Qwen2Config
from clover_engine.tokenizer import TextTokenizer, Vocabulary

MODEL_FILE = "model.safetensors"
TOKENIZER_FILE = "tokenizer.json"


def load_folder(
    folder: Path, precision: str, device: torch.device, adapter: Path | None = None
) -> tuple[Qwen2, TextTokenizer]:
    """Model and tokenizer of a converted folder, with the block adapter of a file; "int8" runs as
    stored, "bf16" expands the weights.

    One call for both, since threads pack weights while Python reads the tokenizer.
    """
    path = folder / MODEL_FILE
    config, packer = read_config(path), Packer()
    # before the threads begin, which it would wait for
    mask, added = _read_adapter(adapter, device) if adapter else (None, {})
    with safe_open(path, framework="pt") as file, _single_threads() as pool:
        read = file.get_tensor

        def stored(name: str) -> tuple[torch.Tensor, torch.Tensor]:
            return read(f"{name}.weight"), read(f"{name}.scale")

        packed = {
            name: pool.submit(packer.pack, *stored(name))
            for name in (_linear_names(config) if precision == "int8" else ())
        }

        def linear(name: str, bias: torch.Tensor | None = None) -> Linear:
            if name in packed:
                return Int8Linear(kernels, packed.pop(name).result(), bias, added.get(name))
            weight = _expanded(*stored(name)).to(device, torch.bfloat16)
            return FloatLinear(weight, bias, added.get(name))

        def vector(name: str) -> torch.Tensor:
            value: torch.Tensor = read(name).clone()
            return value.to(device)

        kernels, tokenizer = kernels_for(device), TextTokenizer(folder / TOKENIZER_FILE)
        layers = [_layer(number, linear, vector) for number in range(config.num_hidden_layers)]
        norm, head = vector("norm"), linear("head")
    # a second mapping: the pages that packing has touched are given back with the first, of which
    # nothing may be left (hence the clones)
    with safe_open(path, framework="pt") as file:
        embedding = Embedding(
            file.get_tensor("head.weight").to(device), file.get_tensor("head.scale").to(device)
        )
    return Qwen2(config, kernels, embedding, layers, norm, head, mask), tokenizer


def load_gguf(path: Path, device: torch.device) -> Qwen2:
    """The model in bf16 straight from its GGUF: the reference that int8 is measured against."""
    source = convert.GgufModel(path)
    config = Qwen2Config(**source.config())  # type: ignore[arg-type]
    values = dict(convert.tensors(source))

    def linear(name: str, bias: torch.Tensor | None = None) -> Linear:
        return FloatLinear(values.pop(f"{name}.weight").to(device, torch.bfloat16), bias)

    head = values["head.weight"].to(torch.bfloat16).to(device)
    layers = [
        _layer(number, linear, lambda name: values[name].to(device))
        for number in range(config.num_hidden_layers)
    ]
    return Qwen2(
        config,
        kernels_for(device),
        Embedding(head, None),
        layers,
        values["norm"].to(device),
        FloatLinear(head),
    )


def load_vocabulary(folder: Path) -> Vocabulary:
    """The byte table of a converted folder."""
    with safe_open(folder / MODEL_FILE, framework="np") as file:
        return Vocabulary(
            file.get_tensor("vocab.bytes"),
            file.get_tensor("vocab.offsets"),
            file.get_tensor("vocab.order"),
        )


@contextmanager
def _single_threads() -> Iterator[Executor]:
    """As many workers as torch has threads, in which torch has one: more would wait for another."""
    threads = torch.get_num_threads()
    with ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,)) as pool:
        yield pool
    # what a thread sets is also the default of threads to come
    torch.set_num_threads(threads)


def _read_adapter(path: Path, device: torch.device) -> tuple[torch.Tensor, dict[str, LowRank]]:
    """The mask's embedding, and what is added to the layers, by their names."""
    stored = safetensors.torch.load_file(path)

    def side(name: str) -> torch.Tensor:
        return _expanded(stored[f"{name}.weight"], stored[f"{name}.scale"]).to(device)

    names = [name.removesuffix(".up.weight") for name in stored if name.endswith(".up.weight")]
    added = {
        name: LowRank(side(f"{name}.down"), side(f"{name}.up").T.contiguous()) for name in names
    }
    return stored["mask"].to(device), added


def _expanded(weight: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    """int8 [out, in] and the scale of its rows, float32 [out] -> float32 [out, in]."""
    return weight.float() * scale[:, None]


def _linear_names(config: Qwen2Config) -> Iterator[str]:
    yield "head"  # by far the largest: packed beside all others
    for number in range(config.num_hidden_layers):
        yield from (f"layers.{number}.{part}" for part in ("qkv", "o", "gate_up", "down"))


def _layer(
    number: int,
    linear: Callable[..., Linear],
    vector: Callable[[str], torch.Tensor],
) -> Layer:
    name = f"layers.{number}"
    return Layer(
        attn_norm=vector(f"{name}.attn_norm"),
        qkv=linear(f"{name}.qkv", vector(f"{name}.qkv.bias")),
        o=linear(f"{name}.o"),
        ffn_norm=vector(f"{name}.ffn_norm"),
        gate_up=linear(f"{name}.gate_up"),
        down=linear(f"{name}.down"),
    )


def read_config(path: Path) -> Qwen2Config:
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
    except (OSError, SafetensorError) as error:
        raise ModelError(
            f"{path.name} cannot be read ({error}); remove the model and pull it again"
        ) from error
    if metadata.get("format") != str(convert.FORMAT):
        raise ModelError(
            f"{path.name} has format {metadata.get('format')}, not {convert.FORMAT}: "
            "remove the model and pull it again"
        )
    return Qwen2Config(**json.loads(metadata["config"]))
