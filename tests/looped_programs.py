"""Programs with loops, and arguments for them."""

import numpy as np

from dalembert.algebra.loops import along, for_each, read_at, repeat, scan, write_at
from dalembert.algebra.random import integers, uniform
from dalembert.tracing.derivatives import jacobians
from dalembert.tracing.trace import trace

SIZE, SWEEPS, ROWS = 6, 9, 40


def smaller(x, y):
    return x.minimum(y) if hasattr(x, "minimum") else min(x, y)


def sweep(x, A, b):
    """One sweep of projected Gauss-Seidel."""
    x = x.copy()
    for i in range(len(x)):
        rest = b[i] - sum(A[i, j] * x[j] for j in range(len(x)) if j != i)
        x[i] = smaller(rest / A[i, i], 0.4)
    return (x,)


def solve(A, b):
    return repeat(sweep, (np.zeros(SIZE),), SWEEPS, (A, b))[0] * 2


def orbit(x, k, m, n, w):
    """Values change places, one stays as it was, a function, a choice, an invariant, a constant result."""
    y = np.array([0.5 * x[1], 0.6 * x[0] + w * x[2].sin() / (1 + w * w), 0.9 * x[2] + 0.1 * n * m], dtype=object)
    y[0] = (x[2] < k).select(y[0], x[2] / k)
    return y, k + 0.1, m, 2.0


def wander(x, w):
    """A loop in a loop, between other operations; some of what it ends with nobody asks for."""

    def outer(x, w):
        x, *_ = repeat(orbit, (x, 0.5, w, 0.0), 40, (w,))
        for _ in range(3):
            x = np.array([x[0].cos() + x[1], x[1] * x[2] - w, 0.3 * x[2] + 0.5 * x[0]], dtype=object)
        return (x,)

    (x,) = repeat(outer, (np.array([x[0], x[1] * w, x[2]], dtype=object),), 15, (w * w + 0.1,))
    return x * w, x[1].exp()


def mixed(B, x, w):
    """A function of every row, within a loop, after a loop; the rows of one argument are numbers."""

    def row(b, unit, x, w):
        c = x[0] * b[0] + x[1].cos() * b[1] + w
        return c / (w + 2), np.array([c * c * x[2] - b[2], c - unit[0], b[1] + 0 * c, w], dtype=object)

    def outer(x, w, B):
        first, second = for_each(row, (B * w, np.eye(ROWS)), (x, w))
        return (np.array([0.3 * x[1] + 0.002 * sum(first), (x[0] + second[5, 0]).sin(), 0.5 * x[2]], dtype=object),)

    (x,) = repeat(outer, (x,), 7, (w, B))
    return for_each(row, (B, np.eye(ROWS)), (x, w + 0.5))


def scanned(U, T, n):
    """Rows held for several steps, rows emitted every few, a number of steps that is an input and a stop; arrays that
    are read and written by computed index, and what a loop has emitted read backwards by another, nested one."""

    def drive(x, u, T):
        row = read_at(T, 3 * u[0] + 4)
        x = np.array([0.9 * x[0] + 0.1 * x[1].sin() + row[0], 0.8 * x[1] + u[1] * row[1]], dtype=object)
        return (x,), (x * u[1], x[0] - x[1]), x[0] > 3

    def count(histogram, place, z):
        slot = 2 * z + place
        return (write_at(histogram, slot, read_at(histogram, slot) + z * z),), (read_at(histogram, 1 + 0 * z),)

    def back(y, pair, T):
        (y,), (way,) = along(
            lambda y, row: ((0.7 * y + row[0] * pair[0] - (row[1] * pair[1]).cos(),), (y,)), (y,), (T,)
        )
        return (y,), (y, way)

    (x,), (pairs, single) = scan(drive, (np.array([0.2, 0.4]),), (U,), (T,), steps=n, hold=3, every=2)
    (histogram, _), (before,) = scan(
        lambda h, k, z: ((count(h, k, z)[0][0], k + 1), count(h, k, z)[1]), (np.zeros(5), 0.0), (single,)
    )
    (y,), (ys, ways) = scan(back, (0.1,), (pairs[::-1],), (T,))
    return x, pairs, histogram, before, y, ys[::-1], ways


def drawn(seed, world):
    """Random numbers: as a whole array, in one that is written, in rows, the same at every step, and many of them."""
    block = integers((seed, world), 10, 4)

    def count(k, histogram):
        throw = integers((seed, k), 5, 4)
        return (k + 1, write_at(histogram, throw[0], read_at(histogram, throw[0]) + 1)), (throw,)

    (_, histogram), (throws,) = scan(count, (0, np.zeros(5)), steps=200)
    again = repeat(lambda x: (x + integers(seed, 9),), (0,), 5)[0]
    many = sum(integers((seed, world, 9), 1000, 100)), sum(uniform((seed, world), 11))
    return block, write_at(block, seed, 77), histogram, throws, again, *many


def problems(batch=(), seed=0):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(*batch, SIZE, SIZE))
    return root @ root.swapaxes(-1, -2) + 3 * np.eye(SIZE), rng.normal(size=(*batch, SIZE))


def solver():
    """A loop of sums and products: Gauss-Seidel sweeps with a bound."""
    return trace(solve, {"A": (SIZE, SIZE), "b": (SIZE,)}, "solve")


def wanderer():
    """Loops in a loop, with functions and choices."""
    return trace(wander, {"x": (3,), "w": ()}, "wander")


def mixer():
    """Rows, in a loop and alone."""
    return trace(mixed, {"B": (ROWS, 3), "x": (3,), "w": ()}, "mixed")


def scanner():
    """A loop of everything."""
    return trace(scanned, {"U": (40, 2), "T": (50, 2), "n": ()}, "scanned")


def drawer():
    """Random numbers, straight and in loops."""
    return trace(drawn, {"seed": (), "world": ()}, "drawn")


def drawings(batch, dtype=float):
    return np.arange(np.prod(batch, dtype=int), dtype=dtype).reshape(batch), np.full(batch, 3, dtype)


def scannings(batch, dtype=float):
    rng = np.random.default_rng(6)
    n = rng.integers(0, 130, batch).astype(dtype)
    return rng.uniform(-1, 1, (*batch, 40, 2)).astype(dtype), rng.uniform(-1, 1, (*batch, 50, 2)).astype(dtype), n


def slopes():
    """Gradients of a loop: rows given, and emitted, from the last to the first, of steps that some rows serve."""

    def cost(U, T):
        def step(x, total, u, T):
            x = np.array([0.9 * x[0] + (x[1] * u[0]).sin(), 0.8 * x[1] + u[1]], dtype=object)
            return (x, total + x @ x * read_at(T, 2 * u[0] + 3)), (x[0] * u[1],)

        (_, total), (seldom,) = scan(step, (np.array([0.2, 0.4]), 0.0), (U,), (T,), hold=2, every=3)
        return total + sum(seldom)

    program = trace(cost, {"U": (30, 2), "T": (7,)}, "cost")
    return jacobians(program, ["U", "T"])


def steep(batch, dtype=float):
    rng = np.random.default_rng(7)
    return tuple(rng.uniform(-1, 1, (*batch, *shape)).astype(dtype) for shape in ((30, 2), (7,)))


def mixtures(batch, dtype=float):
    return (np.random.default_rng(4).uniform(-1, 1, (*batch, ROWS, 3)).astype(dtype), *wanderings(batch, dtype))


def wanderings(batch, dtype=float):
    rng = np.random.default_rng(3)
    return rng.uniform(-1, 1, (*batch, 3)).astype(dtype), rng.uniform(0, 1, batch).astype(dtype)
