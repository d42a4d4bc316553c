"""The device a model runs on: a card where torch can use one and the model fits, else the CPU."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import torch

log = logging.getLogger(__name__)

CPU = torch.device("cpu")
_DRIVER = Path("/proc/driver/nvidia/version")

_Loaded = TypeVar("_Loaded")


def best_device() -> torch.device:
    """A card, if torch can use one; if there is one that it cannot use, the log says why."""
    if torch.cuda.is_available():
        return torch.device("cuda")
    if _DRIVER.exists():
        version = torch.version.cuda
        reason = f"its driver is too old for CUDA {version}" if version else "torch is a CPU build"
        log.warning("the NVIDIA card is not used: %s", reason)
    return CPU


def load_on(device: torch.device, load: Callable[[torch.device], _Loaded]) -> _Loaded:
    """What `load` makes on a device, or on the CPU where the card's memory is too small."""
    try:
        return load(device)
    except torch.OutOfMemoryError as error:
        reason = str(error).partition(". ")[0]
        log.warning("the model does not fit on %s: running on the CPU (%s)", device, reason)
    torch.cuda.empty_cache()  # the half that did fit
    return load(CPU)
