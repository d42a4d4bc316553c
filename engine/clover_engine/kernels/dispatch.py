"""The one seam between the models and their kernels: chosen once, logged, overridable."""

from __future__ import annotations

import importlib.util
import logging
import os
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import torch

from clover_engine.errors import ModelError
from clover_engine.kernels import reference
from clover_engine.kernels.fallback import Fallback, why_not

log = logging.getLogger(__name__)

OVERRIDE = "CLOVER_WRITE_KERNELS"  # a set's name for all, or "route=reference,linear=triton"
SETS = ("cpu", "triton", "reference")


class Kernels:
    """Every operation by its definition; what is faster on a device takes its place by name."""

    to_rows = staticmethod(reference.to_rows)
    norm_to_rows = staticmethod(reference.norm_to_rows)
    swiglu_to_rows = staticmethod(reference.swiglu_to_rows)
    add_low_rank = staticmethod(reference.add_low_rank)
    rotate_and_store = staticmethod(reference.rotate_and_store)

    rms_norm = staticmethod(reference.rms_norm)
    add_rms_norm = staticmethod(reference.add_rms_norm)
    gated_rms_norm = staticmethod(reference.gated_rms_norm)
    linear = staticmethod(reference.linear)
    route = staticmethod(reference.route)
    sort_pairs = staticmethod(reference.sort_pairs)
    expert_gate_up = staticmethod(reference.expert_gate_up)
    expert_down = staticmethod(reference.expert_down)
    block_attention = staticmethod(reference.block_attention)
    block_convolution = staticmethod(reference.block_convolution)
    causal_convolution = staticmethod(reference.causal_convolution)
    gdn_gates = staticmethod(reference.gdn_gates)
    gdn_commit = staticmethod(reference.gdn_commit)
    gdn_prefill = staticmethod(reference.gdn_prefill)
    gdn_block = staticmethod(reference.gdn_block)
    confidence = staticmethod(reference.confidence)
    head_confidence = staticmethod(reference.head_confidence)
    threshold_commit = staticmethod(reference.threshold_commit)

    def __init__(self, faster: Mapping[str, Callable[..., Any]]) -> None:
        vars(self).update(faster)


OPERATIONS = tuple(name for name, value in vars(Kernels).items() if isinstance(value, staticmethod))


def kernels_for(device: torch.device) -> Kernels:
    """The kernels for a device. Raises ModelError for an override that does not exist."""
    chosen = _overridden(_best(device))
    sets = {name: _operations(name) for name in {*chosen.values()}}
    faster = {
        operation: sets[name][operation]
        for operation, name in chosen.items()
        if operation in sets[name]
    }
    log.info("kernels on %s: %s", device.type, _described(faster, chosen))
    return Kernels(faster)


def _best(device: torch.device) -> str:
    if device.type == "cpu":
        return "cpu"
    reason = why_not(device)
    if reason is None:
        return "triton"
    log.warning("kernels: definitions in torch instead of Triton's: %s", reason)
    return "reference"


def _overridden(default: str) -> dict[str, str]:
    """The set that each operation is taken from."""
    chosen = dict.fromkeys(OPERATIONS, default)
    for part in filter(None, os.environ.get(OVERRIDE, "").split(",")):
        operation, _, name = part.strip().rpartition("=")
        if name not in SETS or (operation and operation not in chosen):
            raise ModelError(f"{OVERRIDE}: sets are {', '.join(SETS)}; {part!r} is not known")
        chosen.update({operation: name} if operation else dict.fromkeys(OPERATIONS, name))
    return chosen


def _operations(name: str) -> dict[str, Callable[..., Any]]:
    """What a set has twins of."""
    match name:
        case "cpu":
            from clover_engine.kernels import cpu

            return {key: value for key, value in vars(cpu).items() if key in OPERATIONS}
        case "triton":
            if importlib.util.find_spec("triton") is None:
                raise ModelError(f"{OVERRIDE} asks for triton, which is not installed")
            from clover_engine.kernels import triton

            twins = {key: value for key, value in vars(triton).items() if key in OPERATIONS}
            return {key: Fallback(twin, getattr(reference, key)) for key, twin in twins.items()}
        case _:
            return {}


def _described(faster: Mapping[str, object], chosen: Mapping[str, str]) -> str:
    """Which sets operations come from, and how many have no twin there."""
    counts = Counter(chosen[operation] for operation in faster)
    rest = len(OPERATIONS) - len(faster)
    parts = [f"{count} from {name}" for name, count in sorted(counts.items())]
    return ", ".join([*parts, f"{rest} by their definition"] if rest else parts)
