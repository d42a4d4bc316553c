"""The one seam between the model and its kernels: chosen once, logged, overridable."""

from __future__ import annotations

import logging
import os
from typing import Protocol

import torch

from clover_engine.errors import ModelError
from clover_engine.kernels import reference
from clover_engine.kernels.reference import Rows

log = logging.getLogger(__name__)

OVERRIDE = "CLOVER_WRITE_KERNELS"  # "cpu" or "reference"


class Kernels(Protocol):
    """The operations every set of kernels offers; `reference` says what each one means."""

    def to_rows(self, x: torch.Tensor) -> Rows: ...

    def norm_to_rows(self, x: torch.Tensor, weight: torch.Tensor, eps: float) -> Rows: ...

    def swiglu_to_rows(self, gate_up: torch.Tensor) -> Rows: ...

    def add_low_rank(
        self, rows: Rows, down: torch.Tensor, up: torch.Tensor, y: torch.Tensor
    ) -> None: ...

    def rotate_and_store(
        self,
        qkv: torch.Tensor,
        cos: torch.Tensor,
        sin: torch.Tensor,
        keys: torch.Tensor,
        values: torch.Tensor,
        start: int,
        positions: torch.Tensor,
    ) -> torch.Tensor: ...


def kernels_for(device: torch.device) -> Kernels:
    """The kernels for a device. Raises ModelError for an override that does not exist."""
    name = os.environ.get(OVERRIDE) or ("cpu" if device.type == "cpu" else "reference")
    log.info("kernels: %s", name)
    if name == "reference":
        return reference
    if name == "cpu":
        from clover_engine.kernels import cpu

        return cpu
    raise ModelError(f"{OVERRIDE} is cpu or reference, not {name!r}")
