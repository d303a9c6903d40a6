"""A program as text: Python, C, CUDA, LaTeX, and as SymPy expressions. One file per language."""
