"""Gravity that varies in space: its laws, each one class, and what they do to extended bodies.

A field gives, per unit of mass and at a point p in world axes, the acceleration g(p) of free fall, its gradient
Gam_ij = dg_i/dp_j and the potential energy u(p). On a body with mass m, inertia I about the centre of mass and second
moment J = tr(I)/2 1 - I it acts, to second order in the size of the body, by

    U = m u - 1/2 Gam_ij J_ij ,    f_i = m g_i + 1/2 (d Gam_ij / dp_k) J_jk ,    n = 2 vect(Gam J),

n about the centre of mass (PARSA, remark after (27)). The force has its second term, so that energy and angular
momentum are conserved exactly, which the moment alone would not do. Force elements and derivations share the classes.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import lru_cache
from itertools import chain
from typing import Any

import numpy as np

from dalembert.algebra import arrays, scalar
from dalembert.algebra.arrays import Array, product
from dalembert.algebra.scalar import Scalar
from dalembert.algebra.transform import Transform
from dalembert.algebra.vectors import cross, dot, trace, vect
from dalembert.constraints.action import GROUND, Action
from dalembert.constraints.state import State
from dalembert.errors import ArgumentError, SingularityError, UnsupportedError
from dalembert.kinematics.relative import Pair
from dalembert.model.body import Body
from dalembert.model.force import Force
from dalembert.model.parameters import map_scalars
from dalembert.model.record import Record, check_scalar, is_finite
from dalembert.tracing.derivatives import forward
from dalembert.tracing.evaluate import inline
from dalembert.tracing.graph import Graph
from dalembert.tracing.program import Program
from dalembert.tracing.trace import program_of

Effect = tuple[Array, list[Action]]
"""Generalised forces, nv, and what acts on which body."""


class GravityField(Record):
    """Base of all fields: frozen dataclasses of numbers, symbols and points, which give three functions of a point."""

    extended: bool = True
    """Whether extended bodies feel the variation of the field; otherwise they are attracted like points."""

    phrase = "of a field of your own"
    """For reports: where the field comes from, with the names of the dataclass's fields in braces."""

    potential = r"u(p)"
    """Energy of a unit of mass at the point p, LaTeX."""

    @abstractmethod
    def force(self, p: Array) -> Array:
        """Acceleration of free fall at a point, world axes."""

    @abstractmethod
    def gradient(self, p: Array) -> Array:
        """Its derivative by the position, 3 x 3 and, in a field with a potential, symmetric."""

    @abstractmethod
    def energy(self, p: Array) -> Scalar:
        """Potential energy of a unit of mass."""

    def second(self, p: Array) -> Array:
        """Derivative of the gradient by the position, 3 x 3 x 3; differentiated exactly for any scalar."""
        program = _curvature(type(self), tuple(_layout(self)))  # type: ignore[arg-type]
        return inline(program, {"p": p, "scalars": list(_scalars(self))})["second"]

    def energy_of(self, mass: Scalar, inertia: Array | None, rotation: Array, p: Array) -> Scalar:
        """Potential energy of a body, J.

        Args:
            mass: of the body.
            inertia: about the centre of mass, body axes; None for a particle.
            rotation: maps body axes to world axes.
            p: the centre of mass, world axes.
        """
        energy = mass * self.energy(p)
        if inertia is None or not self.extended:
            return energy
        return energy - _contracted(self.gradient(p), _second_moment(inertia, rotation)) / 2

    def load(self, mass: Scalar, inertia: Array | None, rotation: Array, p: Array) -> tuple[Array, Array]:
        """Force on a body and moment about its centre of mass, world axes.

        Args:
            mass: of the body.
            inertia: about the centre of mass, body axes; None for a particle.
            rotation: maps body axes to world axes.
            p: the centre of mass, world axes.
        """
        force = mass * self.force(p)
        if inertia is None or not self.extended:
            return force, arrays.zeros(3)
        J = _second_moment(inertia, rotation)
        second = self.second(p)
        extra = arrays.asarray([_contracted(second[i], J) / 2 for i in range(3)])
        return force + extra, 2 * vect(product(self.gradient(p), J))

    def load_in_body(
        self, mass: Scalar, inertia: Array | None, rotation: Array, p: Array, offset: Array | None = None
    ) -> tuple[Array, Array]:
        """The same in body axes.

        Args:
            mass: of the body.
            inertia: about the centre of mass, body axes; None for a particle.
            rotation: maps body axes to world axes.
            p: the centre of mass, or the point of the body from which the offset counts, world axes.
            offset: from p to the centre of mass, body axes; none by default.
        """
        if offset is not None:
            p = p + product(rotation, offset)
        force, moment = self.load(mass, inertia, rotation, p)
        return product(rotation.T, force), product(rotation.T, moment)

    def energy_formula(self, i: str = "") -> str:
        """Potential energy of one body, or with an index of all, LaTeX."""
        sub, total = (f"_{i}", rf"\sum_{i} ") if i else ("", "")
        spread = (
            rf" + \tfrac12 \mathrm{{tr}} \left( J{sub} \frac{{\partial^2 u}}{{\partial p^2}} \right)" * self.extended
        )
        return rf"U = {total}\left[ m{sub} u{spread} \right]_{{p = p_{{C{i}}}}}, \quad u(p) = {self.potential}"

    def load_formula(self) -> str:
        """Force and moment about the centre of mass on body i, body axes, LaTeX."""
        where, moment = rf"\quad p = p_{{Ci}}, \quad u(p) = {self.potential}", r"R_i^T \frac{\partial u}{\partial p}"
        if not self.extended:
            return rf"f_{{gi}} = -m_i {moment}, \quad n_{{gi}} = 0, {where}"
        return (
            rf"f_{{gi}} = -m_i {moment} - \tfrac12 R_i^T \frac{{\partial}}{{\partial p}} \mathrm{{tr}} \left( J_i "
            r"\frac{\partial^2 u}{\partial p^2} \right), \quad n_{gi} = -2 R_i^T \mathrm{vect} \left( "
            rf"\frac{{\partial^2 u}}{{\partial p^2}} J_i \right), {where}"
        )

    def letters(self, i: str = "") -> str:
        """What stands for the body in the formulas of one body, or of body i, LaTeX."""
        if not i:
            return r"p_C = p + C^T r, \quad J = C^T \left( \tfrac12 \mathrm{tr}(I) 1 - I \right) C"
        return rf"J_{i} = R_{i} \left( \tfrac12 \mathrm{{tr}}(I_{i}) 1 - I_{i} \right) R_{i}^T"

    def words(self) -> str:
        """What the letters of the formulas mean."""
        return "A unit of mass has the energy u at the point p, inertial axes; p_C is the centre of mass of a body."

    @property
    def symbols(self) -> set[str]:
        """Names of the symbols it contains."""
        return {symbol.name for x in _scalars(self) if scalar.is_sympy(x) for symbol in x.free_symbols}

    def mapped(self, function: Any) -> Any:
        """The same field with a function applied to every scalar in it."""
        return map_scalars(self, lambda x: x if isinstance(x, bool) else function(x))


