"""Benchmarks: speed and quality against peers run in the same call, printed as a table."""
