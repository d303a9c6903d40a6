"""The pair of files for nvcc: no warnings; a C program that knows only the header links with it and agrees."""

import re
import shutil
import subprocess

import numpy as np
import pytest

import dalembert as da
from dalembert.costs.tables import generic_arm
from dalembert.cuda.source import to_cuda
from dalembert.cuda.stages import columns_to_cuda
from dalembert.errors import ArgumentError
from dalembert.export import export
from dalembert.tracing.trace import trace
from random_mechanisms import walker

needs_nvcc = pytest.mark.skipif(
    shutil.which("nvcc") is None or shutil.which("gcc") is None, reason="needs nvcc and gcc"
)

CALLER = """
#include <stdio.h>
#include <stdlib.h>
#include "moved.h"

int cudaMalloc(void **, size_t);
int cudaMemcpy(void *, const void *, size_t, int);

int main(void)
{
    enum { N = 1000, W = NV };
    static REAL host[4][N * W];
    void *device[4];
    for (int k = 0; k < 3; ++k)
        for (int i = 0; i < N * W; ++i) host[k][i] = (REAL)((i * 37 + k * 11) % 101) / 50 - 1;
    for (int k = 0; k < 4; ++k) {
        if (cudaMalloc(&device[k], sizeof host[k])) return 77;
        if (cudaMemcpy(device[k], host[k], sizeof host[k], 1)) return 1;
    }
    if (FUNCTION(device[0], device[1], device[2], device[3], 0, -1, 0) == 0) return 2;
    if (FUNCTION(device[0], device[1], device[2], device[3], 0, 0, 0)) return 3;
    if (FUNCTION(device[0], device[1], device[2], device[3], 4u, N, 0)) return 4;
    if (cudaMemcpy(host[3], device[3], sizeof host[3], 2)) return 5;
    for (int i = 0; i < N * W; ++i) printf("%.17g\\n", (double)host[3][i]);
    return 0;
}
"""


def built(folder, quantity, dtype):
    arm = da.load("demo_arm")
    dynamics = da.Dynamics(arm, dtype=dtype)
    dynamics.export(quantity, "cuda", folder / "moved.cu")
    (folder / "main.c").write_text(CALLER)
    real = "float" if dtype == "float32" else "double"
    commands = [
        ["nvcc", "-O1", "-Werror", "all-warnings", "-Xcompiler", "-Wall,-Wextra,-Werror", "-c", "moved.cu"],
        ["gcc", "-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", f"-DREAL={real}", f"-DNV={arm.nv}",
         f"-DFUNCTION={quantity}_launch", "-c", "main.c"],
        ["nvcc", "moved.o", "main.o", "-o", "caller"],
    ]  # fmt: skip
    for command in commands:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    return dynamics


@needs_nvcc
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_c_program_links_with_it(tmp_path, dtype):
    built(tmp_path, "inverse_dynamics", dtype)


@pytest.mark.gpu
@needs_nvcc
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-12), ("float32", 1e-4)])
@pytest.mark.parametrize("quantity", ["inverse_dynamics", "forward_dynamics"])
def test_it_computes_the_same(tmp_path, quantity, dtype, tolerance):
    from dalembert.tracing.evaluate import evaluate

    dynamics = built(tmp_path, quantity, dtype)
    done = subprocess.run(["./caller"], cwd=tmp_path, capture_output=True, text=True)
    if done.returncode == 77:
        pytest.skip("needs a CUDA device")
    assert done.returncode == 0
    nv = dynamics.mechanism.nv
    index = np.arange(1000 * nv)
    given = [(((index * 37 + k * 11) % 101) / 50 - 1).astype(dtype).astype(float).reshape(1000, nv) for k in range(3)]
    given[2] = np.broadcast_to(given[2][0], given[2].shape)  # shared by all states
    program = dynamics.program(quantity)
    (exact,) = evaluate(program, dict(zip((p.name for p in program.inputs), given))).values()
    found = np.array(done.stdout.split(), float).reshape(1000, nv)
    scale = 1e3 if quantity == "forward_dynamics" else 1  # condition of the inertia matrix
    assert np.abs(found - exact).max() < tolerance * scale * np.abs(exact).max()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("quantity", ["mass_matrix", "gravity", "inverse_dynamics", "mass_matrix_inverse", "pose"])
def test_no_helper_is_left_uncalled(quantity, dtype):
    """Compilers warn of functions that nobody calls: where only the cosine of an angle is needed, of a pair's."""
    mechanism = da.load("double_pendulum")
    options = {"frame": mechanism.bodies[-1].name} if quantity == "pose" else {}
    text = da.Dynamics(mechanism, dtype=dtype).export(quantity, "cuda", **options)
    helpers = re.findall(r"__device__ __\w+__ \w+ (\w+)\(", text)
    assert helpers
    for name in helpers:
        assert len(re.findall(rf"\b{name}\(", text)) > 1


