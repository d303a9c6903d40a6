"""Exported source computes what the kernel does, in every language that can be run here, and overwrites nothing."""

from __future__ import annotations

import ctypes
import importlib.util
import json
import shutil
import subprocess

import numpy as np
import pytest

from dalembert.errors import ArgumentError
from dalembert.export import LANGUAGES, MARK, export
from dalembert.native.kernel import Kernel
from dalembert.tracing.trace import trace

COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
NODE = shutil.which("node")


def swing(x, y):
    """Two outputs of different shapes, a scalar input, functions, a quotient."""
    a = x[0].sin() * y + x[1].cos() / (1 + y * y)
    b = (x[0] * x[0] + x[1] * x[1] + 1).sqrt()
    return {"matrix": [[a, b], [b, a * b + 0.1]], "size": b}


def kernel(dtype=None) -> Kernel:
    program = trace(swing, {"x": (2,), "y": ()}, "swing")
    return Kernel(
        "swing", program.inputs, program.outputs, program, dtype=dtype, doc="A made-up\n function: */ \\ end."
    )


def states(count: int, dtype=np.float64) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    return rng.normal(size=(count, 2)).astype(dtype), rng.normal(size=count).astype(dtype)


@pytest.mark.parametrize("language", ["c", "c-simd", "cuda", "llvm"])
def test_the_precision_may_be_chosen_with_the_export(language):
    single, double = (export(kernel(dtype), language) for dtype in (np.float32, np.float64))
    assert single != double
    assert (
        export(kernel(), language, dtype="float32") == export(kernel(np.float64), language, dtype=np.float32) == single
    )
    assert export(kernel(np.float32), language, dtype=float) == double


@pytest.mark.parametrize("language", ["python", "javascript", "latex"])
def test_languages_of_one_precision_refuse_another(language):
    with pytest.raises(ArgumentError, match=f"{language} has numbers of one precision only"):
        export(kernel(), language, dtype="float32")
    assert export(kernel(), language, dtype="float64") == export(kernel(), language)


