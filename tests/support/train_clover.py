"""Trains the tiny Clover that the tests run: `python -m tests.support.train_clover FOLDER`.

Minutes on one core. The folder is what a Hugging Face repository of a Clover would hold.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import cos, log, pi
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch.nn import functional

from clover_engine.family import load_family
from clover_engine.models.clover_config import CloverConfig, Switches
from clover_engine.prompt import Prompt, PromptBuilder
from clover_engine.seam import beginning
from clover_engine.tokenizer import TextTokenizer, Vocabulary, build_tokenizer, byte_table
from tests.support.clover_torch import clover_logits
from tests.support.tiny_model import byte_letters
from tests.support.toy_language import document

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
    "<|mask|>",
)
BLOCK, PINNED = 32, 8
SPANS = (0, 1, 1, 2, 2, 3, 5, 8)  # characters of holes
PROMPTS = (20, 32, 44)  # tokens; all of a batch are as long
AHEAD = 12  # tokens of the answer that are read causally
BATCH, RATE = 24, 3e-3

CONFIG: Mapping[str, Any] = {
    "architectures": ["CloverMoeForCausalLM"],
    "model_type": "clover_moe",
    "vocab_size": 272,
    "hidden_size": 48,
    "num_hidden_layers": 4,
    "full_attention_interval": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
    "linear_key_head_dim": 16,
    "linear_value_head_dim": 16,
    "linear_conv_kernel_dim": 4,
    "num_experts": 4,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 32,
    "shared_expert_intermediate_size": 48,
    "rms_norm_eps": 1e-6,
    "rope_parameters": {"rope_theta": 10000.0, "partial_rotary_factor": 0.5},
    "max_position_embeddings": 4096,
    "tie_word_embeddings": False,
    "eos_token_id": 256,
    "mask_token_id": 265,
}


def shapes(config: CloverConfig) -> dict[str, tuple[int, ...]]:
    """Every tensor of a checkpoint and its shape."""
    hidden, experts = config.hidden_size, config.num_experts
    heads, width = config.num_attention_heads, config.head_dim
    inner, shared = config.moe_intermediate_size, config.shared_expert_intermediate_size
    values, kernel = config.linear_num_value_heads, config.linear_conv_kernel_dim
    found: dict[str, tuple[int, ...]] = {
        "model.embed_tokens.weight": (config.vocab_size, hidden),
        "model.norm.weight": (hidden,),
        "lm_head.weight": (config.vocab_size, hidden),
    }
    linear = {
        "in_proj_qkv.weight": (config.conv_dim, hidden),
        "in_proj_z.weight": (config.value_dim, hidden),
        "in_proj_b.weight": (values, hidden),
        "in_proj_a.weight": (values, hidden),
        "conv1d.weight": (config.conv_dim, 1, kernel),
        "A_log": (values,),
        "dt_bias": (values,),
        "norm.weight": (config.linear_value_head_dim,),
        "out_proj.weight": (hidden, config.value_dim),
        "bd_gdn_conv_right_weight": (config.conv_dim, kernel - 1),
        "bd_gdn_softmax_scalars": (3, values),
    }
    full = {
        "q_proj.weight": (2 * heads * width, hidden),
        "k_proj.weight": (config.num_key_value_heads * width, hidden),
        "v_proj.weight": (config.num_key_value_heads * width, hidden),
        "o_proj.weight": (hidden, heads * width),
        "q_norm.weight": (width,),
        "k_norm.weight": (width,),
    }
    feed_forward = {
        "gate.weight": (experts, hidden),
        "experts.gate_up_proj": (experts, 2 * inner, hidden),
        "experts.down_proj": (experts, hidden, inner),
        "shared_expert.gate_proj.weight": (shared, hidden),
        "shared_expert.up_proj.weight": (shared, hidden),
        "shared_expert.down_proj.weight": (hidden, shared),
        "shared_expert_gate.weight": (1, hidden),
    }
    for number in range(len(config.layer_types)):
        mixer = {"linear_attn": linear} if config.is_linear(number) else {"self_attn": full}
        for part, tensors in (*mixer.items(), ("mlp", feed_forward)):
            for name, shape in tensors.items():
                found[f"model.layers.{number}.{part}.{name}"] = shape
        for norm in ("input_layernorm", "post_attention_layernorm"):
            found[f"model.layers.{number}.{norm}.weight"] = (hidden,)
    return found


def fresh_weights(config: CloverConfig, random: torch.Generator) -> dict[str, torch.Tensor]:
    """Weights as training begins with them."""
    weights = {}
    for name, shape in shapes(config).items():
        kind = name.rpartition("layers.")[2].partition(".")[2]
        if kind.endswith("bd_gdn_softmax_scalars"):
            value = torch.tensor([8.0, 0.0, 1.0])[:, None].repeat(1, shape[1])
        elif kind.endswith("linear_attn.norm.weight"):
            value = torch.ones(shape)
        elif kind.endswith("A_log"):
            value = torch.linspace(log(0.5), log(8.0), shape[0])
        elif kind.endswith("dt_bias"):
            value = torch.full(shape, -3.5)
        elif len(shape) == 1 or kind.endswith("right_weight"):
            value = torch.zeros(shape)
        else:
            value = torch.randn(shape, generator=random) * shape[-1] ** -0.5
        weights[name] = value.requires_grad_()
    return weights


@dataclass(frozen=True, slots=True)
class Batch:
    """Texts int64 [B, T] of which `seen` tokens are prompts; blocks int64 [B, L] with masks; what
    belongs into each slot of a block, -100 where it is known."""

    text: torch.Tensor
    block: torch.Tensor
    targets: torch.Tensor
    seen: int


class Examples:
    """Holes in documents of the toy language, asked for as the engine asks."""

    def __init__(self, tokenizer: TextTokenizer, vocabulary: Vocabulary, random: Random) -> None:
        self._tokenizer = tokenizer
        self._prompts = PromptBuilder(load_family("qwen2"), tokenizer, vocabulary)
        self._end = tokenizer.special("<|endoftext|>")
        self._mask = tokenizer.special("<|mask|>")
        self._random = random

    def batch(self, size: int) -> Batch:
        """A batch whose prompts are all as long, and its blocks too. In slots that a hole does not
        need stands the end token."""
        random = self._random
        seen, pinned = random.choice(PROMPTS), random.choice((0, 3, PINNED, PINNED))
        slots = random.choice((BLOCK - PINNED, BLOCK - PINNED, 12))
        examples = (self._example(seen, slots, pinned) for _ in range(size))
        texts, blocks, targets = zip(*examples, strict=True)
        return Batch(torch.tensor(texts), torch.tensor(blocks), torch.tensor(targets), seen)

    def _example(
        self, seen: int, slots: int, pinned: int
    ) -> tuple[list[int], list[int], list[int]]:
        random = self._random
        prompt, middle = self._cut(seen, random.choice(SPANS))
        while len(prompt.removed) >= slots or len(prompt.right) < pinned:
            prompt, middle = self._cut(seen, random.choice(SPANS))
        truth = (middle + [self._end] * slots)[:slots]
        known = len(prompt.removed)
        share = random.choice((1.0, random.random()))
        hidden = [place >= known and random.random() < share for place in range(slots)]
        block = [self._mask if gone else token for token, gone in zip(truth, hidden, strict=True)]
        # most ends say nothing: the first one does
        asked = [place <= len(middle) or random.random() < 0.1 for place in range(slots)]
        targets = [
            token if gone and wanted else -100
            for token, gone, wanted in zip(truth, hidden, asked, strict=True)
        ]
        text = [*prompt.tokens, *(middle + [self._end] * AHEAD)[:AHEAD]]
        return text, [*block, *prompt.right[:pinned]], [*targets, *[-100] * pinned]

    def _cut(self, seen: int, span: int) -> tuple[Prompt, list[int]]:
        """A prompt of so many tokens, and what belongs behind it, `span` characters of it new."""
        random = self._random
        while True:
            text = document(random, 8)
            start = random.randrange(len(text) // 3, len(text) * 3 // 4)
            end = min(start + span, len(text))
            suffix = text[end : end + random.choice((0, 8, 20, 40))]
            prefix = text[:start]
            prompt = self._prompts.infill(prefix, suffix)
            spare = len(prompt.tokens) - seen
            if 0 <= spare < len(prefix):
                prompt = self._prompts.infill(prefix[spare:], suffix)
            if len(prompt.tokens) == seen:
                middle = text[start:end] + beginning(suffix)
                return prompt, [*prompt.removed, *self._tokenizer.encode(middle)]


def at_once(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    beta: torch.Tensor,
    g: torch.Tensor,
    state: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor]:
    """The gated delta rule over all tokens in a few products (arXiv 2412.06464, section 3.3)."""
    q, k, v, beta, g = (x.transpose(1, 2) for x in (q, k, v, beta[..., None], g))
    faded = g.cumsum(-1)
    since = (faded[..., :, None] - faded[..., None, :]).tril().exp().tril()
    system = (beta * k @ k.mT * since).tril(-1)
    ones = torch.eye(q.shape[2])
    asked = torch.cat((beta * v, beta * k * faded.exp()[..., None]), -1)
    solved = torch.linalg.solve_triangular(system + ones, asked, upper=False, unitriangular=True)
    new, told = torch.split(solved, [v.shape[-1], k.shape[-1]], -1)
    new = new - told @ state
    read = q * faded.exp()[..., None] @ state + (q @ k.mT * since) @ new
    last = faded[..., -1:]
    state = state * last[..., None].exp() + (k * (last - faded).exp()[..., None]).mT @ new
    return state, read.transpose(1, 2)


def train(weights: dict[str, torch.Tensor], examples: Examples, minutes: float) -> Iterator[str]:
    """Train in place; tells how it goes."""
    config, switches = CloverConfig.of(CONFIG), Switches()
    adam = torch.optim.AdamW(weights.values(), lr=RATE, betas=(0.9, 0.98), weight_decay=0.01)
    began, step = time.monotonic(), 0
    masked, causal = 0.0, 0.0
    while (passed := (time.monotonic() - began) / (minutes * 60)) < 1:
        for group in adam.param_groups:
            group["lr"] = RATE * min(step / 50, 0.5 + 0.5 * cos(pi * passed))
        batch = examples.batch(BATCH)
        logits = clover_logits(
            weights, config, switches, batch.text, batch.block, batch.seen, at_once
        )
        missing = batch.targets.flatten()
        in_block = functional.cross_entropy(logits.block.flatten(0, 1), missing)
        in_text = functional.cross_entropy(
            logits.text[:, :-1].flatten(0, 1), batch.text[:, 1:].flatten()
        )
        adam.zero_grad()
        torch.autograd.backward(in_block + 0.3 * in_text)
        torch.nn.utils.clip_grad_norm_(weights.values(), 1.0)
        adam.step()
        masked += 0.02 * (in_block.item() - masked)
        causal += 0.02 * (in_text.item() - causal)
        step += 1
        if step % 100 == 0:
            yield f"step {step}, {passed:.0%}: masks {masked:.3f}, text {causal:.3f}"


def write_tokenizer(folder: Path) -> tuple[TextTokenizer, Vocabulary]:
    """A tokenizer of bytes and special tokens."""
    tokens = [*byte_letters(), *SPECIALS]
    types = [1] * 256 + [3] * len(SPECIALS)
    build_tokenizer(tokens, types, []).save(str(folder / "tokenizer.json"))
    table = byte_table(tokens, types)
    order = sorted((token for token in range(len(tokens)) if table[token]), key=table.__getitem__)
    vocabulary = Vocabulary(
        np.frombuffer(b"".join(table), np.uint8),
        np.cumsum([0, *map(len, table)], dtype=np.int32),
        np.array(order, np.int32),
    )
    return TextTokenizer(folder / "tokenizer.json"), vocabulary


def main() -> None:
    """Train and write a folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--resume", action="store_true", help="go on with the folder's weights")
    parser.add_argument("--seed", type=int, default=7)
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    (args.folder / "config.json").write_text(json.dumps(CONFIG, indent=2) + "\n", "utf-8")
    examples = Examples(*write_tokenizer(args.folder), Random(args.seed))
    weights = fresh_weights(CloverConfig.of(CONFIG), torch.Generator().manual_seed(args.seed))
    if args.resume:
        stored = load_file(args.folder / "model.safetensors")
        weights = {name: value.float().requires_grad_() for name, value in stored.items()}
    for line in train(weights, examples, args.minutes):
        print(line, flush=True)  # noqa: T201
        halves = {name: value.detach().to(torch.bfloat16) for name, value in weights.items()}
        save_file(halves, args.folder / "model.safetensors", {"format": "pt"})


if __name__ == "__main__":
    main()
