"""Mistakes in arguments of simulation, control and identification give a result or an error of dalembert."""

import os

import numpy as np
import pytest

import dalembert as da
from dalembert import control, identification
from dalembert.simulation import joint_stop, load_trajectory
from test_hostile_arguments import MISTAKES, attacks, outcome

SYMBOLIC, ARM = da.load("cart_pole"), da.load("demo_arm")
CART = da.Dynamics(da.load("cart_pole", parameters="default"))
LOOP = da.Dynamics(da.load("four_bar", parameters="default"))
CLOSED = LOOP.assemble([1.0, -0.7, 1.6], keep=["drive"])
VALUES = {"g": 9.81, "M": 1.0, "l": 0.5, "I": 0.02, "m": 0.1}
MOTION = da.simulate(CART, [0, 0.1], t=0.1)
MODEL = control.linearize(CART, actuated=["rail"])
TIMES = np.linspace(0, 2, 41)
WAVES = np.random.default_rng(0).normal(size=(3, 2, 6)) / 5
q, v, a = identification.fourier_motion(ARM, TIMES, WAVES, 0.5)
TAU = da.Dynamics(ARM).inverse_dynamics(q, v, a)
TEN = ARM.body("flange").inertia.parameters
FOUND = identification.identify(ARM, q, v, a, TAU, unknown=["flange"])
RUN = da.rollout(CART, np.zeros((3, 2)), None, 2)


def squares(points):
    return {"y": points["x"] ** 2}


def torque(t, q, v):
    return [0, 0]


CALLS = {
    "simulate": (da.simulate, {
        "mechanism": CART, "q0": [0, 0.1], "v0": [0, 0], "t": 0.05, "control": torque, "wrenches": None, "events": None,
        "method": "DOP853", "rtol": 1e-6, "atol": 1e-6, "max_step": 1.0, "hold": 0.01, "breakpoints": [0.02],
        "include": (), "elements": "all",
        "constraints": "all",
        "drift": None, "stabilisation": 0.0, "parameters": None, "dense": True, "progress": None,
    }),
    "simulate by fixed steps": (da.simulate, {
        "mechanism": CART, "t": [0, 0.05], "control": [0, 0], "method": "rk4", "step": 0.01, "hold": None,
    }),
    "simulate loops": (da.simulate, {
        "mechanism": LOOP, "q0": CLOSED, "v0": None, "t": 0.02, "method": "LSODA", "drift": "ggl",
        "stabilisation": 10.0, "elements": "all",
        "constraints": "all",
    }),
    "simulate symbols": (da.simulate, {
        "mechanism": SYMBOLIC, "q0": {"rail": 0}, "v0": {"hinge": 1}, "t": 0.05, "parameters": VALUES,
    }),
    "rollout": (da.rollout, {
        "mechanism": CART, "q0": [0, 0.1], "v0": None, "steps": 3, "step": 0.01, "control": [[1.0]],
        "actuated": ["rail"], "hold": None, "wrenches": None, "method": "rk4", "every": 1, "record": True,
        "include": (), "elements": "all", "constraints": "all",
        "drift": None, "stabilisation": 0.0, "parameters": None, "threads": None,
        "progress": None, "device": None,
    }),
    "rollout of a policy": (da.rollout, {
        "mechanism": CART, "q0": {"rail": 0}, "v0": None, "steps": 3, "control": lambda t, q, v, k: [k[0], 0],
        "gains": [1.0], "hold": 1, "summaries": {"far": ("max", lambda t, q, v: q[0])},
    }),
    "rollout of symbols": (da.rollout, {"mechanism": SYMBOLIC, "q0": {"rail": [0, 1]}, "v0": None, "steps": 3,
                                        "parameters": VALUES}),
    "Rollout.trajectory": (lambda index: RUN.trajectory(index), {"index": 1}),
    "RolloutTask": (lambda **k: da.RolloutTask(**k)({"q.hinge": np.zeros(2)}), {
        "mechanism": SYMBOLIC, "steps": 2, "step": 0.01, "parameters": VALUES, "summaries": None, "method": "rk4",
    }),
    "grid": (da.grid, {"axes": {"x": [1, 2]}}),
    "grid by name": (da.grid, {"x": [1, 2]}),
    "samples": (da.samples, {"values": {"x": [1, 2]}}),
    "samples by name": (da.samples, {"x": [1, 2], "y": [3, 4]}),
    "Event": (da.Event, {"function": torque, "direction": 0, "stop": False, "reset": None, "name": ""}),
    "joint_stop": (joint_stop, {"mechanism": CART, "joint": "hinge", "lower": -1, "upper": 1, "restitution": 0.5}),
    "Trajectory()": (MOTION, {"t": 0.05}),
    "Trajectory[]": (lambda which: MOTION[which], {"which": "rail"}),
    "Trajectory[joint, t]": (lambda t: MOTION["rail", t], {"t": 0.05}),
    "Trajectory.quantity": (MOTION.quantity, {"name": "mass_matrix"}),
    "linearize": (control.linearize, {
        "mechanism": CART, "q": [0, 0], "v": None, "tau": None, "actuated": ["rail"], "outputs": None, "include": (),
        "parameters": None,
    }),
    "linearize loops": (control.linearize, {
        "mechanism": LOOP, "q": CLOSED, "v": None, "tau": None, "actuated": None, "outputs": None, "include": (),
    }),
    "LinearModel": (lambda **k: control.LinearModel(**k).uncontrollable(), {
        "A": MODEL.A, "B": MODEL.B, "C": MODEL.C, "D": MODEL.D, "states": MODEL.states, "inputs": MODEL.inputs,
        "outputs": MODEL.outputs,
    }),
    "LinearModel.discrete": (MODEL.discrete, {"period": 0.1}),
    "LinearModel.uncontrollable": (MODEL.uncontrollable, {"tolerance": 1e-8}),
    "lqr": (control.lqr, {"model": MODEL, "Q": [1, 1, 1, 1], "R": [1], "period": 0.1}),
    "equilibrium": (control.equilibrium, {
        "mechanism": CART, "q0": [0, 0.1], "v": None, "actuated": (), "keep": (), "parameters": None,
        "tolerance": 1e-10,
    }),
    "gravity_compensation": (control.gravity_compensation, {"mechanism": CART}),
    "computed_torque": (control.computed_torque, {"mechanism": CART}),
    "pd_with_gravity": (control.pd_with_gravity, {"mechanism": CART}),
    "operational_space": (control.operational_space, {
        "mechanism": CART, "frame": "pole", "point": (0, 0, 0), "task": "position", "damping": 0.1,
    }),
    "state_feedback": (control.state_feedback, {
        "mechanism": CART, "K": [[1, 1, 1, 1]], "q": [0, 0], "v": None, "tau": None, "actuated": ["rail"],
        "states": None,
    }),
    "tracking_lqr": (control.tracking_lqr, {
        "trajectory": MOTION, "Q": [1] * 4, "R": [1], "final": None, "actuated": ["rail"], "points": 5,
    }),
    "differentiate": (identification.differentiate, {"t": TIMES, "q": q, "cutoff": 3.0}),
    "low_pass": (identification.low_pass, {"t": TIMES, "signal": q, "cutoff": 3.0}),
    "excitation": (identification.excitation, {
        "mechanism": ARM, "q": q, "v": v, "a": a, "unknown": ["flange"], "drives": (),
    }),
    "exciting_motion": (lambda **k: identification.exciting_motion(**k, trials=2), {
        "mechanism": ARM, "t": TIMES, "frequency": 0.5, "harmonics": 2, "amplitude": 0.5, "speed": 2.0, "seed": 0,
        "unknown": ["flange"], "drives": (),
    }),
    "fourier_motion": (identification.fourier_motion, {
        "mechanism": ARM, "t": TIMES, "amplitudes": WAVES, "frequency": 0.5, "center": None,
    }),
    "identify": (identification.identify, {
        "mechanism": ARM, "q": q, "v": v, "a": a, "tau": TAU, "signs": np.sign(v), "unknown": ["flange"], "drives": (),
        "noise": None, "prior": 1e-3,
    }),
    "Identification.interval": (FOUND.interval, {"confidence": 0.95}),
    "LinearTorques": (identification.LinearTorques, {"mechanism": ARM, "unknown": ["flange"], "drives": ()}),
    "is_consistent": (identification.is_consistent, {"parameters": TEN, "tolerance": 0.0}),
    "nearest_consistent": (identification.nearest_consistent, {"parameters": TEN, "margin": 1e-6}),
    "pseudo_inertia_matrix": (identification.pseudo_inertia_matrix, {"parameters": TEN}),
}  # fmt: skip
"""Functions with good arguments; each argument in turn is replaced by every mistake."""


