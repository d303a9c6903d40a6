"""A motion: states at samples, everything that can be computed from them, and the states between."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dalembert.cached import cached_property
from dalembert.dynamics import Dynamics
from dalembert.errors import ArgumentError, UnsupportedError
from dalembert.kinematics.manifold import normalise_in_place
from dalembert.model import Mechanism
from dalembert.model.checks import expect_path, real_array, shown
from dalembert.model.names import velocity_names
from dalembert.native.kernel import Kernel
from dalembert.services import ask
from dalembert.simulation.balance import dissipated, lost, numeric, reactions, work
from dalembert.simulation.contact_history import ContactHistory, acts
from dalembert.simulation.equations import part_kernel
from dalembert.simulation.events import Occurrence
from dalembert.simulation.interpolation import control_at
from dalembert.simulation.stabiliser import Stabiliser


class Sample(NamedTuple):
    """Time(s), positions and velocities."""

    t: Any
    q: np.ndarray
    v: np.ndarray


class JointHistory(NamedTuple):
    """What one joint did: columns for its coordinates; joints of one degree have plain vectors."""

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    tau: np.ndarray


@dataclass(eq=False)
class Trajectory:
    """A motion, sampled at times ``t``.

    ``trajectory["elbow"]`` is the history of a joint, ``trajectory["elbow", 1.5]`` what it did at a time (or times),
    ``trajectory(1.5)`` the whole state at a time, ``trajectory[10:20]`` or ``trajectory[trajectory.t > 1]`` a part of
    the samples, with the events between them. Where an event changed the state there are two samples at the same time,
    unless times were chosen: then ``events`` and ``discontinuities`` have the states before and after.

    Args:
        system: what moved.
        t: times, s, (T,).
        q: positions, (T, nq).
        v: velocities, (T, nv).
        tau: generalised forces of the control, (T, nv); where a zero-order hold ends, what acts from then on, and at
            the end what acted until then (the policy of a rollout is asked there once more).
        wrenches: external wrenches, (T, number of frames, 6).
        parameters: values of the mechanism's parameters, if it has any.
        events: what happened.
        status: how it ended: ``finished``, ``interrupted``, ``failed``, ``stopped by event ...``.
        info: method, evaluations, seconds, period of a zero-order hold under ``hold`` and the time of its first under
            ``held_from`` (0 if it is not there), and under ``singular`` the times at which constraints lost rank, or
            went through a position where they have no gradient.
        interpolant: gives states at any times between the first and the last sample.
        discontinuities: states just after events that changed them.
        contacts: what the contacts did, if there are any.
        worked: work of the control, and losses of the joints, since the start, J, (T, 2), where they were integrated
            with the motion.
    """

    system: Stabiliser
    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    tau: np.ndarray
    wrenches: np.ndarray
    parameters: np.ndarray | None = None
    events: tuple[Occurrence, ...] = ()
    status: str = "finished"
    info: Mapping[str, Any] = field(default_factory=dict)
    interpolant: Callable[[np.ndarray], np.ndarray] | None = field(default=None, repr=False)
    discontinuities: tuple[Sample, ...] = ()
    contacts: ContactHistory | None = field(default=None, repr=False)
    worked: np.ndarray | None = field(default=None, repr=False)

    @property
    def dynamics(self) -> Dynamics:
        """Of the tree of the mechanism that moved."""
        return self.system.dynamics

    @property
    def mechanism(self) -> Mechanism:
        """The mechanism that moved."""
        return self.dynamics.mechanism

    def __len__(self) -> int:
        return len(self.t)

    def __iter__(self) -> Iterator[Sample]:
        return (Sample(t, q, v) for t, q, v in zip(self.t, self.q, self.v))

    # ------------------------------------------------------------------------------------------------ parts and times

    def __getitem__(self, which: Any) -> Any:
        if isinstance(which, str):
            return self._joint(which, self.t, self.q, self.v, self.tau)
        if isinstance(which, tuple) and len(which) == 2 and isinstance(which[0], str):
            joint, (t, q, v) = which[0], self(which[1])
            return self._joint(joint, t, q, v, control_at(self, np.asarray(t)))
        try:
            return self._samples(which)
        except (IndexError, ValueError, TypeError, OverflowError) as error:
            raise ArgumentError(
                f"trajectory[{shown(which)}]: {error}; give the name of a joint, that and a time, the number of a "
                f"sample, 0 to {len(self) - 1}, or a slice or mask of samples"
            ) from error

    def _samples(self, which: Any) -> Any:
        if isinstance(which, (slice, np.ndarray, list)):
            arrays = {name: getattr(self, name)[which] for name in ("t", "q", "v", "tau", "wrenches")}
            first, last = (arrays["t"].min(), arrays["t"].max()) if len(arrays["t"]) else (np.inf, -np.inf)
            return Trajectory(
                self.system, **arrays, parameters=self.parameters, status=self.status, info=self.info,
                events=tuple(event for event in self.events if first <= event.t <= last), interpolant=self.interpolant,
                discontinuities=tuple(state for state in self.discontinuities if first <= state.t <= last),
                contacts=None if self.contacts is None else self.contacts.records(which),
                worked=None if self.worked is None else self.worked[which],
            )  # fmt: skip
        return Sample(self.t[which], self.q[which], self.v[which])

    def _joint(self, name: str, t: Any, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> JointHistory:
        m, driven = self.mechanism, self.dynamics.input_names
        if self.system.has_speeds:  # a speed is no rate of one coordinate: the rates are those of the coordinate
            given = {"q": q, "v": v, "t": t, "parameters": self.parameters}
            kernel = part_kernel(self.system, "rate")
            v = kernel(*(given[port.name] for port in kernel.inputs))
            columns = q[..., m.q_slice(name)], v[..., m.q_slice(name)], 0 * q[..., m.q_slice(name)]
        elif driven != velocity_names(m):
            forces = np.zeros(v.shape)
            for k, one in enumerate(velocity_names(m)):
                if one in driven:
                    forces[..., k] = tau[..., driven.index(one)]
            columns = q[..., m.q_slice(name)], v[..., m.v_slice(name)], forces[..., m.v_slice(name)]
        else:
            columns = q[..., m.q_slice(name)], v[..., m.v_slice(name)], tau[..., m.v_slice(name)]
        follows = numeric(self.dynamics, self.parameters).joint(name).mimic if m.joint(name).mimic else None
        if follows is not None:  # it has no drive of its own
            columns = follows.multiplier * columns[0] + follows.offset, follows.multiplier * columns[1], 0 * columns[2]
        return JointHistory(t, *(c[..., 0] if c.shape[-1] == 1 else c for c in columns))

    def __call__(self, t: Any) -> Sample:
        """The state at any time between the first and the last sample; at a discontinuity the one after it.

        Args:
            t: a time, or an array of times.
        """
        try:
            times = real_array(t, "t")
        except ArgumentError as error:
            raise ArgumentError(f"t is {t!r}; give a time in seconds, or an array of times") from error
        flat = times.ravel()
        if self.interpolant is None:
            raise UnsupportedError("this trajectory was made with dense=False and knows its samples only")
        if not len(self):
            raise ArgumentError("the trajectory is empty; it knows no state")
        if len(flat) and not (flat.min() >= self.t[0] and flat.max() <= self.t[-1]):
            raise ArgumentError(
                f"t = {t!r} is outside the trajectory, which reaches from {self.t[0]:.9g} to {self.t[-1]:.9g} s"
            )
        nq = self.mechanism.nq
        x = self.interpolant(flat) if len(flat) else np.empty((0, nq + self.mechanism.nv))
        if self.system.projects:
            x = np.array([self.system.projected(*at) for at in zip(flat.tolist(), x)]).reshape(x.shape)
        q = normalise_in_place(self.mechanism.tree, x[:, :nq].copy())
        return Sample(t, q.reshape(*times.shape, nq), x[:, nq:].reshape(*times.shape, self.mechanism.nv))

    # ------------------------------------------------------------------------------------------------------ quantities

    def _kernel_of_state(self, kernel: Kernel) -> Any:
        given = {name: getattr(self, name) for name in ("q", "v", "tau", "wrenches", "t", "parameters")}
        if any(port.name == "a" for port in kernel.inputs):
            given["a"] = self.a
        return kernel(*(given[port.name] for port in kernel.inputs))

    @cached_property
    def a(self) -> np.ndarray:
        """Accelerations at the samples, (T, nv); with contacts the mean ones since the sample before."""
        if acts(self.dynamics):
            rise = np.diff(self.v, axis=0) / np.diff(self.t)[:, None]
            return np.concatenate([rise[:1], rise]) if len(rise) else np.zeros_like(self.v)
        return self._kernel_of_state(part_kernel(self.system, "acceleration"))

    @cached_property
    def qdot(self) -> np.ndarray:
        """Time derivatives of the positions, (T, nq)."""
        return self._kernel_of_state(part_kernel(self.system, "rate"))

    def quantity(self, name: str, **options: Any) -> Any:
        """Any quantity of the dynamics along the motion.

        Args:
            name: such as ``"pose"`` or ``"center_of_mass"``; see :data:`dalembert.dynamics.QUANTITIES`.
            options: of the quantity, such as ``frame="tool"``.
        """
        return self._kernel_of_state(self.dynamics.kernel(name, **options))

    @cached_property
    def kinetic_energy(self) -> np.ndarray:
        """J; with rotor inertias, if the dynamics includes them; of equations, if these know it."""
        return self.quantity("kinetic_energy")

    @cached_property
    def potential_energy(self) -> np.ndarray:
        """Of weight, and of springs, stops and attractions among the force elements that act, J.

        Other elements - friction, drives, wrenches, fields and forces of the user - do work from outside.
        """
        if self.dynamics.equations is not None and self.dynamics.has("energy"):
            return self.quantity("energy") - self.kinetic_energy
        if not self.dynamics.elements.names:
            return self.quantity("potential_energy")
        return self.quantity("energy") - self.quantity("kinetic_energy")

    @property
    def energy(self) -> np.ndarray:
        """Kinetic and potential energy, J; of a Lagrangian, the energy that is conserved."""
        if self.dynamics.equations is not None and self.dynamics.has("energy"):
            return self.quantity("energy")
        return self.kinetic_energy + self.potential_energy

    @cached_property
    def power(self) -> np.ndarray:
        """Of the control, W: tau . v; of the inputs of equations, D tau . v."""
        forces = self.tau
        if self.dynamics.equations is not None:
            forces = self.quantity("input_forces")
        return np.einsum("ti,ti->t", forces, self.v)

    @cached_property
    def work(self) -> np.ndarray:
        """Of the control since the first sample, J.

        ``simulate`` integrates it at its own steps, however far apart samples are. Of rollouts it is the integral of
        the power by cubic splines between discontinuities, or, under a zero-order hold of which every period has a
        sample, the sum of constant forces along their ways.
        """
        if self.worked is None or (np.diff(self.t) < 0).any():
            return work(self)
        return self.worked[:, 0] - self.worked[:1, 0]

    @cached_property
    def lost(self) -> np.ndarray:
        """Energy that :attr:`dissipation` took away since the first sample, J, integrated as :attr:`work` is."""
        if self.worked is None or (np.diff(self.t) < 0).any():
            return lost(self)
        return self.worked[:, 1] - self.worked[:1, 1]

    @cached_property
    def dissipation(self) -> np.ndarray:
        """Power that the joints' own damping and friction take away, W; zero unless the dynamics includes them.

        Friction of joints that move together with rigid contacts is in ``contacts.friction_loss`` instead. Force
        elements are not counted, though dampers, ``joint-friction`` and stops with damping take energy away too.
        """
        return dissipated(self)

    def reactions(self) -> dict[str, np.ndarray]:
        """What every joint and every constraint between frames transmits, ``[force; moment]``, (T, 6) each, by name.

        Joints: of the parent on the child, drive included, in the child's axes about its origin. Constraints: on frame
        b (rolling: on frame a) in the axes of the other frame, about the origin of the frame acted upon; those on
        joints and users' own are drives, and in the reactions of joints. Where constraints are redundant, only sums are
        determined, single forces are not unique: rows that always follow from others in the same way transmit nothing,
        and rows that follow in changing ways share by least squares, each in units of its own.
        :meth:`~dalembert.dynamics.Dynamics.reactions` shares otherwise and reports what is unique.
        """
        if acts(self.dynamics):
            raise UnsupportedError(
                "reactions of joints are those of open contacts, and this motion has contacts; their forces are in "
                "contacts.forces and contacts.world_forces of what simulate gave"
            )
        return reactions(self)

    # ---------------------------------------------------------------------------------------------------------- output

    def to_csv(self, path: str | Path) -> None:
        """Write a table with a header: t, then q, v, tau by name, and external wrenches, if there are any."""
        from dalembert.simulation.export import write_csv

        write_csv(self, path)

    def to_npz(self, path: str | Path) -> None:
        """Write NumPy's archive of arrays; :func:`dalembert.simulation.load_trajectory` reads it."""
        from dalembert.simulation.export import write_npz

        write_npz(self, path)

    def to_parquet(self, path: str | Path) -> None:
        """Write the table of :meth:`to_csv` as Parquet; needs pandas with pyarrow."""
        from dalembert.simulation.export import write_file

        write_file(path, self.to_pandas().to_parquet)

    def to_pandas(self) -> Any:
        """The table of :meth:`to_csv` as a pandas DataFrame with the time as index."""
        from dalembert.simulation.export import as_pandas

        return as_pandas(self)

    def to_xarray(self) -> Any:
        """The motion as an xarray Dataset with named coordinates."""
        from dalembert.simulation.export import as_xarray

        return as_xarray(self)

    def plot(self, *joints: str, points: int = 600) -> Any:
        """Draw positions, velocities, control and energies over time; needs matplotlib. Returns the figure.

        Args:
            joints: names of those to draw; all by default.
            points: how many, between the samples too if the trajectory is dense.
        """
        from dalembert.simulation.plot import plot_trajectory

        return plot_trajectory(self, joints, points)

    def view(self, to: str | Path | None = None) -> Path:
        """Show the motion in the browser, or write the page; see :func:`dalembert.view`. Returns the page.

        Args:
            to: the file to write, ``.html``; without it the browser opens the page.
        """
        page: Path = ask("view", self, to=None if to is None else expect_path(to, "Trajectory.view, to"))
        return page

    def _repr_html_(self) -> str | None:
        shown: str | None = ask("picture of a motion", self)
        return shown

    def __repr__(self) -> str:
        span = f"t = {self.t[0]:.6g} .. {self.t[-1]:.6g} s" if len(self) else "empty"
        return f"<Trajectory of {self.mechanism.name!r}: {len(self)} samples, {span}, {self.status}>"