def _second_moment(inertia: Array, rotation: Array) -> Array:
    """tr(I)/2 1 - I in world axes."""
    half = trace(inertia) / 2
    J = arrays.asarray([[(half if i == j else 0) - inertia[i, j] for j in range(3)] for i in range(3)])
    return product(product(rotation, J), rotation.T)


def _contracted(a: Array, b: Array) -> Scalar:
    total: Scalar = 0
    for x, y in zip(a.flat, b.flat):
        total = total + x * y
    return total


def _layout(field: GravityField) -> Iterator[tuple[str, Any]]:
    """Of every entry the shape of its scalars, or its value where it is none."""
    for entry in fields(field):  # type: ignore[arg-type]
        value = getattr(field, entry.name)
        yield entry.name, value if isinstance(value, bool) else np.shape(np.array(value, dtype=object))


def _scalars(field: GravityField) -> Iterator[Any]:
    values = [getattr(field, name) for name, shape in _layout(field) if not isinstance(shape, bool)]
    return chain.from_iterable(np.array(value, dtype=object).flat for value in values)


@lru_cache(64)
def _curvature(law: type[GravityField], layout: tuple[tuple[str, Any], ...]) -> Program:
    """The gradient of the gradient, from the point and all scalars of a field."""
    graph = Graph()
    p = np.asarray(graph.input("p", (3,)), dtype=object)
    count = sum(int(np.prod(shape)) for _, shape in layout if not isinstance(shape, bool))
    given = iter(np.asarray(graph.input("scalars", (count,)), dtype=object))
    entries: dict[str, Any] = {}
    for name, shape in layout:
        if isinstance(shape, bool):
            entries[name] = shape
        else:
            values = np.array([next(given) for _ in range(int(np.prod(shape)))], dtype=object).reshape(shape)
            entries[name] = values if shape else values[()]
    return program_of(graph, {"second": forward(law(**entries).gradient(p), p)}, "field")


