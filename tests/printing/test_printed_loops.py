"""Languages with loops get them; the others get the steps written out. All compute what the program computes."""

import json
import re
import shutil
import subprocess

import numpy as np
import pytest
import sympy

import looped_programs
from dalembert.cuda.source import to_cuda
from dalembert.printing.c import to_c
from dalembert.printing.javascript import to_javascript
from dalembert.printing.latex import to_latex
from dalembert.printing.python import to_python
from dalembert.tracing.evaluate import evaluate
from dalembert.tracing.passes import optimise
from dalembert.tracing.sympy import to_sympy, to_sympy_steps
from dalembert.tracing.trace import trace

CASES = {
    "solve": (looped_programs.solver, looped_programs.problems),
    "mixed": (looped_programs.mixer, looped_programs.mixtures),
    "wander": (looped_programs.wanderer, looped_programs.wanderings),
    "scanned": (looped_programs.scanner, looped_programs.scannings),
    "cost": (looped_programs.slopes, looped_programs.steep),
    "drawn": (looped_programs.drawer, looped_programs.drawings),
}
BITS = 1e-12
"""What other roundings of functions may make of hundreds of contracting steps."""


@pytest.fixture(scope="module", params=CASES)
def case(request):
    make, arguments = CASES[request.param]
    program = optimise(make())
    arrays = arguments((5,))
    return program, arrays, evaluate(program, arrays)


def test_python(case):
    program, arrays, expected = case
    source = to_python(program)
    assert source.count("for step in range(") >= 1
    space = {}
    exec(compile(source, "generated", "exec"), space)
    found = space[program.name](*arrays)
    for y, right in zip(found if isinstance(found, tuple) else (found,), expected.values()):
        assert np.allclose(y, right, rtol=BITS, atol=BITS)


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node to run JavaScript")
def test_javascript(case):
    program, arrays, expected = case
    rows = [np.reshape(x[2], -1).tolist() for x in arrays]
    given = ", ".join([*map(json.dumps, rows), *(f"out[{k}]" for k in range(len(expected)))])
    text = f"{to_javascript(program)}\nconst out = {json.dumps([[] for _ in expected])};\n{program.name}({given});\n"
    done = subprocess.run(
        ["node", "-e", text + "console.log(JSON.stringify(out))"], capture_output=True, text=True, check=True
    )
    for y, right in zip(json.loads(done.stdout), expected.values()):
        assert np.allclose(y, np.reshape(right[2], -1), rtol=BITS, atol=BITS)


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
@pytest.mark.parametrize(("lanes", "real", "longest"), [(0, "double", 2000), (4, "double", 9), (8, "float", 2000)])
def test_c(case, tmp_path, lanes, real, longest):
    from ctypes import CDLL, c_size_t, c_void_p

    program, arrays, expected = case
    printed = to_c(program, lanes=lanes, real=real, longest=longest)
    (tmp_path / f"{printed.name}.h").write_text(printed.header)
    (tmp_path / f"{printed.name}.c").write_text(printed.source)
    flags = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-O1", "-fPIC", "-shared", "-Wno-psabi"]
    command = ["gcc", *flags, f"{printed.name}.c", "-o", "made.so", "-lm"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    dtype = np.float32 if real == "float" else np.float64
    given = [np.ascontiguousarray(x, dtype) for x in arrays]
    found = [np.full(y.shape, np.nan, dtype) for y in expected.values()]
    pointers = [c_void_p(x.ctypes.data) for x in (*given, *found)]
    CDLL(str(tmp_path / "made.so"))[f"{printed.name}_batch"](*pointers, c_size_t(len(found[0])))
    tolerance = BITS if real == "double" else BITS * 2**29
    for y, right in zip(found, expected.values()):
        assert np.allclose(y, right, rtol=tolerance, atol=tolerance)


def test_cuda_keeps_loops(case):
    source = to_cuda(case[0]).source
    assert "#pragma unroll 1" in source and re.search(r"for \(int step\w* = 0; ", source)


def test_mathematics_writes_the_steps_out():
    program = optimise(trace(lambda x: looped_programs.repeat(step, (x,), 150), {"x": ()}, "f"))
    assert program.loops
    x = sympy.Symbol("x", real=True)
    definitions, outputs = to_sympy_steps(program, {"x": [x]})
    result = outputs["result"]
    for symbol, value in reversed(definitions):
        result = result.subs(symbol, value)
    for found in (result, to_sympy(program, {"x": [x]})["result"]):
        assert abs(float(sympy.Matrix([found])[0].subs(x, 0.3)) - evaluate(program, [0.3])["result"]) < 1e-12
    assert to_latex(program).count("&=") > 10


def step(x):
    return (0.5 * x + 1,)
