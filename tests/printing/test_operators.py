"""Every operation in every printed language, one by one, also where operands are equal, zero or negative.

A language that is registered and not known here fails, and so does an operation.
"""

from __future__ import annotations

import ctypes
import json
import math
import platform
import re
import shutil
import subprocess
from types import SimpleNamespace

import numpy as np
import pytest
import sympy

import dalembert as da
from dalembert.algebra.loops import repeat
from dalembert.cuda.source import to_cuda
from dalembert.errors import UnsupportedError
from dalembert.export import LANGUAGES, export
from dalembert.native.kernel import Kernel
from dalembert.printing.c import to_c
from dalembert.printing.casadi import operations, to_casadi
from dalembert.printing.latex import to_latex
from dalembert.printing.python import to_python
from dalembert.tracing.evaluate import evaluate
from dalembert.tracing.program import ARITY, UNCOUNTED
from dalembert.tracing.sympy import to_sympy
from dalembert.tracing.trace import trace

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="needs Node to run JavaScript")
needs_cc = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
needs_fibers = pytest.mark.skipif(
    shutil.which("g++") is None or platform.machine() != "x86_64" or platform.system() != "Linux",
    reason="needs g++ and fibers of Linux",
)

MEANT = {
    "neg": lambda a, b: -a, "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b, "sqrt": lambda a, b: math.sqrt(a), "sin": lambda a, b: math.sin(a),
    "cos": lambda a, b: math.cos(a), "tan": lambda a, b: math.tan(a), "exp": lambda a, b: math.exp(a),
    "log": lambda a, b: math.log(a), "atan2": lambda a, b: math.atan2(a, b), "abs": lambda a, b: abs(a),
    "min": lambda a, b: min(a, b), "max": lambda a, b: max(a, b),
    "lt": lambda a, b: 1.0 if a < b else 2.0, "le": lambda a, b: 1.0 if a <= b else 2.0,
    "eq": lambda a, b: 1.0 if a == b else 2.0, "and": lambda a, b: 1.0 if a < b and b < 1 else 2.0,
    "or": lambda a, b: 1.0 if a < b or b < 1 else 2.0, "not": lambda a, b: 1.0 if not a < b and b < 1 else 2.0,
    "select": lambda a, b: a if a < b else b,
}  # fmt: skip
"""What each operation is, by Python's own mathematics; truth values are 1 and 2."""

ANYWHERE = [(a, b) for a in (-1.5, 0.5, 1.0, 2.5) for b in (-1.5, -0.5, 0.5, 1.0, 2.5)]
POSITIVE = [(a, b) for a, b in ANYWHERE if a > 0]
POINTS = {op: POSITIVE if op in ("sqrt", "log") else ANYWHERE for op in MEANT}


def each_operation(a, b):
    truth = {"lt": a < b, "le": a <= b, "eq": a.equals(b), "and": (a < b) & (b < 1), "or": (a < b) | (b < 1)}
    numbers = {
        "neg": -a, "add": a + b, "sub": a - b, "mul": a * b, "div": a / b, "sqrt": a.sqrt(), "sin": a.sin(),
        "cos": a.cos(), "tan": a.tan(), "exp": a.exp(), "log": a.log(), "atan2": a.atan2(b), "abs": abs(a),
        "min": a.minimum(b), "max": a.maximum(b), "select": (a < b).select(a, b),
    }  # fmt: skip
    return numbers | {op: x.select(1, 2) for op, x in truth.items()} | {"not": (~(a < b) & (b < 1)).select(1, 2)}


def run_python(program, points, folder):
    space: dict = {}
    exec(compile(to_python(program), "generated", "exec"), space)
    with np.errstate(all="ignore"):
        found = space["each"](*np.transpose(points))
    return dict(zip((port.name for port in program.outputs), found))


