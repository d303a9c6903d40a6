"""Programs on CUDA devices: source, kernels, arrays of other libraries."""
