"""Dynamics is linear in the inertial parameters: tau = Y(q, v, a) pi (THESIS (4.3.1), (4.3.35) for one body).

pi stacks the ten parameters ``[m, m cx, m cy, m cz, Ixx, Ixy, Ixz, Iyy, Iyz, Izz]`` of every body in the order of
``mechanism.bodies``, each about the origin and in the axes of its own body: ``Inertia.parameters``. With acceleration
sdd of the origin (gravity taken off), angular velocity w and Om = wd~ + w~ w~, all in body axes,

    force = m sdd + Om h ,        moment about the origin = h x sdd + I wd + w x I w .

Columns of bodies fixed to the ground are zero. Armature, damping and friction are not part of it.
"""

from __future__ import annotations

from typing import Any

from dalembert.algebra import arrays
from dalembert.algebra.arrays import Array, product
from dalembert.algebra.inertia import euler_torque
from dalembert.algebra.scalar import Scalar
from dalembert.algebra.tensors import angular_acceleration_tensor
from dalembert.algebra.transform import Transform
from dalembert.algebra.vectors import cross, dot
from dalembert.algorithms.energy import link_velocities
from dalembert.kinematics import checked, link_poses
from dalembert.kinematics.step import Step, steps
from dalembert.model import Mechanism, Tree
from dalembert.model.checks import expect

PARAMETERS = ("mass", "mx", "my", "mz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")
"""Names of the ten parameters of a body: mass, first moment, inertia tensor about the body's origin."""

ENTRIES = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
"""Places of the last six in the inertia tensor."""


def parameter_vector(mechanism: Mechanism) -> Array:
    """pi: the inertial parameters of all bodies, ten each."""
    expect(mechanism, Mechanism, "mechanism")
    return arrays.asarray([x for body in mechanism.bodies for x in body.inertia.parameters])


def parameter_names(mechanism: Mechanism) -> tuple[str, ...]:
    """Names of the entries of pi, such as ``"link2.Ixx"``."""
    expect(mechanism, Mechanism, "mechanism")
    return tuple(f"{body.name}.{name}" for body in mechanism.bodies for name in PARAMETERS)


def regressor(mechanism: Mechanism, q: Any, v: Any, a: Any) -> Array:
    """Y with tau = Y pi, nv x 10 bodies.

    Args:
        mechanism: its geometry and gravity; its masses do not matter.
        q: positions, nq.
        v: velocities, nv.
        a: accelerations, nv.
    """
    q, v, a = checked(mechanism, q=q, v=v, a=a)
    tree = mechanism.tree
    step = steps(tree, q)
    motions = _motions(tree, step, v, a)
    columns: list[Array] = []
    for body in mechanism.bodies:
        carrier, at = tree.carriers[body.name]
        if carrier < 0:
            columns += [arrays.zeros(tree.nv)] * 10
            continue
        for eta, f in _wrenches(at, *motions[carrier]):
            columns.append(_generalised(tree, step, carrier, eta, f))
    return arrays.stack(columns).reshape(10 * len(mechanism.bodies), tree.nv).T


def reference_regressor(mechanism: Mechanism, q: Any, v: Any, v_ref: Any, a_ref: Any) -> Array:
    """Y with M a_ref + C(q, v) v_ref + g = Y pi, where Mdot - 2 C is skew (Slotine and Li 1987); nv x 10 bodies.

    C is that of :func:`~dalembert.algorithms.coriolis_matrix` for joints of one degree: the Christoffel matrix is the
    sum of J_p^T dJ_p/dt over all particles p. Per body that is Newton's and Euler's law with the tensor Om_r = alpha~ +
    w_r~ w~ in the place of alpha~ + w~ w~, w_r the reference angular velocity. With v_ref = v it is :func:`regressor`.

    Args:
        mechanism: its geometry and gravity; its masses do not matter.
        q: positions, nq.
        v: velocities, nv.
        v_ref: reference velocities, nv.
        a_ref: reference accelerations, nv.
    """
    q, v, v_ref, a_ref = checked(mechanism, q=q, v=v, v_ref=v_ref, a_ref=a_ref)
    tree = mechanism.tree
    step = steps(tree, q)
    motions = _reference_motions(tree, step, v, v_ref, a_ref)
    columns: list[Array] = []
    for body in mechanism.bodies:
        carrier, at = tree.carriers[body.name]
        if carrier < 0:
            columns += [arrays.zeros(tree.nv)] * 10
            continue
        for eta, f in _reference_wrenches(at, *motions[carrier]):
            columns.append(_generalised(tree, step, carrier, eta, f))
    return arrays.stack(columns).reshape(10 * len(mechanism.bodies), tree.nv).T


def _reference_motions(
    tree: Tree, step: list[Step], v: Array, v_ref: Array, a_ref: Array
) -> list[tuple[Array, Array, Array, Array]]:
    """(w, w_r, alpha_r, sdd_r) of every link in its own axes: J v_ref, and J a_ref + Jdot v_ref in world axes.

    Axes of joints are fixed in the outer link, so their columns turn with it.
    """
    none = arrays.zeros(3)
    found: list[tuple[Array, Array, Array, Array]] = []
    for i, link in enumerate(tree.links):
        w_p, wr_p, alpha_p, sdd_p = found[link.parent] if link.parent >= 0 else (none, none, none, -tree.gravity)
        (turn, slide), (turn_r, slide_r), (turn_a, slide_a) = (
            (product(link.Zw, tree.speed(link, x)), product(link.Zv, tree.speed(link, x))) for x in (v, v_ref, a_ref)
        )
        wi, wri, s = step[i].outward(w_p), step[i].outward(wr_p), step[i].s
        w = wi + turn
        alpha = step[i].outward(alpha_p) + cross(w, turn_r) + turn_a
        carried = step[i].outward(sdd_p + cross(alpha_p, s) + cross(wr_p, cross(w_p, s)))
        sdd = carried + cross(wri, slide) + cross(w, slide_r) + slide_a
        found.append((w, wri + turn_r, alpha, sdd))
    return found


