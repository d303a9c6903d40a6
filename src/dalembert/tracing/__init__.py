"""From a function over scalars to a straight-line program. Knows nothing of mechanisms.

graph           traced scalars and the graph they live in
rules           what happens when one is made
trace           a function over scalars becomes a Program
program         the flat, straight-line form that everything else works on
evaluate        a program run by plain NumPy: the reference
derivatives     forward and reverse mode, on the graph
passes          rewrite a program to do less work
cost            count it
loops           repeated steps: kept, or written out
sympy           programs to SymPy expressions and back
casadi          functions of CasADi to programs
"""

from dalembert.tracing.cost import cost
from dalembert.tracing.graph import Expr, Graph
from dalembert.tracing.program import Port, Program
from dalembert.tracing.trace import trace

__all__ = ["Expr", "Graph", "Port", "Program", "cost", "trace"]
