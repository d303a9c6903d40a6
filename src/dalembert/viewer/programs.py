"""What the page computes by itself: the algorithms, traced with the numbers of one mechanism, printed as JavaScript.

So sliders move the robot, loops stay closed and a released mechanism falls with no server behind the page.

place     q -> poses of all links (rotation by rows, then position), centre of mass
hold      q -> generalised forces that hold the mechanism still, potential energy
inertia   q -> inertia matrix
close     q, t -> residuals of the closures and their Jacobian; only with constraints on positions
fall      q, v, t -> accelerations without drives, kinetic energy, energy stored in springs and fields
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.algebra import arrays
from dalembert.algorithms.energy import potential_energy
from dalembert.constraints.forces import CONSERVATIVE, ForceSet
from dalembert.dynamics import Dynamics, Setting
from dalembert.dynamics.constrained import positions
from dalembert.dynamics.tree import forward_dynamics, gravity, kinetic_energy, mass_matrix
from dalembert.errors import DalembertError
from dalembert.kinematics import center_of_mass, link_poses
from dalembert.model import Mechanism
from dalembert.printing.javascript import to_javascript
from dalembert.tracing.program import Program
from dalembert.tracing.trace import evaluate, inline, trace

MOST_VELOCITIES = 60
"""Degrees of freedom up to which the page can let a mechanism fall; the program of more would make it heavy."""

LARGEST_MATRIX = 12
"""Degrees of freedom up to which the page shows the entries of the inertia matrix."""


def programs(mechanism: Mechanism, q: np.ndarray) -> dict[str, Program]:
    """The programs of the page, by name; those that make no sense for the mechanism are left out.

    Args:
        mechanism: with numbers only.
        q: a position in which loops are closed, if they can be.
    """
    n, size = mechanism.nv, {"q": (mechanism.nq,)}
    setting = Setting(mechanism)
    heavy = _has_mass(mechanism)

    def place(q: Any) -> dict[str, Any]:
        rows = [[*pose.rotation.flat, *pose.translation] for pose in link_poses(mechanism.tree, q)]
        found = {"poses": arrays.asarray(rows).reshape(-1)}
        return found | ({"center": center_of_mass(mechanism, q)} if heavy else {})

    def hold(q: Any) -> dict[str, Any]:
        return {"tau": gravity(setting, q), "energy": potential_energy(mechanism.tree, q)}

    found = {"place": trace(place, size, "place"), "hold": trace(hold, size, "hold")}
    if 0 < n <= LARGEST_MATRIX:
        found["inertia"] = trace(lambda q: mass_matrix(setting, q), size, "inertia", "M")
    on_positions = setting.constraints.holonomic
    if on_positions.any():

        def close(q: Any, t: Any) -> dict[str, Any]:
            phi, G = positions(setting, q, t)
            return {"phi": phi[on_positions], "G": G[on_positions]}

        found["close"] = trace(close, {**size, "t": ()}, "close")
    if 0 < n <= MOST_VELOCITIES and heavy:
        fall = _fall(mechanism, q)
        if fall is not None:
            found["fall"] = fall
    return found


def _fall(mechanism: Mechanism, start: np.ndarray) -> Program | None:
    """Accelerations without drives, damping of joints and force elements included; None if nothing determines them."""
    terms = ("armature", "damping")
    setting = Setting(mechanism, terms)
    storing = ForceSet(mechanism, [force.name for force in mechanism.forces if force.kind in CONSERVATIVE])
    still = arrays.zeros(mechanism.nv)

    def open_tree(q: Any, v: Any, t: Any) -> Any:
        return forward_dynamics(setting, q, v, still)

    def closed(q: Any, v: Any, t: Any) -> Any:
        system = Dynamics(mechanism, reference=start, include=terms)
        program = system.program("forward_dynamics")
        given = {"q": q, "v": v, "tau": still, "t": t}
        return inline(program, {port.name: given[port.name] for port in program.inputs})["a"]

    accelerations = closed if mechanism.constraints or mechanism.forces else open_tree

    def fall(q: Any, v: Any, t: Any) -> dict[str, Any]:
        stored = storing.energy(setting.state(q, v, t))
        return {"a": accelerations(q, v, t), "energy": kinetic_energy(setting, q, v), "stored": stored}

    size = {"q": (mechanism.nq,), "v": (mechanism.nv,), "t": ()}
    try:
        made = trace(fall, size, "fall")
    except (DalembertError, np.linalg.LinAlgError):  # loops that cannot be closed, masses that are missing: no button
        return None
    a = evaluate(made, {"q": start, "v": np.zeros(mechanism.nv), "t": 0.0})["a"]
    return made if np.isfinite(a).all() else None


def _has_mass(mechanism: Mechanism) -> bool:
    return any(link.moments.mass > 0 for link in mechanism.tree.links)


def script(found: dict[str, Program]) -> str:
    """The programs as one JavaScript object.

    Args:
        found: of :func:`programs`.
    """
    functions = ",\n".join(f"{name}: {to_javascript(program).rstrip()}" for name, program in found.items())
    return f"const programs = {{\n{functions}\n}};\n"
