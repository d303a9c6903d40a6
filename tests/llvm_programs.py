"""Programs made by hand or at random, and an oracle that knows how far a correct answer may be from it."""

from __future__ import annotations

import random

import numpy as np

from dalembert.tracing.program import Node, Port, Program


class Builder:
    """A program in the making."""

    def __init__(self):
        self.nodes: list[Node] = []

    def __call__(self, op: str, *args: int) -> int:
        self.nodes.append(Node(op, args))
        return len(self.nodes) - 1

    def const(self, value: float) -> int:
        self.nodes.append(Node("const", (), value))
        return len(self.nodes) - 1

    def inputs(self, *shapes: tuple[int, ...]) -> list[list[int]]:
        self.ports = tuple(Port(f"x{k}", shape) for k, shape in enumerate(shapes))
        return [[self("input", k, e) for e in range(port.size)] for k, port in enumerate(self.ports)]

    def program(self, *outputs: tuple[tuple[int, ...], list[int]], name: str = "test") -> Program:
        ports = tuple(Port(f"y{k}", shape) for k, (shape, _) in enumerate(outputs))
        return Program(name, self.ports, ports, tuple(self.nodes), tuple(tuple(r) for _, r in outputs), {})


def copy_program(shape: tuple[int, ...], name: str = "copy") -> Program:
    """The identity."""
    b = Builder()
    (x,) = b.inputs(shape)
    return b.program((shape, x), name=name)


def random_program(
    seed: int, size: int = 60, functions: bool = True, shapes=((3,), (), (2, 2)), outs=((4,), (), (2, 3))
):
    """A program of all operations whose values stay moderate for inputs of order one."""
    rng = random.Random(seed)
    b = Builder()
    pool = [x for port in b.inputs(*shapes) for x in port]
    pool += [b.const(rng.choice([0.0, -0.0, 1.0, rng.uniform(-2, 2)])) for _ in range(3)]

    def pick() -> int:
        return pool[rng.randrange(max(0, len(pool) - 25), len(pool))] if rng.random() < 0.7 else rng.choice(pool)

    def condition() -> int:
        test = b(rng.choice(["lt", "le", "eq"]), pick(), pick())
        while rng.random() < 0.3:
            test = b("not", test) if rng.random() < 0.5 else b(rng.choice(["and", "or"]), test, condition())
        return test

    kinds = ["add", "sub", "mul", "mul", "add", "sub", "scaled", "neg", "abs", "min", "max", "div", "sqrt", "select"]
    if functions:
        kinds += ["sin", "cos", "tan", "exp", "log", "atan2", "sin"]
    while len(b.nodes) < size:
        kind = rng.choice(kinds)
        if kind == "scaled":
            made = b("mul", b("add", pick(), pick()), b.const(rng.uniform(-0.6, 0.6)))
        elif kind == "mul":
            made = b("mul", pick(), pick())
        elif kind in ("neg", "abs", "sin", "cos"):
            made = b(kind, pick())
        elif kind == "tan":
            made = b("tan", b("sin", pick()))
        elif kind == "sqrt":
            made = b("sqrt", b("add", b("abs", pick()), b.const(0.25)))
        elif kind == "log":
            made = b("log", b("add", b("abs", pick()), b.const(0.5)))
        elif kind == "exp":
            made = b("exp", b("min", pick(), b.const(1.0)))
        elif kind == "div":
            made = b("div", pick(), b("add", b("abs", pick()), b.const(0.5)))
        elif kind == "select":
            made = b("select", condition(), pick(), pick())
        else:
            made = b(kind, pick(), pick())
        pool.append(made)
    taken = iter(rng.choices(pool[-30:], k=sum(int(np.prod(s)) for s in outs) + 1))
    return b.program(*((s, [next(taken) for _ in range(int(np.prod(s)))]) for s in outs))


def random_inputs(program: Program, batch: tuple[int, ...], seed: int = 0, dtype=np.float64) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(*batch, *port.shape)).astype(dtype) for port in program.inputs]


