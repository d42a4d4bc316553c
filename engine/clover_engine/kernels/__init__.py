"""The fused operations of the hot path; reached through `dispatch` alone."""
