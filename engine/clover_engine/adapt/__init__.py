"""Training of the block adapter: `python -m clover_engine.adapt --help`."""
