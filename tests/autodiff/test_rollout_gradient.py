"""Gradients of rollouts, against the complex step through every step of the method."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import dalembert as da
from dalembert.autodiff.rollout import DifferentiableRollout
from dalembert.errors import ArgumentError, UnsupportedError
from dalembert.simulation.stabiliser import stabilised
from dalembert.simulation.stepping import recurrence
from dalembert.tracing.evaluate import evaluate


@cache
def case(name: str) -> tuple[da.Dynamics, np.ndarray, np.ndarray]:
    """Dynamics with parameters, and a state."""
    if name == "arm":
        arm = da.load("rrr", parameters="default")
        last, joint = arm.bodies[-1].name, arm.joints[1].name
        addresses = [f"{last}.mass", f"{joint}.placement.x", f"{joint}.damping", "gravity.z"]
        dynamics = da.Dynamics(arm, parameters=addresses, include=["damping"], wrenches=[last])
    elif name == "four_bar":
        bar = da.load("four_bar", parameters="default")
        dynamics = da.Dynamics(bar, parameters=["crank.mass", "coupler.com.x"], reference=[1.0, -0.7, 1.6])
        q = dynamics.assemble()
        return dynamics, q, dynamics.project_velocity(q, [0.5, 0, 0])
    else:
        body = da.Mechanism(
            "body",
            [da.Body("hull", da.Inertia(3.0, [0.01, 0, 0.02], np.diag([0.2, 0.3, 0.4])))],
            [da.Joint("base", "free", "world", "hull")],
        )
        dynamics = da.Dynamics(body, parameters=["hull.mass", "hull.inertia.xy"])
    q, v, _ = dynamics.mechanism.random_state(np.random.default_rng(7))
    return dynamics, q, v


def complex_motion(dynamics, method, step, q, v, control, wrenches, parameters):
    """All states, by the program of one step on complex numbers."""
    n = len(dynamics.input_names)
    program = recurrence(stabilised(dynamics), method, range(n), None, 0, False, {}).program
    states = [(q, v)]
    for k, u in enumerate(control):
        given = {
            "q": states[-1][0], "v": states[-1][1], "count": k, "summary": np.zeros(0), "h": step, "u": u,
            "wrenches": wrenches, "parameters": parameters,
        }  # fmt: skip
        found = evaluate(program, [given[port.name] for port in program.inputs])
        states.append((found["q"], found["v"]))
    return [np.array([state[k] for state in states]) for k in (0, 1)]


@pytest.mark.parametrize(
    ("name", "method"),
    [("arm", "rk4"), ("arm", "semi-implicit-euler"), ("four_bar", "rk4"), ("body", "rk4"), ("body", "lie-rk4")],
)
def test_gradients_are_exact(name, method):
    dynamics, q0, v0 = case(name)
    steps, every, step = 14, 4, 0.01
    rng = np.random.default_rng(1)
    given = {
        "q0": q0, "v0": v0, "control": rng.normal(size=(steps, dynamics.mechanism.nv)),
        "parameters": dynamics.parameter_values,
    }  # fmt: skip
    if dynamics.wrenches:
        given["wrenches"] = rng.normal(size=(1, 6))
    motion = DifferentiableRollout(dynamics, steps, step, method, every)
    q, v = motion(**given)
    by_q, by_v = rng.normal(size=q.shape), rng.normal(size=v.shape)
    found = motion.gradient(by_q, by_v, **given)
    wrenches = given.get("wrenches", np.zeros((0, 6)))

    def loss(**changed):
        values = {**given, "wrenches": wrenches, **changed}
        states = complex_motion(
            dynamics, method, step, *(values[k] for k in ("q0", "v0", "control", "wrenches", "parameters"))
        )
        return (by_q * states[0][::every]).sum() + (by_v * states[1][::every]).sum()

    assert abs(loss().real - (by_q * q).sum() - (by_v * v).sum()) < 1e-11
    for argument in found:
        direction = rng.normal(size=given[argument].shape)
        h = 1e-30
        slope = loss(**{argument: given[argument] + 1j * h * direction}).imag / h
        assert abs((found[argument] * direction).sum() - slope) < 1e-11 * (1 + abs(slope)), argument


def test_batches_are_broadcast_and_their_gradients_summed():
    dynamics, q0, v0 = case("arm")
    rng = np.random.default_rng(2)
    motion = DifferentiableRollout(dynamics, 9, 0.01, "semi-implicit-euler")
    starts = q0 + rng.normal(size=(4, 1, 3)) / 10
    controls = rng.normal(size=(2, 1, 3))  # constant ones, for two motions each
    wrenches = rng.normal(size=(1, 6))
    q, v = motion(starts, v0, controls, wrenches)
    assert q.shape == (4, 2, 10, 3)
    by_q, by_v = rng.normal(size=q.shape), rng.normal(size=v.shape)
    whole = motion.gradient(by_q, by_v, starts, v0, controls, wrenches, dynamics.parameter_values)
    assert [whole[name].shape for name in ("q0", "v0", "control", "wrenches", "parameters")] == [
        (4, 1, 3), (3,), (2, 1, 3), (1, 6), (4,),
    ]  # fmt: skip
    total = {name: np.zeros_like(x) for name, x in whole.items()}
    for i in range(4):
        for j in range(2):
            single = {"q0": starts[i, 0], "v0": v0, "control": np.repeat(controls[j], 9, axis=0), "wrenches": wrenches}
            one = motion.gradient(by_q[i, j], by_v[i, j], **single, parameters=dynamics.parameter_values)
            total["q0"][i, 0] += one["q0"]
            total["control"][j] += one["control"].sum(axis=0, keepdims=True)
            for name in ("v0", "wrenches", "parameters"):
                total[name] += one[name]
    for name, gradient in whole.items():
        np.testing.assert_allclose(gradient, total[name], rtol=1e-11, atol=1e-12)


def test_checkpoints_change_nothing():
    """A gradient of the last state alone is that with all states recorded and no weight on them."""
    dynamics, q0, v0 = case("four_bar")
    last = DifferentiableRollout(dynamics, 30, 0.01, "rk4", every=30)
    every = DifferentiableRollout(dynamics, 30, 0.01, "rk4", every=1)
    weight = np.arange(1.0, 4)
    few = last.gradient(np.stack([np.zeros(3), weight]), np.zeros((2, 3)), q0, v0)
    many = every.gradient(np.vstack([np.zeros((30, 3)), weight]), np.zeros((31, 3)), q0, v0)
    for name, gradient in few.items():
        np.testing.assert_allclose(gradient, many[name], rtol=1e-12, atol=1e-13)


def test_rollouts_are_those_of_the_simulation():
    dynamics, q0, v0 = case("body")
    q, v = DifferentiableRollout(dynamics, 20, 0.01)(q0, v0)
    plain = da.rollout(dynamics, q0, v0, 20, 0.01)
    np.testing.assert_allclose(q, plain.q, atol=1e-14)  # which brings the start to unit length to the last digit
    np.testing.assert_allclose(v, plain.v, atol=1e-14)


def test_bad_arguments():
    dynamics, q0, v0 = case("body")
    with pytest.raises(ArgumentError, match="positive integer"):
        DifferentiableRollout(dynamics, 0)
    with pytest.raises(ArgumentError, match="takes a Dynamics"):
        DifferentiableRollout(dynamics.mechanism, 3)
    with pytest.raises(UnsupportedError, match="float64"):
        DifferentiableRollout(da.Dynamics(dynamics.mechanism, dtype="float32"), 3)
    with pytest.raises(UnsupportedError, match="processor"):
        DifferentiableRollout(da.Dynamics(dynamics.mechanism, device="cuda"), 3)
    motion = DifferentiableRollout(dynamics, 3)
    with pytest.raises(ArgumentError, match="1 or 3, 6"):
        motion(q0, v0, np.zeros((2, 6)))
    with pytest.raises(ArgumentError, match="do not fit"):
        motion(np.stack([q0, q0]), np.stack([v0] * 3))
    symbols = da.Dynamics(da.load("double_pendulum"))
    with pytest.raises(ArgumentError, match="need values"):
        DifferentiableRollout(symbols, 3)(np.zeros(2), np.zeros(2))
