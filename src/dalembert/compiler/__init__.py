"""From a function over scalars to machine code. Knows nothing of mechanisms.

traced, graph   traced scalars and where they live
rules           what happens when one is made
trace           a function over scalars becomes a Program
program         the flat, straight-line form that everything else works on
evaluate        a program run by plain NumPy: the reference
derivatives     forward and reverse mode, on the graph
passes          rewrite a program to do less work
cost            count it
printers        Python, C, CUDA, LaTeX, SymPy
"""

from .cost import cost
from .graph import Expr, Graph
from .program import Port, Program
from .trace import trace

__all__ = ["Expr", "Graph", "Port", "Program", "cost", "trace"]
