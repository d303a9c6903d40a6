"""Linear models of mechanisms around a state, for the tools of control engineering.

The state is x = (dq, dv), with dq along tangent vectors: for a quaternion the small rotation in child axes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.constraints.dynamics import ConstrainedDynamics
from dalembert.dynamics import Dynamics
from dalembert.errors import ArgumentError, MissingExtraError, SingularityError
from dalembert.model import Mechanism
from dalembert.model.checks import expect, expect_real, real_array, shown
from dalembert.model.names import as_names, velocity_names
from dalembert.simulation.state import as_parameters, as_position, as_positive, as_velocity
from dalembert.text.layout import counted, matrix_lines


@dataclass(frozen=True, eq=False)
class LinearModel:
    """xdot = A x + B u, y = C x + D u: small deviations from a state.

    Args:
        A: (n, n).
        B: (n, m).
        C: (p, n).
        D: (p, m).
        states: a name for every entry of x.
        inputs: a name for every entry of u.
        outputs: a name for every entry of y.
    """

    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    D: np.ndarray
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    def __post_init__(self) -> None:
        for name in ("states", "inputs", "outputs"):
            object.__setattr__(self, name, as_names(name, getattr(self, name)))
        n, m, p = len(self.states), len(self.inputs), len(self.outputs)
        for name, shape in (("A", (n, n)), ("B", (n, m)), ("C", (p, n)), ("D", (p, m))):
            matrix = real_array(getattr(self, name), name)
            if matrix.shape != shape or not np.isfinite(matrix).all():
                raise ArgumentError(f"{name} has shape {matrix.shape}; by the names it must be a finite {shape}")
            object.__setattr__(self, name, matrix)

    def __repr__(self) -> str:
        counts = [counted(len(getattr(self, f"{what}s")), what) for what in ("state", "input", "output")]
        return f"<LinearModel: {', '.join(counts)}>"

    def __str__(self) -> str:
        lines = [repr(self)[1:-1]]
        for name, rows, titles in (("A", self.states, self.states), ("B", self.states, self.inputs)):
            lines += ["", *matrix_lines(name, getattr(self, name), rows, titles)]
        return "\n".join([*lines, "", f"eigenvalues, 1/s: {', '.join(f'{s:.5g}' for s in self.poles)}"])

    @property
    def poles(self) -> np.ndarray:
        """Eigenvalues of A, 1/s, the least stable first."""
        values = np.linalg.eigvals(self.A)
        return values[np.lexsort((-values.imag, -values.real))]

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

        period = as_positive("period", period, "s")
        n, m = self.B.shape
        with np.errstate(over="ignore", invalid="ignore"):  # told below, in words
            whole = expm(np.block([[self.A, self.B], [np.zeros((m, n + m))]]) * period)
        if not np.isfinite(whole).all():
            raise ArgumentError(f"period = {period:.3g} s: over so long a time the unstable modes overflow")
        return whole[:n, :n], whole[:n, n:]


def linearize(
    mechanism: Mechanism | Dynamics | ConstrainedDynamics,
    q: Any = None,
    v: Any = None,
    tau: Any = None,
    *,
    actuators: Sequence[str] | None = None,
    outputs: Sequence[str] | None = None,
    include: Sequence[str] = (),
    parameters: Any = None,
) -> LinearModel:
    """The linear model of a mechanism around a state.

    Args:
        mechanism: the mechanism, or its dynamics; a ConstrainedDynamics gives a model of independent coordinates.
        q: positions, nq numbers or by joint name; neutral by default.
        v: velocities, nv numbers or by joint name; zero by default.
        tau: generalised forces there, nv numbers; by default those that hold the mechanism still (of a tree), else 0.
        actuators: names of velocities that have a motor, or of joints for all of theirs; all by default.
        outputs: names of the states that are measured; all by default.
        include: which of ``armature``, ``damping``, ``friction`` of the joints enter.
        parameters: values of the mechanism's symbols, by name.
    """
    if isinstance(mechanism, Mechanism):
        if mechanism.constraints or mechanism.forces:
            raise ArgumentError(
                f"{mechanism.name!r} has constraints or force elements; give its ConstrainedDynamics, where it is said "
                "which of them act"
            )
        mechanism = Dynamics(mechanism, include=as_names("include", include))
    elif not isinstance(mechanism, (Dynamics, ConstrainedDynamics)):
        raise ArgumentError(f"got {type(mechanism).__name__}; give a Mechanism, Dynamics or ConstrainedDynamics")
    elif as_names("include", include) not in ((), tuple(mechanism.include)):
        raise ArgumentError(f"include = {tuple(include)}, but the given dynamics was made with {mechanism.include}")
    model = mechanism.mechanism
    position, velocity = as_position(model, q, name="q"), as_velocity(model, v, name="v")
    if isinstance(mechanism, ConstrainedDynamics):
        if parameters is not None:
            raise ArgumentError("say the values of parameters where the ConstrainedDynamics is made")
        force = np.zeros(model.nv) if tau is None else forces_of(tau, model.nv)
        found = mechanism.linearize(position, velocity, force)
        A, B = found.A, found.B
        if not (np.isfinite(A).all() and np.isfinite(B).all()):
            raise SingularityError(
                f"{model.name!r} has no linear model at q = {position}: its mass matrix is singular, or a force has no"
                " value or no derivative there, as an attraction has none at the attracting point"
            )
        states = found.states
    else:
        if mechanism.wrenches:
            raise ArgumentError("this Dynamics has wrenches; make one without them to linearize")
        values = as_parameters(mechanism, parameters)
        last = () if values is None else (values,)
        if tau is None:
            tau = mechanism.bias(position, velocity, *last)
        force = forces_of(tau, model.nv)
        with np.errstate(divide="ignore", invalid="ignore"):  # told below, in words
            A, B = mechanism.linearize(position, velocity, force, *last)
        if not (np.isfinite(A).all() and np.isfinite(B).all()):
            raise SingularityError(
                f"{model.name!r} has no linear model at q = {position}: its mass matrix is singular (a body without "
                "mass or inertia can move by itself), or numbers overflow"
            )
        names = velocity_names(model)
        states = (*names, *(f"{name} rate" for name in names))
    inputs = velocity_names(model)
    chosen = motors_of(model, actuators)
    seen = indices_of(states, outputs, "output")
    return LinearModel(
        A, B[:, chosen], np.eye(len(A))[seen], np.zeros((len(seen), len(chosen))),
        tuple(states), tuple(inputs[k] for k in chosen), tuple(states[k] for k in seen),
    )  # fmt: skip


def _spaced(name: str) -> str:
    """A name as python-control allows it."""
    return name.replace(".", " ")


def forces_of(given: Any, count: int) -> np.ndarray:
    """Generalised forces as a user gives them.

    Args:
        given: the numbers.
        count: how many there must be.
    """
    force = real_array(given, "tau")
    if force.shape != (count,) or not np.isfinite(force).all():
        raise ArgumentError(f"tau has shape {force.shape} and must be {count} finite numbers: {shown(given)}")
    return force


def indices_of(names: Sequence[str], given: Sequence[str] | None, what: str) -> list[int]:
    """Where names stand, or an error that lists all there are.

    Args:
        names: all of them.
        given: the wanted ones; all if None.
        what: one of them is, for the error.
    """
    if given is None:
        return list(range(len(names)))
    found = []
    for name in as_names(f"{what}s", given):
        if name not in names:
            raise ArgumentError(f"there is no {what} {name!r}; choose among {', '.join(names)}")
        place = list(names).index(name)
        if place in found:
            raise ArgumentError(f"the {what} {name!r} is named twice")
        found.append(place)
    return found


def motors_of(model: Mechanism, given: Sequence[str] | None) -> list[int]:
    """Which entries of v have a motor.

    Args:
        model: the mechanism.
        given: names of velocities, or of joints for all of theirs; all if None.
    """
    names = velocity_names(model)
    if given is None:
        return list(range(len(names)))
    parts = {joint.name: names[model.v_slice(joint.name)] for joint in model.joints if joint.nv > 1}
    spelled = [part for name in as_names("actuators", given) for part in parts.get(name, (name,))]
    return indices_of(names, spelled, "actuator")
