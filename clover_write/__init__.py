"""Clover Write: a local co-writing server for editors."""

__version__ = "0.1.0"
