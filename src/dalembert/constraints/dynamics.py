"""A constrained mechanism as compiled kernels, and what is computed with them in NumPy.

system = ConstrainedDynamics(four_bar)
q = system.assemble(q_guess, keep=["crank"])
v = system.project_velocity(q, v_guess)
a = system.forward_dynamics(q, v, tau)               # kernel, any batch shape
found = system.solve(q, v, tau)                      # any rank; found.multipliers, found.unique
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert.constraints import closure
from dalembert.constraints.analysis import Analysis, analyse
from dalembert.constraints.inverse import Drives, inverse_dynamics
from dalembert.constraints.kernels import ConstrainedKernels
from dalembert.constraints.linearization import Linearization, linearize
from dalembert.constraints.reactions import Reaction, find_reactions
from dalembert.constraints.solve import Solution, project_acceleration, project_velocity, solve
from dalembert.constraints.state import States


class ConstrainedDynamics(ConstrainedKernels):
    """The dynamics of a mechanism with all its constraints.

    Kernels take ``(q, v, tau, t)`` or fewer of these, in that order, each with any batch shape; time ``t`` comes last
    and is a scalar. A mechanism with symbols has one more input ``parameters``, ordered as :attr:`parameter_names`.

    Kernels are straight-line code for the rows that are independent around ``reference``. Redundant rows that follow
    from the others everywhere in the same way are left out, with multipliers zero; others are kept by the method of
    multipliers (with the rank they have there; of all multipliers those of least norm, each measured by the
    acceleration it typically causes) and left out by projection. Where the kept ones happen to be dependent, so that
    those left out matter, or states are a millionth off the constraints, projection gives NaN (and it loses digits
    where an orbit of a million kilometres is told by its angle: take multipliers there); so do both methods where
    a row that depends on time contradicts the others by more than a thousandth of its terms; lesser contradictions are
    found when rows are chosen, at 0, 0.37, 1 and 3.1 s, by :meth:`analyse` at any time, and by ``simulate`` along its
    motion. Where rows lose rank - singular positions, see :meth:`analyse` - results are infinite, NaN or, after
    rounding, large and meaningless, unless there is a regularisation. :meth:`solve` works everywhere.

    Args:
        mechanism: the mechanism.
        forces: names of the force elements that act, or ``"all"``; must be said if there are any.
        include: which of ``armature``, ``damping`` and ``friction`` of the joints enter.
        method: ``"multipliers"`` or ``"projection"``; by default multipliers, unless a motion of the open tree moves no
            mass (a rod without mass in a loop), which projection can do.
        independent: names of the independent speeds (see :meth:`velocity_names`), or of joints for all of theirs;
            for projection only. By default they are chosen.
        reference: positions around which rows and speeds are chosen, or by joint name, others neutral; need not satisfy
            the constraints.
        regularisation: added to the diagonal of the matrix of the multipliers.
        stabilisation: frequency, rad/s, with which violations decay (Baumgarte); 0 for none.
        parameters: numbers for the mechanism's symbols, by name or in their order, wherever NumPy works: assembly,
            solve, choice of rows.
        optimise: 0 to 2, how hard to look for operations to save.
        dtype: only None: kernels compute states of single precision in it and all others in double.
        device: only ``"cpu"``; for a card there are ``rollout(..., device="cuda")`` and :meth:`export`.
    """

    def forward_dynamics(self, q: Any, v: Any, tau: Any, t: Any = 0.0, **options: Any) -> np.ndarray:
        """Accelerations under the constraints, by the kernel; any batch shape.

        Args:
            q: positions.
            v: velocities that satisfy the constraints.
            tau: generalised forces of the drives.
            t: time, s.
            options: of the kernel call: ``out``, ``threads``, ``dtype``; ``parameters`` in the place of those of the
                system, with any batch shape.
        """
        return self.evaluate("forward_dynamics", q, v, tau, t, **options)

    def solve(
        self,
        q: Any,
        v: Any,
        tau: Any,
        t: Any = 0.0,
        *,
        method: str = "projection",
        tolerance: float | None = None,
    ) -> Solution:
        """Accelerations and multipliers at any position, also where rows are redundant or lose rank; any batch shape.

        At a singular position the rows that are left do not determine the motion: accelerations are those of least
        constraint among the ones they allow, and need not be the limit along any motion through that position.

        Args:
            q: positions.
            v: velocities that satisfy the constraints.
            tau: generalised forces of the drives.
            t: time, s.
            method: one of :data:`dalembert.constraints.solve.METHODS`. Where masses differ by many powers of ten,
                ``"udwadia-kalaba"`` loses most digits.
            tolerance: below this fraction of the largest, singular values count as zero, whatever their number; by
                default below 1e-9, and those beyond the rank around the reference, at states that violate the
                constraints by e, below 100 sqrt(e), at most 1e-2, so that redundant rows stay so there.
        """
        M, f, G, gamma = self.evaluate("terms", q, v, tau, t)
        if tolerance is not None:
            return solve(M, G, f, gamma, method, tolerance)
        return solve(M, G, f, gamma, method, known=self.known(q, t))

    def inverse_dynamics(
        self, q: Any, v: Any, a: Any, t: Any = 0.0, *, actuated: Sequence[str], weights: Sequence[float] | None = None
    ) -> Drives:
        """Forces of the drives for a motion, any batch shape; with surplus drives, of least sum of (tau / weight)^2.

        What a constraint ``motion`` moves needs no drive; :meth:`reactions` tells the torque of its motor.

        Args:
            q: positions that satisfy the constraints; more than 1e-3 m or rad off them is refused.
            v: velocities that satisfy the constraints; likewise.
            a: accelerations that satisfy the constraints; what differences of samples lose, up to a hundredth of what a
                row is the sum of, is made up for as by :meth:`project_acceleration`, which leaves the drives as they
                are.
            t: time, s.
            actuated: names of the driven joints, or of single velocities (see :meth:`velocity_names`).
            weights: one per driven velocity, larger for stronger drives; all equal by default.
        """
        return inverse_dynamics(self, States(self.mechanism, q, {"v": v, "a": a}, t), actuated, weights)

    def reactions(
        self,
        q: Any,
        v: Any,
        tau: Any,
        t: Any = 0.0,
        *,
        axes: str | None = None,
        point: Sequence[float] | None = None,
    ) -> dict[str, Reaction]:
        """Force and moment of every joint and every constraint between frames, by name; any batch shape.

        A joint and a constraint of the same name are told apart: ``joint:pin``, ``constraint:pin``. What has no place
        between bodies - couplings, mimic joints, given motions, users' laws and generalised forces - acts as if drives
        in the joints did it, and is part of what these transmit; so forces between the teeth of gears are not in here.

        Args:
            q: positions that satisfy the constraints; more than 1e-3 m or rad off them is refused, less is taken for
                drift, and forces are off by as much, or, near singular positions, by that over the distance from them.
            v: velocities that satisfy the constraints; likewise.
            tau: generalised forces of the drives.
            t: time, s.
            axes: a frame in whose axes all components are given, ``"world"`` for instance; by default each joint's
                child, and each constraint's frame a (b for rolling).
            point: about which moments are given, components in ``axes`` from its origin; by default the origin of the
                frame acted upon.
        """
        return find_reactions(self, q, v, tau, t, axes, point)

    def linearize(
        self,
        q: Any,
        v: Any,
        tau: Any,
        t: Any = 0.0,
        *,
        positions: Sequence[str] | None = None,
        speeds: Sequence[str] | None = None,
    ) -> Linearization:
        """State matrices reduced to independent positions and speeds, at one state or along a motion (any batch).

        Args:
            q: positions that satisfy the constraints.
            v: velocities that satisfy the constraints.
            tau: generalised forces of the drives.
            t: time, s.
            positions: names of the independent positions (see :meth:`velocity_names`), or of joints for all of
                theirs; by default chosen for good condition at the first state.
            speeds: names of the independent speeds; likewise.
        """
        return linearize(self, States(self.mechanism, q, {"v": v, "tau": tau}, t), positions, speeds)

    def analyse(self, q: Any, t: float = 0.0, *, v: Any = None) -> Analysis:
        """Degrees of freedom, redundancy, contradictions and singularity at a position, with reasons.

        Args:
            q: positions, assembled.
            t: time, s.
            v: velocities for what is demanded of accelerations; by default the smallest that satisfy the constraints.
        """
        return analyse(self, q, t, v=v)

    def residual(self, q: Any, t: float = 0.0) -> dict[str, np.ndarray]:
        """Residuals of the constraints on positions, by name of the constraint: m, and of angles x sin(x).

        Of a distance d that should be L, it is (d^2 - L^2) / 2L, which is d - L where that is small.

        Args:
            q: positions.
            t: time, s.
        """
        phi = self.evaluate("positions", q, t)[0]
        return {name: phi[..., self.constraints.slice(name)] for name in self.constraints.info}

    def assemble(self, q: Any = None, t: float = 0.0, keep: Sequence[str] = (), **options: Any) -> np.ndarray:
        """Positions that satisfy the constraints, downhill from the given ones, or else from others around them.

        Args:
            q: where to start; the reference by default, also for joints that are left out where it is given by joint
                name. Which of several assemblies is found depends on it.
            t: time, s.
            keep: joints whose positions must not change.
            options: of :func:`dalembert.constraints.closure.assemble`: ``tolerance``, ``iterations``, ``restarts``
                (0: only downhill from the given ones) and ``seed``.
        """
        return closure.assemble(self, self.reference if q is None else q, t, keep, **options)

    def assembly_modes(
        self, q: Any = None, t: float = 0.0, keep: Sequence[str] = (), **options: Any
    ) -> list[np.ndarray]:
        """Different assemblies with some joints held - elbow up, elbow down - found from many random starts.

        Args:
            q: positions of the held joints, and the first start; the reference by default.
            t: time, s.
            keep: joints whose positions are held; so many that assemblies are isolated, or it is an error. Those where
                others can move nevertheless are left out, with a warning.
            options: of :func:`dalembert.constraints.closure.assembly_modes`: ``starts``, ``spread``, ``seed``.
        """
        return closure.assembly_modes(self, q, t, keep, **options)

    def project_velocity(self, q: Any, v: Any, t: Any = 0.0, keep: Sequence[str] = ()) -> np.ndarray:
        """Velocities that satisfy the constraints, nearest to the given ones in kinetic energy; any batch shape.

        Args:
            q: positions that satisfy the constraints; more than 1e-3 m or rad off them is refused.
            v: velocities to start from, or by joint name, others zero.
            t: time, s.
            keep: joints, or single velocities (see :meth:`velocity_names`), whose velocities must not change.
        """
        return project_velocity(self, q, v, t, keep)

    def project_acceleration(self, q: Any, v: Any, a: Any, t: Any = 0.0, keep: Sequence[str] = ()) -> np.ndarray:
        """Accelerations that satisfy the constraints, nearest to the given ones in the sense of Gauss; any batch shape.

        Args:
            q: positions that satisfy the constraints.
            v: velocities that satisfy the constraints.
            a: accelerations to start from, or by joint name, others zero.
            t: time, s.
            keep: joints, or single velocities (see :meth:`velocity_names`), whose accelerations must not change.
        """
        return project_acceleration(self, q, v, a, t, keep)
