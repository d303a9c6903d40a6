"""The stepping loop as CUDA: it compiles without a warning, and says what it does."""

import shutil
import subprocess

import pytest

import dalembert as da
from dalembert.algebra import scalar
from dalembert.cuda.recurrence import stepper_source
from dalembert.errors import ArgumentError
from dalembert.simulation.stabiliser import stabilised
from dalembert.simulation.stepping import recurrence

needs_nvcc = pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc")


def pushed(t, q, v, gains):
    return [gains[0] * q[0] + scalar.sin(t), 0]


def loop(driven):
    """Steps of a cart-pole: with driven controls, or with a policy, gains and a summary."""
    system = stabilised(da.Dynamics(da.load("cart_pole", parameters="default")))
    if driven:
        return recurrence(system, "rk4", [0], None, 0, False, {})
    highest = {"highest": ("max", lambda t, q, v: q[1])}
    return recurrence(system, "semi-implicit-euler", None, pushed, 1, False, highest)


@needs_nvcc
@pytest.mark.parametrize("real", ["double", "float"])
@pytest.mark.parametrize("driven", [True, False])
def test_compiles(tmp_path, real, driven):
    made = loop(driven)
    source = tmp_path / "steps.cu"
    source.write_text(stepper_source(made.program, made.state, made.held, made.driven, real).source)
    command = ["nvcc", "-c", "-Werror", "all-warnings", str(source), "-o", str(tmp_path / "steps.o")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_arrays_are_parameters_of_the_kernel():
    made = loop(False)
    source = stepper_source(made.program, made.state, made.held, made.driven)
    head = source.source[source.source.index(f" {source.kernel}(") :].partition(")\n{")[0]
    for name in ("q", "v", "summary", "h", "gains", "final_q", "record_summary"):
        assert f"*{name}," in head
    with pytest.raises(ArgumentError, match="real"):
        stepper_source(made.program, made.state, made.held, made.driven, "half")
