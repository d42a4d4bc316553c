"""Triton twins of `kernels.reference`, for CUDA devices; reached through `kernels.dispatch`.

The element type is the tensors' own: float32 and float16 run in Triton's interpreter too, where
bfloat16 arithmetic is silently wrong. Sums are in float32.
"""

from clover_engine.kernels.triton.attention import block_attention
from clover_engine.kernels.triton.confidence import confidence, head_confidence, threshold_commit
from clover_engine.kernels.triton.convolution import block_convolution, causal_convolution
from clover_engine.kernels.triton.delta import gdn_commit, gdn_gates, gdn_prefill
from clover_engine.kernels.triton.experts import expert_down, expert_gate_up, linear
from clover_engine.kernels.triton.norms import add_rms_norm, gated_rms_norm, rms_norm
from clover_engine.kernels.triton.readout import gdn_block
from clover_engine.kernels.triton.routing import route, sort_pairs

__all__ = [
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
    "rms_norm",
    "route",
    "sort_pairs",
    "threshold_commit",
]
