"""The denoise steps of a block, each one CUDA graph and one number that comes back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import torch

BLOCK_LENGTHS = (8, 16, 32)
_WARM_UPS = 2  # compile and allocate before a graph is recorded

Step = Callable[[torch.Tensor], torch.Tensor]


class BlockSteps:
    """Runs a step for blocks of the lengths it is given.

    `step` takes the block's tokens, int64 [L] on the device, settles some in place, moves no other
    state, and returns how many masks are left, int32 [1]. It finds everything else (weights,
    prefix, recurrent states, lengths) in tensors that stay where they are, for a graph replays the
    same addresses. On a card nothing is allocated after the first block of a length, and each step
    waits for the device once; elsewhere the step just runs.
    """

    def __init__(self, step: Step, device: torch.device) -> None:
        self._step = step
        self._recorded: dict[int, Callable[[], torch.Tensor]] = {}
        self._tokens = {
            length: torch.zeros(length, dtype=torch.int64, device=device)
            for length in BLOCK_LENGTHS
        }

    def denoise(self, block: Sequence[int]) -> tuple[list[int], int]:
        """Settle every mask of a block: its tokens, and the number of steps it took. Raises
        ValueError for a block of another length: fill it up with masks or more pinned tokens."""
        tokens = self._tokens.get(len(block))
        if tokens is None:
            raise ValueError(f"a block has one of {BLOCK_LENGTHS} tokens, not {len(block)}")
        tokens.copy_(torch.tensor(block))
        run = self._recorded.get(len(block))
        if run is None:
            run = self._recorded[len(block)] = recorded(self._step, tokens)
        steps = 1
        while int(run()):  # the one wait for the device
            steps += 1
        settled: list[int] = tokens.tolist()
        return settled, steps


def recorded(step: Step, tokens: torch.Tensor) -> Callable[[], torch.Tensor]:
    """The step on these tokens as one launch, where there is a card; they stay as they are."""
    if tokens.device.type != "cuda":
        return partial(step, tokens)
    before = tokens.clone()
    stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(_WARM_UPS):
            step(tokens)
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        left = step(tokens)
    tokens.copy_(before)

    def replay() -> torch.Tensor:
        graph.replay()
        return left

    return replay
