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