def reference(program: Program, inputs, unit: float = 2.0**-53):
    """Outputs in extended precision; how far rounding in precision ``unit`` may lead from them; where this is known.

    Each operation adds its own rounding (a function of the library or ours: four units) to the errors it is handed.
    Where a comparison is closer than the errors of its sides, the answer is unknown.
    """
    wide = np.longdouble
    batch = np.broadcast_shapes(*(x.shape[: x.ndim - len(p.shape)] for x, p in zip(inputs, program.inputs)))
    known = np.ones(batch, bool)
    values, errors = [], []
    four = 4 * unit
    for op, args, number in program.nodes:
        a = [values[k] for k in args] if op != "input" else []
        e = [errors[k] for k in args] if op != "input" else []
        own = unit
        if op == "const":
            v = np.full(batch, number, wide)
            err, own = np.zeros(batch, wide), (0 if unit < 2.0**-30 else unit)
        elif op == "input":
            x, rank = inputs[args[0]], len(program.inputs[args[0]].shape)
            flat = x.reshape(*x.shape[: x.ndim - rank], -1)[..., args[1]]
            v, err, own = np.broadcast_to(flat, batch).astype(wide), np.zeros(batch, wide), 0
        elif op in ("add", "sub"):
            v, err = (a[0] + a[1] if op == "add" else a[0] - a[1]), e[0] + e[1]
        elif op == "mul":
            v, err = a[0] * a[1], abs(a[0]) * e[1] + abs(a[1]) * e[0] + e[0] * e[1]
        elif op == "div":
            v = a[0] / a[1]
            err = (e[0] + abs(v) * e[1]) / np.maximum(abs(a[1]) - e[1], 1e-300)
        elif op in ("neg", "abs"):
            v, err, own = (-a[0] if op == "neg" else abs(a[0])), e[0], 0
        elif op in ("min", "max"):
            v, err, own = (np.minimum if op == "min" else np.maximum)(*a), np.maximum(*e), 0
        elif op == "sqrt":
            v = np.sqrt(a[0])
            err = e[0] / np.maximum(v, 1e-300)
        elif op in ("sin", "cos"):
            v, err, own = getattr(np, op)(a[0]), e[0], four
        elif op == "tan":
            v, own = np.tan(a[0]), 2 * four
            err = e[0] * (1 + v * v) * 2
        elif op == "exp":
            v, own = np.exp(a[0]), four
            err = v * np.expm1(e[0])
        elif op == "log":
            v, own = np.log(a[0]), four
            err = e[0] / np.maximum(a[0] - e[0], 1e-300)
        elif op == "atan2":
            v, own = np.arctan2(a[0], a[1]), four
            far = np.hypot(a[0], a[1]) - e[0] - e[1]
            err = np.where(far > 0, (e[0] + e[1]) / np.where(far > 0, far, 1), np.inf)
            known = known & ~((a[1] <= e[1]) & (abs(a[0]) <= e[0]) & (e[0] > 0))  # the cut
        elif op in ("lt", "le", "eq"):
            close = (abs(a[0] - a[1]) <= e[0] + e[1]) & (e[0] + e[1] > 0)
            known = known & ~close
            v, err, own = {"lt": a[0] < a[1], "le": a[0] <= a[1], "eq": a[0] == a[1]}[op], None, 0
        elif op in ("and", "or", "not"):
            v, err, own = {"and": np.logical_and, "or": np.logical_or, "not": np.logical_not}[op](*a), None, 0
        elif op == "select":
            v, err, own = np.where(*a), np.where(a[0], e[1], e[2]), 0
        values.append(v)
        errors.append(err if err is None or not own else (err + own * (abs(v) + err)))
    outputs = []
    for port, elements in zip(program.outputs, program.results):
        v = np.stack([values[k] for k in elements], -1) if elements else np.zeros((*batch, 0))
        b = np.stack([errors[k] for k in elements], -1) if elements else np.zeros((*batch, 0))
        outputs.append((v.reshape(*batch, *port.shape), b.reshape(*batch, *port.shape)))
    return outputs, known


def assert_correct(program: Program, inputs, outputs, unit: float = 2.0**-53) -> None:
    """Every output within its bound wherever the answer is known."""
    with np.errstate(all="ignore"):
        expected, known = reference(program, inputs, unit)
        largest = np.finfo(np.asarray(outputs[0]).dtype).max / 4
    for (value, bound), found in zip(expected, outputs):
        found = np.asarray(found)
        assert found.shape == value.shape
        sure = known.reshape(known.shape + (1,) * (value.ndim - known.ndim))
        sure = sure & (bound < largest) & (abs(value) < largest)
        excess = np.where(sure & (abs(found - value) > 1.01 * bound + 1e-300), abs(found - value), 0)
        assert not excess.any(), (excess.max(), np.argwhere(excess)[:3])
