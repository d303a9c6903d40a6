"""Motions that move no mass: they make the inertia matrix singular at every position.

The kinetic energy of a body is half the square of ``[sqrt(m) v_c; sqrt(I) w]``, a linear function of the velocities.
These rows of all bodies, and the square roots of rotor inertias, form a matrix A with M = A^T A. Its null space at a
random position is that of M at almost every position, and in A it shows with twice the digits. Symbols get random
values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dalembert.algebra import scalar
from dalembert.algebra.arrays import Array
from dalembert.algebra.scalar import Scalar
from dalembert.cached import kept
from dalembert.model.joint import Joint
from dalembert.model.tree import depth_first

if TYPE_CHECKING:
    from dalembert.model.mechanism import Mechanism

NOTHING = 1e-9
"""Singular values of A, its columns scaled to one, below this are zero: inertias may differ by a factor of 1e18."""

WHY = "the inertia matrix is singular and forward dynamics has no answer"


class IdleMotion(NamedTuple):
    """A motion that moves no mass.

    Args:
        what: the motion, and that it moves nothing.
        remedy: what gives it mass.
    """

    what: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.what}: {WHY}{self.remedy}"


def singular_motions(mechanism: Mechanism) -> list[str]:
    """A sentence for every independent motion that moves no mass; see :func:`idle_motions`."""
    return [str(motion) for motion in idle_motions(mechanism)]


@kept
def idle_motions(mechanism: Mechanism) -> list[IdleMotion]:
    """Every independent motion that moves no mass, whatever the position.

    Args:
        mechanism: the mechanism; scalars of the compiler are not looked at.
    """
    ends = _massless_ends(mechanism)
    problems = [_end(joint) for joint in ends]
    idle = {k for joint in ends for k in range(mechanism.nv)[mechanism.v_slice(joint.name)]}
    if all(_solid(mechanism, link.name) for link in mechanism.tree.links if link.name in mechanism.tree.carriers):
        return problems  # the first joint that moves in any motion moves matter in all directions
    kept = [k for k in range(mechanism.nv) if k not in idle]
    number = _numbers(mechanism)
    if number is None or not kept:
        return problems
    try:
        A, elsewhere = (_energy_root(mechanism, seed, number)[:, kept] for seed in range(2))
    except (TypeError, ValueError, ArithmeticError):  # an expression without a real value somewhere: nothing is claimed
        return problems
    if not (np.isfinite(A).all() and np.isfinite(elsewhere).all()):
        return problems
    for direction in _null_space(A):
        whole = np.zeros(mechanism.nv)
        whole[kept] = direction
        constant = np.linalg.norm(elsewhere @ direction) < 1e-6 * np.linalg.norm(elsewhere * direction)
        problems.append(_sentence(mechanism, whole, bool(constant) or not np.any(elsewhere * direction)))
    return problems


def massless_ends(mechanism: Mechanism) -> list[str]:
    """Those of these sentences that need nothing but a sound tree: for joints with no mass beyond them at all.

    Args:
        mechanism: its tree is sound; its numbers may be wrong, and its joints in any order.
    """
    return [str(_end(joint)) for joint in _massless_ends(mechanism)]


def _massless_ends(mechanism: Mechanism) -> list[Joint]:
    """Joints with nothing that has mass beyond them or any joint that follows them."""
    _, outwards = depth_first(mechanism.bodies, mechanism.joints)
    heavy = {body.name for body in mechanism.bodies if not body.inertia.is_zero}
    for joint in reversed(outwards):
        if joint.child in heavy:
            heavy.add(joint.parent)
    moving = {joint.mimic.joint if joint.mimic else joint.name for joint in outwards if joint.child in heavy}
    return [j for j in outwards if j.nv and scalar.is_zero(j.armature) and j.name not in moving]


def _end(joint: Joint) -> IdleMotion:
    return IdleMotion(
        f"joint {joint.name!r} moves nothing that has mass (body {joint.child!r} and all beyond it)",
        "; give the body a mass or the joint an armature, or leave both out: springs k1 and k2 with nothing between "
        "them are one, k1 k2/(k1 + k2)",
    )


def _solid(mechanism: Mechanism, body: str) -> bool:
    """True if the body itself resists acceleration in every direction."""
    inertia = mechanism.body(body).inertia
    diagonal = [inertia.mass, *np.diagonal(inertia.tensor)]
    if not all(scalar.is_number(x) for x in (inertia.mass, *inertia.tensor.flat)):
        return not any(scalar.is_zero(x) for x in diagonal)
    moments = np.linalg.eigvalsh(inertia.tensor.astype(float))
    return bool(inertia.mass > 0 and moments[0] > 1e-12 * moments[2])


# ------------------------------------------------------------------------------------------------------- the matrix A


def _numbers(mechanism: Mechanism) -> Callable[[Scalar], float] | None:
    """A float for every scalar of the mechanism, or None if some are neither numbers nor expressions."""
    try:
        symbols = mechanism.symbols
    except (AttributeError, TypeError):
        return None
    values = dict(zip(symbols, np.random.default_rng(7).uniform(0.5, 1.5, len(symbols)).tolist()))

    def number(x: Scalar) -> float:
        if scalar.is_number(x):
            return float(x)
        if scalar.is_sympy(x):
            return float(x.subs(values))
        raise TypeError(f"no value for {x!r}")

    return number


def _energy_root(mechanism: Mechanism, seed: int, number: Callable[[Scalar], float]) -> Array:
    """A with M = A^T A at a random position."""

    def floats(array: Any) -> Array:
        array = np.asarray(array)
        if array.dtype != object:
            return array.astype(float)
        return np.array([number(x) for x in array.flat]).reshape(array.shape)

    tree, rng = mechanism.tree, np.random.default_rng(seed)
    q = rng.normal(size=mechanism.nq)
    for link in tree.links:
        if link.kind == "spherical":
            q[link.q : link.q + 4] /= np.linalg.norm(q[link.q : link.q + 4])
    # For every link: rotation in the world, the velocities' columns of w and of the origin's velocity, and how long
    # these columns would be if nothing in them cancelled.
    frames: list[tuple[Array, Array, Array, Array, Array]] = []
    for link in tree.links:
        nothing = (
            np.zeros((3, mechanism.nv)),
            np.zeros((3, mechanism.nv)),
            np.zeros(mechanism.nv),
            np.zeros(mechanism.nv),
        )
        R, W, V, spin, speed = frames[link.parent] if link.parent >= 0 else (np.eye(3), *nothing)
        step = R @ floats(link.translation(q))
        R, V, W = R @ floats(link.rotation(q)), V - np.cross(step, W, axis=0), W.copy()
        spin, speed = spin.copy(), speed + np.linalg.norm(step) * spin
        columns, gain = slice(link.v, link.v + link.nv), number(link.gain)
        for total, length, own in ((W, spin, gain * floats(link.Zw)), (V, speed, gain * floats(link.Zv))):
            total[:, columns] += R @ own
            length[columns] += np.linalg.norm(own, axis=0)
        frames.append((R, W, V, spin, speed))
    rows = list(_rows(mechanism, frames, floats, number))
    return np.vstack(rows) if rows else np.zeros((1, mechanism.nv))


def _rows(
    mechanism: Mechanism,
    frames: list[tuple[Array, Array, Array, Array, Array]],
    floats: Callable[[Any], Array],
    number: Callable[[Scalar], float],
) -> Iterator[Array]:
    for body in mechanism.bodies:
        carrier, at = mechanism.tree.carriers[body.name]
        if carrier < 0 or body.inertia.is_zero:
            continue
        R, W, V, spin, speed = frames[carrier]
        turn = R @ floats(at.rotation)
        arm = R @ floats(at.translation) + turn @ floats(body.inertia.center)
        speed = speed + np.linalg.norm(arm) * spin
        yield math.sqrt(abs(number(body.inertia.mass))) * _beyond_rounding(V - np.cross(arm, W, axis=0), speed)
        tensor = floats(body.inertia.tensor)
        moments, axes = np.linalg.eigh((tensor + tensor.T) / 2)
        moments[np.abs(moments) < 1e-12 * np.abs(moments).max()] = 0  # rounding, whose root would look like matter
        yield np.sqrt(np.abs(moments))[:, None] * _beyond_rounding(axes.T @ turn.T @ W, spin)
    for joint in mechanism.joints:
        if not scalar.is_zero(joint.armature):
            own = mechanism.v_slice(joint.name)
            yield math.sqrt(abs(number(joint.armature))) * np.eye(mechanism.nv)[own]


def _beyond_rounding(columns: Array, lengths: Array) -> Array:
    """The columns without what is left where they cancel; a column of nothing else would look like matter."""
    return np.where(np.abs(columns) < 1e-12 * lengths, 0, columns)


def _null_space(A: Array) -> Array:
    """Directions that A maps to zero, in rows, each with as few joints as possible and its largest entry one."""
    lengths = np.linalg.norm(A, axis=0)
    scale = 1 / np.where(lengths > 0, lengths, 1)
    triangle = np.linalg.qr(np.vstack([A * scale, np.zeros((A.shape[1], A.shape[1]))]), mode="r")
    _, values, right = np.linalg.svd(triangle)
    N = right[values < NOTHING * max(values.max(), 1)] * scale
    used: list[int] = []
    for row in range(len(N)):  # Gauss-Jordan, so that independent motions stay apart
        pivot = int(np.argmax(np.abs(N[row])))
        used.append(pivot)
        N[row] /= N[row, pivot]
        for k in range(len(N)):
            if k != row:
                N[k] -= N[k, pivot] * N[row]
    N[np.abs(N) < 1e-7] = 0
    return N[np.argsort(used, kind="stable")] if len(N) else N


# ----------------------------------------------------------------------------------------------------------- in words


def _sentence(mechanism: Mechanism, direction: Array, constant: bool) -> IdleMotion:
    direction = direction / np.abs(direction).max()
    direction *= np.sign(direction[np.flatnonzero(direction)[0]])
    parts = []
    for joint in mechanism.joints:
        own = direction[mechanism.v_slice(joint.name)] if joint.nv else np.zeros(1)
        if np.any(own):
            shown = ", ".join(f"{x + 0.0:.4g}" for x in own)  # no -0
            parts.append(f"{joint.name!r} at {shown if len(own) == 1 else f'({shown})'}")
    if not constant:
        names = ", ".join(part.partition(" at ")[0] for part in parts)
        what = f"a velocity of {names}, in a direction that changes with the position,"
    elif len(parts) == 1 and np.count_nonzero(direction) == 1 and " at 1" in parts[0]:
        what = f"joint {parts[0].removesuffix(' at 1')} alone"
    else:
        what = f"the velocity {', '.join(parts)}"
    return IdleMotion(
        f"{what} moves no mass and turns no inertia", ". Give the bodies there inertia, or the joint armature"
    )
