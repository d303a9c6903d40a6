"""From a function over scalars to machine code. Knows nothing of mechanisms."""
