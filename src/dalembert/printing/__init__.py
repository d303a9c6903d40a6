"""A program as text: C, Python, JavaScript, LaTeX. One file per language."""
