"""Derivatives of a step with contacts, against the complex step, which knows no cancellation, inside a mode."""

from __future__ import annotations

import json
import shutil
import subprocess

import numpy as np
import pytest

import dalembert as da
from contact.scenes import ball, slider_crank, trestle
from dalembert.dynamics import Dynamics
from dalembert.kinematics.manifold import displaced, tangent_rates
from dalembert.tracing.evaluate import evaluate

H = 1e-3

CASES = {
    "open": ([0.1, 0, 0.3], [1, 0.2, 0, 0.3, -3, 1]),
    "sticks": ([0, 0, 0.09999], [0.5, 0.2, 0, -2, 5, 0.4]),
    "slides": ([0, 0, 0.09999], [1, 0.2, 0, 0.3, -3, 1]),
    "lands": ([0, 0, 0.1005], [1, 0.2, -2, 0.3, -3, 1]),
    "rebounds": ([0, 0, 0.0999], [1, 0.2, -2, 0.3, -3, 1]),
}


def check(dynamics, q, v, tau, p, sweeps):
    """All columns of A and B against the complex step through the sweeps."""
    A, B = dynamics.contact_step_derivatives(q, v, tau, p, H, sweeps=sweeps)
    program, tree, n = dynamics.program("contact_step", sweeps=sweeps), dynamics.mechanism.tree, dynamics.mechanism.nv
    after = dynamics.contact_step(q, v, tau, p, H, sweeps=sweeps)
    for k in range(3 * n):
        d = np.zeros(3 * n, dtype=complex)
        d[k] = 1e-30j
        moved = displaced(tree, q.astype(complex), d[:n])
        given = {"q": moved, "v": v + d[n : 2 * n], "tau": tau + d[2 * n :], "impulses": p, "h": H, "t": 0.0}
        found = evaluate(program, given)
        dq = tangent_rates(tree, after[0], found["q_next"].imag[:, None] / 1e-30)[:, 0]
        column = np.concatenate([dq, found["v_next"].imag / 1e-30])
        ours = A[:, k] if k < 2 * n else B[:, k - 2 * n]
        np.testing.assert_allclose(ours, column, rtol=1e-9, atol=1e-9 * max(1.0, abs(column).max()))
    return after


@pytest.mark.parametrize("case", CASES)
def test_state_matrices_of_a_step_agree_with_the_complex_step(case):
    model = ball(friction=50 if case == "sticks" else 0.3, restitution=0.4 if case == "rebounds" else 0)
    place, v = CASES[case]
    q = np.array([*place, 0.1, -0.2, 0.3, np.sqrt(1 - 0.14)])
    tau, p = np.array([0.3, 0.1, -0.2, 0.01, 0.02, 0.03]), np.array([0.01, 0.001, 0.0])
    after = check(Dynamics(model), q, np.array(v, dtype=float), tau, p, 10)
    assert after[7][0] == {"open": 0, "slides": 2}.get(case, 1)


def test_closed_loops_and_stops_enter_the_state_matrices():
    dynamics = Dynamics(trestle())
    a = np.arcsin(0.4)
    q = dynamics.assemble({"lift": 0.02 - 1e-5 + 0.5 * np.cos(a), "left": a, "right": -a}, keep=["lift"])
    v = dynamics.project_velocity(q, {"left": 0.01}, keep=["left"])
    check(dynamics, q, v, np.array([0.1, 0.2, -0.3]), np.zeros(2), 60)
    crank = Dynamics(slider_crank(), limits="all")
    q = crank.assemble({"crank": 1.2}, keep=["crank"])
    slow = crank.project_velocity(q, {"crank": -2.0}, keep=["crank"])
    for limit in (q[2] + 1e-4, 0.5):  # that is reached in this step, or not
        near = Dynamics(slider_crank(limit), limits="all")
        after = check(near, q, slow, np.array([0.01, 0.02, 0.3]), np.zeros(1), 20)
        assert (abs(after[2][0]) > 0) == (limit < 0.4)


def test_a_step_has_derivatives_by_parameters_too():
    """A sliding ball loses mu g h of its velocity in a step: its derivative by mu is -g h."""
    dynamics = Dynamics(ball(), parameters=["touch.friction"])
    step = da.kernel(dynamics.program("contact_step"), wrt="parameters")
    found = step([0, 0, 0.1, 0, 0, 0, 1.0], [1.0, 0, 0, 0, 0, 0], np.zeros(6), np.zeros(3), H, 0.0, [0.3])
    slope = dict(zip((port.name for port in step.outputs), found))["dv_next_dparameters"]
    np.testing.assert_allclose(slope[0, 0], -9.81 * H, rtol=1e-12)


def check_parameters(dynamics, q, v, tau, p, sweeps, values):
    """All columns of P against the complex step through the sweeps."""
    P = dynamics.contact_step_sensitivity(q, v, tau, p, H, 0.0, values, sweeps=sweeps)
    program = dynamics.program("contact_step", sweeps=sweeps)
    for k in range(len(values)):
        varied = np.asarray(values, dtype=complex)
        varied[k] += 1e-30j
        given = {"q": q, "v": v, "tau": tau, "impulses": p, "h": H, "t": 0.0, "parameters": varied}
        found = evaluate(program, given)
        rates = found["q_next"].imag[:, None] / 1e-30
        dq = tangent_rates(dynamics.mechanism.tree, found["q_next"].real, rates)[:, 0]
        column = np.concatenate([dq, found["v_next"].imag / 1e-30])
        np.testing.assert_allclose(P[:, k], column, rtol=1e-9, atol=1e-9 * max(1.0, abs(column).max()))
    return P


