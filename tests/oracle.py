"""Rigid-body dynamics written down once more, from the definitions, to check the library against.

It shares nothing with the library but the record ``Mechanism``: its own joints, in world axes; bodies as matrices of
inertia about their centres of mass; forces of elements as slopes of their energies, and of fields as the weight of six
particles for every body; constraints as functions that vanish. First derivatives are complex steps, derivatives of
results differences of fourth order. Slow, short, and nothing in it is clever.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray
STEP = 1e-30


def skew(x: Array) -> Array:
    return np.array([[0, -x[2], x[1]], [x[2], 0, -x[0]], [-x[1], x[0], 0]])


def cross(x: Array, y: Array) -> Array:
    a, b, c = x.tolist()
    d, e, f = y.tolist()
    return np.array([b * f - c * e, c * d - a * f, a * e - b * d])


def turn(axis: Array, angle: Any) -> Array:
    """Rotation by an angle about a unit axis: exp(angle skew(axis))."""
    K = skew(axis)
    return np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * (K @ K)


def of_quaternion(x: Any) -> Array:
    """Rotation of a quaternion x, y, z, w of any length."""
    K, w, size = skew(x[:3]), x[3], x @ x
    return np.eye(3) + 2 * (w * K + K @ K) / size


def times(p: Array, r: Array) -> Array:
    """Product of two quaternions x, y, z, w."""
    return np.array([*(p[3] * r[:3] + r[3] * p[:3] + cross(p[:3], r[:3])), p[3] * r[3] - p[:3] @ r[:3]])


def in_plane(normal: Array) -> tuple[Array, Array]:
    """x and y of a planar joint: the next two axes of a coordinate axis, else those turned with z or minus z."""
    for k in range(3):
        if normal[k] > 0 and not normal[[k - 1, k - 2]].any():
            return np.eye(3)[(k + 1) % 3], np.eye(3)[(k + 2) % 3]
    side = -1.0 if normal[2] < 0 else 1.0
    about, cosine = cross(np.array([0, 0, side]), normal), side * normal[2]
    size = np.linalg.norm(about)
    R = turn(about / size, math.atan2(size, cosine)) if size else np.eye(3)
    return R @ [1.0, 0, 0], R @ [0, side, 0]


class Moving(NamedTuple):
    """A frame with its motion: all in world axes; velocity and acceleration of its origin."""

    R: Array
    p: Array
    w: Array
    v: Array
    dw: Array
    dv: Array


REST = Moving(np.eye(3), np.zeros(3), *np.zeros((4, 3)))


def relative(joint: Any, q: Array, v: Array, a: Array) -> Moving:
    """Motion of the child in the joint frame, by definition of each kind of joint."""
    one, zero = np.eye(3), np.zeros(3)
    u = np.asarray(joint.axis, float)
    match joint.kind:
        case "fixed":
            return REST
        case "revolute" | "continuous":
            return Moving(turn(u, q[0]), zero, u * v[0], zero, u * a[0], zero)
        case "prismatic":
            return Moving(one, u * q[0], zero, u * v[0], zero, u * a[0])
        case "helical":
            s = u * joint.pitch
            return Moving(turn(u, q[0]), s * q[0], u * v[0], s * v[0], u * a[0], s * a[0])
        case "cylindrical":
            return Moving(turn(u, q[0]), u * q[1], u * v[0], u * v[1], u * a[0], u * a[1])
        case "universal":
            first = turn(u, q[0])
            second = first @ np.asarray(joint.axis2, float)
            spin = cross(u * v[0], second * v[1])
            R = first @ turn(np.asarray(joint.axis2, float), q[1])
            return Moving(R, zero, u * v[0] + second * v[1], zero, u * a[0] + second * a[1] + spin, zero)
        case "planar":
            x, y = in_plane(u)
            return Moving(
                turn(u, q[2]), x * q[0] + y * q[1], u * v[2], x * v[0] + y * v[1], u * a[2], x * a[0] + y * a[1]
            )
        case "spherical":
            R = of_quaternion(q)
            return Moving(R, zero, R @ v, zero, R @ a, zero)
        case "free":
            R = of_quaternion(q[3:])
            return Moving(R, q[:3], R @ v[3:], v[:3], R @ a[3:], a[:3])
    raise NotImplementedError(joint.kind)


def attached(carrier: Moving, at: Any, own: Moving = REST) -> Moving:
    """What moves relative to a frame that is fixed in a carrier."""
    F = carrier.R @ np.asarray(at.rotation, float)
    arm = carrier.R @ np.asarray(at.translation, float) + F @ own.p
    w, v, dw, dv = F @ own.w, F @ own.v, F @ own.dw, F @ own.dv
    return Moving(
        F @ own.R,
        carrier.p + arm,
        carrier.w + w,
        carrier.v + cross(carrier.w, arm) + v,
        carrier.dw + dw + cross(carrier.w, w),
        carrier.dv + cross(carrier.dw, arm) + cross(carrier.w, cross(carrier.w, arm)) + 2 * cross(carrier.w, v) + dv,
    )


class Shift(NamedTuple):
    """A point of a frame."""

    translation: Array
    rotation: Array = np.eye(3)


def angle_of(y: Any, x: Any) -> Any:
    """atan2 that takes complex steps."""
    base = math.atan2(y.real, x.real)
    c, s = math.cos(base), math.sin(base)
    return base + np.arctan((c * y - s * x) / (c * x + s * y))


def differences(f: Callable[[float], Array], h: float = 1e-3) -> Array:
    """df/dx at 0, of fourth order."""
    return (8 * (f(h) - f(-h)) - (f(2 * h) - f(-2 * h))) / (12 * h)


class Oracle:
    """A mechanism in numbers.

    Args:
        mechanism: without symbols.
        include: terms of joints that enter.
        wrenches: frame -> [force; moment] in its axes.
        t: time.
    """

    def __init__(self, mechanism: Any, include: Any = (), wrenches: dict[str, Array] | None = None, t: float = 0.0):
        self.m, self.include, self.wrenches, self.t = mechanism, include, wrenches or {}, t
        self.nv = mechanism.nv
        self.g = np.asarray(mechanism.gravity, float)
        self.layout, nq, nv = {}, 0, 0
        for joint in mechanism.joints:
            if joint.mimic is None:
                self.layout[joint.name] = (slice(nq, nq + joint.nq), slice(nv, nv + joint.nv))
                nq, nv = nq + joint.nq, nv + joint.nv
        self.kept: tuple[Any, Any] = (None, None)
        carried = {"world": False}
        for joint in mechanism.joints:
            carried[joint.child] = joint.kind != "fixed" or carried[joint.parent]
        self.bodies = [body for body in mechanism.bodies if carried[body.name]]

    # ------------------------------------------------------------------------------------------------------ kinematics

    def joint_state(self, joint: Any, q: Array, v: Array, a: Array) -> tuple[Array, Array, Array]:
        """Its positions and their rates; those of a follower from its leader."""
        in_q, in_v = self.layout[joint.mimic.joint if joint.mimic else joint.name]
        if joint.mimic is None:
            return q[in_q], v[in_v], a[in_v]
        gain = joint.mimic.multiplier
        return q[in_q] * gain + joint.mimic.offset, v[in_v] * gain, a[in_v] * gain

    def all_bodies(self, q: Array, v: Any = None, a: Any = None) -> dict[str, Moving]:
        v, a = (np.zeros(self.nv) if x is None else x for x in (v, a))
        found = {"world": REST}
        for joint in self.m.joints:  # parents before children
            own = relative(joint, *self.joint_state(joint, q, v, a))
            found[joint.child] = attached(found[joint.parent], joint.placement, own)
        return found

    def frame(self, name: str, q: Array, v: Any = None, a: Any = None, point: Any = (0, 0, 0)) -> Moving:
        at = self.m.frame(name)
        return self.placed(at.body, [at.placement, Shift(np.asarray(point, float))], q, v, a)

    def placed(self, name: str, places: Any, q: Array, v: Any = None, a: Any = None) -> Moving:
        moving = self.all_bodies(q, v, a)[name]
        for place in places:
            moving = attached(moving, place)
        return moving

    def end(self, item: Any, end: str, q: Array, v: Any = None, a: Any = None) -> Moving:
        """Frame a or b of a constraint or a force element."""
        at = self.m.frame(getattr(item, end))
        return self.placed(at.body, [at.placement, getattr(item, f"placement_{end}")], q, v, a)

    def twist(self, q: Array, v: Array, name: str, point: Any = (0, 0, 0)) -> Array:
        moving = self.frame(name, q, v, point=point)
        return np.array([*moving.v, *moving.w])

    def jacobian(self, q: Array, name: str, point: Any = (0, 0, 0)) -> Array:
        return np.transpose([self.twist(q, e, name, point) for e in np.eye(self.nv)]).reshape(6, self.nv)

    def moved(self, q: Array, d: Array) -> Array:
        """Positions displaced along tangent vectors: quaternions by exp of half the turn, in child axes."""
        q = np.array(q, dtype=np.result_type(q, d))
        for joint in self.m.joints:
            if joint.mimic is None:
                in_q, in_v = self.layout[joint.name]
                plain = joint.nv - 3 if joint.kind in ("spherical", "free") else joint.nv
                q[in_q.start : in_q.start + plain] += d[in_v.start : in_v.start + plain]
                if plain != joint.nv:
                    half = d[in_v.start + plain : in_v.stop] / 2
                    size = np.sqrt(half @ half + 1e-300)
                    q[in_q.stop - 4 : in_q.stop] = times(
                        q[in_q.stop - 4 : in_q.stop], np.array([*(half * np.sin(size) / size), np.cos(size)])
                    )
        return q

    def slopes(self, f: Callable[[Array], Any], q: Array) -> Array:
        """df/dq along tangent vectors, last index; by complex steps."""
        steps = [np.imag(f(self.moved(q, 1j * STEP * e))) / STEP for e in np.eye(self.nv)]
        return np.stack(steps, axis=-1) if steps else np.zeros((*np.shape(f(q)), 0))

    def by_q(self, f: Callable[[Array], Any], q: Array) -> Array:
        """The same by differences."""
        return np.stack([differences(lambda h, e=e: f(self.moved(q, h * e))) for e in np.eye(self.nv)], axis=-1)

    def by(self, f: Callable[[Array], Any], x: Array) -> Array:
        """df/dx by differences."""
        return np.stack([differences(lambda h, e=e: f(x + h * e)) for e in np.eye(len(x))], axis=-1)

    # -------------------------------------------------------------------------------------------------------- dynamics

    def of_bodies(self, q: Array, v: Any = None, a: Any = None) -> list[tuple[float, Array, Moving]]:
        """Of every body that moves: mass, inertia about the centre of mass in world axes, motion of that centre."""
        found, moving = [], self.all_bodies(q, v, a)
        for body in self.bodies:
            centre = attached(moving[body.name], Shift(np.asarray(body.inertia.center, float)))
            tensor = centre.R @ np.asarray(body.inertia.tensor, float) @ centre.R.T
            found.append((float(body.inertia.mass), tensor, centre))
        return found

    def columns(self, q: Array) -> list[tuple[Array, Array]]:
        """Jacobians of centres of mass and of the bodies' angular velocities; of the last positions, they are kept."""
        if self.kept[0] is not None and np.array_equal(self.kept[0], q):
            return self.kept[1]
        self.kept = np.array(q), self._columns(q)
        return self.kept[1]

    def _columns(self, q: Array) -> list[tuple[Array, Array]]:
        each = [self.of_bodies(q, e) for e in np.eye(self.nv)]
        n = range(self.nv)
        return [
            (np.transpose([each[k][i][2].v for k in n]), np.transpose([each[k][i][2].w for k in n]))
            for i in range(len(self.bodies))
        ]

    def joints(self, name: str) -> Array:
        """Diagonal of a term of the joints, in the velocities."""
        total = np.zeros(self.nv)
        for joint in self.m.joints:
            if name in self.include:
                gain = joint.mimic.multiplier if joint.mimic else 1
                in_v = self.layout[joint.mimic.joint if joint.mimic else joint.name][1]
                total[in_v] += getattr(joint, name) * (abs(gain) if name == "friction" else gain**2)
        return total

    def mass_matrix(self, q: Array, rotors: bool = True) -> Array:
        M = np.diag(self.joints("armature") * rotors).astype(np.result_type(q, float))
        for (mass, tensor, _), (J, W) in zip(self.of_bodies(q), self.columns(q)):
            M = M + mass * J.T @ J + W.T @ tensor @ W
        return M

    def inverse_dynamics(self, q: Array, v: Array, a: Array) -> Array:
        """Of drives and constraints together: force elements and wrenches help."""
        tau = self.inertial(q, v, a) + self.weight(q) + self.joints("armature") * a + self.resistance(v)
        return tau - sum(self.elements(q, v).values(), np.zeros(self.nv)) - self.of_wrenches(q)

    def inertial(self, q: Array, v: Array, a: Array) -> Array:
        tau = np.zeros(self.nv)
        for (mass, tensor, c), (J, W) in zip(self.of_bodies(q, v, a), self.columns(q)):
            tau = tau + mass * J.T @ c.dv + W.T @ (tensor @ c.dw + cross(c.w, tensor @ c.w))
        return tau

    def resistance(self, v: Array) -> Array:
        return self.joints("damping") * v + self.joints("friction") * np.sign(v)

    def weight(self, q: Array) -> Array:
        parts = zip(self.of_bodies(q), self.columns(q))
        return -sum((m * J.T @ self.g for (m, _, _), (J, _) in parts), np.zeros(self.nv))

    def of_wrenches(self, q: Array) -> Array:
        total = np.zeros(self.nv)
        for name, wrench in self.wrenches.items():
            R = self.frame(name, q).R
            total = total + self.jacobian(q, name).T @ np.concatenate([R @ wrench[:3], R @ wrench[3:]])
        return total

    def kinetic_energy(self, q: Array, v: Array) -> Any:
        return sum(m * c.v @ c.v / 2 + c.w @ I @ c.w / 2 for m, I, c in self.of_bodies(q, v)) + self.joints(
            "armature"
        ) @ (v * v / 2)

    def potential_energy(self, q: Array) -> Any:
        return -sum(m * self.g @ c.p for m, _, c in self.of_bodies(q))

    def momentum(self, q: Array, v: Array, about: Any = (0, 0, 0)) -> Array:
        parts = self.of_bodies(q, v)
        linear = sum(m * c.v for m, _, c in parts)
        return np.concatenate([linear, sum(cross(c.p - about, m * c.v) + I @ c.w for m, I, c in parts)])

    def centre(self, q: Array) -> Array:
        parts = self.of_bodies(q)
        return sum(m * c.p for m, _, c in parts) / sum(m for m, _, _ in parts)

    # -------------------------------------------------------------------------------------------------- force elements

    def coordinate(self, name: str, q: Array, v: Array) -> tuple[Any, Any, Array]:
        """Position and speed of a joint of one degree, and what multiplies the velocities in it."""
        joint = self.m.joint(name)
        x, u, _ = self.joint_state(joint, q, v, v)
        row = np.zeros(self.nv)
        row[self.layout[joint.mimic.joint if joint.mimic else name][1]] = joint.mimic.multiplier if joint.mimic else 1
        return x[0], u[0], row

    def stretch(self, item: Any, q: Array) -> Any:
        """Length of a spring, twist of a torsional one beyond its rest by the shorter way."""
        a, b = self.end(item, "a", q), self.end(item, "b", q)
        if item.kind == "spring":
            return np.sqrt((b.p - a.p) @ (b.p - a.p)) - item.rest
        R = a.R.T @ b.R @ turn(np.array([0.0, 0, 1]), -item.rest)
        return angle_of(R[1, 0] - R[0, 1], R[0, 0] + R[1, 1])

    def elements(self, q: Array, v: Array) -> dict[str, Array]:
        """Generalised forces by virtual work: minus slopes of energy, dampers along the slope of what they damp."""
        return {item.name: self.element(item, q, v) for item in self.m.forces}

    def element(self, item: Any, q: Array, v: Array) -> Array:
        if item.kind in ("spring", "torsional-spring"):
            slope = self.slopes(lambda x: self.stretch(item, x), q)
            return -(item.stiffness * self.stretch(item, q) + item.damping * slope @ v) * slope
        if item.kind in ("attraction", "oblate-planet", "gravity-field"):
            return sum(m * J.T @ self.fall(item, p) for m, p, J in self.particles(q))
        if item.kind in ("wrench", "user-wrench"):
            own = item.components if item.kind == "wrench" else item.function(list(q), list(v), self.t)
            force, moment = np.reshape(np.asarray(own, float), (2, 3)) @ self.end(item, "b" if item.b else "a", q).R.T
            each = [self.end(item, "a", q, e) for e in np.eye(self.nv)]
            return np.array([force @ x.v + moment @ x.w for x in each])
        if item.kind == "user":
            return np.asarray(item.function(list(q), list(v), self.t), float)
        x, u, row = self.coordinate(item.a, q, v)
        if item.kind == "joint-spring":
            return -(item.stiffness * (x - item.rest) + item.damping * u) * row
        if item.kind == "joint-friction":
            s = item.smoothing
            return -item.value * (u / math.hypot(u, s) if s else np.sign(u)) * row
        if item.kind == "joint-force":
            return (item.value if item.function is None else item.function(self.t)) * row
        if item.kind != "joint-stop":
            raise NotImplementedError(item.kind)
        total = 0.0
        for side, depth in ((1, item.lower - x), (-1, x - item.upper)):
            e, slope = max(depth, 0.0), float(depth > 0)
            if item.smoothing:
                root = math.hypot(depth, item.smoothing)
                e, slope = (depth + root) / 2, (1 + depth / root) / 2
            if np.isfinite(depth):
                total += side * slope * max(0.0, item.stiffness * e - item.damping * slope * side * u)
        return total * row

    def particles(self, q: Array) -> list[tuple[float, Array, Array]]:
        """Six for every body, with its mass, centre and second moments; with their Jacobians. In fields that are no
        quadratic functions they differ from the body in fourth order of its size over the distance."""
        found = []
        for (mass, I, c), (J, W) in zip(self.of_bodies(q), self.columns(q)):
            if mass:
                second, axes = np.linalg.eigh(np.trace(I) / 2 * np.eye(3) - I)
                for k in range(6):
                    arm = (-1) ** k * axes[:, k % 3] * math.sqrt(max(3 * second[k % 3] / mass, 0.0))
                    found.append((mass / 6, c.p + arm, J - skew(arm) @ W))
        return found

    def fall(self, item: Any, p: Array) -> Array:
        """Acceleration of free fall at a point: minus the slope of the potential."""
        if item.kind == "gravity-field":
            return np.asarray(item.function(list(p), self.t), float)
        planet = self.end(item, "a", np.asarray(self.m.neutral, float))
        return np.array([-np.imag(self.potential(item, planet, p + 1j * STEP * e)) / STEP for e in np.eye(3)])

    def potential(self, item: Any, planet: Moving, p: Array) -> Any:
        r = planet.R.T @ (p - planet.p)
        d = np.sqrt(r @ r)
        flat = item.oblateness * (item.radius / d) ** 2 * (3 * (r[2] / d) ** 2 - 1) / 2
        return -item.value / d * (1 - flat)

    def stored(self, q: Array) -> float:
        """Energy of springs, stops and planets."""
        total = 0.0
        for item in self.m.forces:
            if item.kind in ("spring", "torsional-spring"):
                total += item.stiffness * self.stretch(item, q) ** 2 / 2
            elif item.kind == "joint-spring":
                total += item.stiffness * (self.coordinate(item.a, q, np.zeros(self.nv))[0] - item.rest) ** 2 / 2
            elif item.kind == "joint-stop":
                x = self.coordinate(item.a, q, np.zeros(self.nv))[0]
                for depth in (item.lower - x, x - item.upper):
                    e = (depth + math.hypot(depth, item.smoothing)) / 2 if np.isfinite(depth) else 0.0
                    total += item.stiffness * e**2 / 2
            elif item.kind in ("attraction", "oblate-planet"):
                planet = self.end(item, "a", q)
                total += sum(m * self.potential(item, planet, p) for m, p, _ in self.particles(q))
        return total

    # ----------------------------------------------------------------------------------------------------- constraints

    def closure(self, item: Any, q: Array) -> Array:
        """What vanishes while a constraint on positions holds; more rows than needed will do."""
        if item.kind in ("coupling", "motion"):
            x = self.coordinate(item.a, q, np.zeros(self.nv))[0]
            y = self.coordinate(item.b, q, np.zeros(self.nv))[0] if item.kind == "coupling" and item.b != "world" else x
            at = x if y is not x else self.t
            value = sum(c * at**k for k, c in enumerate(item.coefficients))
            return np.array([y - (item.coefficients[0] if y is x and item.kind == "coupling" else value)])
        a, b = self.end(item, "a", q), self.end(item, "b", q)
        d, R = a.R.T @ (b.p - a.p), a.R.T @ b.R
        tilt, turned = R[:2, 2], np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
        parts = {
            "weld": [d, turned], "spherical": [d], "revolute": [d, tilt], "prismatic": [d[:2], turned],
            "cylindrical": [d[:2], tilt], "universal": [d, R[2:, 2]], "distance": [[d @ d - item.value**2]],
            "point-on-line": [d[:2]], "point-on-plane": [d[2:]],
        }  # fmt: skip
        return np.concatenate(parts[item.kind])

    def rows(self, q: Array) -> Array:
        """All of them: their slopes."""
        return np.concatenate([self.slopes(lambda x, i=i: self.closure(i, x), q) for i in self.m.constraints])

    def constrained(self, q: Array, v: Array, tau: Array) -> tuple[Array, Array]:
        """Accelerations, and generalised forces of the constraints, by Gauss' principle of least constraint."""
        M, G = self.mass_matrix(q), self.rows(q)
        free = np.linalg.solve(M, tau - self.inverse_dynamics(q, v, np.zeros(self.nv)))
        gamma = -differences(lambda h: self.rows(self.moved(q, h * v)) @ v)
        root = np.linalg.cholesky(M).T
        a = free + np.linalg.solve(root, np.linalg.lstsq(G @ np.linalg.inv(root), gamma - G @ free, rcond=1e-9)[0])
        return a, M @ (a - free)
