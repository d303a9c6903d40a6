"""Derivatives of forward dynamics in several kernels: the programs, evaluated one after the other, give the whole."""

import shutil
import subprocess

import numpy as np
import pytest

import dalembert as da
from dalembert.cuda.stages import UNIT
from dalembert.tracing.trace import evaluate
from random_mechanisms import random_mechanism, walker

QUANTITY = "forward_dynamics_derivatives"


def cases():
    arm = da.load("demo_arm")
    first = arm.bodies[-1].name
    yield "arm", da.Dynamics(arm, device="cuda", wrenches=(first,), parameters=(f"{first}.mass",))
    yield "walker", da.Dynamics(walker(), device="cuda", wrenches=("leg0_5", "base"))
    yield "coupled", da.Dynamics(random_mechanism(np.random.default_rng(2), 8, mimic=0.5), device="cuda")
    yield "driven", da.Dynamics(arm, device="cuda", include=("armature", "damping"))


CASES = dict(cases())


def given_to(dynamics, batch):
    rng = np.random.default_rng(1)
    q, v, tau = dynamics.mechanism.random_state(rng, (batch,))
    wrenches = rng.normal(size=(batch, len(dynamics.wrenches), 6))
    parameters = np.tile(dynamics.parameter_values, (batch, 1))
    return {"q": q, "v": v, "tau": tau, "wrenches": wrenches, "parameters": parameters}


def evaluated(stage, known):
    """What a stage gives; of a stage on columns, all columns."""
    if not stage.columns:
        return list(evaluate(stage.program, {name: known[name] for name in stage.takes}).values())
    unit = np.broadcast_to(np.eye(stage.columns), (len(known["q"]), stage.columns, stage.columns))
    given = [{**known, UNIT: unit}[port.name] for port in stage.program.inputs]
    found = []
    for column in range(stage.columns):
        own = [x if x.ndim == 2 else x[:, :, column] for x in given]
        found.append(evaluate(stage.program, dict(zip([p.name for p in stage.program.inputs], own))).values())
    return [np.stack(columns, axis=2) for columns in zip(*found)]


@pytest.mark.parametrize("name", CASES)
def test_stages_give_the_whole(name):
    """Both solve with the same matrix; 1e-9 leaves room for its condition, of 1e4 here."""
    dynamics = CASES[name]
    kernel = dynamics.kernel(QUANTITY)
    known = given_to(dynamics, 3)
    whole = evaluate(kernel.program, {port.name: known[port.name] for port in kernel.inputs})
    for stage in kernel.stages():
        known.update(zip(stage.gives, evaluated(stage, known)))
    for port, right in whole.items():
        assert np.abs(known[port] - right).max() <= 1e-9 * np.abs(right).max(), port


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc")
@pytest.mark.parametrize("real", ["double", "float"])
def test_sources_of_stages_on_columns_compile(real, tmp_path):
    for stage in CASES["walker"].kernel(QUANTITY).stages():
        if stage.columns:
            source = stage.source(real)
            file = tmp_path / f"{source.kernel}.cu"
            file.write_text(source.source)
            command = ["nvcc", "-arch=sm_90", "-Xptxas", "-v", "-Werror", "all-warnings", "-c", str(file), "-o", "x.o"]
            told = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
            assert told.returncode == 0, told.stderr
            assert "0 bytes spill stores" in told.stderr