@pytest.mark.parametrize("case", CASES)
def test_sensitivities_to_parameters_agree_with_the_complex_step(case):
    dynamics = Dynamics(ball(), parameters=["touch.friction", "touch.restitution", "ball.mass", "gravity.x"])
    place, v = CASES[case]
    q = np.array([*place, 0.1, -0.2, 0.3, np.sqrt(1 - 0.14)])
    tau, p = np.array([0.3, 0.1, -0.2, 0.01, 0.02, 0.03]), np.array([0.01, 0.001, 0.0])
    values = [50 if case == "sticks" else 0.3, 0.4 if case == "rebounds" else 0.01, 1.2, 0.4]
    P = check_parameters(dynamics, q, np.array(v, dtype=float), tau, p, 20, values)
    assert (abs(P[:, 0]).max() > 1e-3) == (case == "slides")
    assert (abs(P[:, 1]).max() > 1e-3) == (case == "rebounds")


def test_sensitivities_know_loops_stops_and_dry_friction():
    names = ["beam.mass", "left leg.com.x", "gravity.z"]
    dynamics = Dynamics(trestle(), parameters=names)
    a = np.arcsin(0.4)
    q = dynamics.assemble({"lift": 0.02 - 1e-5 + 0.5 * np.cos(a), "left": a, "right": -a}, keep=["lift"])
    v = dynamics.project_velocity(q, {"left": 0.01}, keep=["left"])
    check_parameters(dynamics, q, v, np.array([0.1, 0.2, -0.3]), np.zeros(2), 60, dynamics.parameter_values)
    crank = slider_crank()
    rough = Dynamics(crank, limits="all", include=("friction",), parameters=["slide.friction", "rod.mass"])
    q = rough.assemble({"crank": 1.2}, keep=["crank"])
    slow = rough.project_velocity(q, {"crank": -2.0}, keep=["crank"])
    P = check_parameters(rough, q, slow, np.array([0.01, 0.02, 0.3]), np.zeros(2), 40, [0.7, 0.3])
    assert abs(P[3:, 0]).max() > 1e-6
    assert Dynamics(ball()).contact_step_sensitivity(
        [0, 0, 0.1, 0, 0, 0, 1.0], np.zeros(6), np.zeros(6), np.zeros(3), H
    ).shape == (12, 0)


# ----------------------------------------------------------------------------------------------------------- exported


STEPS = 400

ARRAYS = {"tau": 6, "p": 3, "q2": 7, "v2": 6, "p2": 3, "a": 1, "b": 1, "c": 1, "d": 2, "e": 1, "f": 3, "g": 2}
"""What a step takes and gives besides q and v, and the sizes."""


def thrown():
    """A ball that bounces with friction: dynamics, start, and where it is after all steps."""
    dynamics = Dynamics(ball(restitution=0.6))
    q, v = [0, 0, 0.15, 0, 0, 0, 1.0], [1.0, 0.2, -2, 0.3, -3, 1]
    found = da.rollout(dynamics, q, v, STEPS, H)
    return dynamics, q, v, [*found.final_q, *found.final_v]


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node to run JavaScript")
def test_a_step_in_javascript_moves_as_a_rollout():
    dynamics, q, v, expected = thrown()
    text = dynamics.export("contact_step", "javascript").replace("export ", "")
    text += f"let q = {q}, v = {v}\n" + "".join(f"let {x} = Array({n}).fill(0)\n" for x, n in ARRAYS.items())
    text += f"""for (let k = 0; k < {STEPS}; ++k) {{
        contact_step(q, v, tau, p, [{H}], [0], q2, v2, p2, a, b, c, d, e, f, g)
        ;[q, q2, v, v2, p, p2] = [q2, q, v2, v, p2, p]
    }}
    console.log(JSON.stringify([...q, ...v]))"""
    told = subprocess.run(["node", "-e", text], capture_output=True, text=True, check=True).stdout
    np.testing.assert_allclose(json.loads(told), expected, rtol=1e-11, atol=1e-12)


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_a_step_in_c_moves_as_a_rollout(tmp_path):
    dynamics, q, v, expected = thrown()
    dynamics.export("contact_step", "c", tmp_path / "step.c")
    numbers = {"q": q, "v": v}
    declared = [f"double {x}[] = {{{', '.join(map(str, y))}}};" for x, y in numbers.items()]
    declared += [f"double {x}[{n}] = {{0}};" for x, n in ARRAYS.items()]
    (tmp_path / "main.c").write_text(
        f"""#include "step.h"
        #include <stdio.h>
        #include <string.h>
        int main(void) {{
            {" ".join(declared)}
            double h = {H}, t = 0;
            for (int k = 0; k < {STEPS}; ++k) {{
                contact_step(q, v, tau, p, &h, &t, q2, v2, p2, a, b, c, d, e, f, g);
                memcpy(q, q2, sizeof q); memcpy(v, v2, sizeof v); memcpy(p, p2, sizeof p);
            }}
            for (int k = 0; k < 7; ++k) printf("%.17g ", q[k]);
            for (int k = 0; k < 6; ++k) printf("%.17g ", v[k]);
            return 0;
        }}"""
    )
    subprocess.run(["cc", "-O1", "main.c", "step.c", "-lm", "-o", "main"], cwd=tmp_path, check=True)
    told = subprocess.run([str(tmp_path / "main")], capture_output=True, text=True, check=True).stdout
    np.testing.assert_allclose([float(x) for x in told.split()], expected, rtol=1e-11, atol=1e-12)
