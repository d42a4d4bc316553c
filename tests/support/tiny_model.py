"""A Qwen2 of two layers with random weights, written as a real GGUF file: small, fast, the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from gguf import GGMLQuantizationType, GGUFWriter
from gguf.quants import dequantize, quantize

Floats: TypeAlias = npt.NDArray[np.float32]

LAYERS, HIDDEN, FEED_FORWARD = 2, 64, 128
HEADS, KV_HEADS, HEAD_DIM = 4, 2, 16
EPS, THETA = 1e-6, 10_000.0

SPECIALS = (
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|fim_prefix|>",
    "<|fim_middle|>",
    "<|fim_suffix|>",
    "<|fim_pad|>",
    "<|repo_name|>",
    "<|file_sep|>",
)
USER_DEFINED = ("<tool_call>", "</tool_call>")
UNUSED = ("[PAD0]", "[PAD1]", "[PAD2]")
_NORMAL, _CONTROL, _USER_DEFINED, _UNUSED = 1, 3, 4, 5

# `return` is reached from `ret`, so that a cursor behind `retu` stands inside a token
_RETURN = ("r e", "re t", "u r", "ur n", "Ġ ret", "Ġret urn", "ret urn")
_WORDS = ("Ġself", "Ġname", "Ġvalue", "def", "ĠĠĠĠ", "Ġ=", "():", "ĊĊ", "čĊ", "中", "的", "文字")


@dataclass(frozen=True, slots=True)
class TinyModel:
    """The GGUF file, the folder converted from it, and what stands in the file.

    `weights` are float32 under their GGUF names, as the file's quantisation left them.
    """

    gguf: Path
    folder: Path
    weights: Mapping[str, Floats]


def make_tiny_model(folder: Path) -> TinyModel:
    """Write `tiny.gguf` into `folder` and convert it with the program's own converter."""
    # imports torch, which tests that only read this module's constants need not
    from clover_engine.convert import convert_gguf

    gguf, converted = folder / "tiny.gguf", folder / "tiny"
    weights = write_gguf(gguf)
    converted.mkdir()
    convert_gguf(gguf, converted, lambda _: None)
    return TinyModel(gguf, converted, weights)


def write_gguf(path: Path, architecture: str = "qwen2") -> dict[str, Floats]:
    """Write the model; returns the weights that a reader of the file will find."""
    tokens, types, merges = vocabulary()
    writer = GGUFWriter(path, architecture)
    writer.add_block_count(LAYERS)
    writer.add_context_length(4096)
    writer.add_embedding_length(HIDDEN)
    writer.add_feed_forward_length(FEED_FORWARD)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_layer_norm_rms_eps(EPS)
    writer.add_rope_freq_base(THETA)
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(tokens)
    writer.add_token_types(types)
    writer.add_token_merges(merges)
    found: dict[str, Floats] = {}
    for name, value in _weights(len(tokens)).items():
        if value.ndim == 1:
            writer.add_tensor(name, value)
            found[name] = value
        else:
            packed = quantize(value, GGMLQuantizationType.Q8_0)
            writer.add_tensor(name, packed, raw_dtype=GGMLQuantizationType.Q8_0)
            found[name] = dequantize(packed, GGMLQuantizationType.Q8_0)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return found


def vocabulary() -> tuple[list[str], list[int], list[str]]:
    """Tokens, their types and the merges: all bytes, some words, special and unused tokens."""
    letters = byte_letters()
    merges = dict.fromkeys(_RETURN)
    for word in _WORDS:
        spelled = _spell(word, letters)
        merges |= dict.fromkeys(f"{spelled[:i]} {spelled[i]}" for i in range(1, len(spelled)))
    words = dict.fromkeys(merge.replace(" ", "") for merge in merges)
    tokens = [*letters, *words, *SPECIALS, *USER_DEFINED, *UNUSED]
    types = [_NORMAL] * (len(letters) + len(words))
    types += [_CONTROL] * len(SPECIALS) + [_USER_DEFINED] * len(USER_DEFINED)
    types += [_UNUSED] * len(UNUSED)
    return tokens, types, list(merges)


def byte_letters() -> list[str]:
    """The printable letter of each of the 256 bytes (openai/gpt-2, encoder.py)."""
    printable = {*range(33, 127), *range(161, 173), *range(174, 256)}
    stand_ins = iter(range(256, 512))
    return [chr(byte if byte in printable else next(stand_ins)) for byte in range(256)]


def _spell(word: str, letters: list[str]) -> str:
    """A word in byte letters; what is written in them already stays."""
    return "".join(
        letter if letter in "ĠĊč" else "".join(letters[byte] for byte in letter.encode())
        for letter in word
    )


def _weights(tokens: int) -> dict[str, Floats]:
    """Random weights of such sizes that attention and position matter and text varies."""
    random = np.random.default_rng(7)

    def matrix(out: int, into: int, size: float) -> Floats:
        return np.asarray(random.normal(0, size / into**0.5, (out, into)), np.float32)

    def vector(size: int, middle: float) -> Floats:
        return np.asarray(random.normal(middle, 0.2, size), np.float32)

    weights = {
        "token_embd.weight": matrix(tokens, HIDDEN, 8.0),
        "output_norm.weight": vector(HIDDEN, 1.0),
    }
    for layer in range(LAYERS):
        sizes = {
            "attn_q": (HEADS * HEAD_DIM, HIDDEN, 2.0),
            "attn_k": (KV_HEADS * HEAD_DIM, HIDDEN, 2.0),
            "attn_v": (KV_HEADS * HEAD_DIM, HIDDEN, 1.0),
            "attn_output": (HIDDEN, HEADS * HEAD_DIM, 4.0),
            "ffn_gate": (FEED_FORWARD, HIDDEN, 1.0),
            "ffn_up": (FEED_FORWARD, HIDDEN, 1.0),
            "ffn_down": (HIDDEN, FEED_FORWARD, 4.0),
        }
        for name, (out, into, size) in sizes.items():
            weights[f"blk.{layer}.{name}.weight"] = matrix(out, into, size)
            if name in ("attn_q", "attn_k", "attn_v"):
                weights[f"blk.{layer}.{name}.bias"] = vector(out, 0.0)
        weights[f"blk.{layer}.attn_norm.weight"] = vector(HIDDEN, 1.0)
        weights[f"blk.{layer}.ffn_norm.weight"] = vector(HIDDEN, 1.0)
    return weights
