"""The short convolution before Gated DeltaNet. Definitions: `reference.convolution`."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from clover_engine.kernels.triton.layout import runs, whole

_TILE = {"ROWS": 8, "CHANNELS": 128, "num_warps": 4}
_CHANNELS = 256  # whose state a program moves on


def block_convolution(
    u: torch.Tensor, state: torch.Tensor, taps: torch.Tensor, right: torch.Tensor
) -> torch.Tensor:
    """As `reference.block_convolution`."""
    return _convolved(u, state, taps, right)


def causal_convolution(u: torch.Tensor, state: torch.Tensor, taps: torch.Tensor) -> torch.Tensor:
    """As `reference.causal_convolution`; the state moves when all rows have read it."""
    u = runs(u)
    out = _convolved(u, whole(state), taps, None)
    grid = (triton.cdiv(u.shape[1], _CHANNELS),)
    _move_state[grid](
        u,
        state,
        u.stride(0),
        u.shape[0],
        u.shape[1],
        KEPT=state.shape[0],
        CHANNELS=_CHANNELS,
        num_warps=4,
    )
    return out


def _convolved(
    u: torch.Tensor, state: torch.Tensor, taps: torch.Tensor, right: torch.Tensor | None
) -> torch.Tensor:
    u, (rows, channels) = runs(u), u.shape
    out = torch.empty(rows, channels, dtype=u.dtype, device=u.device)
    grid = (triton.cdiv(channels, _TILE["CHANNELS"]), triton.cdiv(rows, _TILE["ROWS"]))
    _convolve[grid](
        u,
        state.contiguous(),
        taps.contiguous(),
        None if right is None else right.contiguous(),
        out,
        u.stride(0),
        rows,
        channels,
        WIDTH=taps.shape[1],
        REACH=0 if right is None else right.shape[1],
        **_TILE,
    )
    return out


@triton.jit
def _convolve(
    u,
    state,
    taps,
    right,
    out,
    stride,
    rows,
    channels,
    WIDTH: tl.constexpr,
    REACH: tl.constexpr,
    ROWS: tl.constexpr,
    CHANNELS: tl.constexpr,
):
    channel = tl.program_id(0) * CHANNELS + tl.arange(0, CHANNELS)
    row = tl.program_id(1) * ROWS + tl.arange(0, ROWS)
    here = (channel < channels)[None, :]
    total = tl.zeros([ROWS, CHANNELS], tl.float32)
    for tap in tl.static_range(WIDTH + REACH):
        source = (row + (tap - (WIDTH - 1)))[:, None]
        inside = (source >= 0) & (source < rows) & here
        value = tl.load(u + source * stride + channel[None, :], inside, 0.0).to(tl.float32)
        if tap < WIDTH - 1:
            before = (source < 0) & here
            at = state + (source + (WIDTH - 1)) * channels + channel[None, :]
            value += tl.load(at, before, 0.0).to(tl.float32)
        if tap < WIDTH:
            factor = tl.load(taps + channel * WIDTH + tap, channel < channels, 0.0)
        else:
            factor = tl.load(right + channel * REACH + (tap - WIDTH), channel < channels, 0.0)
        total += value * factor.to(tl.float32)[None, :]
    at = out + row[:, None] * channels + channel[None, :]
    tl.store(at, total * tl.sigmoid(total), (row < rows)[:, None] & here)


@triton.jit
def _move_state(u, state, stride, rows, channels, KEPT: tl.constexpr, CHANNELS: tl.constexpr):
    # upwards: a row of the state is read before it is written, and by the same thread
    channel = tl.program_id(0) * CHANNELS + tl.arange(0, CHANNELS)
    here = channel < channels
    for place in tl.static_range(KEPT):
        source = rows + place - KEPT
        if source < 0:
            value = tl.load(state + (source + KEPT) * channels + channel, here, 0.0)
        else:
            new = tl.load(u + source * stride + channel, here, 0.0)
            value = new.to(state.dtype.element_ty)
        tl.store(state + place * channels + channel, value, here)