def _reference_wrenches(at: Transform, w: Array, w_r: Array, alpha: Array, sdd: Array) -> list[tuple[Array, Array]]:
    """For each parameter of a body the (moment, force) it adds about the link's origin, in the link's axes."""
    R, p = at.rotation, at.translation

    def carried(x: Array) -> Array:
        return cross(alpha, x) + cross(w_r, cross(w, x))  # Om_r x

    here = sdd + carried(p)
    found = [(cross(p, here), here)]
    for k in range(3):
        f = carried(R[:, k])
        found.append((cross(R[:, k], here) + cross(p, f), f))
    for i, j in ENTRIES:
        unit = product(product(R, arrays.asarray([[int({r, c} == {i, j}) for c in range(3)] for r in range(3)])), R.T)
        half = arrays.identity(3) / 2 if i == j else arrays.zeros(3, 3)  # the trace of a unit tensor turns with nothing
        found.append((product(unit, alpha) - cross(w, product(half - unit, w_r)), arrays.zeros(3)))
    return found


def kinetic_energy_regressor(mechanism: Mechanism, q: Any, v: Any) -> Array:
    """y with kinetic energy = y . pi.

    Args:
        mechanism: its geometry.
        q: positions, nq.
        v: velocities, nv.
    """
    q, v = checked(mechanism, q=q, v=v)
    velocities = link_velocities(mechanism.tree, q, v)
    entries: list[Scalar] = []
    for body in mechanism.bodies:
        carrier, at = mechanism.tree.carriers[body.name]
        if carrier < 0:
            entries += [0] * 10
            continue
        w, sd = velocities[carrier]
        sd, w = product(at.rotation.T, sd + cross(w, at.translation)), product(at.rotation.T, w)
        squares = [w[i] * w[i] / 2 if i == j else w[i] * w[j] for i, j in ENTRIES]
        entries += [dot(sd, sd) / 2, *cross(sd, w), *squares]  # sd.(w x h) = h.(sd x w)
    return arrays.asarray(entries)


def potential_energy_regressor(mechanism: Mechanism, q: Any) -> Array:
    """y with potential energy = y . pi.

    Args:
        mechanism: its geometry and gravity.
        q: positions, nq.
    """
    (q,) = checked(mechanism, q=q)
    places = link_poses(mechanism.tree, q)
    entries: list[Scalar] = []
    for body in mechanism.bodies:
        carrier, at = mechanism.tree.carriers[body.name]
        if carrier < 0:
            entries += [0] * 10
            continue
        place = places[carrier] @ at
        up = -mechanism.gravity
        entries += [dot(up, place.translation), *product(place.rotation.T, up), *([0] * 6)]
    return arrays.asarray(entries)


def _motions(tree: Tree, step: list[Step], v: Array, a: Array) -> list[tuple[Array, Array, Array]]:
    """(w, wd, sdd) of every link in its own axes, gravity included as acceleration of the base (5.2.10a-c)."""
    at_rest = arrays.zeros(3)
    found: list[tuple[Array, Array, Array]] = []
    for i, link in enumerate(tree.links):
        w_p, wd_p, sdd_p = found[link.parent] if link.parent >= 0 else (at_rest, at_rest, -tree.gravity)
        rate, acceleration = tree.speed(link, v), tree.speed(link, a)
        turn, slide = product(link.Zw, rate), product(link.Zv, rate)
        wi = step[i].outward(w_p)
        wd = step[i].outward(wd_p) + cross(wi, turn) + product(link.Zw, acceleration)
        moved = sdd_p + product(angular_acceleration_tensor(w_p, wd_p), step[i].s)
        sdd = step[i].outward(moved) + 2 * cross(wi, slide) + product(link.Zv, acceleration)
        found.append((wi + turn, wd, sdd))
    return found


def _wrenches(at: Transform, w: Array, wd: Array, sdd: Array) -> list[tuple[Array, Array]]:
    """For each parameter of a body the (moment, force) it adds about the link's origin, in the link's axes."""
    R, p = at.rotation, at.translation
    Om = angular_acceleration_tensor(w, wd)
    here = sdd + product(Om, p)  # acceleration of the body's origin
    nothing = arrays.zeros(3)
    found = [(cross(p, here), here)]
    for k in range(3):
        axis = R[:, k]
        f = product(Om, axis)
        found.append((cross(axis, here) + cross(p, f), f))
    for i, j in ENTRIES:
        unit = product(product(R, arrays.asarray([[int({r, c} == {i, j}) for c in range(3)] for r in range(3)])), R.T)
        found.append((euler_torque(unit, w, wd), nothing))
    return found


def _generalised(tree: Tree, step: list[Step], i: int, eta: Array, f: Array) -> Array:
    """Generalised forces of a wrench at the origin of link i, carried inwards (5.2.11)."""
    total: list[Scalar] = [0] * tree.nv
    while i >= 0:
        link = tree.links[i]
        eta, f = step[i].from_link(eta), step[i].from_link(f)
        for k in range(link.nv):
            power = dot(link.axes_w[:, k], eta) + dot(link.axes_v[:, k], f)
            total[link.v + k] = total[link.v + k] + link.gain * power
        f = step[i].from_joint(f)
        eta = step[i].from_joint(eta) + cross(step[i].s, f)
        i = link.parent
    return arrays.asarray(total)
