"""Symbols stay exact: a mechanism of symbols and integers gives expressions without a single float, such as m/3."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy

import dalembert as da
from dalembert import algorithms
from dalembert.algebra import Transform
from dalembert.model import Body, Frame, Inertia, Joint, Mechanism, Mimic


def chain(*kinds: str) -> Mechanism:
    """Joints of these kinds in a row about coordinate axes; a helical one follows the first."""
    length, m, J, h = sympy.symbols("l m J h", real=True)
    bodies, joints = [], []
    for k, kind in enumerate(kinds):
        bodies.append(Body(f"b{k}", Inertia(m, [length / 3, 0, 0], sympy.diag(J, J, J))))
        place = Transform([[0, -1, 0], [1, 0, 0], [0, 0, 1]], [length, 0, 2])
        more: dict[str, Any] = {"pitch": h, "mimic": Mimic("j0", 2, 1)} if kind == "helical" else {}
        axes = {"axis": np.eye(3)[k % 3], "axis2": -np.eye(3)[(k + 1) % 3]}
        joints.append(Joint(f"j{k}", kind, f"b{k - 1}" if k else "world", f"b{k}", place, **axes, **more))
    tip = Frame("tip", bodies[-1].name, Transform.from_translation([0, length, 1]))
    return Mechanism("chain", bodies, joints, [tip], gravity=[0, 0, -sympy.Symbol("g", real=True)])


MECHANISMS = {
    **{name: da.load(name) for name in ("double_pendulum", "cart_pole", "rp_arm", "stacker", "free_body")},
    "revolute, prismatic, helical": chain("revolute", "prismatic", "helical"),
    "prismatic, universal": chain("prismatic", "universal"),
    "planar, revolute": chain("planar", "revolute"),
    "spherical": chain("spherical"),
}


def state(mechanism: Mechanism) -> list[Any]:
    return [sympy.symbols(f"{x}1:{n + 1}", real=True) for x, n in zip("qva", (mechanism.nq, *[mechanism.nv] * 2))]


def floats(result: Any) -> set[Any]:
    """The floats inside expressions; an entry that is a number altogether may be one."""
    entries = np.asarray(result, dtype=object).ravel()
    return {x for e in entries if isinstance(e, sympy.Expr) for x in e.atoms(sympy.Float)}


@pytest.mark.parametrize("mechanism", MECHANISMS.values(), ids=MECHANISMS)
def test_first_numbers_have_no_floats(mechanism):
    q, v, a = state(mechanism)
    last = (*mechanism.bodies, *mechanism.frames)[-1].name
    for axes in ("world", "body"):
        for part in (*algorithms.jacobian(mechanism, q, last, point=(0, 1, 0), axes=axes),
                     *algorithms.jacobian_rate(mechanism, q, v, last, point=(0, 1, 0), axes=axes)):  # fmt: skip
            assert floats(part) == set()
        moved = algorithms.motion(mechanism, q, v, a, last, axes=axes)
        for part in (moved.angular_velocity, moved.linear_velocity, moved.angular_acceleration,
                     moved.linear_acceleration, moved.pose.homogeneous()):  # fmt: skip
            assert floats(part) == set()
    assert floats(algorithms.pose(mechanism, q, last).homogeneous()) == set()
    assert floats(algorithms.center_of_mass(mechanism, q)) == set()
    assert floats(algorithms.kinetic_energy(mechanism, q, v)) == set()
    assert floats(algorithms.potential_energy(mechanism, q)) == set()


@pytest.mark.parametrize("mechanism", MECHANISMS.values(), ids=MECHANISMS)
def test_dynamics_has_no_floats(mechanism):
    q, v, a = state(mechanism)
    assert floats(algorithms.inverse_dynamics(mechanism, q, v, a)) == set()
    assert floats(algorithms.mass_matrix(mechanism, q)) == set()