def _check(field: GravityField, points: tuple[str, ...]) -> None:
    """An error for anything but finite numbers and symbols, and points of three of them."""
    name = type(field).__name__
    for entry in fields(field):  # type: ignore[arg-type]
        value = getattr(field, entry.name)
        if entry.name in points:
            if np.shape(np.array(value, dtype=object)) != (3,):
                raise ArgumentError(f"{name}: {entry.name} is a vector, three numbers; got {value!r}")
        elif not isinstance(value, bool):
            check_scalar(value, f"{name}, {entry.name}")
    for x in (given := list(_scalars(field))):
        check_scalar(x, name)
    if not all(map(is_finite, given)):
        raise ArgumentError(f"{name}: expected finite numbers or symbols, got {', '.join(map(str, given))}")


def _squared(field: GravityField, away: Array) -> Scalar:
    squared = dot(away, away)
    if scalar.is_zero(squared):
        raise SingularityError(
            f"{type(field).__name__}: the centre of mass of a body never leaves the attractor, where the field is "
            "infinite. Leave that body out, or move the attractor"
        )
    return squared


# ---------------------------------------------------------------------------------------------------------------- laws


@dataclass(frozen=True, eq=False)
class InverseSquare(GravityField):
    """The field of a point attractor.

    In the direction from there the expansion for extended bodies has a short closed form, with R from the attractor to
    the centre of mass:

        U = - mu m / |R| - mu / (2 |R|^3) ( tr I - 3 R.I R / |R|^2 ) ,     n = 3 mu / |R|^5  R x I R

    Args:
        mu: gravitational parameter G M of the attractor, m^3/s^2; a number or symbol.
        attractor: its position, inertial axes.
        extended: extended bodies feel the variation of the field; otherwise they are attracted like points.
    """

    mu: Any
    attractor: Any = (0, 0, 0)
    extended: bool = True

    phrase = "of an attractor with the parameter {mu} m³/s² at {attractor} m"
    potential = r"-\frac{\mu}{|p - p_A|}"

    def __post_init__(self) -> None:
        _check(self, ("attractor",))

    def force(self, p: Array) -> Array:
        """Acceleration of free fall at a point."""
        r = arrays.asarray(p) - arrays.asarray(self.attractor)
        squared = _squared(self, r)
        return (-self.mu / (squared * scalar.sqrt(squared))) * r

    def gradient(self, p: Array) -> Array:
        """Its derivative by the position."""
        r = arrays.asarray(p) - arrays.asarray(self.attractor)
        squared = _squared(self, r)
        return (self.mu / (squared * scalar.sqrt(squared))) * (3 * _outer(r, r) / squared - arrays.identity(3))

    def energy(self, p: Array) -> Scalar:
        """Potential energy of a unit of mass."""
        r = arrays.asarray(p) - arrays.asarray(self.attractor)
        return -self.mu / scalar.sqrt(_squared(self, r))

    def energy_of(self, mass: Scalar, inertia: Array | None, rotation: Array, p: Array) -> Scalar:
        """Potential energy of a body of this mass and inertia at p, whose axes have this rotation."""
        R = product(rotation.T, p - arrays.asarray(self.attractor))
        squared = _squared(self, R)
        distance = scalar.sqrt(squared)
        energy = -self.mu * mass / distance
        if inertia is not None and self.extended:
            spread = trace(inertia) - 3 * dot(R, product(inertia, R)) / squared
            energy = energy - self.mu * spread / (2 * squared * distance)
        return energy

    def load(self, mass: Scalar, inertia: Array | None, rotation: Array, p: Array) -> tuple[Array, Array]:
        """Force and moment on a body of this mass and inertia at p, whose axes have this rotation; world axes."""
        R = p - arrays.asarray(self.attractor)
        if inertia is None or not self.extended:
            return self._pull(mass, R)
        return self._pull(mass, R, trace(inertia), product(rotation, product(inertia, product(rotation.T, R))))

    def load_in_body(
        self, mass: Scalar, inertia: Array | None, rotation: Array, p: Array, offset: Array | None = None
    ) -> tuple[Array, Array]:
        """The same from mass, inertia, rotation and p in body axes, with the offset of the centre of mass from p."""
        R = product(rotation.T, p - arrays.asarray(self.attractor))
        if offset is not None:
            R = R + offset
        if inertia is None or not self.extended:
            return self._pull(mass, R)
        return self._pull(mass, R, trace(inertia), product(inertia, arrays.asarray(R)))

    def energy_formula(self, i: str = "") -> str:
        """Potential energy of one body, or with an index of all, LaTeX."""
        sub, total = (f"_{i}", rf"\sum_{i} ") if i else ("", "")
        rho = rf"\rho{sub}"
        spread = (
            rf" + \frac{{\mu}}{{2 |{rho}|^3}} \left( \mathrm{{tr}}\, I{sub} - 3 "
            rf"\frac{{{rho}^T I{sub} {rho}}}{{|{rho}|^2}} \right)"
        )
        return rf"U = -{total}\left[ \frac{{\mu m{sub}}}{{|{rho}|}}{spread * self.extended} \right]"

    def load_formula(self) -> str:
        """Force and moment about the centre of mass on body i, body axes, LaTeX."""
        if not self.extended:
            return r"f_{gi} = -\frac{\mu m_i}{|\rho_i|^3} \rho_i, \quad n_{gi} = 0"
        return (
            r"f_{gi} = -\frac{\mu m_i}{|\rho_i|^3} \rho_i - \frac{3 \mu}{2 |\rho_i|^5} \left[ \left( \mathrm{tr}\, I_i"
            r" - 5 \frac{\rho_i^T I_i \rho_i}{|\rho_i|^2} \right) \rho_i + 2 I_i \rho_i \right], \quad "
            r"n_{gi} = \frac{3 \mu}{|\rho_i|^5} \rho_i \times I_i \rho_i"
        )

    def letters(self, i: str = "") -> str:
        """What stands for the body in the formulas of one body, or of body i, LaTeX."""
        return rf"\rho_{i} = R_{i}^T (p_{{C{i}}} - p_A)" if i else r"\rho = C (p - p_A) + r"

    def words(self) -> str:
        """What the letters of the formulas mean."""
        return "The vector rho from the attractor, at p_A, to the centre of mass has components in body axes."

    def _pull(self, mass: Scalar, R: Array, total: Scalar = 0, IR: Array | None = None) -> tuple[Array, Array]:
        """Force and moment in the axes of R, those of I R too; tr I is the same in all."""
        squared = _squared(self, R)
        cubed = squared * scalar.sqrt(squared)
        force = (-self.mu * mass / cubed) * arrays.asarray(R)
        if IR is None:
            return force, np.zeros(3, dtype=object)
        fifth = cubed * squared
        radial = total - 5 * dot(R, IR) / squared
        force = force - (3 * self.mu / (2 * fifth)) * (radial * arrays.asarray(R) + 2 * IR)
        return force, (3 * self.mu / fifth) * cross(R, IR)


