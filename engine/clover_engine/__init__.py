"""The block-diffusion infill engine; `clover_engine.api` is its torch-free door."""
