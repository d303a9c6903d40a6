"""Control laws as kernels: small enough to read, compiled whole, so that a call costs about a microsecond.

Each function gives a :class:`~dalembert.native.kernel.Kernel`. Call it with arrays (also batches), bind it to arrays
for a loop at a kilohertz (``law.bind(...)``), or print it as C with ``dalembert.export``. Deviations of
positions are tangent vectors: of a quaternion, the rotation vector from the actual to the desired attitude.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dalembert.algebra import arrays
from dalembert.algebra.arrays import Array, product
from dalembert.algebra.vectors import cross
from dalembert.algorithms.triangular import factor, inverse
from dalembert.dynamics import Dynamics, KernelTable
from dalembert.errors import ArgumentError
from dalembert.kinematics.manifold import difference
from dalembert.model.checks import expect_choice, expect_real, real_array, shown
from dalembert.model.consumers import heed
from dalembert.model.record import fingerprint
from dalembert.native.kernel import Kernel, traced_kernel
from dalembert.simulation.stabiliser import Moving, movable
from dalembert.simulation.state import as_flag
from dalembert.tracing.evaluate import inline
from dalembert.tracing.program import Port


def gravity_compensation(mechanism: Moving, *, driven_base: bool = False) -> Kernel:
    """tau = gravity(q): the mechanism floats. Inputs: q.

    Args:
        mechanism: the mechanism, or equations of motion, or the dynamics of either.
        driven_base: a free joint is refused, because no motor gives the six forces that the law asks of it; true allows
            it, for vehicles that have thrusters.
    """
    return tree_dynamics("gravity_compensation", mechanism, driven_base).kernel("gravity")


def pd_with_gravity(mechanism: Moving, *, driven_base: bool = False) -> Kernel:
    """tau = gravity(q) + kp (q_ref - q) - kd v. Inputs: q, v, q_ref, kp, kd; gains per velocity.

    Globally stable for any positive gains (Takegaki and Arimoto 1981).

    Args:
        mechanism: the mechanism, or equations of motion, or the dynamics of either.
        driven_base: a free joint is refused, because no motor gives the six forces that the law asks of it; true allows
            it, for vehicles that have thrusters.
    """

    def law(d: Dynamics, g: Mapping[str, Array]) -> Array:
        error = difference(d.mechanism.tree, g["q"], g["q_ref"])
        return _part(d, "gravity", g) + g["kp"] * error - g["kd"] * g["v"]

    return _kernel(
        tree_dynamics("pd_with_gravity", mechanism, driven_base),
        "pd_with_gravity",
        {},
        ("q", "v", "q_ref", "kp", "kd"),
        {},
        law,
    )


def computed_torque(mechanism: Moving, *, driven_base: bool = False) -> Kernel:
    """tau = inverse dynamics of a_ref + kd (v_ref - v) + kp (q_ref - q): every joint obeys a linear equation.

    Inputs: q, v, q_ref, v_ref, a_ref, kp, kd; gains per velocity, 1/s^2 and 1/s.

    Args:
        mechanism: the mechanism, or equations of motion, or the dynamics of either.
        driven_base: a free joint is refused, because no motor gives the six forces that the law asks of it; true allows
            it, for vehicles that have thrusters.
    """

    def law(d: Dynamics, g: Mapping[str, Array]) -> Array:
        error = difference(d.mechanism.tree, g["q"], g["q_ref"])
        a = g["a_ref"] + g["kd"] * (g["v_ref"] - g["v"]) + g["kp"] * error
        return _part(d, "inverse_dynamics", {**g, "a": a})

    return _kernel(
        tree_dynamics("computed_torque", mechanism, driven_base),
        "computed_torque",
        {},
        ("q", "v", "q_ref", "v_ref", "a_ref", "kp", "kd"),
        {},
        law,
    )


def operational_space(
    mechanism: Moving, frame: str, *, point: Sequence[float] = (0, 0, 0), task: str = "pose",
    damping: float = 0.0, driven_base: bool = False,
) -> Kernel:  # fmt: skip
    """A frame follows a motion in space while the null space holds a posture (Khatib 1987).

    The frame obeys xdd = xdd_ref + kd (xd_ref - xd) + kp e in world axes, e the position error and, for a pose, half
    the sum of the cross products of actual and desired axes. The posture obeys a = posture_kp (q_ref - q) -
    posture_kd v as far as it does not disturb the frame, in the sense of the mass matrix.

    Inputs: q, v, x_ref (3), then for a pose R_ref (3, 3); xd_ref, xdd_ref, kp, kd (3, or 6: [linear; angular]);
    q_ref, posture_kp, posture_kd (nv).

    Args:
        mechanism: the mechanism, or equations of motion, or the dynamics of either.
        frame: name of a frame or body.
        point: that follows, components in the frame.
        task: ``"position"`` or ``"pose"``.
        damping: added to the diagonal of the inverse inertia of the frame, 1/kg: keeps forces finite near singular
            positions, at the price of tracking errors. Without it the mechanism needs as many freedoms as the task.
        driven_base: a free joint is refused, because no motor gives the six forces that the law asks of it; true allows
            it, for vehicles that have thrusters.
    """
    expect_choice(task, ("position", "pose"), "operational_space, task")
    place, damping = (
        real_array(point, "operational_space, point"),
        expect_real(damping, "operational_space, damping", 0),
    )
    if place.shape != (3,) or not np.isfinite(place).all():
        raise ArgumentError(f"point = {shown(point)}; give three numbers, finite ones")
    dynamics = tree_dynamics("operational_space", mechanism, driven_base)
    dynamics.mechanism.frame(frame)  # says if there is none
    m = 3 if task == "position" else 6
    if dynamics.mechanism.nv < m and not damping:
        raise ArgumentError(
            f"task = {task!r} asks for {m} motions, but {dynamics.mechanism.name!r} has {dynamics.mechanism.nv} "
            "degrees of freedom; give damping=, which lets the frame follow as far as it can"
        )
    at = {"frame": frame, "point": tuple(place.tolist()), "axes": "world"}
    extra = {"x_ref": (3,), "R_ref": (3, 3), **dict.fromkeys(("xd_ref", "xdd_ref", "kp", "kd"), (m,))}
    names = ("q", "v", "x_ref", *(("R_ref",) if m == 6 else ()), "xd_ref", "xdd_ref", "kp", "kd")

    def law(d: Dynamics, g: Mapping[str, Array]) -> Array:
        J, Jd = _part(d, "jacobian", g, **at)[:m], _part(d, "jacobian_rate", g, **at)[:m]
        R, origin = _parts(d, "pose", g, frame=frame)
        position = origin + product(R, arrays.asarray(at["point"]))
        error = list(g["x_ref"] - position)
        if m == 6:
            turned = sum((cross(R[:, k], g["R_ref"][:, k]) for k in range(3)), arrays.zeros(3)) / 2
            error += list(turned)
        xd = product(J, g["v"])
        xdd = g["xdd_ref"] + g["kd"] * (g["xd_ref"] - xd) + g["kp"] * arrays.asarray(error)
        factors = factor(_part(d, "mass_matrix", g), d.mechanism.tree.velocity_parents)
        MJ = arrays.stack([factors.solve(row) for row in J])  # rows of J M^-1
        mobility = product(MJ, J.T)
        if damping:
            mobility = mobility + damping * arrays.identity(m)
        inertia = inverse(mobility)  # of the frame
        posture = g["posture_kp"] * difference(d.mechanism.tree, g["q"], g["q_ref"]) - g["posture_kd"] * g["v"]
        # a = posture + M^-1 J^T inertia (xdd - Jd v - J posture): the part of the posture along the task is replaced
        needed = xdd - product(Jd, g["v"]) - product(J, posture)
        push = product(MJ.T, product(inertia, needed))
        return _part(d, "inverse_dynamics", {**g, "a": posture + push})

    options = {**at, "task": task, "damping": damping}
    return _kernel(dynamics, "operational_space", extra, (*names, "q_ref", "posture_kp", "posture_kd"), options, law)


def tree_dynamics(law: str, mechanism: Moving, driven_base: bool) -> Any:
    """The dynamics that a law is made of; what these laws are not for is refused.

    Args:
        law: its name.
        mechanism: the mechanism, or its dynamics.
        driven_base: whether a free joint is driven.
    """
    given = movable(mechanism)
    found = given if isinstance(given, KernelTable) else Dynamics(given)
    if found.input_names != found.velocity_names() or found.takes_time != (not found.is_tree):
        raise ArgumentError(
            f"{found.mechanism.name!r}: these laws need equations without explicit time whose inputs act on the rates "
            "of the coordinates, one on each"
        )
    heed(f"control.{law}", found, stacklevel=4)
    floats = [joint.name for joint in found.mechanism.joints if joint.kind == "free"]
    if floats and not as_flag("driven_base", driven_base):
        raise ArgumentError(
            f"{found.mechanism.name!r} floats on the joint {floats[0]!r}, which has no motor: the law would ask it for "
            "six forces. Lock that joint, or say driven_base=True for a vehicle with thrusters"
        )
    if found.device != "cpu":
        raise ArgumentError("these laws need a Dynamics for the processor")
    return found


def _kernel(
    dynamics: Dynamics,
    name: str,
    shapes: Mapping[str, tuple[int, ...]],
    names: Sequence[str],
    options: Mapping[str, Any],
    law: Callable[[Dynamics, Mapping[str, Array]], Array],
) -> Kernel:
    """The kernel of a law, traced when it is first called."""
    m = dynamics.mechanism
    sizes = {"q": (m.nq,), "q_ref": (m.nq,), **shapes}
    ports = [Port(port, sizes.get(port, (m.nv,))) for port in names]
    if dynamics.parameter_names:
        ports.append(Port("parameters", (len(dynamics.parameter_names),)))

    content = (dynamics.key("inverse_dynamics"), name, dict(options))
    key = hashlib.sha256(fingerprint(content).encode()).hexdigest()
    output = Port("tau", (m.nv,))
    doc = name.replace("_", " ")
    return traced_kernel(name, ports, [output], lambda given: law(dynamics, given), key, dynamics.dtype, doc)


def _parts(dynamics: Dynamics, quantity: str, given: Mapping[str, Any], **options: Any) -> list[Array]:
    program, given = dynamics.program(quantity, **options), {"t": 0, **given}
    return list(inline(program, {port.name: given[port.name] for port in program.inputs}).values())


def _part(dynamics: Dynamics, quantity: str, given: Mapping[str, Any], **options: Any) -> Array:
    return _parts(dynamics, quantity, given, **options)[0]
