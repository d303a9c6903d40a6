"""Conversion of whole vectors and matrices, joint by joint."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from dalembert.algebra.arrays import Array
from dalembert.algebra.scalar import is_number
from dalembert.conventions.blocks import Block, add_turns, times
from dalembert.errors import ArgumentError, UnsupportedError
from dalembert.model import Mechanism


class Convention:
    """The same mechanism in two libraries, and the maps between their coordinates.

    Args:
        mechanism: the mechanism here.
        library: what the other side is called, for messages.
        nq: number of positions there.
        nv: number of velocities there.
        blocks: one for every joint that moves there.
    """

    def __init__(self, mechanism: Mechanism, library: str, nq: int, nv: int, blocks: Iterable[Block]):
        self.mechanism, self.library, self.nq, self.nv = mechanism, library, nq, nv
        self.blocks = tuple(blocks)

    def __repr__(self) -> str:
        m = self.mechanism
        return f"<{self.library} convention of {m.name!r}: nq {m.nq} -> {self.nq}, nv {m.nv} -> {self.nv}>"

    # ---------------------------------------------------------------------------------------------------------- there

    def q(self, q: Any) -> Array:
        """Their positions from ours.

        Args:
            q: our positions, (..., nq).
        """
        return self._their_q(self._own(q, "q", self.mechanism.nq))

    def v(self, q: Any, v: Any) -> Array:
        """Their velocities from ours.

        Args:
            q: our positions, (..., nq).
            v: our velocities, (..., nv).
        """
        return self._push(self._own(q, "q", self.mechanism.nq), self._own(v, "v", self.mechanism.nv))

    def a(self, q: Any, v: Any, a: Any) -> Array:
        """Their accelerations, the time derivative of their velocities, from ours.

        Args:
            q: our positions, (..., nq).
            v: our velocities, (..., nv).
            a: our accelerations, (..., nv).
        """
        m = self.mechanism
        q, v, a = self._own(q, "q", m.nq), self._own(v, "v", m.nv), self._own(a, "a", m.nv)
        return self._push(q, a) + self._bias(q, v)

    def tau(self, q: Any, tau: Any) -> Array:
        """Their generalised forces, dual to their velocities, from ours; mimic joints get none, their leader all.

        Args:
            q: our positions, (..., nq).
            tau: our generalised forces, (..., nv).
        """
        q, tau = self._own(q, "q", self.mechanism.nq), self._own(tau, "tau", self.mechanism.nv)
        return self._push(q, tau, followers=False)

    def jacobian(self, q: Any, jacobian: Any) -> Array:
        """The matrix that maps their velocities to what ``jacobian`` maps ours to.

        Args:
            q: our positions, (..., nq).
            jacobian: any matrix that multiplies our velocities, (..., rows, nv).
        """
        q, jacobian = self._own(q, "q", self.mechanism.nq), self._own(jacobian, "jacobian", self.mechanism.nv)
        self._refuse_followers("a Jacobian")
        return self._push(q[..., None, :], jacobian)

    def mass_matrix(self, q: Any, mass_matrix: Any) -> Array:
        """Their inertia matrix from ours.

        Args:
            q: our positions, (..., nq).
            mass_matrix: our inertia matrix, (..., nv, nv).
        """
        q, mass_matrix = self._own(q, "q", self.mechanism.nq), self._own(mass_matrix, "mass_matrix", self.mechanism.nv)
        self._refuse_followers("an inertia matrix")
        half = np.swapaxes(self._push(q[..., None, :], mass_matrix), -1, -2)
        return self._push(q[..., None, :], half)

    # ----------------------------------------------------------------------------------------------------------- back

    def from_q(self, q: Any) -> Array:
        """Our positions from theirs.

        Args:
            q: their positions, (..., nq of that library).
        """
        theirs = self._own(q, f"q of {self.library}", self.nq)
        ours = np.zeros((*theirs.shape[:-1], self.mechanism.nq))
        for block in self._leaders():
            ours[..., block.own_q] = block.from_q(theirs[..., block.their_q])
        add_turns(self.blocks, ours, theirs)
        self._check_followers("position", theirs, self._their_q(ours), [b.their_q for b in self.blocks])
        return ours

    def from_v(self, q: Any, v: Any) -> Array:
        """Our velocities from theirs.

        Args:
            q: their positions, (..., nq of that library).
            v: their velocities, (..., nv of that library).
        """
        return self._from_v(self.from_q(q), self._own(v, f"v of {self.library}", self.nv))

    def from_a(self, q: Any, v: Any, a: Any) -> Array:
        """Our accelerations from theirs.

        Args:
            q: their positions, (..., nq of that library).
            v: their velocities, (..., nv of that library).
            a: their accelerations, (..., nv of that library).
        """
        ours = self.from_q(q)
        own_v = self._from_v(ours, self._own(v, f"v of {self.library}", self.nv))
        return self._from_v(ours, self._own(a, f"a of {self.library}", self.nv) - self._bias(ours, own_v))

    def from_tau(self, q: Any, tau: Any) -> Array:
        """Our generalised forces from theirs; those of mimic joints are added to their leaders'.

        Args:
            q: their positions, (..., nq of that library).
            tau: their generalised forces, (..., nv of that library).
        """
        return self._pull(self.from_q(q), self._own(tau, f"tau of {self.library}", self.nv))

    def from_jacobian(self, q: Any, jacobian: Any) -> Array:
        """The matrix that maps our velocities to what ``jacobian`` maps theirs to.

        Args:
            q: their positions, (..., nq of that library).
            jacobian: any matrix that multiplies their velocities, (..., rows, nv of that library).
        """
        jacobian = self._own(jacobian, f"jacobian of {self.library}", self.nv)
        return self._pull(self.from_q(q)[..., None, :], jacobian)

    def from_mass_matrix(self, q: Any, mass_matrix: Any) -> Array:
        """Our inertia matrix from theirs.

        Args:
            q: their positions, (..., nq of that library).
            mass_matrix: their inertia matrix, (..., nv, nv of that library).
        """
        half = np.swapaxes(self.from_jacobian(q, mass_matrix), -1, -2)
        return self.from_jacobian(q, half)

    # ------------------------------------------------------------------------------------------------------- the maps

    def _their_q(self, q: Array) -> Array:
        theirs = np.zeros((*q.shape[:-1], self.nq))
        for block in self.blocks:
            theirs[..., block.their_q] = block.to_q(_own_position(block, q))
        return theirs

    def _push(self, q: Array, v: Array, followers: bool = True) -> Array:
        """P v, from our coordinates to theirs."""
        theirs = np.zeros((*np.broadcast_shapes(q.shape[:-1], v.shape[:-1]), self.nv))
        for block in self.blocks if followers else self._leaders():
            P = block.matrix(q[..., block.own_q])
            part = block.gain * v[..., block.own_v]
            theirs[..., block.their_v] = part if P is None else times(P, part)
        return theirs

    def _pull(self, q: Array, x: Array) -> Array:
        """P^T x, from their coordinates to ours."""
        ours = np.zeros((*np.broadcast_shapes(q.shape[:-1], x.shape[:-1]), self.mechanism.nv))
        for block in self.blocks:
            P = block.matrix(q[..., block.own_q])
            part = block.gain * x[..., block.their_v]
            ours[..., block.own_v] += part if P is None else times(np.swapaxes(P, -1, -2), part)
        return ours

    def _from_v(self, q: Array, theirs: Array) -> Array:
        """The v with P v = theirs."""
        ours = np.zeros((*np.broadcast_shapes(q.shape[:-1], theirs.shape[:-1]), self.mechanism.nv))
        for block in self._leaders():
            P = block.matrix(q[..., block.own_q])
            part = theirs[..., block.their_v]
            ours[..., block.own_v] = part if P is None else times(np.swapaxes(P, -1, -2), part)
        self._check_followers("rate", theirs, self._push(q, ours), [b.their_v for b in self.blocks])
        return ours

    def _bias(self, q: Array, v: Array) -> Array:
        theirs = np.zeros((*np.broadcast_shapes(q.shape[:-1], v.shape[:-1]), self.nv))
        for block in self.blocks:
            bias = block.bias(q[..., block.own_q], v[..., block.own_v])
            if bias is not None:
                theirs[..., block.their_v] = bias
        return theirs

    # --------------------------------------------------------------------------------------------------------- checks

    def _leaders(self) -> list[Block]:
        return [block for block in self.blocks if not block.follower]

    def _own(self, x: Any, name: str, size: int) -> Array:
        try:
            array = np.asarray(x)
            real = array.dtype.kind in "biuf" or (array.dtype == object and all(map(is_number, array.flat)))
            array = array.astype(float) if real else np.empty((), dtype=object)
        except (TypeError, ValueError):  # ragged, or complex among objects
            array = np.empty((), dtype=object)
        if array.dtype == object or np.ma.is_masked(x):
            raise ArgumentError(f"{name} must be an array of real numbers, got {_short(x)}")
        if array.ndim == 0 or array.shape[-1] != size:
            raise ArgumentError(f"{name} has shape {array.shape}; its last dimension must be {size} for {self!r}")
        return array

    def _check_followers(self, what: str, given: Array, implied: Array, places: list[slice]) -> None:
        for block, place in zip(self.blocks, places):
            off = np.abs(given[..., place] - implied[..., place])
            if block.follower and np.any(off > 1e-6 * (1 + np.abs(implied[..., place]))):
                raise ArgumentError(
                    f"joint {block.joint!r} mimics another joint here, but its {what} in {self.library} is "
                    f"{off.max():.3g} away from what its leader dictates"
                )

    def _refuse_followers(self, what: str) -> None:
        names = [block.joint for block in self.blocks if block.follower]
        if names:
            raise UnsupportedError(
                f"{self.library} moves the mimic joints {', '.join(map(repr, names))} on their own, so {what} of "
                f"{self.mechanism.name!r} does not determine one there; the opposite direction works"
            )


def _short(x: Any) -> str:
    dtype = getattr(x, "dtype", None)
    hidden = "with masked entries " if np.ma.is_masked(x) else ""
    return f"an array {hidden}of {dtype}" if dtype is not None else repr(x)[:60]


def _own_position(block: Block, q: Array) -> Array:
    own = q[..., block.own_q]
    return block.gain * own + block.offset if block.follower else own
