"""Clover once more, from its description, plainly: whole texts, step by step, in float32 torch.

After the Qwen3.5 text model (transformers: models/qwen3_5_moe) and, for blocks, one softmax over a
history unit and the block's keys. Gradients go through it, so the tiny checkpoint is trained on it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import log

import torch
from torch.nn import functional

from clover_engine.models.clover_config import CloverConfig, Mixer, Switches

Weights = Mapping[str, torch.Tensor]
# queries, keys, values, write strengths, log decays [B, T, H, ...] and a state [B, H, K, V] -> the
# last state and what is read of it, [B, T, H, V]
Recurrence = Callable[..., tuple[torch.Tensor, torch.Tensor]]


def step_by_step(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    beta: torch.Tensor,
    g: torch.Tensor,
    state: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor]:
    """The gated delta rule, token by token."""
    read = []
    for t in range(q.shape[1]):
        state = state * g[:, t, :, None, None].exp()
        told = torch.einsum("bhkv,bhk->bhv", state, k[:, t])
        new = (v[:, t] - told) * beta[:, t, :, None]
        state = state + k[:, t, :, :, None] * new[:, :, None]
        read.append(torch.einsum("bhkv,bhk->bhv", state, q[:, t]))
    return state, torch.stack(read, 1) if read else v


@dataclass(frozen=True, slots=True)
class Both:
    """Rows of a causal text [B, T, ...] and of a block [B, L, ...] behind its first `seen`."""

    text: torch.Tensor
    block: torch.Tensor
    seen: int


def causal_logits(weights: Weights, config: CloverConfig, tokens: torch.Tensor) -> torch.Tensor:
    """tokens int64 [B, T] -> logits [B, T, V]."""
    switches, none = Switches(mixer=Mixer.CAUSAL), tokens[:, :0]
    return clover_logits(weights, config, switches, tokens, none, tokens.shape[1]).text


def clover_logits(
    weights: Weights,
    config: CloverConfig,
    switches: Switches,
    tokens: torch.Tensor,
    block: torch.Tensor,
    seen: int,
    recurrence: Recurrence = step_by_step,
    unit: int = 1,
) -> Both:
    """Logits of a text read causally and of a block of slots that stands behind its first `seen`
    tokens: tokens int64 [B, T], block int64 [B, L]. With `unit` above 1 attention sees whole blocks
    of so many tokens, also of the text."""
    embedding = weights["model.embed_tokens.weight"]
    rows = Both(embedding[tokens], embedding[block], seen)
    for number in range(len(config.layer_types)):
        name = f"model.layers.{number}."
        layer = {key.removeprefix(name): v for key, v in weights.items() if key.startswith(name)}
        first, second = layer["input_layernorm.weight"], layer["post_attention_layernorm.weight"]
        normed = Both(_norm(rows.text, first, config), _norm(rows.block, first, config), seen)
        if config.is_linear(number):
            mixed = _delta_net(layer, config, switches, normed, recurrence)
        else:
            mixed = _attention(layer, config, normed, unit)
        text, block = rows.text + mixed.text, rows.block + mixed.block
        text = text + _feed_forward(layer, config, _norm(text, second, config))
        block = block + _feed_forward(layer, config, _norm(block, second, config))
        rows = Both(text, block, seen)
    head = embedding if config.tie_word_embeddings else weights["lm_head.weight"]
    last = weights["model.norm.weight"]
    text, block = (_norm(x, last, config) @ head.T for x in (rows.text, rows.block))
    return Both(text, block, seen)


def _norm(x: torch.Tensor, weight: torch.Tensor, config: CloverConfig) -> torch.Tensor:
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + config.rms_norm_eps) * (1 + weight)


def _feed_forward(layer: Weights, config: CloverConfig, x: torch.Tensor) -> torch.Tensor:
    def swiglu(name: str) -> torch.Tensor:
        gate, up = (x @ layer[f"{name}.{part}_proj.weight"].T for part in ("gate", "up"))
        return functional.silu(gate) * up @ layer[f"{name}.down_proj.weight"].T

    if not config.num_experts:
        return swiglu("mlp")
    chances = (x @ layer["mlp.gate.weight"].T).softmax(-1)
    best, chosen = chances.topk(config.num_experts_per_tok)
    shares = torch.zeros_like(chances).scatter(-1, chosen, best / best.sum(-1, keepdim=True))
    # every expert for every row [B, E, L, ...]: what was not chosen counts nothing
    gate, up = (x[:, None] @ layer["mlp.experts.gate_up_proj"].mT).chunk(2, -1)
    each = functional.silu(gate) * up @ layer["mlp.experts.down_proj"].mT
    routed = (shares.mT[..., None] * each).sum(1)
    share = (x @ layer["mlp.shared_expert_gate.weight"].T).sigmoid()
    return routed + share * swiglu("mlp.shared_expert")


def _attention(layer: Weights, config: CloverConfig, rows: Both, unit: int) -> Both:
    def heads(x: torch.Tensor, name: str) -> torch.Tensor:
        y = x @ layer[f"self_attn.{name}_proj.weight"].T
        return _apart(y, config.head_dim * (2 if name == "q" else 1))

    def turned(x: torch.Tensor, name: str, start: int) -> torch.Tensor:
        return _rotate(_norm(x, layer[f"self_attn.{name}_norm.weight"], config), config, start)

    def out(
        x: torch.Tensor, start: int, keys: torch.Tensor, values: torch.Tensor, see: torch.Tensor
    ) -> torch.Tensor:
        query, gate = heads(x, "q").chunk(2, -1)
        group = config.num_attention_heads // config.num_key_value_heads
        many_keys, many_values = (y.repeat_interleave(group, 2) for y in (keys, values))
        scores = torch.einsum("bqhd,bkhd->bhqk", turned(query, "q", start), many_keys)
        scores = (scores * config.head_dim**-0.5).masked_fill(~see, float("-inf"))
        mixed = torch.einsum("bhqk,bkhd->bqhd", scores.softmax(-1), many_values)
        return (mixed * gate.sigmoid()).flatten(-2) @ layer["self_attn.o_proj.weight"].T

    seen = rows.seen
    length, size = rows.text.shape[1], rows.block.shape[1]
    keys = turned(heads(rows.text, "k"), "k", 0)
    values = heads(rows.text, "v")
    text = out(rows.text, 0, keys, values, _earlier(length, unit))
    block_keys = torch.cat((keys[:, :seen], turned(heads(rows.block, "k"), "k", seen)), 1)
    block_values = torch.cat((values[:, :seen], heads(rows.block, "v")), 1)
    own = _earlier(size, unit if unit > 1 else max(size, 1))
    see = torch.cat((torch.ones(size, seen, dtype=torch.bool), own), 1)
    return Both(text, out(rows.block, seen, block_keys, block_values, see), seen)


def _earlier(count: int, unit: int) -> torch.Tensor:
    """Which places each of so many sees: those of no later unit, bool [count, count]."""
    number = torch.arange(count) // unit
    return number[None] <= number[:, None]


def _rotate(x: torch.Tensor, config: CloverConfig, start: int) -> torch.Tensor:
    """x [B, T, heads, head_dim]: of the first rotary_dim, pair (i, i + half) turns by position."""
    width = config.rotary_dim
    turns = config.rope_theta ** -(torch.arange(0, width, 2, dtype=torch.float64) / width)
    angles = torch.outer(torch.arange(start, start + x.shape[1], dtype=torch.float64), turns)
    cos, sin = (y.float()[:, None] for y in (angles.cos(), angles.sin()))
    a, b, rest = x[..., : width // 2], x[..., width // 2 : width], x[..., width:]
    return torch.cat((a * cos - b * sin, b * cos + a * sin, rest), -1)


def _delta_net(
    layer: Weights, config: CloverConfig, switches: Switches, rows: Both, recurrence: Recurrence
) -> Both:
    part = {key.removeprefix("linear_attn."): value for key, value in layer.items()}
    seen, left = rows.seen, config.linear_conv_kernel_dim - 1
    u, u_block = (x @ part["in_proj_qkv.weight"].T for x in (rows.text, rows.block))
    padded = functional.pad(u, (0, 0, left, 0))
    taps = part["conv1d.weight"][:, 0]
    q, k, v = _heads(config, functional.silu(_slid(padded, taps)))
    gates = (rows.text @ part[f"in_proj_{name}.weight"].T for name in "ba")
    beta, g = _gates(part, *gates)
    state, read = recurrence(
        *(x[:, :seen] for x in (q, k, v, beta, g)),
        torch.zeros(len(u), config.linear_num_value_heads, q.shape[-1], v.shape[-1]),
    )
    _, more = recurrence(*(x[:, seen:] for x in (q, k, v, beta, g)), state)
    text = _gated_out(part, config, torch.cat((read, more), 1), rows.text)

    before = padded[:, seen : seen + left]
    summed = _slid(torch.cat((before, u_block), 1), taps)
    if switches.mixer is Mixer.SELECTION:
        right = part["bd_gdn_conv_right_weight"]
        summed = summed + _slid(functional.pad(u_block, (0, 0, 0, right.shape[-1]))[:, 1:], right)
    q, k, v = _heads(config, functional.silu(summed))
    beta, g = _gates(part, *(rows.block @ part[f"in_proj_{name}.weight"].T for name in "ba"))
    if switches.mixer is Mixer.SELECTION:
        found = _selection(part["bd_gdn_softmax_scalars"], switches, q, k, v, beta, g, state)
    else:
        found = recurrence(q, k, v, beta, g, state)[1]
    return Both(text, _gated_out(part, config, found, rows.block), seen)


def _slid(x: torch.Tensor, taps: torch.Tensor) -> torch.Tensor:
    """x [B, T + n - 1, C], taps [C, n] -> sum over j of x[t + j] * taps[j]: [B, T, C]."""
    count = taps.shape[-1]
    length = x.shape[1] - count + 1
    return sum((x[:, j : j + length] * taps[:, j] for j in range(count)), x.new_zeros(()))


def _heads(config: CloverConfig, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Queries and keys of unit length, the former scaled, and values: [B, T, value heads, d]."""
    q, k, v = torch.split(x, [config.key_dim, config.key_dim, config.value_dim], -1)
    group = config.linear_num_value_heads // config.linear_num_key_heads
    width = config.linear_key_head_dim
    q, k = (_apart(y, width).repeat_interleave(group, 2) for y in (q, k))
    q, k = (y * torch.rsqrt(y.pow(2).sum(-1, keepdim=True) + 1e-6) for y in (q, k))
    return q * width**-0.5, k, _apart(v, config.linear_value_head_dim)


