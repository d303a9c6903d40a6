"""What contacts did along a motion, or along many: forces, gaps, slip, mode, residuals and losses, by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from dalembert.algebra import scalar
from dalembert.cached import cached_property
from dalembert.constraints.rank import Decomposition
from dalembert.contact.choices import above
from dalembert.contact.rows import ContactRow, ContactSet
from dalembert.cuda.arrays import to_host
from dalembert.dynamics import Dynamics
from dalembert.errors import ArgumentError, UnsupportedError
from dalembert.text.suggest import hint

UNCONVERGED = 1e-3
"""Of a residual, m/s: beyond it somebody should know."""

SHARED = 1e-6
"""Of a row in combinations of rows that do nothing: beyond it its force is not determined."""


def acts(dynamics: Dynamics) -> bool:
    """Whether something can touch that steps must solve: a contact, or a joint the end of its range."""
    if getattr(dynamics, "law", "rigid") == "compliant":  # equations of motion have no law
        return False
    return bool(dynamics.contacts.points or dynamics.contacts.limit_rows)


class ContactMeasures(NamedTuple):
    """The first numbers that a step keeps of contacts; slip and mode of every point follow, where records are kept.

    Args:
        residual: by how much the law is violated after the last sweep of the step, m/s.
        worst: the largest of all steps.
        impulse_residual: as residual, in N s.
        friction_loss: energy that friction took away so far, J.
        impact_loss: energy that impacts took away so far, J.
        push_work: energy that taking away depths brought in so far, J.
        stride: the longest way in a step so far over the thickness of what could be missed.
        speed: that of this stride, m/s.
    """

    residual: Any = 0.0
    worst: Any = 0.0
    impulse_residual: Any = 0.0
    friction_loss: Any = 0.0
    impact_loss: Any = 0.0
    push_work: Any = 0.0
    stride: Any = 0.0
    speed: Any = 0.0

    def after(
        self, residual: Any, impulse_residual: Any, losses: Sequence[Any], stride: Sequence[Any]
    ) -> ContactMeasures:
        """Those after another step, over any scalar.

        Args:
            residual: of the step, m/s.
            impulse_residual: of the step, N s.
            losses: to friction, to impacts and, negative, to taking away depths, J: as ``contact_step`` gives them.
            stride: of the step, and its speed.
        """
        friction, impact, pushed = losses
        longer = above(stride[0], self.stride)
        return ContactMeasures(
            residual, scalar.maximum(self.worst, residual), impulse_residual, self.friction_loss + friction,
            self.impact_loss + impact, self.push_work - pushed, scalar.select(longer, stride[0], self.stride),
            scalar.select(longer, stride[1], self.speed),
        )  # fmt: skip


MEASURES = ContactMeasures._fields
"""Their names."""

STRIDE = MEASURES.index("stride"), MEASURES.index("speed")
"""The longest stride of all steps, and its speed, m/s."""


class PointHistory(NamedTuple):
    """What one point of contact did."""

    t: np.ndarray
    gap: np.ndarray
    force: np.ndarray
    slip: np.ndarray
    mode: np.ndarray


@dataclass(eq=False)
class ContactHistory:
    """Contacts along motions; ``history["foot"]`` is what one point did.

    Args:
        t: times of the records, s, (T,).
        q: positions there, (..., T, nq).
        impulses: along every row in the step that ends at a record, N s or N m s, (..., T, rows).
        measures: the numbers of :data:`MEASURES`, then slip and mode of every point, (..., T, k).
        h: length of the steps that end at the records, s; one number, or (T,).
        final: impulses and measures after the last step, (..., rows) and (..., k).
        parameters: values of the mechanism's parameters, if it has any.
    """

    dynamics: Dynamics = field(repr=False)
    t: np.ndarray
    q: Any
    impulses: Any
    measures: Any
    h: Any
    final: tuple[Any, Any]
    parameters: Any = None

    @property
    def layout(self) -> ContactSet:
        """Points and rows."""
        return self.dynamics.contacts

    @property
    def names(self) -> tuple[str, ...]:
        """Of the points of contact."""
        return tuple(point.name for point in self.layout.points)

    @property
    def rows(self) -> tuple[ContactRow, ...]:
        """What the entries of ``impulses`` are."""
        return self.layout.rows

    # ------------------------------------------------------------------------------------------------ forces and places

    @property
    def _per_second(self) -> Any:
        h = np.asarray(self.h)
        return 1 / (h[:, None] if h.ndim else h)

    @cached_property
    def forces(self) -> Any:
        """On body a of every point along normal, tangent 1 and tangent 2, N, (..., T, points, 3): the mean over the
        step that ends at the record; zero at the start."""
        return self._gathered([_force_rows(point) for point in self.layout.points], 3)

    @cached_property
    def moments(self) -> Any:
        """Spin and rolling friction about the same axes, N m, (..., T, points, 3)."""
        return self._gathered([_moment_rows(point) for point in self.layout.points], 3)

    @cached_property
    def joint_forces(self) -> Any:
        """Of stops and dry friction, N or N m, (..., T, joints), in the order of :attr:`joint_names`."""
        rows = [*self.layout.limit_rows, *self.layout.dry_rows]
        return self.impulses[..., rows] * self._per_second

    @property
    def joint_names(self) -> tuple[str, ...]:
        """What :attr:`joint_forces` belong to: ``knee (limit)``, ``knee (friction)``."""
        return tuple(str(self.rows[k]) for k in (*self.layout.limit_rows, *self.layout.dry_rows))

    def _gathered(self, rows: list[list[int | None]], width: int) -> Any:
        found = np.zeros((*self.impulses.shape[:-1], len(rows), width), self.impulses.dtype)
        impulses = to_host(self.impulses) * self._per_second
        for i, entries in enumerate(rows):
            for j, row in enumerate(entries):
                if row is not None:
                    found[..., i, j] = impulses[..., row]
        return found

    @cached_property
    def _placed(self) -> tuple[Any, Any, Any]:
        kernel = self.dynamics.replace(device="cpu").kernel("contact_points")
        last = () if self.parameters is None else (np.asarray(to_host(self.parameters))[..., None, :],)
        return kernel(np.asarray(to_host(self.q)), *last)

    @property
    def gaps(self) -> Any:
        """Distances of the points at the records, m, (..., T, points); negative ones are depths."""
        return self._placed[0]

    @property
    def positions(self) -> Any:
        """Of the points, world axes, m, (..., T, points, 3)."""
        return self._placed[1]

    @property
    def axes(self) -> Any:
        """Normal, tangent 1 and tangent 2 of the points as rows, world axes, (..., T, points, 3, 3)."""
        return self._placed[2]

    @property
    def world_forces(self) -> Any:
        """On body a of every point, world axes, N, (..., T, points, 3)."""
        return np.einsum("...ij,...i->...j", self.axes, self.forces)

    @cached_property
    def unique(self) -> np.ndarray:
        """Whether the entries of :attr:`forces` are determined, (..., T, points, 3): false where points share a load in
        more ways than one.

        A table on four legs, two feet that could press against each other by friction: sums are exact, and how points
        share them is what the solver found first. Open points have no force and count as determined; what slides has
        a force of one known direction.
        """
        q, impulses = np.asarray(to_host(self.q)), np.asarray(to_host(self.impulses))
        last = () if self.parameters is None else (np.asarray(to_host(self.parameters))[..., None, :],)
        host, mode = self.dynamics.replace(device="cpu"), np.asarray(to_host(self.mode))
        J = np.array(host.kernel("contact_rows")(q, *last), dtype=float)
        J[impulses == 0] = 0.0
        for k, point in enumerate(self.layout.points):
            slides, pressed = mode[..., k] == 2, impulses[..., point.normal] > 0
            for rows, kind in point.disks:
                for row in rows:
                    if kind == "friction":
                        share = np.where(slides & pressed, impulses[..., row], 0) / np.where(
                            pressed, impulses[..., point.normal], 1
                        )
                        J[..., point.normal, :] += share[..., None] * J[..., row, :]
                    J[..., row, :] *= (pressed & ~(slides & (kind == "friction")))[..., None]
        if host.constraints.count:
            parameters = last[0] if last else None
            G = host.evaluate("constraints", q, np.zeros((*q.shape[:-1], J.shape[-1])), self.t, parameters=parameters)[
                1
            ]
            J = np.concatenate([J, np.broadcast_to(G, (*J.shape[:-2], *G.shape[-2:]))], axis=-2)
        shared = np.linalg.norm(Decomposition.of(J).left_null, axis=-1) > SHARED
        found = np.ones((*mode.shape, 3), dtype=bool)
        for k, point in enumerate(self.layout.points):
            for j, entry in enumerate(_force_rows(point)):
                if entry is not None:
                    decides = np.where(mode[..., k] == 2, shared[..., point.normal], shared[..., entry])
                    found[..., k, j] = ~(decides & (impulses[..., entry] != 0))
        return found

    # ------------------------------------------------------------------------------------------------ what a step found

    def _measure(self, name: str) -> Any:
        return self.measures[..., MEASURES.index(name)]

    @property
    def residual(self) -> Any:
        """By how much the law is violated after the last sweep of the step, m/s, (..., T)."""
        return self._measure("residual")

    @property
    def impulse_residual(self) -> Any:
        """The same in N s, (..., T)."""
        return self._measure("impulse_residual")

    @property
    def friction_loss(self) -> Any:
        """Energy that friction took away so far, J, (..., T)."""
        return self._measure("friction_loss")

    @property
    def impact_loss(self) -> Any:
        """Energy that impacts took away so far, J, (..., T)."""
        return self._measure("impact_loss")

    @property
    def push_work(self) -> Any:
        """Energy that taking away depths brought in so far, J, (..., T)."""
        return self._measure("push_work")

    @property
    def stride(self) -> Any:
        """The longest way in one step so far over the thickness of what could be missed, (..., T); beyond one the step
        is too long for the speed. On planes, which nothing passes, zero."""
        return self._measure("stride")

    @property
    def worst(self) -> Any:
        """The largest residual of all steps, m/s, (...)."""
        return self.final[1][..., MEASURES.index("worst")]

    @property
    def converged(self) -> Any:
        """In which motions no residual was beyond 1 mm/s, (...)."""
        return self.worst <= UNCONVERGED

    def _of_points(self, first: int, width: int) -> Any:
        count = len(self.layout.points)
        if self.measures.shape[-1] < len(MEASURES) + 3 * count:
            raise UnsupportedError("made with record=False, these contacts know final impulses and residuals only")
        start = len(MEASURES) + first * count
        return self.measures[..., start : start + width * count]

    @property
    def slip(self) -> Any:
        """Velocity along both tangents at the end of the step, m/s, (..., T, points, 2)."""
        found = self._of_points(0, 2)
        return found.reshape(*found.shape[:-1], len(self.layout.points), 2)

    @property
    def mode(self) -> Any:
        """0 open, 1 sticks, 2 slides, (..., T, points)."""
        return self._of_points(2, 1)

    def __getitem__(self, name: str) -> PointHistory:
        if name not in self.names:
            raise ArgumentError(f"there is no point of contact {name!r}{hint(name, self.names)}")
        k = self.names.index(name)
        return PointHistory(self.t, self.gaps[..., k], self.forces[..., k, :], self.slip[..., k, :], self.mode[..., k])

    def records(self, which: Any) -> ContactHistory:
        """Those of one motion that a slice or mask picks out."""
        h = self.h[which] if np.ndim(self.h) else self.h
        return replace(
            self, t=self.t[which], q=self.q[which], impulses=self.impulses[which], measures=self.measures[which], h=h
        )

    def of(self, index: tuple[int, ...]) -> ContactHistory:
        """That of one motion."""
        batch = self.final[0].ndim - 1
        values = self.parameters
        if values is not None:
            values = np.broadcast_to(to_host(values), (*self.final[0].shape[:batch], values.shape[-1]))[index]
        q, impulses, measures, *final = (to_host(x[index]) for x in (self.q, self.impulses, self.measures, *self.final))
        return ContactHistory(self.dynamics, self.t, q, impulses, measures, self.h, (final[0], final[1]), values)

    def __repr__(self) -> str:
        return f"<ContactHistory of {len(self.names)} points, {len(self.t)} records>"


def _force_rows(point: Any) -> list[int | None]:
    tangents: tuple[Any, ...] = next((rows for rows, kind in point.disks if kind == "friction"), (None, None))
    return [point.normal, *tangents]


def _moment_rows(point: Any) -> list[int | None]:
    spin: tuple[Any, ...] = next((rows for rows, kind in point.disks if kind == "torsional"), (None,))
    roll: tuple[Any, ...] = next((rows for rows, kind in point.disks if kind == "rolling"), (None, None))
    return [*spin, *roll]
