"""Mass, centre of mass and inertia tensor of one rigid body."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dalembert.algebra import arrays, scalar
from dalembert.algebra.arrays import Array, product
from dalembert.algebra.scalar import Scalar
from dalembert.errors import ModelError
from dalembert.model.checks import expect_items
from dalembert.model.record import Record, check_scalar, frozen_array, is_negative


def _parallel(mass: Scalar, r: Array) -> Array:
    """m (r.r 1 - r r^T), the parallel-axes term (4.3.9)."""
    x, y, z = r.tolist() if scalar.is_number(mass) else arrays.exact(r)
    xx, yy, zz, xy, xz, yz = x * x, y * y, z * z, x * y, x * z, y * z
    return _times(mass, arrays.stack([[yy + zz, -xy, -xz], [-xy, xx + zz, -yz], [-xz, -yz, xx + yy]]))


def _times(mass: Scalar, a: Array) -> Array:
    """``mass * a``; the integers of a numeric array stay exact beside a symbolic mass."""
    return mass * (a if scalar.is_number(mass) else arrays.exact(a))


def _sum(a: Array, b: Array) -> Array:
    """``a + b``; the integers of a numeric array stay exact beside symbols."""
    return a + b if a.dtype != object and b.dtype != object else arrays.exact(a) + arrays.exact(b)


def _length(x: Scalar, what: str) -> Scalar:
    x = check_scalar(x, what)
    if is_negative(x):
        raise ModelError(f"{what}: {x} m is negative")
    return x


def _whole(tensor: Any) -> Any:
    """A tensor given by three or six entries as a matrix; anything else as it is."""
    try:
        entries = list(tensor)
    except TypeError:
        return tensor
    if len(entries) not in (3, 6) or any(np.ndim(x) or isinstance(x, str) for x in entries):
        return tensor
    xx, yy, zz, xy, xz, yz = (*entries, 0, 0, 0)[:6]
    return [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]


@dataclass(frozen=True, eq=False)
class Inertia(Record):
    """Mass distribution of a rigid body, in the axes and from the origin of its own frame.

    Args:
        mass: mass in kg.
        center: centre of mass in body axes, m.
        tensor: 3 x 3 inertia tensor about the *centre of mass*, body axes, kg m^2 (tensor entries: the off-diagonal
            ones are minus the products of inertia); or its entries xx, yy, zz, or xx, yy, zz, xy, xz, yz.
    """

    mass: Scalar = 0
    center: Array = field(default_factory=lambda: np.zeros(3))
    tensor: Array = field(default_factory=lambda: np.zeros((3, 3)))

    def __post_init__(self) -> None:
        object.__setattr__(self, "mass", check_scalar(self.mass, "mass"))
        object.__setattr__(self, "center", frozen_array(self.center, (3,), "centre of mass"))
        object.__setattr__(self, "tensor", frozen_array(_whole(self.tensor), (3, 3), "inertia tensor"))

    # ------------------------------------------------------------------------------------------ other ways to say it

    @classmethod
    def about_origin(cls, mass: Scalar, first_moment: Any, tensor: Any) -> Inertia:
        """From mass, first moment ``m c`` and inertia tensor about the frame origin.

        Args:
            mass: mass in kg; must not be zero unless the first moment is, since nothing else has a centre of mass.
            first_moment: mass times centre of mass, kg m.
            tensor: 3 x 3 inertia tensor about the origin, kg m^2.
        """
        mass = check_scalar(mass, "mass")
        first_moment, tensor = frozen_array(first_moment, (3,), "first moment"), frozen_array(tensor, (3, 3), "tensor")
        if scalar.is_zero(mass):
            if not all(scalar.is_zero(x) for x in first_moment.flat):
                raise ModelError(f"no mass has the first moment {first_moment.tolist()} kg m: it has no centre of mass")
            return cls(mass, np.zeros(3), tensor)
        center = first_moment / mass
        return cls(mass, center, tensor - _parallel(mass, center))

    @classmethod
    def from_parameters(cls, parameters: Any) -> Inertia:
        """From the ten parameters that dynamics is linear in; see :attr:`parameters`."""
        m, hx, hy, hz, xx, xy, xz, yy, yz, zz = frozen_array(parameters, (10,), "parameters")
        return cls.about_origin(m, [hx, hy, hz], [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])

    @classmethod
    def sphere(cls, mass: Scalar, radius: Scalar, center: Any = (0, 0, 0)) -> Inertia:
        """Solid homogeneous sphere.

        Args:
            mass: kg.
            radius: m.
            center: its centre in body axes, m.
        """
        mass, radius = check_scalar(mass, "mass"), _length(radius, "radius")
        i = 2 * mass * radius**2 / 5
        return cls(mass, center, arrays.asarray([[i, 0, 0], [0, i, 0], [0, 0, i]]))

    @classmethod
    def box(cls, mass: Scalar, size: Any, center: Any = (0, 0, 0)) -> Inertia:
        """Solid homogeneous box along the body axes.

        Args:
            mass: kg.
            size: edge lengths along x, y, z, m.
            center: its centre in body axes, m.
        """
        mass = check_scalar(mass, "mass")
        edges = [_length(s, "size") for s in expect_items(size, object, "size", ModelError)]
        if len(edges) != 3:
            raise ModelError(f"size: expected three numbers, got {len(edges)}")
        x, y, z = (s**2 for s in edges)
        return cls(
            mass,
            center,
            arrays.asarray([[mass * (y + z) / 12, 0, 0], [0, mass * (x + z) / 12, 0], [0, 0, mass * (x + y) / 12]]),
        )

    @classmethod
    def cylinder(cls, mass: Scalar, radius: Scalar, length: Scalar, center: Any = (0, 0, 0)) -> Inertia:
        """Solid homogeneous cylinder along body z.

        Args:
            mass: kg.
            radius: m.
            length: m.
            center: its centre in body axes, m.
        """
        mass, radius, length = check_scalar(mass, "mass"), _length(radius, "radius"), _length(length, "length")
        across = mass * (3 * radius**2 + length**2) / 12
        return cls(mass, center, arrays.asarray([[across, 0, 0], [0, across, 0], [0, 0, mass * radius**2 / 2]]))

    @classmethod
    def point(cls, mass: Scalar, center: Any = (0, 0, 0)) -> Inertia:
        """Point mass.

        Args:
            mass: kg.
            center: where it is, in body axes, m.
        """
        return cls(mass, center)

    # ------------------------------------------------------------------------------------------------- derived views

    @property
    def first_moment(self) -> Array:
        """Mass times centre of mass, kg m."""
        return _times(self.mass, self.center)

    @property
    def tensor_about_origin(self) -> Array:
        """Inertia tensor about the frame origin, kg m^2."""
        return _sum(self.tensor, _parallel(self.mass, self.center))

    @property
    def parameters(self) -> Array:
        """``[m, m cx, m cy, m cz, Ixx, Ixy, Ixz, Iyy, Iyz, Izz]`` about the origin: dynamics is linear in these."""
        i = self.tensor_about_origin
        return arrays.asarray([self.mass, *self.first_moment, i[0, 0], i[0, 1], i[0, 2], i[1, 1], i[1, 2], i[2, 2]])

    @property
    def is_zero(self) -> bool:
        """True if there is certainly no mass and no rotational inertia."""
        return scalar.is_zero(self.mass) and all(scalar.is_zero(x) for x in self.tensor.flat)

    @property
    def is_numeric(self) -> bool:
        """True if there is no symbol in it."""
        return scalar.is_number(self.mass) and self.center.dtype != object and self.tensor.dtype != object

    def moved(self, rotation: Array, translation: Array) -> Inertia:
        """The same matter seen from a parent frame.

        Args:
            rotation: maps this frame's components to the parent's.
            translation: origin of this frame in the parent.
        """
        turned = product(product(rotation, self.tensor), rotation.T)
        mirrored = [[turned[min(i, j), max(i, j)] for j in range(3)] for i in range(3)]  # symmetric to the last bit
        center = _sum(product(rotation, self.center), arrays.asarray(translation))
        return Inertia(self.mass, center, arrays.asarray(mirrored))

    def __add__(self, other: Inertia) -> Inertia:
        """Both bodies welded together; both must be expressed in the same frame."""
        if not isinstance(other, Inertia):
            return NotImplemented
        if self.is_zero:
            return other
        if other.is_zero:
            return self
        mass, first_moment = self.mass + other.mass, _sum(self.first_moment, other.first_moment)
        if scalar.is_zero(mass) or not (self.is_numeric and other.is_numeric):  # what symbols subtract comes back whole
            total = _sum(self.tensor_about_origin, other.tensor_about_origin)
            return Inertia.about_origin(mass, first_moment, total)
        # About the common centre of mass m1 m2/(m1 + m2) turns at the distance of the two: nothing is subtracted, so a
        # frame far away costs no digits.
        apart = _parallel(self.mass * other.mass, self.center - other.center) / mass
        return Inertia(mass, first_moment / mass, self.tensor + other.tensor + apart)

    def __repr__(self) -> str:
        places = {"xx": (0, 0), "yy": (1, 1), "zz": (2, 2), "xy": (0, 1), "xz": (0, 2), "yz": (1, 2)}
        entries = {name: self.tensor[place] for name, place in places.items()}
        tensor = ", ".join(f"{k}={x:.6g}" if scalar.is_number(x) else f"{k}={x}" for k, x in entries.items())
        return f"Inertia(mass={self.mass}, center={self.center.tolist()}, {tensor})"
