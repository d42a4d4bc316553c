"""How much memory this process has needed at most."""

from __future__ import annotations

import sys

import torch


def peak_bytes() -> tuple[int | None, int]:
    """The most main memory that was resident at a time, mapped files included, where the system
    tells, and the most that was allocated on the GPU."""
    on_gpu = torch.cuda.max_memory_allocated() if torch.cuda.is_available() else 0
    if sys.platform == "win32":
        return None, on_gpu
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024, on_gpu
