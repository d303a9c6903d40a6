"""Frames of a mechanism: poses, velocities, accelerations, Jacobians (THESIS 2.2, 4.2).

Every function takes a mechanism and plain vectors of scalars of any kind. Quantities of a *frame* are named by the
frame's (or body's) name. Axes are said by the argument ``axes``: ``"world"`` or ``"body"``; the point is the frame's
origin unless ``point`` (components in the frame) says otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dalembert.algebra import arrays, scalar
from dalembert.algebra.arguments import unrolled
from dalembert.algebra.arrays import Array, Coordinates, product
from dalembert.algebra.transform import Transform
from dalembert.algebra.vectors import cross
from dalembert.errors import ArgumentError
from dalembert.kinematics.chain import Chain
from dalembert.kinematics.step import Step, WholeStep
from dalembert.model import WORLD, Mechanism, Tree
from dalembert.model.checks import expect, shown


def checked(mechanism: Mechanism, **vectors: Any) -> list[Array]:
    """The given vectors as arrays, or an ArgumentError that names the one with the wrong length.

    Args:
        mechanism: gives the lengths: ``q`` has nq entries, all others nv.
        vectors: name = value.
    """
    expect(mechanism, Mechanism, "mechanism")
    found: list[Array] = []
    for name, value in vectors.items():
        try:
            array = arrays.asarray(unrolled(value))
        except (TypeError, ValueError) as error:
            raise ArgumentError(f"{name} must hold numbers or symbols, got {shown(value)}") from error
        if array.dtype == object and any(x is None or isinstance(x, (str, bytes)) for x in array.flat):
            raise ArgumentError(f"{name} must hold numbers or symbols, got {shown(value)}")
        size = mechanism.nq if name.startswith("q") else mechanism.nv
        if array.shape != (size,):
            raise ArgumentError(
                f"{name} has shape {array.shape}, but {mechanism.name!r} needs ({size},): "
                f"nq = {mechanism.nq}, nv = {mechanism.nv}"
            )
        found.append(array)
    return found


def link_poses(tree: Tree, q: Coordinates) -> list[Transform]:
    """Pose of every link in the world: W_i = W_{i-1} A_i and the absolute position of its origin (2.2)."""
    poses: list[Transform] = []
    for link in tree.links:
        step = Transform(link.rotation(q), link.translation(q))
        poses.append(poses[link.parent] @ step if link.parent >= 0 else step)
    return poses


@dataclass(frozen=True, eq=False)
class Motion:
    """Pose, velocity and acceleration of a frame.

    Args:
        pose: frame in the world.
        angular_velocity: in the axes asked for.
        linear_velocity: of the point asked for, in those axes.
        angular_acceleration: derivative of the angular velocity vector, in those axes.
        linear_acceleration: second derivative of the point's world position, in those axes; without gravity.
    """

    pose: Transform
    angular_velocity: Array
    linear_velocity: Array
    angular_acceleration: Array
    linear_acceleration: Array


def poses(mechanism: Mechanism, q: Any) -> dict[str, Transform]:
    """Pose in the world of every body and extra frame, by name."""
    (q,) = checked(mechanism, q=q)
    links = link_poses(mechanism.tree, q)
    found = {WORLD: Transform.identity()}
    for body, (carrier, at) in mechanism.tree.carriers.items():
        found[body] = links[carrier] @ at if carrier >= 0 else at
    for frame in mechanism.frames:
        found[frame.name] = found[frame.body] @ frame.placement
    return found


def pose(mechanism: Mechanism, q: Any, frame: str, *, point: Any = (0, 0, 0)) -> Transform:
    """Pose of one frame in the world.

    Args:
        mechanism: the mechanism.
        q: positions.
        frame: name of a frame or body.
        point: whose position is meant in the place of the frame's origin, components in the frame.
    """
    (q,) = checked(mechanism, q=q)
    carrier, at = frame_on_link(mechanism, frame)
    placed = Transform(at.rotation, at.apply(checked_point(point)))
    while carrier >= 0:
        link = mechanism.tree.links[carrier]
        placed = Transform(link.rotation(q), link.translation(q)) @ placed
        carrier = link.parent
    return placed


def frame_on_link(mechanism: Mechanism, frame: str, tree: Tree | None = None) -> tuple[int, Transform]:
    """The link that carries a frame (-1: the ground) and the frame's place in that link.

    Args:
        mechanism: knows the frames.
        frame: name of a frame or body.
        tree: a tree of the same mechanism in other link frames; the mechanism's own by default.
    """
    found = mechanism.frame(frame)
    carrier, at = (tree or mechanism.tree).carriers[found.body]
    return (carrier, at) if found.name == found.body else (carrier, at @ found.placement)


def jacobian(
    mechanism: Mechanism, q: Any, frame: str, *, point: Any = (0, 0, 0), axes: str = "world"
) -> tuple[Array, Array]:
    """Geometric Jacobians (J_R, J_T): angular velocity = J_R v, velocity of the point = J_T v.

    Args:
        mechanism: the mechanism.
        q: positions.
        frame: name of a frame or body.
        point: the point whose velocity is meant, components in the frame.
        axes: ``"world"`` or ``"body"``: in which axes both results are expressed.
    """
    (q,) = checked(mechanism, q=q)
    chain = _chain(mechanism, q, frame, point)
    return _in_axes(axes, chain.rotation, *chain.jacobians())


def _chain(mechanism: Mechanism, q: Array, frame: str, point: Any) -> Chain:
    """The links from the ground to a frame, with the frame's origin shifted to a point of it."""
    tree = mechanism.tree
    carrier, at = frame_on_link(mechanism, frame)
    links = tree.ancestors[carrier][::-1] if carrier >= 0 else ()
    at = Transform(at.rotation, at.apply(checked_point(point)))
    symbolic = any(map(scalar.is_sympy, q))
    step = WholeStep if symbolic else Step
    return Chain(tree, {i: step(tree.links[i], q) for i in links}, links, at, symbolic)


