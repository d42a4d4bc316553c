"""What kernels ask of the memory of their inputs; given any other, they would read rubbish."""

from __future__ import annotations

import torch


def runs(x: torch.Tensor) -> torch.Tensor:
    """x, each of whose rows is one run; the rows may stand apart, as columns of a wider tensor."""
    return x if x[:1].is_contiguous() else x.contiguous()


def whole(x: torch.Tensor) -> torch.Tensor:
    """x, which a kernel writes into: a copy would be written in vain. Raises ValueError."""
    if not x.is_contiguous():
        raise ValueError("what is changed in place must be contiguous")
    return x
