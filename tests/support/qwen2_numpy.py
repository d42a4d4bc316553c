"""Qwen2 once more, from its description, in float32 numpy: full attention, no cache, no torch.

After Qwen2.5 (arXiv 2412.15115, section 2) and RoPE (arXiv 2104.09864, rotate-half form).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tests.support.tiny_model import EPS, HEAD_DIM, HEADS, KV_HEADS, LAYERS, THETA, Floats


def qwen2_logits(weights: Mapping[str, Floats], tokens: Sequence[int]) -> Floats:
    """Logits [len(tokens), V] of the tiny model, from weights under their GGUF names."""
    embedding = weights["token_embd.weight"]
    hidden = embedding[list(tokens)]
    for layer in range(LAYERS):
        block = {
            name.removeprefix(f"blk.{layer}."): value
            for name, value in weights.items()
            if name.startswith(f"blk.{layer}.")
        }
        hidden = hidden + _attention(block, _norm(hidden, block["attn_norm.weight"]))
        hidden = hidden + _feed_forward(block, _norm(hidden, block["ffn_norm.weight"]))
    logits: Floats = _norm(hidden, weights["output_norm.weight"]) @ embedding.T
    return logits


def _norm(x: Floats, weight: Floats) -> Floats:
    root = np.sqrt((x * x).mean(axis=-1, keepdims=True) + EPS)
    return np.asarray(x / root * weight, np.float32)


def _feed_forward(block: Mapping[str, Floats], x: Floats) -> Floats:
    gate = x @ block["ffn_gate.weight"].T
    up = x @ block["ffn_up.weight"].T
    return np.asarray(gate / (1 + np.exp(-gate)) * up @ block["ffn_down.weight"].T, np.float32)


def _attention(block: Mapping[str, Floats], x: Floats) -> Floats:
    def heads(name: str, count: int) -> Floats:
        y: Floats = x @ block[f"{name}.weight"].T + block[f"{name}.bias"]
        return y.reshape(len(x), count, HEAD_DIM).transpose(1, 0, 2)

    queries, keys = _rotate(heads("attn_q", HEADS)), _rotate(heads("attn_k", KV_HEADS))
    shared = HEADS // KV_HEADS
    keys, values = np.repeat(keys, shared, 0), np.repeat(heads("attn_v", KV_HEADS), shared, 0)
    scores = queries @ keys.transpose(0, 2, 1) / HEAD_DIM**0.5
    scores = np.where(np.tri(len(x), dtype=bool), scores, -np.inf)
    chances = np.exp(scores - scores.max(axis=-1, keepdims=True))
    chances /= chances.sum(axis=-1, keepdims=True)
    mixed = (chances @ values).transpose(1, 0, 2).reshape(len(x), HEADS * HEAD_DIM)
    out: Floats = mixed @ block["attn_output.weight"].T
    return out


def _rotate(x: Floats) -> Floats:
    """x [heads, positions, width]: pair (i, i + width/2) turns by position * theta^(-2i/width)."""
    half = HEAD_DIM // 2
    speeds = THETA ** (-np.arange(half) / half)
    angles = np.arange(x.shape[1])[:, None] * speeds
    low, high = x[..., :half], x[..., half:]
    turned = [
        low * np.cos(angles) - high * np.sin(angles),
        high * np.cos(angles) + low * np.sin(angles),
    ]
    return np.concatenate(turned, axis=-1).astype(np.float32)