def checked_point(point: Any) -> Array:
    """The argument ``point`` as an array of three scalars, or an ArgumentError."""
    try:
        given = arrays.asarray(unrolled(point))
    except (TypeError, ValueError):
        given = arrays.zeros(0)
    if given.shape != (3,) or any(isinstance(x, (str, bytes)) for x in given):
        raise ArgumentError(f"point: expected three numbers or symbols, components in the frame; got {shown(point)}")
    return given


def check_axes(axes: Any, what: str = "axes =") -> None:
    """Raise ArgumentError unless the axes are ``"world"`` or ``"body"``.

    Args:
        axes: what the caller gave.
        what: the argument, for the message.
    """
    if not isinstance(axes, str) or axes not in ("world", "body"):
        raise ArgumentError(
            f"{what} {shown(axes)}; choose 'world' or 'body': velocities of the point itself, in world axes "
            "(Pinocchio's LOCAL_WORLD_ALIGNED, elsewhere called mixed) or in the axes of the frame (LOCAL)"
        )


def _in_axes(axes: str, R: Array, angular: Array, linear: Array) -> tuple[Array, Array]:
    check_axes(axes)
    return (angular, linear) if axes == "world" else (product(R.T, angular), product(R.T, linear))


def motion(
    mechanism: Mechanism, q: Any, v: Any, a: Any, frame: str, *, point: Any = (0, 0, 0), axes: str = "world"
) -> Motion:
    """Pose, velocity and acceleration of a frame by the outward recursion (4.2.15)-(4.2.24).

    Args:
        mechanism: the mechanism.
        q: positions.
        v: velocities.
        a: accelerations, the time derivative of v.
        frame: name of a frame or body.
        point: the point whose velocity and acceleration are meant, components in the frame.
        axes: ``"world"`` or ``"body"``: in which axes the results are expressed.
    """
    q, v, a = checked(mechanism, q=q, v=v, a=a)
    tree = mechanism.tree
    carrier, at = frame_on_link(mechanism, frame)
    placed = Transform.identity()
    w = wd = sd = sdd = arrays.zeros(3)
    for i in reversed(tree.ancestors[carrier]) if carrier >= 0 else ():
        link = tree.links[i]
        A, s = link.rotation(q), link.translation(q)
        rate, acceleration = tree.speed(link, v), tree.speed(link, a)
        turn, slide = product(link.Zw, rate), product(link.Zv, rate)
        # All in the link's own axes; w still belongs to the parent on the right-hand sides.
        carried = cross(wd, s) + cross(w, cross(w, s))
        sd, sdd = product(A.T, sd + cross(w, s)), product(A.T, sdd + carried)
        w, wd = product(A.T, w), product(A.T, wd)
        sd, sdd = sd + slide, sdd + 2 * cross(w, slide) + product(link.Zv, acceleration)
        w, wd = w + turn, wd + cross(w, turn) + product(link.Zw, acceleration)
        placed = placed @ Transform(A, s)
    r = at.apply(checked_point(point))
    sd, sdd = sd + cross(w, r), sdd + cross(wd, r) + cross(w, cross(w, r))
    check_axes(axes)
    R = placed.rotation if axes == "world" else at.rotation.T
    return Motion(placed @ at, *(product(R, x) for x in (w, sd, wd, sdd)))


def jacobian_rate(
    mechanism: Mechanism, q: Any, v: Any, frame: str, *, point: Any = (0, 0, 0), axes: str = "world"
) -> tuple[Array, Array]:
    """Time derivatives of the Jacobians of :func:`jacobian`, for the same frame, point and axes.

    Args:
        mechanism: the mechanism.
        q: positions.
        v: velocities.
        frame: name of a frame or body.
        point: the point, components in the frame.
        axes: in which axes the Jacobian that is differentiated is expressed.
    """
    q, v = checked(mechanism, q=q, v=v)
    chain = _chain(mechanism, q, frame, point)
    rates = chain.jacobian_rates(v)
    if axes == "body":  # d/dt (R^T J) = R^T (Jdot - w x J)
        JR, JT = chain.jacobians()
        w = product(JR, v)
        rates = rates[0] - _turned(w, JR), rates[1] - _turned(w, JT)
    return _in_axes(axes, chain.rotation, *rates)


def _turned(w: Array, J: Array) -> Array:
    """w x J, column by column."""
    return arrays.stack([cross(w, column) for column in J.T]).reshape(J.T.shape).T


def center_of_mass(mechanism: Mechanism, q: Any) -> Array:
    """Centre of mass of the moving links, world axes, m. Bodies fixed to the ground do not count."""
    (q,) = checked(mechanism, q=q)
    total, moment = 0, arrays.zeros(3)
    for link, place in zip(mechanism.tree.links, link_poses(mechanism.tree, q)):
        total = total + link.moments.mass
        moment = moment + place.rotate(link.moments.first) + link.moments.mass * place.translation
    if scalar.is_zero(total):
        raise ArgumentError(f"{mechanism.name!r} has no moving mass, so it has no centre of mass")
    return moment / total
