"""Loops in kernels on a CUDA device; run with ``pytest -m gpu`` on such a machine."""

import numpy as np
import pytest

import dalembert as da
import looped_programs
from dalembert.tracing.evaluate import evaluate

pytestmark = pytest.mark.gpu
cupy = pytest.importorskip("cupy", reason="needs CuPy")
if not cupy.is_available():
    pytest.skip("needs a CUDA device", allow_module_level=True)

CASES = {
    "wanderer": looped_programs.wanderings,
    "mixer": looped_programs.mixtures,
    "scanner": looped_programs.scannings,
    "slopes": looped_programs.steep,
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("count", [1, 77, 5000])
@pytest.mark.parametrize("name", CASES)
def test_loops_compute_what_they_do_elsewhere(name, count, dtype):
    program = getattr(looped_programs, name)()
    given = CASES[name]((min(count, 77),), dtype)
    right = evaluate(program, given)
    found = da.kernel(program, device="cuda")(*(cupy.asarray(np.resize(x, (count, *x.shape[1:]))) for x in given))
    for y, z in zip(found if isinstance(found, tuple) else (found,), right.values()):
        error = np.abs(cupy.asnumpy(y)[: len(z)] - z[: len(y)]).max()
        assert error < 1e4 * np.finfo(dtype).eps * max(1, np.abs(z).max())


def test_the_bits_of_a_state_do_not_depend_on_how_many_there_are():
    kernel = da.kernel(looped_programs.scanner(), device="cuda")
    given = [cupy.asarray(x) for x in looped_programs.scannings((9000,))]
    whole, few = kernel(*given), kernel(*(x[:100] for x in given))
    assert all(bool((y[:100] == z).all()) for y, z in zip(whole, few))