@pytest.mark.skipif(COMPILER is None, reason="needs a C compiler")
@pytest.mark.parametrize("language", ["c", "c-simd"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", [None, "other_name"])
def test_c_compiles_without_warnings_and_agrees(tmp_path, language, dtype, name):
    source = tmp_path / "code.c"
    export(kernel(dtype), language, source, name)
    assert source.with_suffix(".h").exists()
    library = tmp_path / "code.so"
    standard = ["-std=c99", "-pedantic"] if language == "c" else ["-Wno-psabi"]
    flags = ["-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", *standard]
    subprocess.run([COMPILER, *flags, str(source), "-o", str(library), "-lm"], check=True, timeout=60)
    function = getattr(ctypes.CDLL(str(library)), f"{name or 'swing'}_batch")
    x, y = states(37, dtype)
    matrix, size = np.zeros((37, 2, 2), dtype), np.zeros(37, dtype)
    pointers = [array.ctypes.data_as(ctypes.c_void_p) for array in (x, y, matrix, size)]
    function(*pointers, ctypes.c_size_t(37))
    expected = kernel(dtype)(x, y)
    tolerance = 16 * np.finfo(dtype).eps  # a handful of roundings, values of order one
    np.testing.assert_allclose(matrix, expected[0], rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(size, expected[1], rtol=tolerance, atol=tolerance)


@pytest.mark.skipif(COMPILER is None, reason="needs a C compiler")
def test_c_without_a_file_stands_alone(tmp_path):
    source = tmp_path / "alone.c"
    source.write_text(export(kernel(), "c"))
    subprocess.run([COMPILER, "-Wall", "-Werror", "-c", str(source), "-o", str(tmp_path / "alone.o")], check=True)


def test_python_agrees(tmp_path):
    path = tmp_path / "code.py"
    export(kernel(), "python", path)
    spec = importlib.util.spec_from_file_location("exported_code", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    x, y = states(5)
    for ours, theirs in zip(kernel()(x, y), module.swing(x, y)):
        np.testing.assert_allclose(theirs, ours, rtol=1e-14, atol=1e-14)


def test_llvm_is_a_valid_module():
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.parse_assembly(export(kernel(), "llvm")).verify()


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_folder_gets_a_file_named_like_the_function(tmp_path, language):
    text = export(kernel(), language, tmp_path)
    written = tmp_path / f"swing{LANGUAGES[language].suffix}"
    assert written.read_text() == text
    assert MARK in text.splitlines()[0]
    assert "A made-up function" in text
    assert {path.suffix for path in tmp_path.iterdir()} <= {LANGUAGES[language].suffix, ".h"}
    assert export(kernel(), language, f"{tmp_path}/") == text  # again: generated files may be replaced


def test_a_slash_at_the_end_makes_the_folder(tmp_path):
    export(kernel(), "c", f"{tmp_path}/build/")
    assert {path.name for path in (tmp_path / "build").iterdir()} == {"swing.c", "swing.h"}
    with pytest.raises(ArgumentError, match="there is no folder"):
        export(kernel(), "c", f"{tmp_path}/no/such/")
    (tmp_path / "file").write_text("mine")
    with pytest.raises(ArgumentError, match="cannot be made"):
        export(kernel(), "c", f"{tmp_path}/file/")


@pytest.mark.skipif(NODE is None, reason="needs Node")
def test_javascript_runs_as_a_module_and_agrees(tmp_path):
    export(kernel(), "javascript", tmp_path)
    x, y = states(5)
    caller = tmp_path / "caller.mjs"
    caller.write_text(
        'import { swing } from "./swing.mjs";\n'
        f"const answers = {x.tolist()}.map((x, k) => {{ const matrix = [], size = [];"
        f" swing(x, [{y.tolist()}[k]], matrix, size); return [matrix, size]; }});\n"
        "console.log(JSON.stringify(answers));\n"
    )
    said = subprocess.run([NODE, str(caller)], capture_output=True, text=True, check=True, timeout=60).stdout
    matrix, size = kernel()(x, y)
    for k, (flat, single) in enumerate(json.loads(said)):
        np.testing.assert_allclose(flat, matrix[k].ravel(), rtol=1e-14, atol=1e-15)  # a few roundings
        np.testing.assert_allclose(single, [size[k]], rtol=1e-14)


@pytest.mark.parametrize("language", LANGUAGES)
def test_files_of_others_are_not_overwritten(tmp_path, language):
    path = tmp_path / f"precious{LANGUAGES[language].suffix}"
    path.write_text("mine")
    with pytest.raises(ArgumentError, match="not generated by dalembert"):
        export(kernel(), language, path)
    assert path.read_text() == "mine"


@pytest.mark.parametrize(("first", "second"), [("c", "cuda"), ("cuda", "c-simd")])
def test_a_header_stays_with_its_source(tmp_path, first, second):
    export(kernel(), first, tmp_path)
    before = {path: path.read_text() for path in tmp_path.iterdir()}
    with pytest.raises(ArgumentError, match=r"swing\.h is the header of swing\.\w+ already; .* another name"):
        export(kernel(), second, tmp_path)
    assert {path: path.read_text() for path in tmp_path.iterdir()} == before
    export(kernel(), second, tmp_path, name="sway")
    export(kernel(), first, tmp_path)


def test_a_header_of_others_stops_the_source_too(tmp_path):
    (tmp_path / "code.h").write_text("mine")
    with pytest.raises(ArgumentError, match=r"code\.h exists"):
        export(kernel(), "c", tmp_path / "code.c")
    assert not (tmp_path / "code.c").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"language": "fortran"}, "choose one of c, c-simd"),
        ({"language": "c", "name": "no name"}, "must be an identifier"),
        ({"language": "c", "name": "../up"}, "must be an identifier"),
        ({"language": "c", "path": "no/such/folder/x.c"}, "there is no folder"),
        ({"language": "c", "path": "x.h"}, "name of a header"),
        ({"language": "c", "path": "x\0.c"}, "cannot be written"),
    ],
)
def test_wrong_arguments_are_named(arguments, words):
    with pytest.raises(ArgumentError, match=words):
        export(kernel(), **arguments)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_program_is_exported_as_its_kernel_is(language):
    program = trace(lambda x: 2 * np.sin(x), {"x": ()}, "double_sine", outputs="y")
    assert export(program, language) == export(Kernel("k", program.inputs, program.outputs, program), language)
    with pytest.raises(ArgumentError, match="export takes a kernel or a program, got int"):
        export(3, language)