def run_javascript(program, points, folder):
    names = [port.name for port in program.outputs]
    source = re.sub(r"^export ", "", export(program, "javascript"), flags=re.MULTILINE)
    call = (
        f"const out = {json.dumps(names)}.map(() => [0]); each([a], [b], ...out); return out.map((x) => String(x[0]));"
    )
    text = f"{source}\nconsole.log(JSON.stringify({json.dumps(points)}.map(([a, b]) => {{ {call} }})));"
    done = subprocess.run(["node", "-"], input=text, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return dict(zip(names, np.array(json.loads(done.stdout), dtype=float).T))


def run_c(lanes):
    def run(program, points, folder):
        printed = to_c(program, "double", lanes)
        (folder / "each.h").write_text(printed.header)
        (folder / "each.c").write_text(printed.source)
        command = ["cc", "-std=c99", "-O1", "-fPIC", "-shared", "each.c", "-o", "each.so", "-lm"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        arrays = [np.ascontiguousarray(x) for x in np.transpose(points)]
        results = [np.full(len(points), -99.0) for _ in program.outputs]
        pointers = [x.ctypes.data_as(ctypes.c_void_p) for x in (*arrays, *results)]
        ctypes.CDLL(str(folder / "each.so")).each_batch(*pointers, ctypes.c_size_t(len(points)))
        return {port.name: x for port, x in zip(program.outputs, results)}

    return run


def run_cuda(program, points, folder):
    from emulated_cuda import Emulated, guarded

    source = to_cuda(program, "double")
    inputs = [np.ascontiguousarray(x) for x in np.transpose(points)]
    outputs = [guarded(len(points), port.shape, np.dtype(float))[0] for port in program.outputs]
    Emulated(source, len(inputs) + len(outputs), "double", folder)(inputs, outputs, source.shared, len(points))
    return {port.name: x for port, x in zip(program.outputs, outputs)}


def run_native(program, points, folder):
    """What is printed as LLVM's is compiled for kernels."""
    assert "define" in export(program, "llvm")
    found = Kernel("each", program.inputs, program.outputs, program)(*np.transpose(points))
    return dict(zip((port.name for port in program.outputs), found))


def run_sympy(program, points, folder):
    names = dict(zip("ab", sympy.symbols("a b", real=True)))
    found = to_sympy(program, names)
    return {op: [float(x.subs(dict(zip(names.values(), point)))) for point in points] for op, x in found.items()}


def run_casadi(program, points, folder):
    pytest.importorskip("casadi")
    made = to_casadi(program)
    rows = [made(*point) for point in points]
    return {port.name: [float(row[k]) for row in rows] for k, port in enumerate(program.outputs)}


def test_operations_of_casadi_are_what_they_are_called():
    """Also where it is not installed: by functions of the same names."""
    names = ("sqrt", "sin", "cos", "tan", "exp", "log", "atan2")
    module = SimpleNamespace(
        **{name: getattr(math, name) for name in names}, fabs=abs, fmin=min, fmax=max,
        logic_and=lambda x, y: x and y, logic_or=lambda x, y: x or y, logic_not=lambda x: not x,
        if_else=lambda condition, x, y: x if condition else y,
    )  # fmt: skip
    table = operations(module)
    for op in set(MEANT) - {"and", "or", "not", "select", "lt", "le", "eq"}:
        for a, b in POINTS[op]:
            assert table[op](*(a, b)[: ARITY[op]]) == MEANT[op](a, b), op
    for a, b in ANYWHERE:
        assert [table[op](a, b) for op in ("lt", "le", "eq")] == [a < b, a <= b, a == b]
        x, y = a < b, b < 1
        assert [table["and"](x, y), table["or"](x, y), table["not"](x)] == [x and y, x or y, not x]
        assert table["select"](x, a, b) == (a if x else b)


def run_numbers(program, points, folder):
    return evaluate(program, list(np.transpose(points)))


RUN = {
    "python": run_python,
    "javascript": pytest.param(run_javascript, marks=needs_node),
    "c": pytest.param(run_c(0), marks=needs_cc),
    "c-simd": pytest.param(run_c(4), marks=needs_cc),
    "cuda": pytest.param(run_cuda, marks=needs_fibers),
    "llvm": run_native,
    "sympy": run_sympy,
    "casadi": run_casadi,
    "numpy": run_numbers,
}
"""Language -> carries a program out."""

LATEX = {
    "neg": "-a", "add": "a + b", "sub": "a - b", "mul": r"a \, b", "div": r"\frac{a}{b}", "sqrt": r"\sqrt{a}",
    "sin": r"\sin(a)", "cos": r"\cos(a)", "tan": r"\tan(a)", "exp": r"\exp(a)", "log": r"\log(a)",
    "atan2": r"\operatorname{atan2}(a, b)", "abs": r"\left|a\right|", "min": r"\min(a, b)", "max": r"\max(a, b)",
    "lt": "(a < b)", "le": r"(a \le b)", "eq": "(a = b)", "and": r"((a < b) \land (b < 1))",
    "or": r"((a < b) \lor (b < 1))", "not": r"\lnot (a < b)",
    "select": r"a & \text{if } (a < b) \\ b & \text{otherwise}",
}  # fmt: skip


def test_every_operation_and_every_language_is_known_here():
    assert set(MEANT) == set(LATEX) == set(ARITY) - UNCOUNTED - {"read", "write", "draw"}
    assert set(LANGUAGES) <= {*RUN, "latex"}


@pytest.mark.parametrize("run", RUN.values(), ids=RUN)
def test_every_operation_is_printed_as_what_it_is(tmp_path, run):
    for op in MEANT:
        single = trace(lambda a, b, op=op: {op: each_operation(a, b)[op]}, {"a": (), "b": ()}, "each")
        assert op in {node.op for node in single.nodes}, f"{op} is not what is tried"
    for some in (ANYWHERE, POSITIVE):
        ops = [op for op in MEANT if POINTS[op] is some]
        chosen = trace(lambda a, b, ops=ops: {op: each_operation(a, b)[op] for op in ops}, {"a": (), "b": ()}, "each")
        folder = tmp_path / ops[0]  # a library of its own
        folder.mkdir()
        found = run(chosen, some, folder)
        for op in ops:
            wanted = [MEANT[op](*point) for point in some]
            np.testing.assert_allclose(np.asarray(found[op], float), wanted, rtol=1e-14, atol=1e-16, err_msg=op)


FUSED = {
    "muladd": lambda a, b: a * b + (a + b), "mulsub": lambda a, b: (a + 1) * b - (a + b),
    "submul": lambda a, b: a + b - (a + 2) * b, "negmul": lambda a, b: -((a + 3) * b) - (a + b),
    "square": lambda a, b: a * a, "over": lambda a, b: 1 / b,
}  # fmt: skip
"""What printers and processors have a form of its own for, where a product is used once."""


@pytest.mark.parametrize("run", RUN.values(), ids=RUN)
def test_sums_of_products_keep_their_signs(tmp_path, run):
    program = trace(lambda a, b: {name: form(a, b) for name, form in FUSED.items()}, {"a": (), "b": ()}, "each")
    found = run(program, ANYWHERE, tmp_path)
    for name, form in FUSED.items():
        wanted = [form(*point) for point in ANYWHERE]
        np.testing.assert_allclose(np.asarray(found[name], float), wanted, rtol=1e-14, atol=1e-15, err_msg=name)


@pytest.mark.parametrize("op", LATEX)
def test_every_operation_is_mathematics(op):
    single = trace(lambda a, b: {"y": each_operation(a, b)[op]}, {"a": (), "b": ()}, "each")
    text = re.sub(r"\s+", " ", to_latex(single))
    assert re.sub(r"\s+", " ", LATEX[op]) in text, text
    if op in ("lt", "le", "eq", "and", "or", "not"):
        assert re.search(r"1 & .*2 & \\text\{otherwise\}", text), text


KEYS = [(0.0, 1.0), (7.0, 2.0), (7.9, 4095.0), (2.0**32 - 1, 2.0**24), (2.0**40, 65537.0), (-3.0, 3.0), (math.nan, 1e6)]
"""Also fractions and what no word holds."""


def drawn(a, b):
    """Of computed and of known numbers, in a loop too, and the whole array as an output."""
    step = repeat(lambda x, a: (x + da.random.integers((a, x), 100, 5)[-1],), (0,), 3, (a,))[0]
    return {
        "one": da.random.integers(a, b), "some": da.random.integers((a + 1, 5, b), 1000, 7)[6],
        "even": da.random.uniform((1, 2, 3, 4, a, b)), "single": da.random.uniform(a, 2)[1] * 2.0**48, "known": step,
    }  # fmt: skip


@pytest.mark.parametrize("run", RUN.values(), ids=RUN)
def test_random_numbers_have_the_same_bits_in_every_language(tmp_path, run):
    program = trace(drawn, {"a": (), "b": ()}, "each")
    if run in (run_sympy, run_casadi):
        with pytest.raises(UnsupportedError, match="each: drawing random numbers cannot be written over"):
            run(program, KEYS, tmp_path)
        return
    wanted = evaluate(program, list(np.transpose(KEYS)))
    a, x = 7, 0
    for _ in range(3):
        x += int(da.random.integers((a, x), 100, 5)[-1])
    assert wanted["known"][1] == x and wanted["one"][1] == da.random.integers(7, 2)
    assert wanted["even"][1] == da.random.uniform((1, 2, 3, 4, 7, 2)) and 0 < wanted["single"][1] < 2**48
    found = run(program, KEYS, tmp_path)
    for name, values in wanted.items():
        np.testing.assert_array_equal(np.asarray(found[name], float), values, err_msg=name)


def test_random_numbers_are_no_formula():
    with pytest.raises(UnsupportedError, match="each draws random numbers, which formulas cannot do"):
        to_latex(trace(drawn, {"a": (), "b": ()}, "each"))
