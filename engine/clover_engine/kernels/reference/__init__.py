"""Every operation in plain torch: the definition that its faster twins are tested against."""

from clover_engine.kernels.reference.attention import Prefix, block_attention
from clover_engine.kernels.reference.confidence import (
    Confidence,
    confidence,
    head_confidence,
    threshold_commit,
)
from clover_engine.kernels.reference.convolution import block_convolution, causal_convolution
from clover_engine.kernels.reference.delta import (
    Gates,
    History,
    Readout,
    gdn_block,
    gdn_commit,
    gdn_gates,
    gdn_prefill,
)
from clover_engine.kernels.reference.experts import (
    Routing,
    Sorted,
    expert_down,
    expert_gate_up,
    linear,
    route,
    sort_pairs,
)
from clover_engine.kernels.reference.norms import add_rms_norm, gated_rms_norm, rms_norm
from clover_engine.kernels.reference.rows import (
    Rows,
    add_low_rank,
    norm_to_rows,
    rotate_and_store,
    swiglu_to_rows,
    to_rows,
)

__all__ = [
    "Confidence",
    "Gates",
    "History",
    "Prefix",
    "Readout",
    "Routing",
    "Rows",
    "Sorted",
    "add_low_rank",
    "add_rms_norm",
    "block_attention",
    "block_convolution",
    "causal_convolution",
    "confidence",
    "expert_down",
    "expert_gate_up",
    "gated_rms_norm",
    "gdn_block",
    "gdn_commit",
    "gdn_gates",
    "gdn_prefill",
    "head_confidence",
    "linear",
    "norm_to_rows",
    "rms_norm",
    "rotate_and_store",
    "route",
    "sort_pairs",
    "swiglu_to_rows",
    "threshold_commit",
    "to_rows",
]