@needs_nvcc
@pytest.mark.parametrize("name", ["tile", "memory", "COMMIT", "int4"])
def test_names_of_the_kernel_s_own_are_allowed(tmp_path, name):
    """The function that is called keeps the name; the one inside gets out of the way."""
    export(da.Dynamics(da.load("double_pendulum")).kernel("gravity"), "cuda", tmp_path / "named.cu", name=name)
    assert f"int {name}_launch(" in (tmp_path / "named.h").read_text()
    command = ["nvcc", "-Werror", "all-warnings", "-ptx", "named.cu", "-o", "named.ptx"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@needs_nvcc
@pytest.mark.parametrize("kind", ["revolute", "fixed"])
def test_nothing_is_left_unused_where_states_are_single_numbers_or_none(tmp_path, kind):
    """Arrays of one number per state need no shared memory, nor what leads through it."""
    joint = da.Joint("joint", kind, "world", "bob", axis=(1, 0, 0))
    mechanism = da.Mechanism("one", (da.Body("bob", da.Inertia.point(1.0, (0, 0, -1))),), (joint,))
    da.Dynamics(mechanism).export("potential_energy", "cuda", tmp_path / "one.cu")
    command = ["nvcc", "-Werror", "all-warnings", "-Xcompiler", "-Wall,-Wextra,-Werror", "-c", "one.cu"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("real", ["double", "float"])
def test_blocks_take_no_more_shared_memory_than_the_card_has(real):
    """Tiles, cooperating warps and columns; on the large card they take more than the small ones have."""
    many = trace(lambda q, v, a: [x * y + z for x, y, z in zip(q, v, a)], {"q": (31,), "v": (31,), "a": (31,)})
    column = trace(lambda factors, x: [factors[k] * x[0] for k in range(2000)], {"factors": (2000,), "x": (1,)})
    dynamics = da.Dynamics(walker(), device="cuda")
    kernel = dynamics.kernel("forward_dynamics")
    parts = dynamics.parts(kernel.inputs, kernel.outputs)

    def taken(room):
        warps = to_cuda(kernel.program, real, parts=parts, room=room)
        return [x.shared for x in (to_cuda(many, real, room=room), warps, columns_to_cuda(column, 6, real, room))]

    assert min(taken(227 * 1024)) > 48 * 1024
    for room in (48 * 1024, 64 * 1024, 99 * 1024):
        assert 0 < min(taken(room)) <= max(taken(room)) <= room


@needs_nvcc
@pytest.mark.parametrize("name", [None, "a" * 70])
def test_a_kernel_that_needs_a_large_card_has_one_for_small_cards_beside_it(tmp_path, name):
    """Blocks have 64 KB of shared memory on every card; who has more gets the first of both kernels."""
    text = da.Dynamics(walker()).export("forward_dynamics", "cuda", tmp_path / "both.cu", name=name)
    large, small = (int(x) for x in re.findall(r"(\d+) bytes\s+of", text[: text.index("*/")].replace("\n * ", " ")))
    assert small <= 64 * 1024 < large
    assert f"room >= {large}" in text
    command = ["nvcc", "-O0", "-Werror", "all-warnings", "-Xcompiler", "-Wall,-Wextra,-Werror", "-c", "both.cu"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_one_text_has_everything_and_a_header_stands_beside_a_file(tmp_path):
    dynamics = da.Dynamics(da.load("demo_arm"))
    text = dynamics.export("gravity", "cuda")
    assert '#include "' not in text
    assert text.count("int gravity_launch(") == 2  # declared and defined
    assert "nvcc -O3" in text
    dynamics.export("gravity", "cuda", tmp_path)
    assert {file.name for file in tmp_path.iterdir()} == {"gravity.cu", "gravity.h"}
    assert "cuda_runtime" not in (tmp_path / "gravity.h").read_text()
    with pytest.raises(ArgumentError, match=r"\.cu"):
        dynamics.export("gravity", "cuda", tmp_path / "gravity.h")


def staged(mechanism, folder, **options):
    """Derivatives of forward dynamics, exported."""
    dynamics = da.Dynamics(mechanism, dtype="float32" if mechanism.nv > 8 else "float64")
    return dynamics.export("forward_dynamics_derivatives", "cuda", folder / "slopes.cu", **options)


@pytest.mark.parametrize("name", [None, "a" * 70])
def test_what_has_stages_is_exported_in_stages(tmp_path, name):
    """As it is computed from Python; kernels have names of their own, however long that of the function is."""
    arm = generic_arm(8)
    text = staged(arm, tmp_path, name=name)
    kernels = re.findall(r"__global__[^(]*\([^)]*\)\s*(\w+)\(", text)
    assert len(set(kernels)) == len(kernels) == 5
    header = (tmp_path / "slopes.h").read_text()
    n = arm.nv  # the accelerations, and the factors of a full matrix
    assert f"Takes {8 * (n + n * (n + 1) // 2)} bytes for every state" in " ".join(header.split())
    assert text.count("cudaMallocAsync(") == text.count("cudaFreeAsync(") == 1
    few = staged(da.load("rrr"), tmp_path, name="few")  # all results fit the registers of a thread
    assert few.count("__global__") == 1


@needs_nvcc
@pytest.mark.parametrize("name", [None, "a" * 70])
def test_stages_are_compiled_without_a_warning(tmp_path, name):
    staged(generic_arm(8), tmp_path, name=name)
    assert "_launch(" in (tmp_path / "slopes.h").read_text()
    command = ["nvcc", "-O0", "-Werror", "all-warnings", "-Xcompiler", "-Wall,-Wextra,-Werror", "-c", "slopes.cu"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
