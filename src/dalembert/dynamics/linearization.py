"""Linearization of constrained systems, reduced to independent coordinates, at equilibria and along motions.

Small deviations satisfy the linearized constraints. Positions only those on positions, velocities all:

    G_h dq = 0                      dq = Bq y          y: independent positions
    G dv + (d(G v - rate)/dq) dq = 0    dv = Vq dq + B u      u: independent speeds

so that y' = [dq'] and u' = [da] on the independent entries give the state matrix of x = (y, u). With rolling there are
more positions than speeds. Displacements dq are tangent vectors: of a quaternion, the small rotation in child axes.

Along a motion the matrices change with it, and their eigenvalues say nothing - unless the motion is steady in the
chosen coordinates: a rolling disc must be carried by yaw, lean and spin, not by a ball whose axes spin with it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.algebra.arrays import product
from dalembert.algorithms.forward_dynamics.factor_and_solve import with_armature
from dalembert.algorithms.inertia_matrix.two_sided import two_sided
from dalembert.algorithms.inverse_dynamics.augmented_links import augmented_links
from dalembert.constraints.arguments import velocities_named
from dalembert.constraints.pivots import find_pivots
from dalembert.constraints.rank import Decomposition
from dalembert.constraints.solve import solve
from dalembert.constraints.state import States
from dalembert.constraints.vicinity import decomposed
from dalembert.constraints.violation import violation
from dalembert.dynamics.quantity import Setting
from dalembert.errors import ArgumentError, MissingExtraError, SingularityError
from dalembert.kinematics.manifold import position_rate, tangent_rate
from dalembert.model.checks import expect, expect_names, expect_real, real_array
from dalembert.model.consumers import heed
from dalembert.model.names import as_names, velocity_names
from dalembert.text.layout import counted, matrix_lines
from dalembert.text.tables import TextTable, as_html
from dalembert.tracing.derivatives import forward

if TYPE_CHECKING:
    from dalembert.dynamics.facade import Dynamics
    from dalembert.model import Mechanism


@dataclass(frozen=True, eq=False)
class LinearModel:
    """xdot = A x + B u, y = C x + D u: small deviations from a state, or from the states of a motion.

    Args:
        A: (..., n, n).
        B: (..., n, m).
        C: (p, n).
        D: (p, m).
        states: a name for every entry of x.
        inputs: a name for every entry of u.
        outputs: a name for every entry of y.
        positions: names of the independent positions, the first entries of x; empty if nobody said.
        speeds: names of the independent speeds, the other entries.
        position_map: (..., nv, positions), all displacements from the independent ones.
        speed_map: (..., nv, speeds), all velocities from the independent ones.
    """

    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    D: np.ndarray
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    positions: tuple[str, ...] = ()
    speeds: tuple[str, ...] = ()
    position_map: np.ndarray | None = None
    speed_map: np.ndarray | None = None

    def __post_init__(self) -> None:
        for name in ("states", "inputs", "outputs"):
            object.__setattr__(self, name, as_names(name, getattr(self, name)))
        n, m, p = len(self.states), len(self.inputs), len(self.outputs)
        for name, shape in (("A", (n, n)), ("B", (n, m)), ("C", (p, n)), ("D", (p, m))):
            matrix = real_array(getattr(self, name), name)
            derived = self.position_map is not None  # whoever asked for it judges what is not finite
            if matrix.shape[-2:] != shape or not (derived or np.isfinite(matrix).all()):
                raise ArgumentError(f"{name} has shape {matrix.shape}; by the names it must be a finite {shape}")
            object.__setattr__(self, name, matrix)

    def __repr__(self) -> str:
        counts = [counted(len(getattr(self, f"{what}s")), what) for what in ("state", "input", "output")]
        return f"<LinearModel: {', '.join(counts)}>"

    def __str__(self) -> str:
        lines = [repr(self)[1:-1]]
        if self.A.ndim > 2:
            return f"{lines[0]}, at {self.A.shape[:-2]} states: {', '.join(self.states)}"
        if not self.states:
            return f"{lines[0]}: the constraints leave no motion"
        for name, rows, titles in (("A", self.states, self.states), ("B", self.states, self.inputs)):
            lines += ["", *matrix_lines(name, getattr(self, name), rows, titles)]
        return "\n".join([*lines, "", f"eigenvalues, 1/s: {', '.join(f'{s:.5g}' for s in self.poles)}"])

    def _repr_html_(self) -> str:
        if self.A.ndim > 2 or not self.states:
            return as_html([str(self)])
        parts: list[str | TextTable] = [repr(self)[1:-1]]
        for name, rows, titles in (("A", self.states, self.states), ("B", self.states, self.inputs)):
            cells = [(row, *(f"{x:.5g}" for x in line)) for row, line in zip(rows, getattr(self, name))]
            parts.append(TextTable.of((name, *titles), cells))
        return as_html([*parts, f"eigenvalues, 1/s: {', '.join(f'{s:.5g}' for s in self.poles)}"])

    @property
    def poles(self) -> np.ndarray:
        """Eigenvalues of A, 1/s, (..., n), the least stable first.

        They are rates of growth where A stays what it is: at rest, and along steady motions whose coordinates do not
        turn with the body. A disc on a free joint spins with the axes that express its tilt, and A with it;
        describe it by yaw, lean and spin instead.
        """
        values = np.linalg.eigvals(self.A)
        return np.take_along_axis(values, np.lexsort((-values.imag, -values.real)), axis=-1)

    def uncontrollable(self, tolerance: float = 1e-8) -> np.ndarray:
        """Eigenvalues of modes that no input moves, by Hautus' test: rank [A - s 1, B] < n.

        Units a few powers of ten from those of SI do not matter: states are balanced, inputs and time scaled first,
        which changes no rank. An eigenvalue that occurs several times is listed each time, also if inputs move some of
        its modes.

        Args:
            tolerance: singular values below this, where the largest are near one, count as zero.
        """
        tolerance = expect_real(tolerance, "uncontrollable, tolerance", 0)
        A, B, rate = self._scaled()
        unit = np.eye(len(A))
        values = self.poles
        ranks = [np.linalg.matrix_rank(np.hstack([A - s / rate * unit, B]), tol=tolerance) for s in values]
        return np.array([s for s, rank in zip(values, ranks) if rank < len(A)])

    def _scaled(self) -> tuple[np.ndarray, np.ndarray, float]:
        """A and B of size one for scaled states, inputs and time; and the rate that is one there, 1/s."""
        from scipy.linalg import matrix_balance

        if not self.A.size:
            return self.A, self.B, 1.0
        sizes = np.abs(self.A)
        felt = np.where(sizes > 1e-13 * sizes.max(), self.A, 0)  # scales found from rounding errors would mean nothing
        _, (scale, _) = matrix_balance(felt, permute=False, separate=True)
        A, B = self.A / scale[:, None] * scale, self.B / scale[:, None]
        rate, sizes = float(np.linalg.norm(A, 2)) or 1.0, np.linalg.norm(B, axis=0)
        acts = sizes > 1e-14 * sizes.max(initial=0)  # the others are rounding
        return A / rate, np.where(acts, B / np.where(acts, sizes, 1), 0), rate

    def to_scipy(self) -> Any:
        """As ``scipy.signal.StateSpace``."""
        from scipy.signal import StateSpace

        return StateSpace(self.A, self.B, self.C, self.D)

    def to_control(self) -> Any:
        """As a state-space system of the package python-control, with names; dots, which it forbids, become spaces."""
        try:
            from control import ss
        except ImportError as error:
            raise MissingExtraError("control", "control", "LinearModel.to_control") from error
        names = {part: list(map(_spaced, getattr(self, part))) for part in ("states", "inputs", "outputs")}
        return ss(self.A, self.B, self.C, self.D, **names)

    @classmethod
    def from_control(cls, system: Any, like: LinearModel | None = None) -> LinearModel:
        """The model that a continuous state-space system of python-control describes, with its names.

        Args:
            system: of the class ``control.StateSpace``; what was reduced, filtered or joined there, for example.
            like: the model it was made from; names that :meth:`to_control` had to change are again what they were.
        """
        parts = "A", "B", "C", "D", "state_labels", "input_labels", "output_labels"
        if not all(hasattr(system, part) for part in parts):
            raise ArgumentError(f"got {type(system).__name__}; give a state-space system of python-control")
        if system.dt:
            raise ArgumentError(f"the system is sampled, dt = {system.dt}; give the continuous one")
        own = () if like is None else (*expect(like, cls, "from_control, like").states, *like.inputs, *like.outputs)
        known = {_spaced(name): name for name in own}
        A, B, C, D, *labels = (getattr(system, part) for part in parts)
        states, inputs, outputs = (tuple(known.get(name, name) for name in names) for names in labels)
        return cls(A, B, C, D, states, inputs, outputs)

    def discrete(self, period: float) -> tuple[np.ndarray, np.ndarray]:
        """(A, B) of x[k+1] = A x[k] + B u[k], the input held over each period.

        Args:
            period: s.
        """
        from scipy.linalg import expm

        period = expect_real(period, "period, s", 0)
        if not period:
            raise ArgumentError(f"period = {period} s; it must be a positive number")
        n, m = self.B.shape
        with np.errstate(over="ignore", invalid="ignore"):  # reported below
            whole = expm(np.block([[self.A, self.B], [np.zeros((m, n + m))]]) * period)
        if not np.isfinite(whole).all():
            raise ArgumentError(f"period = {period:.3g} s: over so long a time the unstable modes overflow")
        return whole[:n, :n], whole[:n, n:]


def _spaced(name: str) -> str:
    """A name as python-control allows it."""
    return name.replace(".", " ")


def derivatives(s: Setting, q: Any, v: Any, a: Any, multipliers: Any, t: Any) -> tuple[Any, ...]:
    """Derivatives of the equations with accelerations and multipliers held, on traced scalars.

    The equations are e = M a - f - G^T lam = 0 and g = G a - gamma = 0; r is G v - rate. Returned are e_q, e_v, g_q,
    g_v, r_q, G and M. Nothing is eliminated, so they exist at every position.

    Args:
        s: the constrained mechanism.
        q: traced positions.
        v: traced velocities.
        a: traced accelerations.
        t: traced time.
    """
    tree, state = s.mechanism.tree, s.state(q, v, t)
    rows = s.constraints.at(state)
    assert rows.gamma is not None
    forces = s.forces.generalised(state) + product(rows.G.T, multipliers)
    e = augmented_links(s.tree, q, v, a, s.loads) + s.joints.of(v, a) - forces
    g, r = product(rows.G, a) - rows.gamma, product(rows.G, v) - rows.rate
    directions = np.array([position_rate(tree, q, unit) for unit in np.eye(tree.nv, dtype=int)], dtype=object).T

    def by_position(values: Any) -> Any:
        return forward(values, q, directions) if len(values) else np.zeros((0, tree.nv))

    def by_velocity(values: Any) -> Any:
        return forward(values, v) if len(values) else np.zeros((0, tree.nv))

    return (
        by_position(e),
        by_velocity(e),
        by_position(g),
        by_velocity(g),
        by_position(r),
        rows.G,
        with_armature(two_sided(s.tree, q), s.joints.armature),
    )


def linear_model(
    system: Dynamics,
    q: Any,
    v: Any,
    tau: Any,
    t: Any = 0.0,
    *,
    positions: Sequence[str] | None = None,
    speeds: Sequence[str] | None = None,
) -> LinearModel:
    """State matrices reduced to independent positions and speeds, at one state or along a motion (any batch).

    Of several states all are in the coordinates that are chosen at the first.

    Args:
        q: positions that satisfy the constraints.
        v: velocities that satisfy the constraints.
        tau: generalised forces of the drives.
        t: time, s.
        positions: names of the independent positions (see :meth:`velocity_names`), or of joints for all of
            theirs; by default chosen for good condition at the first state.
        speeds: names of the independent speeds; likewise.
    """
    heed("Dynamics.linear_model", system)
    state = States(system.mechanism, q, {"v": v, "tau": tau}, t)
    found: list[LinearModel] = []
    for one in state:
        found.append(_linearized(system, one, positions, speeds))
        positions, speeds = found[0].positions, found[0].speeds
    if not found:
        raise ArgumentError(f"linear_model: a batch of shape {state.batch} has no state")
    arrays: dict[str, Any] = {
        part: state.gathered([getattr(x, part) for x in found], getattr(found[0], part).shape)
        for part in ("A", "B", "position_map", "speed_map")
    }
    return dataclasses.replace(found[0], **arrays)


def _linearized(
    system: Dynamics, one: tuple[Any, ...], positions: Sequence[str] | None, speeds: Sequence[str] | None
) -> LinearModel:
    q, v, tau, t = one
    mechanism, names = system.mechanism, system.velocity_names()
    here = system.solve(q, v, tau, t)
    singular = SingularityError(
        f"{mechanism.name!r} has no linearization at q = {q}: the position is singular, constraints lose rank and what "
        "they allow is not linear there; analyse(q) says more"
    )
    least = min(int(here.rank), int(decomposed(system, q, t).rank))
    usual = system.known_rank
    if usual is not None and least < usual:
        raise singular
    if least < system.constraints.count and system.analyse(q, t).is_singular:
        raise singular
    wrong = violation(system, q, v, t, ("q", "v"))
    if wrong:
        raise ArgumentError(f"linear_model: {wrong}")
    e_q, e_v, g_q, g_v, r_q, G, M = system.evaluate("linearization", q, v, here.a, here.multipliers, t)
    on_positions = Decomposition.of(G[system.constraints.holonomic], system.known(q, t, positional=True)).truncated
    G = Decomposition.of(G, system.known(q, t)).truncated
    # M da - G^T dlam = dtau - e_q dq - e_v dv ,  G da = - g_q dq - g_v dv: one right side per column
    right = np.concatenate([-e_q, -e_v, np.eye(mechanism.nv)], axis=1).T
    demanded = np.concatenate([-g_q, -g_v, np.zeros((len(G), mechanism.nv))], axis=1).T
    a_q, a_v, a_tau = np.split(solve(M, G, right, demanded).a.T, 3, axis=1)
    y = _independent(mechanism, on_positions, positions, "positions")
    u = _independent(mechanism, G, speeds, "speeds")
    if len(u) != mechanism.nv - here.rank:  # too close to one to decide
        raise singular
    Bq, B = _null_map(on_positions, y), _null_map(G, u)
    dependent = np.setdiff1d(np.arange(mechanism.nv), u)
    Vq = np.zeros((mechanism.nv, mechanism.nv))
    if len(G):
        Vq[dependent] = -_solved(G[:, dependent], r_q)
    turning = tangent_rate(mechanism.tree, v)
    A = np.block(
        [
            [((turning + Vq) @ Bq)[y], B[y]],
            [((a_q + a_v @ Vq) @ Bq)[u], (a_v @ B)[u]],
        ]
    )
    by_force = np.concatenate([np.zeros((len(y), mechanism.nv)), a_tau[u]])
    independent, speeds = tuple(names[k] for k in y), tuple(names[k] for k in u)
    states = (*independent, *(f"{name} rate" for name in speeds))
    seen = np.eye(len(states)), np.zeros((len(states), len(names)))
    return LinearModel(A, by_force, *seen, states, tuple(names), states, independent, speeds, Bq, B)


def _independent(mechanism: Mechanism, G: np.ndarray, wanted: Sequence[str] | None, what: str) -> list[int]:
    wanted = None if wanted is None else expect_names(wanted, what)
    keep = list(dict.fromkeys(velocities_named(mechanism, wanted or (), f"linear_model, {what}")))
    found = find_pivots(G[None], np.abs(G) > 0, keep)
    if wanted is not None and not (found.complete and sorted(keep) == list(found.independent)):
        names, free = velocity_names(mechanism), find_pivots(G[None], np.abs(G) > 0).independent
        raise ArgumentError(
            f"{', '.join(map(repr, wanted)) or 'nothing'} cannot be the independent {what}: "
            f"{len(free)} are needed, for example {', '.join(names[k] for k in free)}"
        )
    return keep if wanted is not None else list(found.independent)


def _null_map(G: np.ndarray, independent: list[int]) -> np.ndarray:
    """The matrix with unit rows at the independent entries whose columns G takes to zero."""
    n = G.shape[1]
    dependent = np.setdiff1d(np.arange(n), independent)
    full = np.zeros((n, len(independent)))
    full[independent, range(len(independent))] = 1
    if len(dependent):
        full[dependent] = -_solved(G[:, dependent], G[:, independent])
    return full


def _solved(G: np.ndarray, right: np.ndarray) -> np.ndarray:
    """x with G x = right, where only redundant rows are surplus."""
    return Decomposition.of(G).pseudo_inverse() @ right