@pytest.mark.parametrize("name", CALLS)
def test_wrong_arguments_are_answered_by_a_result_or_a_clear_error(name):
    function, good = CALLS[name]
    function(**good)
    assert attacks(function, good) == {}


def test_a_sweep_answers_them_too(tmp_path):
    good = {
        "task": squares, "points": da.samples(x=[1.0, 2.0]), "piece": 1, "format": "npz", "client": None,
        "threads": None, "version": None, "progress": None,
    }  # fmt: skip
    places = iter(tmp_path / str(k) for k in range(10_000))
    assert attacks(lambda **given: da.sweep(folder=next(places), **given), good) == {}
    paths = {name: value for name, value in MISTAKES.items() if not isinstance(value, str)}
    assert {
        name: raw for name, x in paths.items() if (raw := outcome(lambda x=x: da.sweep(squares, good["points"], x)))
    } == {}


@pytest.mark.parametrize("write", [MOTION.to_csv, MOTION.to_npz, lambda path: MOTION.view(path)])
def test_files_that_cannot_be_written_are_told(write, tmp_path):
    for name, value in MISTAKES.items():
        if not isinstance(value, str) and value is not None:
            assert outcome(lambda value=value: write(value)) is None, name
    os.fstat(1)  # a number is no name of a file: standard output is still there
    with pytest.raises(da.errors.ArgumentError, match="cannot write"):
        MOTION.to_csv(tmp_path / "missing" / "motion.csv")
    for name, value in MISTAKES.items():
        assert outcome(lambda value=value: load_trajectory(value, CART)) is None, name


def test_a_mechanism_without_freedom_or_motors_is_told():
    locked = da.lock(da.load("double_pendulum", parameters="default"), {"shoulder": 0.1, "elbow": 0.2})
    with pytest.raises(da.errors.ArgumentError, match="no degree of freedom"):
        control.equilibrium(locked)
    with pytest.raises(da.errors.ArgumentError, match="0 inputs"):
        control.lqr(control.linearize(CART, actuated=[]), [1] * 4, [])


def test_no_times_give_no_states():
    assert MOTION([]).q.shape == (0, 2)
    with pytest.raises(da.errors.ArgumentError, match="sample, 0 to"):
        MOTION[10_000]


def test_points_that_another_process_cannot_recognise_are_refused():
    with pytest.raises(da.errors.ArgumentError, match="numbers or texts"):
        da.samples(x=np.array([None, "a"], dtype=object))
