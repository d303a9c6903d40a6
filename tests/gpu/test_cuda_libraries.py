"""Exported source, compiled by nvcc into a library of the system and called with arrays on the card."""

import ctypes
import shutil
import subprocess

import numpy as np
import pytest

import dalembert as da
from random_mechanisms import walker

cp = pytest.importorskip("cupy", reason="needs CuPy")
if not cp.is_available():
    pytest.skip("needs a CUDA device", allow_module_level=True)
pytestmark = [pytest.mark.gpu, pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc")]

QUANTITY = "forward_dynamics_derivatives"


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("count", [1, 1000])
def test_stages_of_a_library_follow_each_other(tmp_path, dtype, count):
    """On a stream of their own, one input shared; 1e-9 and 2e-3 leave room for the condition of the matrix."""
    mechanism = walker(legs=2, joints=3)
    dynamics = da.Dynamics(mechanism, dtype=dtype)
    text = dynamics.export(QUANTITY, "cuda", tmp_path / "slopes.cu")
    assert text.count("__global__") > 4
    command = ["nvcc", "-O1", "-shared", "-Xcompiler", "-fPIC", "slopes.cu", "-o", "slopes.so"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    launch = ctypes.CDLL(str(tmp_path / "slopes.so"))[f"{QUANTITY}_launch"]
    launch.argtypes = [*[ctypes.c_void_p] * 6, ctypes.c_uint, ctypes.c_longlong, ctypes.c_void_p]
    q, v, tau = (x.astype(dtype) for x in mechanism.random_state(np.random.default_rng(0), (count,)))
    given = [cp.asarray(x) for x in (q, v[:1], tau)]
    stream = cp.cuda.Stream(non_blocking=True)
    found = [cp.full((count, mechanism.nv, mechanism.nv), cp.nan, dtype) for _ in range(3)]
    cp.cuda.Device().synchronize()
    for _ in range(2):  # memory of the pool is used again
        assert launch(*(x.data.ptr for x in (*given, *found)), 2, count, stream.ptr) == 0
    stream.synchronize()
    wanted = da.Dynamics(mechanism).forward_dynamics_derivatives(*(x.astype(float) for x in (q, v[:1], tau)))
    for mine, right in zip(found, wanted):
        assert np.abs(mine.get() - right).max() < (1e-9 if dtype == "float64" else 2e-3) * np.abs(right).max()
    assert launch(*(x.data.ptr for x in (*given, *found)), 2, -1, stream.ptr) != 0