@dataclass(frozen=True, eq=False)
class OblatePlanet(GravityField):
    """The field of a planet that is flattened at its poles: that of a point, and its second zonal harmonic J2.

        u = - mu/r + mu J2 a^2 / (2 r^3) (3 w^2/r^2 - 1) ,     w along the axis

    Args:
        mu: gravitational parameter G M, m^3/s^2; a number or symbol.
        oblateness: J2 > 0 of a flattened planet; 1.08263e-3 of the Earth.
        radius: equatorial radius a that belongs to J2, m.
        attractor: the centre of the planet, inertial axes.
        axis: its axis, a unit vector, inertial axes.
        extended: extended bodies feel the variation of the field; otherwise they are attracted like points.
    """

    mu: Any
    oblateness: Any
    radius: Any
    attractor: Any = (0, 0, 0)
    axis: Any = (0, 0, 1)
    extended: bool = True

    phrase = (
        "of an oblate planet with the parameter {mu} m³/s², J2 = {oblateness}, the equatorial radius {radius} m, the "
        "axis {axis} and its centre at {attractor} m"
    )
    potential = (
        r"-\frac{\mu}{r} + \frac{\mu J_2 a^2}{2 r^3} \left( 3 \frac{w^2}{r^2} - 1 \right), \quad r = |p - p_A|, \quad "
        r"w = z_A^T (p - p_A)"
    )

    def __post_init__(self) -> None:
        _check(self, ("attractor", "axis"))

    def words(self) -> str:
        """What the letters of the formulas mean."""
        return f"{super().words()} The planet, of the equatorial radius a, has its centre at p_A and the axis z_A."

    def _at(self, p: Array) -> tuple[Array, Array, Scalar, Scalar, Scalar]:
        """From the centre to p, the axis, the height along it, r^2 and mu J2 a^2 / 2."""
        r, z = arrays.asarray(p) - arrays.asarray(self.attractor), arrays.asarray(self.axis)
        return r, z, dot(z, r), _squared(self, r), self.mu * self.oblateness * self.radius * self.radius / 2

    def force(self, p: Array) -> Array:
        """Acceleration of free fall at a point."""
        r, z, w, squared, k = self._at(p)
        cubed = squared * scalar.sqrt(squared)
        fifth = cubed * squared
        radial = -self.mu / cubed - 3 * k / fifth + 15 * k * w * w / (fifth * squared)
        return radial * r - (6 * k * w / fifth) * z

    def gradient(self, p: Array) -> Array:
        """Its derivative by the position."""
        r, z, w, squared, k = self._at(p)
        cubed = squared * scalar.sqrt(squared)
        fifth = cubed * squared
        seventh = fifth * squared
        ww, rr, zz, zr = w * w, _outer(r, r), _outer(z, z), _outer(z, r)
        radial = -self.mu / cubed - 3 * k / fifth + 15 * k * ww / seventh
        falling = 3 * self.mu / fifth + 15 * k / seventh - 105 * k * ww / (seventh * squared)
        return radial * arrays.identity(3) + falling * rr + (30 * k * w / seventh) * (zr + zr.T) - (6 * k / fifth) * zz

    def energy(self, p: Array) -> Scalar:
        """Potential energy of a unit of mass."""
        _, _, w, squared, k = self._at(p)
        distance = scalar.sqrt(squared)
        return -self.mu / distance + k * (3 * w * w / squared - 1) / (squared * distance)


