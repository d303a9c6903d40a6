"""Random programs, and their evaluation without rounding."""

from __future__ import annotations

import numpy as np

from dalembert.tracing.evaluate import interpret
from dalembert.tracing.graph import Expr, Graph
from dalembert.tracing.trace import program_of

FUNCTIONS = ("sin", "cos", "tan", "sqrt", "exp", "log")


def random_program(seed: int, steps: int = 60, functions: bool = True):
    """A program over inputs ``x`` (4) and ``y`` (2, 2) whose sums and products have much in common.

    Constants are short binary fractions, so that folding them rounds nothing.
    """
    rng = np.random.default_rng(seed)
    graph = Graph()
    pool = [*graph.input("x", (4,)), *graph.input("y", (2, 2)).flat]
    roots = []

    def pick(count):
        recent = rng.integers(max(0, len(pool) - 12), len(pool), count)
        anywhere = rng.integers(0, len(pool), count)
        return [pool[k] for k in np.where(rng.random(count) < 0.5, recent, anywhere)]

    for _ in range(steps):
        kind = rng.choice(["sum", "dot", "product", "quotient", "scale", "function", "choice", "bilinear"])
        if kind == "sum":
            made = sum(x * int(rng.choice([-1, 1, 1, 2])) for x in pick(rng.integers(2, 6)))
        elif kind == "dot":
            made = sum((a * b for a, b in zip(pick(3), pick(3))), start=float(rng.choice([0, 0, 0.5, -3])))
        elif kind == "product":
            made = np.prod(pick(rng.integers(2, 5)))
        elif kind == "quotient":
            top, bottom = pick(2)
            made = top / (bottom * bottom + 1) if rng.random() < 0.5 else 1 / (1 + bottom * bottom) * top
        elif kind == "scale":
            made = pick(1)[0] * float(rng.choice([0.5, -0.25, 3, -1, 1.5]))
        elif kind == "bilinear":  # a common factor to be found
            a, b, c, d = pick(4)
            made = a * b - c * a + a * (d * b)
        elif kind == "choice":
            a, b, c, d = pick(4)
            test = [a < b, ~(a <= b), (a < b) & (c < d), (a < 0) | (c < d), a.equals(b)][rng.integers(5)]
            made = [test.select(c, d), a.minimum(b), a.maximum(-b), abs(a)][rng.integers(4)]
        elif not functions:
            continue
        else:
            name = str(rng.choice([*FUNCTIONS, "atan2"]))
            a, b = pick(2)
            made = a.atan2(b) if name == "atan2" else getattr(a, name)()
        if isinstance(made, Expr) and not made.is_constant:
            pool.append(made)
            if rng.random() < 0.1:
                made.label(f"value {len(pool)}")
            if rng.random() < 0.2:
                roots.append(made)
    return program_of(graph, {"first": roots[::2], "second": roots[1::2], "constant": [1, -2.5]}, "random")


def exact(program, seed: int = 0):
    """All results at a random point, computed without rounding: in the integers modulo a large prime.

    There sums, products and quotients obey the laws of algebra exactly, so two ways to group them must agree to
    the last bit, and two different polynomials practically never do. Functions are replaced by arbitrary ones
    with the same symmetries, which is all that passes may use.
    """
    rng = np.random.default_rng(seed)
    inputs = [[int(k) for k in rng.integers(0, PRIME, port.size)] for port in program.inputs]
    values = interpret(program, inputs, EXACT, _number)
    return [[values[k] for k in row] for row in program.results]


PRIME = 2**61 - 1


def _number(value):
    top, bottom = float(value).as_integer_ratio()
    return top * pow(bottom, -1, PRIME) % PRIME


def _positive(x):
    return min(x % PRIME, -x % PRIME)


EXACT = {
    "neg": lambda a: -a % PRIME, "add": lambda a, b: (a + b) % PRIME, "sub": lambda a, b: (a - b) % PRIME,
    "mul": lambda a, b: a * b % PRIME, "div": lambda a, b: a * pow(b, -1, PRIME) % PRIME,
    "sin": lambda a: pow(a, 3, PRIME), "cos": lambda a: pow(a, 4, PRIME), "tan": lambda a: pow(a, 5, PRIME),
    "log": lambda a: (a * a + 7 * a) % PRIME, "atan2": lambda a, b: a * (3 + b + a * a) % PRIME,
    "sqrt": lambda a: _positive(a * a + 3 * a), "exp": lambda a: _positive(a * a + 5 * a), "abs": _positive,
    "min": min, "max": max,
    "lt": lambda a, b: a < b, "le": lambda a, b: a <= b, "eq": lambda a, b: a == b,
    "and": lambda a, b: a and b, "or": lambda a, b: a or b, "not": lambda a: not a,
    "select": lambda condition, yes, no: yes if condition else no,
}  # fmt: skip
