"""The stacker, derived step by step in Kronecker form, and checked against Lagrange's equations.

A portal travels on rails, a column slews on it, a boom luffs on that: the worked example of Nguyen et al. (2019). Each
step says what is done and shows what it arrives at.
"""

import sympy

import dalembert as da
from _pictures import save
from dalembert.formulations import derive
from dalembert.typesetting.letters import expression_latex

stacker = da.load("stacker")
equations = derive(stacker, "kronecker")
for number, step in enumerate(equations.steps(), start=1):
    print(f"{number}. {step.title}\n   {step.text}")
print()
print(equations)

other = derive(stacker, "lagrange")
for part in ("mass_matrix", "coriolis", "gravity"):
    assert sympy.simplify(equations.sympy(part) - other.sympy(part)).is_zero_matrix, part
print("\nThe Kronecker form and Lagrange's equations agree, symbol by symbol.")


def entries(symbol, matrix):
    """Every entry that is different from zero, once, as LaTeX."""
    for row in range(matrix.rows):
        for column in range(row, matrix.cols) if matrix.cols > 1 else (0,):
            index = f"{row + 1}{column + 1}" if matrix.cols > 1 else f"{row + 1}"
            if matrix[row, column] != 0:
                yield rf"${symbol}_{{{index}}} = {expression_latex(matrix[row, column])}$"


def draw(figure):
    parts = {"M": "mass_matrix", "c": "coriolis", "g": "gravity"}
    lines = [line for symbol, part in parts.items() for line in entries(symbol, equations.sympy(part))]
    for k, line in enumerate(lines):
        figure.text(0.03, 0.92 - 0.96 * k / len(lines), line, fontsize=17)


save("stacker_derivation", draw)