def _outer(a: Array, b: Array) -> Array:
    return arrays.asarray([[x * y for y in b] for x in a])


class UsersField(GravityField):
    """A user's function of a point and of time.

    Args:
        program: of the field, its gradient and the gradient's gradient.
        state: where the program finds time and parameters.
    """

    def __init__(self, program: Program, state: State):
        self.program, self.state = program, state
        self._last: tuple[Any, dict[str, Array]] = (None, {})  # force and gradients are asked for at the same point

    def force(self, p: Array) -> Array:
        """Acceleration of free fall at a point."""
        return self._found(p, "value")

    def gradient(self, p: Array) -> Array:
        """Its derivative by the position."""
        return self._found(p, "gradient")

    def second(self, p: Array) -> Array:
        """Derivative of the gradient by the position."""
        return self._found(p, "second")

    def energy(self, p: Array) -> Scalar:
        """None is known: the function need not be the gradient of anything."""
        raise UnsupportedError("a field given as a function has no known potential energy")

    def _found(self, p: Array, what: str) -> Array:
        if self._last[0] is not p:
            self._last = p, inline(self.program, self.state.arguments(self.program, p=p))
        return self._last[1][what]


# ------------------------------------------------------------------------------------------------------ force elements


def field_of(item: Force, state: State, program: Program | None) -> GravityField:
    """The field of a force element.

    Args:
        state: the mechanism at a state.
        program: of the user's function, if there is one.
    """
    if program is not None:
        return UsersField(program, state)
    carrier, at = state.place(item.a, item.placement_a)
    if carrier >= 0:
        raise UnsupportedError(f"force {item.name!r}: the attracting point {item.a!r} must be fixed to the ground")
    if item.kind == "oblate-planet":
        return OblatePlanet(item.value, item.oblateness, item.radius, tuple(at.translation), tuple(at.rotation[:, 2]))
    return InverseSquare(item.value, tuple(at.translation))


