"""What happens where a kernel cannot run: its definition takes over, and the log says why."""

from __future__ import annotations

import importlib.util
import logging
from collections.abc import Callable
from typing import Any

import torch

log = logging.getLogger(__name__)

OLDEST = (8, 0)  # compute capability: Ampere, the first with bfloat16


def why_not(device: torch.device) -> str | None:
    """Why no Triton kernel can run on a device; None if they can."""
    if importlib.util.find_spec("triton") is None:
        return "triton is not installed; torch's builds for CUDA on Linux bring it"
    if device.type != "cuda":
        return f"they are for CUDA cards, not for {device.type}"
    if torch.version.hip is not None:
        return "they are compiled for and tested on NVIDIA cards only"
    have = torch.cuda.get_device_capability(device)
    if have < OLDEST:
        name = torch.cuda.get_device_name(device)
        return f"{name} is of compute capability {have[0]}.{have[1]}, the kernels need 8.0"
    return None


class Fallback:
    """An operation of a faster set; once it cannot be compiled or launched, its definition."""

    __slots__ = ("_definition", "_fast")

    def __init__(self, fast: Callable[..., Any], definition: Callable[..., Any]) -> None:
        self._fast: Callable[..., Any] | None = fast
        self._definition = definition

    def __call__(self, *inputs: Any, **options: Any) -> Any:
        if self._fast is None:
            return self._definition(*inputs, **options)
        try:
            return self._fast(*inputs, **options)
        except torch.OutOfMemoryError:
            raise  # no fault of the kernel's; its definition would need more
        except _launch_errors() as error:
            if not _is_of_launch(error):
                raise
            reason = str(error).strip().partition("\n")[0]
            log.warning("kernels: %s runs its definition: %s", self._definition.__name__, reason)
        # nothing has run yet: an error comes before the launch, so that no state was moved
        self._fast = None
        return self._definition(*inputs, **options)


def _launch_errors() -> tuple[type[Exception], ...]:
    from triton.errors import TritonError

    return (TritonError, RuntimeError)


def _is_of_launch(error: Exception) -> bool:
    """Compilers and drivers say who they are; other errors are ours and must show."""
    return not isinstance(error, RuntimeError) or str(error).startswith("Triton Error")
