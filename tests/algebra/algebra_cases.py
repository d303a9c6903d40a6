"""What the tests of the algebra draw from: vectors, tensors, rotations and bodies, degenerate ones included."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

EPS = np.finfo(float).eps

numbers = st.floats(-10, 10).map(lambda x: x if abs(x) > 1e-30 else 0.0)
"""Zero, or at least so large that the products of the identities do not underflow."""


def arrays(*shape):
    """Arrays of the given shape; hypothesis likes zeros, ones and equal entries, which are the degenerate cases."""
    count = math.prod(shape)
    return st.lists(numbers, min_size=count, max_size=count).map(lambda entries: np.array(entries).reshape(shape))


vectors = st.one_of(arrays(3), st.just(np.zeros(3)), st.sampled_from(list(np.eye(3))))
tensors = st.one_of(arrays(3, 3), st.sampled_from([np.zeros((3, 3)), np.eye(3), np.ones((3, 3)), np.diag([1.0, 0, 0])]))


@st.composite
def _parallel(draw):
    u = draw(arrays(3))
    return u, draw(numbers) * u


vector_pairs = st.one_of(st.tuples(vectors, vectors), _parallel())
"""Two vectors: independent, zero, or parallel."""


def _axis(entries):
    length = np.linalg.norm(entries)
    return entries / length if length > 1e-3 else np.array([0.6, 0.0, 0.8])


axes = st.one_of(arrays(3).map(_axis), st.sampled_from([s * e for e in np.eye(3) for s in (1, -1)]))
quarter_turns = st.sampled_from([k * math.pi / 2 for k in range(-4, 5)])
angles = st.one_of(st.floats(-7, 7), quarter_turns, st.sampled_from([1e-3, 1e-9, 1e-17, math.pi - 1e-9]))


def rodrigues(axis, angle):
    """Rotation about a unit axis by the textbook series, independent of the library: the matrix exponential."""
    x, y, z = axis
    k = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + math.sin(angle) * k + 2 * math.sin(angle / 2) ** 2 * (k @ k)


rotations = st.builds(rodrigues, axes, angles)
"""Rotations by any angle, identities, quarter and half turns, and tiny turns."""


EQUAL_EIGENVALUES = [(0, 0, 0), (2, 2, 2), (2, 2, 5), (2, 5, 5), (0, 0, 3), (-3, 0, 0), (-1, -1, 1), (1e-8, 1e-8, 1)]


def _turned_diagonal(rotation, eigenvalues):
    t = rotation @ np.diag(eigenvalues).astype(float) @ rotation.T
    return (t + t.T) / 2


symmetric = st.one_of(
    tensors.map(lambda t: t + t.T), st.builds(_turned_diagonal, rotations, st.sampled_from(EQUAL_EIGENVALUES))
)
"""Symmetric tensors, those with two or three equal eigenvalues included."""


def close(a, b, scale=1.0, ulps=64):
    """``a`` equals ``b`` up to rounding errors of ``ulps`` units in the last place of ``scale``.

    The identities tested are sums of a few dozen products, each rounded by at most half a unit; 64 is a roomy bound.
    """
    error = np.max(np.abs(np.asarray(a) - np.asarray(b)), initial=0.0)
    return bool(error <= ulps * EPS * scale)


def size(*factors):
    """Product of the norms of vectors and tensors: the scale of an expression that is linear in each."""
    return math.prod(float(np.linalg.norm(f)) for f in factors)


def derivative(function, at=0.0, step=1e-30):
    """Derivative of an analytic function of one real number, by the complex step: no truncation, no cancellation."""
    return np.asarray(function(complex(at, step)), dtype=complex).imag / step


@dataclass
class Cloud:
    """A rigid body made of particles, in body axes about a body-fixed point."""

    masses: np.ndarray
    points: np.ndarray

    @property
    def mass(self):
        return self.masses.sum()

    @property
    def centre(self):
        return self.masses @ self.points / self.mass

    @property
    def inertia(self):
        return sum(m * (r @ r * np.eye(3) - np.outer(r, r)) for m, r in zip(self.masses, self.points))

    @property
    def pseudo_inertia(self):
        return sum(m * np.outer(r, r) for m, r in zip(self.masses, self.points))

    def about_centre(self):
        return Cloud(self.masses, self.points - self.centre)

    def turned(self, rotation):
        return Cloud(self.masses, self.points @ np.asarray(rotation).T)

    def sum_of_moments(self, of_point):
        """``sum m r x f(r)`` for a linear vector field f."""
        return sum(m * np.cross(r, of_point(r)) for m, r in zip(self.masses, self.points))


@st.composite
def clouds(draw):
    """Bodies of one to six particles; also a single particle, a rod, a plate, and weightless particles."""
    count = draw(st.integers(1, 6))
    masses = np.abs(draw(arrays(count))) + np.eye(count)[0]
    points = draw(arrays(count, 3)) * draw(st.sampled_from([[1, 1, 1], [1, 1, 0], [0, 0, 1]]))
    return Cloud(masses, points)


class Counted:
    """A number that counts the multiplications and additions it takes part in; sign changes are free."""

    def __init__(self, value, tally):
        self.value, self.tally = value, tally

    def _make(self, other, kind, function):
        self.tally[kind] = self.tally.get(kind, 0) + 1
        return Counted(function(self.value, other.value if isinstance(other, Counted) else other), self.tally)

    def __add__(self, other):
        return self._make(other, "add", lambda a, b: a + b)

    def __radd__(self, other):
        return self._make(other, "add", lambda a, b: b + a)

    def __sub__(self, other):
        return self._make(other, "add", lambda a, b: a - b)

    def __rsub__(self, other):
        return self._make(other, "add", lambda a, b: b - a)

    def __mul__(self, other):
        return self._make(other, "mul", lambda a, b: a * b)

    __rmul__ = __mul__

    def __truediv__(self, other):
        return self._make(other, "div", lambda a, b: a / b)

    def __neg__(self):
        return Counted(-self.value, self.tally)


def count(function, *arguments):
    """Operations a function of float arrays takes, as ``{"mul": ..., "add": ...}``."""
    tally: dict[str, int] = {}
    wrapped = [np.array([Counted(x, tally) for x in np.ravel(a)], dtype=object).reshape(np.shape(a)) for a in arguments]
    function(*wrapped)
    return tally