def _gates(part: Weights, b: torch.Tensor, a: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """How strongly a token is written, and the logarithm of what is kept: [B, T, value heads]."""
    return b.sigmoid(), -part["A_log"].exp() * functional.softplus(a + part["dt_bias"])


def _selection(
    stored: torch.Tensor,
    switches: Switches,
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    beta: torch.Tensor,
    g: torch.Tensor,
    state: torch.Tensor,
) -> torch.Tensor:
    """One softmax over the history and the block's keys: [B, L, H, V]."""
    table = stored if stored.shape[0] == len(switches.scalars) else stored.T
    scalars = dict(zip(switches.scalars, table, strict=True))
    choice = switches.readout
    history = torch.einsum("bhkv,blhk->blhv", state, q)
    if choice.decayed_history:
        history = history * g.cumsum(1).exp()[..., None]
    scores = torch.einsum("blhk,bmhk->blhm", q, k) * scalars["temperature"][..., None]
    if choice.beta == "score":
        scores = scores + beta.log().transpose(1, 2)[:, None]
    if choice.delta_values:
        v = v - torch.einsum("bhkv,blhk->blhv", state, k)
    if choice.beta == "value":
        v = v * beta[..., None]
    own = (scalars["bias"] + scalars["growth"] * log(q.shape[1])).expand(scores.shape[:-1])
    if choice.content_score:
        own = own + scalars["temperature"] * history.norm(dim=-1)
    shares = torch.cat((own[..., None], scores), -1).softmax(-1)
    return shares[..., :1] * history + torch.einsum("blhm,bmhv->blhv", shares[..., 1:], v)


def _gated_out(
    part: Weights, config: CloverConfig, read: torch.Tensor, x: torch.Tensor
) -> torch.Tensor:
    z = _apart(x @ part["in_proj_z.weight"].T, config.linear_value_head_dim)
    normed = read * torch.rsqrt(read.pow(2).mean(-1, keepdim=True) + config.rms_norm_eps)
    gated = (part["norm.weight"] * normed * functional.silu(z)).flatten(-2)
    return gated @ part["out_proj.weight"].T


def _apart(x: torch.Tensor, width: int) -> torch.Tensor:
    """The last dimension as heads of a width."""
    return x.reshape(*x.shape[:-1], x.shape[-1] // width, width)
