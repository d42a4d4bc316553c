"""How sure a model is of its best token, and what a step of denoising settles."""

from __future__ import annotations

from typing import NamedTuple

import torch

from clover_engine.kernels.quantised import Weight
from clover_engine.kernels.reference.experts import linear
from clover_engine.kernels.reference.width import wide


class Confidence(NamedTuple):
    """Each row's best token, [M] each; probabilities are among the allowed tokens."""

    tokens: torch.Tensor  # int64; of equal logits the lowest id
    logits: torch.Tensor  # float32: the best token's logit
    logsumexp: torch.Tensor  # float32
    probabilities: torch.Tensor  # float32: exp(logit - logsumexp)
    entropies: torch.Tensor  # float32, in nats


def confidence(logits: torch.Tensor, allowed: torch.Tensor | None = None) -> Confidence:
    """Of logits [M, V], in float32; allowed bool [V] leaves the other tokens out. Logits may be
    -inf; each row has one at least that is not."""
    scores = wide(logits)
    if allowed is not None:
        scores = scores.masked_fill(~allowed, float("-inf"))
    tokens = scores.argmax(-1)
    best = scores.gather(-1, tokens.unsqueeze(-1)).squeeze(-1)
    below = scores - best.unsqueeze(-1)
    weight = below.exp()
    total = weight.sum(-1)
    moment = torch.where(weight > 0, weight * below, 0.0).sum(-1)
    return Confidence(tokens, best, best + total.log(), 1 / total, total.log() - moment / total)


def head_confidence(
    hidden: torch.Tensor, weight: Weight, allowed: torch.Tensor | None = None
) -> Confidence:
    """`confidence` of the logits hidden [M, K] times weight [V, K], which are never stored."""
    return confidence(linear(wide(hidden), weight), allowed)


def threshold_commit(
    tokens: torch.Tensor, found: Confidence, mask: int, threshold: float
) -> torch.Tensor:
    """Settle every mask whose token has at least the probability `threshold`, else the surest one
    (the first of equals): writes into tokens int64 [M], whose other tokens are pinned.

    Returns the number of masks left, int32 [1], on the device.
    """
    masked = tokens == mask
    sure = found.probabilities.masked_fill(~masked, -1.0)
    places = torch.arange(tokens.shape[0], device=tokens.device)
    settled = masked & ((sure >= threshold) | (places == sure.argmax()))
    tokens.copy_(torch.where(settled, found.tokens, tokens))
    return (masked & ~settled).sum().to(torch.int32).view(1)