def gravitation(item: Force, state: State, program: Program | None = None) -> Effect:
    """What a field does to every body.

    Args:
        state: the mechanism at a state.
        program: of the user's function, if there is one.
    """
    field = field_of(item, state, program)
    total, actions = arrays.zeros(state.mechanism.nv), []
    for body, pair in _bodies(state):
        inertia = body.inertia
        try:
            force, moment = field.load(inertia.mass, inertia.tensor, pair.rotation, pair.offset)
        except SingularityError:
            raise SingularityError(
                f"force {item.name!r}: the centre of mass of {body.name!r} is at the attracting point, where the field "
                "is infinite. If it never leaves that point, leave the body out or give it neither mass nor inertia"
            ) from None
        total = total + pair.generalised(force, moment)
        on = (body.name, Transform.from_translation(inertia.center))
        actions.append(Action(on, GROUND, force, moment, mutual=False))
    return total, actions


def gravitation_energy(item: Force, state: State) -> Scalar:
    """Potential energy of all bodies in the field of an attractor, J; zero far away."""
    field = field_of(item, state, None)
    total: Scalar = 0
    for body, pair in _bodies(state):
        total = total + field.energy_of(body.inertia.mass, body.inertia.tensor, pair.rotation, pair.offset)
    return total


def _bodies(state: State) -> list[tuple[Body, Pair]]:
    """Bodies with mass or inertia, each with its centre of mass as seen from the ground.

    A wheel whose mass is counted elsewhere is turned by the field all the same.
    """
    found = []
    for body in state.mechanism.bodies:
        if not all(map(scalar.is_zero, (body.inertia.mass, *body.inertia.tensor.flat))):
            at = Transform.from_translation(body.inertia.center)
            found.append((body, state.from_world(body.name, at)))
    return found
