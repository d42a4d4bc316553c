"""How sure a model is, without a tensor of probabilities. Definitions: `reference.confidence`.

A first kernel leaves four numbers for every piece of the vocabulary (the best logit and its token,
the sum of exponentials and their first moment, both against that best), a second merges them.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from clover_engine.kernels.quantised import Weight
from clover_engine.kernels.reference import Confidence
from clover_engine.kernels.triton.layout import runs, whole
from clover_engine.kernels.triton.weights import rows_times, stored

_PIECE = {"BLOCK": 4096, "num_warps": 8}
_HEAD = {"M": 32, "N": 64, "num_warps": 4, "num_stages": 3}


def confidence(logits: torch.Tensor, allowed: torch.Tensor | None = None) -> Confidence:
    """As `reference.confidence`."""
    logits, (rows, vocabulary) = runs(logits), logits.shape
    pieces = triton.cdiv(vocabulary, _PIECE["BLOCK"])
    found = _found(rows, pieces, logits.device)
    _pieces[(rows, pieces)](logits, allowed, *found, logits.stride(0), vocabulary, pieces, **_PIECE)
    return _merged(found)


def head_confidence(
    hidden: torch.Tensor, weight: Weight, allowed: torch.Tensor | None = None
) -> Confidence:
    """As `reference.head_confidence`: no logit reaches memory."""
    hidden = hidden.contiguous()
    rows, vocabulary = hidden.shape[0], weight.shape[0]
    pieces = triton.cdiv(vocabulary, _HEAD["N"])
    found = _found(rows, pieces, hidden.device)
    held = stored(weight)
    _head_pieces[(triton.cdiv(rows, _HEAD["M"]), pieces)](
        hidden,
        held.values,
        held.scales,
        held.zeros,
        allowed,
        *found,
        rows,
        hidden.shape[1],
        vocabulary,
        pieces,
        **held.layout,
        **_HEAD,
    )
    return _merged(found)


def threshold_commit(
    tokens: torch.Tensor, found: Confidence, mask: int, threshold: float
) -> torch.Tensor:
    """As `reference.threshold_commit`, by one program."""
    left = torch.empty(1, dtype=torch.int32, device=tokens.device)
    _threshold_commit[(1,)](
        whole(tokens),
        found.tokens,
        found.probabilities,
        left,
        mask,
        threshold,
        tokens.shape[0],
        BLOCK=triton.next_power_of_2(tokens.shape[0]),
        num_warps=1,
    )
    return left


_Found = tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]


def _found(rows: int, pieces: int, device: torch.device) -> _Found:
    """Best logit, its token, sum and moment of each piece."""
    best, total, moment = torch.empty(3, rows, pieces, dtype=torch.float32, device=device)
    return best, torch.empty(rows, pieces, dtype=torch.int32, device=device), total, moment


def _merged(found: _Found) -> Confidence:
    rows, pieces = found[0].shape
    tokens = torch.empty(rows, dtype=torch.int64, device=found[0].device)
    numbers = torch.empty(4, rows, dtype=torch.float32, device=found[0].device)
    _merge_pieces[(rows,)](
        *found,
        tokens,
        *numbers,
        pieces,
        BLOCK=triton.next_power_of_2(pieces),
        num_warps=4,
    )
    return Confidence(tokens, *numbers)


@triton.jit
def _pieces(
    logits,
    allowed,
    best,
    tokens,
    totals,
    moments,
    stride,
    vocabulary,
    pieces,
    BLOCK: tl.constexpr,
):
    row, piece = tl.program_id(0) + tl.arange(0, 1), tl.program_id(1)
    token = piece * BLOCK + tl.arange(0, BLOCK)
    usable = token < vocabulary
    if allowed is not None:
        usable = usable & (tl.load(allowed + token, usable, 0) != 0)
    at = logits + row.to(tl.int64)[:, None] * stride + token[None, :]
    score = tl.load(at, usable[None, :], float("-inf")).to(tl.float32)
    place = row * pieces + piece
    _leave(score, piece * BLOCK, place, row >= 0, best, tokens, totals, moments)


@triton.jit
def _head_pieces(
    hidden,
    values,
    scales,
    zeros,
    allowed,
    best,
    tokens,
    totals,
    moments,
    rows,
    columns,
    vocabulary,
    pieces,
    M: tl.constexpr,
    N: tl.constexpr,
    BITS: tl.constexpr,
    STEP: tl.constexpr,
):
    row, piece = tl.program_id(0) * M + tl.arange(0, M), tl.program_id(1)
    token = piece * N + tl.arange(0, N)
    usable = token < vocabulary
    if allowed is not None:
        usable = usable & (tl.load(allowed + token, usable, 0) != 0)
    score = rows_times(
        hidden,
        row.to(tl.int64) * columns,
        row < rows,
        values,
        scales,
        zeros,
        token.to(tl.int64),
        usable,
        columns,
        M,
        N,
        BITS,
        STEP,
    )
    score = tl.where(usable[None, :], score, float("-inf"))
    place = row * pieces + piece
    _leave(score, piece * N, place, row < rows, best, tokens, totals, moments)


@triton.jit
def _leave(score, first, place, inside, best, tokens, totals, moments):
    """Store what is kept of a piece's scores [M, N]."""
    most, index = tl.max(score, 1, return_indices=True)  # of equals the first
    # a piece that may not be chosen has no maximum to subtract
    base = tl.where(most == float("-inf"), 0.0, most)
    below = score - base[:, None]
    weight = tl.exp(below)
    moment = weight * tl.where(weight > 0, below, 0.0)
    tl.store(best + place, most, inside)
    tl.store(tokens + place, first + index, inside)
    tl.store(totals + place, tl.sum(weight, 1), inside)
    tl.store(moments + place, tl.sum(moment, 1), inside)


@triton.jit
def _merge_pieces(
    best,
    tokens,
    totals,
    moments,
    token,
    logit,
    logsumexp,
    probability,
    entropy,
    pieces,
    BLOCK: tl.constexpr,
):
    row = tl.program_id(0)
    piece = tl.arange(0, BLOCK)
    inside = piece < pieces
    at = row * pieces + piece
    most = tl.load(best + at, inside, float("-inf"))
    top, index = tl.max(most, 0, return_indices=True)
    apart = tl.where(most == float("-inf"), 0.0, most - top)
    factor = tl.where(most == float("-inf"), 0.0, tl.exp(apart))
    part = tl.load(totals + at, inside, 0.0) * factor
    total = tl.sum(part, 0)
    moment = tl.sum(tl.load(moments + at, inside, 0.0) * factor + part * apart, 0)
    log_total = tl.log(total)
    tl.store(token + row, tl.load(tokens + row * pieces + index).to(tl.int64))
    tl.store(logit + row, top)
    tl.store(logsumexp + row, top + log_total)
    tl.store(probability + row, 1 / total)
    tl.store(entropy + row, log_total - moment / total)


@triton.jit
def _threshold_commit(
    tokens, best, probabilities, left, mask, threshold, rows, BLOCK: tl.constexpr
):
    row = tl.arange(0, BLOCK)
    inside = row < rows
    token = tl.load(tokens + row, inside, 0)
    masked = inside & (token == mask)
    sure = tl.where(masked, tl.load(probabilities + row, inside, 0.0), -1.0)
    _, surest = tl.max(sure, 0, return_indices=True)
    settled = masked & ((sure >= threshold) | (row == surest))
    tl.store(tokens + row, tl.load(best + row, inside, 0), settled)
    tl.store(left, tl.sum((masked & ~settled).to(tl.int32), 0))
