"""Clover: the Qwen3.5 hybrid (transformers: models/qwen3_5_moe) that also denoises blocks.

Text is read causally: Gated DeltaNet layers move a recurrent state on, attention layers fill a
key-value cache. A block of slots, known and masked, sees the text before it and all of itself; it
leaves nothing behind until its tokens are read as text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch

from clover_engine.kernels.dispatch import Kernels
from clover_engine.kernels.quantised import Weight
from clover_engine.kv_cache import CacheShape
from clover_engine.layers.gated_attention import GatedAttention
from clover_engine.layers.gated_delta_net import GatedDeltaNet
from clover_engine.layers.mixture import Mixture, SwiGlu
from clover_engine.layers.rotary import turns
from clover_engine.models.clover_config import CloverConfig, Switches
from clover_engine.models.parts import MASK, Output, Part
from clover_engine.models.runs import Share, shares_of
from clover_engine.recurrent_cache import Memory, MemoryShape, RecurrentCache


@dataclass(frozen=True, slots=True)
class CloverLayer:
    """One decoder layer; norms [hidden], to which 1 is added."""

    mixer_norm: torch.Tensor
    mixer: GatedDeltaNet | GatedAttention
    norm: torch.Tensor
    feed_forward: Mixture | SwiGlu


class Clover:
    """The model. All it computes has the type of its weights but what kernels keep in float32."""

    def __init__(
        self,
        config: CloverConfig,
        kernels: Kernels,
        embedding: torch.Tensor,
        layers: Sequence[CloverLayer],
        norm: torch.Tensor,
        head: Weight,
        mask_token: int,
    ) -> None:
        """`embedding` [V, hidden]; `mask_token` is what stands in a slot that is not written."""
        self.config = config
        self.device = embedding.device
        self.mask_token = mask_token
        self._kernels = kernels
        self._embedding = embedding
        self._layers = layers
        self._norm = norm
        self._head = head

    def reading(self, switches: Switches, mask_token: int) -> Clover:
        """The same weights, loaded with the usual switches, whose blocks are read otherwise."""
        layers = [
            replace(layer, mixer=layer.mixer.reading(switches.scalars, switches.readout))
            if isinstance(layer.mixer, GatedDeltaNet)
            else layer
            for layer in self._layers
        ]
        return Clover(
            self.config,
            self._kernels,
            self._embedding,
            layers,
            self._norm,
            self._head,
            mask_token,
        )

    @property
    def vocabulary(self) -> int:
        """How many tokens it tells apart."""
        return self.config.vocab_size

    def new_cache(self) -> RecurrentCache:
        """A cache for one text."""
        config, dtype = self.config, self._embedding.dtype
        count = len(self._layers)
        linear = sum(map(config.is_linear, range(count)))
        memory = MemoryShape(
            linear,
            config.linear_num_value_heads,
            config.linear_key_head_dim,
            config.linear_value_head_dim,
            config.conv_dim,
            config.linear_conv_kernel_dim,
            dtype,
            self.device,
        )
        shape = CacheShape(
            count - linear,
            config.num_key_value_heads,
            config.head_dim,
            self.device,
            dtype,
        )
        return RecurrentCache(shape, memory)

    @torch.no_grad()
    def forward(self, parts: Sequence[Part]) -> list[Output]:
        """Read the tokens of one or more jobs, each behind its own cache."""
        shares = shares_of(parts, self.device)
        tokens = [token for part in parts for token in part.tokens]
        known = [self.mask_token if token == MASK else token for token in tokens]
        hidden = self._embedding[torch.tensor(known, device=self.device)]
        positions = torch.cat([share.positions for share in shares])
        cos, sin = turns(positions, self.config.rotary_dim, self.config.rope_theta, hidden.dtype)
        kernels, eps = self._kernels, self.config.rms_norm_eps
        looked = [row for share in shares for row in share.looked]
        attention = recurrent = 0
        for layer in self._layers:
            normed = kernels.rms_norm(hidden, layer.mixer_norm, eps)
            match layer.mixer:
                case GatedDeltaNet() as net:
                    mixed = _recur(net, recurrent, normed, shares)
                    recurrent += 1
                case GatedAttention() as net:
                    mixed = _attend(net, attention, normed, shares, cos, sin)
                    attention += 1
            normed, hidden = kernels.add_rms_norm(mixed, hidden, layer.norm, eps)
            hidden = hidden + layer.feed_forward(normed)
        for part, share in zip(parts, shares, strict=True):
            share.leave(part.tokens)
        last = kernels.rms_norm(hidden[looked], self._norm, eps)
        logits = kernels.linear(last, self._head).float()
        sizes = [part.logits for part in parts]
        none = logits.new_empty(len(logits), 0)
        return list(map(Output, torch.split(logits, sizes), torch.split(none, sizes)))


def _recur(
    net: GatedDeltaNet, layer: int, x: torch.Tensor, shares: Sequence[Share]
) -> torch.Tensor:
    """Gated DeltaNet layer number `layer` over all parts: [M, hidden] -> [M, hidden]."""
    rows, z = net.project(x)
    found = torch.empty_like(z)
    for share in shares:
        start = share.text.behind
        places = {start: _memory(net, layer, share, start)}
        for run in share.pieces:
            places[run.end] = places[run.behind].copy()
            found[run.rows] = net.read(rows.cut(run.rows), z[run.rows], places[run.end])
        for run in share.beside:
            memory = places.get(run.behind) or _memory(net, layer, share, run.behind)
            some = rows.cut(run.rows), z[run.rows]
            found[run.rows] = (
                net.denoise(*some, memory) if run.block else net.read(*some, memory.copy())
            )
        share.places.append(places)
        share.rows.append(rows.cut(share.text.rows))
    return net.out(found)


def _memory(net: GatedDeltaNet, layer: int, share: Share, place: int) -> Memory:
    """A layer's memory of the first `place` tokens."""
    memory, missing = share.cache.resume(layer, place)
    net.replay(missing, memory)
    return memory


def _attend(
    net: GatedAttention,
    layer: int,
    x: torch.Tensor,
    shares: Sequence[Share],
    cos: torch.Tensor,
    sin: torch.Tensor,
) -> torch.Tensor:
    """Attention layer number `layer` over all parts: [M, hidden] -> [M, hidden]."""
    heads = net.project(x, cos, sin)
    found = torch.empty_like(heads.gate)
    for share in shares:
        keys, values = share.cache.keys[layer], share.cache.values[layer]
        for run in (share.text, *share.beside):
            for some in run.units(share.unit):
                causal = share.unit == 1 and not some.block
                found[some.rows] = net.attend(heads, some.rows, keys, values, some.behind, causal)
                if run is share.text or some.end < run.end:
                    # units of a block stand where the text goes on, which overwrites them
                    keys[:, some.behind : some.end] = heads.keys[some.rows].transpose(0, 1)
                    values[:, some.behind : some.end] = heads.values[some.rows].transpose(0, 1)
    return net.out(found, heads.gate)
