"""What the GPU kernels cost, on paper, compiled, and measured. See README.md."""
