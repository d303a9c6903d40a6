"""The compliant law: contacts as springs with dampers and smooth friction, beside the force elements of a mechanism.

At a depth d = max(0, -gap) that grows at d', with the velocities u of contact (slip, spin, roll) and a small speed s,

    normal     f = k d (1 + c d'),  never less than 0          K. H. Hunt, F. R. E. Crossley (1975), exponent 1
    tangents  -mu f u / sqrt(|u|^2 + s^2)
    spin      -torsional f (torsional w) / sqrt((torsional w)^2 + s^2),   and rolling alike

Everything is a function of the state: it needs no solver and no memory, any integrator may use it, and it has
derivatives. The price: bodies sink in by m g / k at rest, and creep at the speed s x / sqrt(1 - x^2) under the share x
of the friction that they could have.
"""

from __future__ import annotations

from collections.abc import Sequence

from dalembert.algebra import arrays, scalar
from dalembert.algebra.arrays import Array, product
from dalembert.algebra.scalar import Scalar
from dalembert.algebra.transform import Transform
from dalembert.constraints.action import Action
from dalembert.constraints.forces import ForceSet
from dalembert.constraints.gravity_fields import Effect
from dalembert.constraints.state import State
from dalembert.contact.rows import ContactSet, PointRows, PointState, RowsNow
from dalembert.errors import ArgumentError
from dalembert.model import Mechanism

SLIP_SPEED = 1e-3
"""Of contacts that name none, m/s: at this speed friction is at 71 per cent of its bound."""


class CompliantSet(ForceSet):
    """Chosen force elements of a mechanism and, by the same name as the contacts have, compliant contacts.

    Args:
        names: of the force elements that act, or ``"all"``.
        contacts: names of the contacts that act, or ``"all"``.
        varied: addresses of numbers that stay inputs.
    """

    def __init__(
        self, mechanism: Mechanism, names: Sequence[str] | str = "all", contacts: Sequence[str] | str = "all",
        varied: Sequence[str] = (),
    ):  # fmt: skip
        super().__init__(mechanism, names)
        self.touching = ContactSet(mechanism, contacts, varied=varied)
        twice = sorted({*self.chosen} & {*self.touching.names})
        if twice:
            raise ArgumentError(
                f"{mechanism.name!r} has a force element and a contact called {twice[0]!r}; rename one of them"
            )
        soft = [name for name in self.touching.names if mechanism.contact(name).stiffness is None]
        if soft:
            raise ArgumentError(
                f"the compliant law needs the stiffness of {', '.join(map(repr, soft))} (N/m); a body of mass m that "
                "rests on n points sinks in by m g / (n stiffness)",
                argument="stiffness",
                remedy="give it in Contact(..., {argument}=...) or contacts(..., {argument}=...)",
            )
        self.names = (*self.chosen, *self.touching.names)

    def each(self, state: State) -> dict[str, Effect]:
        """Generalised forces and actions on bodies of every chosen force and contact, by name.

        Args:
            state: of this mechanism, or of one with the same layout and other numbers.
        """
        found = super().each(state)
        now = self.touching.at(state, placed=True)
        for name in self.touching.names:
            total, actions = arrays.zeros(state.mechanism.nv), []
            for point, there in zip(self.touching.points, now.points):
                if point.contact == name:
                    loads = self._loads(point, there, now, state)
                    total = total + _on_velocities(loads, now, state.mechanism.nv)
                    actions.append(_action(state, point, there, loads))
            found[name] = total, actions
        return found

    def energy(self, state: State) -> Scalar:
        """Energy stored in springs, stops, attractions and contacts, J; of contacts that is k d^2 / 2.

        Args:
            state: of this mechanism, or of one with the same layout and other numbers.
        """
        total = super().energy(state)
        for there in self.touching.at(state).points:
            depth = scalar.maximum(-there.gap, 0)
            total = total + there.contact.stiffness * depth * depth / 2
        return total

    def _loads(self, point: PointRows, there: PointState, now: RowsNow, state: State) -> dict[int, Scalar]:
        """Force or moment along every row of a point, on body a."""
        item = there.contact
        v = state.velocities

        def rate(row: int) -> Scalar:
            return sum((x * y for x, y in zip(now.J[row], v) if not scalar.is_zero(x)), 0)

        depth = scalar.maximum(-there.gap, 0)
        growth = 1 if item.damping is None else scalar.maximum(1 - item.damping * rate(point.normal), 0)
        push = item.stiffness * depth * growth
        slow = SLIP_SPEED if item.slip_speed is None else item.slip_speed
        loads = {point.normal: push}
        for rows, kind in point.disks:
            bound = getattr(item, kind)
            arm = 1 if kind == "friction" else bound  # m: makes a speed of the rate of a turn
            speeds = [arm * rate(row) for row in rows]
            size = scalar.sqrt(sum(x * x for x in speeds) + slow * slow)
            loads |= {row: -bound * push * x / size for row, x in zip(rows, speeds)}
        return loads


def _on_velocities(loads: dict[int, Scalar], now: RowsNow, nv: int) -> Array:
    return arrays.asarray([sum((load * now.J[row][k] for row, load in loads.items()), 0) for k in range(nv)])


def _action(state: State, point: PointRows, there: PointState, loads: dict[int, Scalar]) -> Action:
    """The force and moment on body a at the point, in the axes of b, which gets the opposite."""
    item = there.contact
    assert there.position is not None
    assert there.axes is not None
    a, b = (state.from_world(end) for end in (item.a, item.b))
    place = product(a.rotation.T, there.position - a.offset)
    force, moment = arrays.zeros(3), arrays.zeros(3)
    force = force + loads[point.normal] * there.axes[0]
    for rows, kind in point.disks:
        lines = {"friction": there.axes[1:], "torsional": there.axes[:1], "rolling": there.axes[1:]}[kind]
        for row, axis in zip(rows, lines):
            if kind == "friction":
                force = force + loads[row] * axis
            else:
                moment = moment + loads[row] * axis
    on = item.a, Transform.from_translation(place)
    axes = item.b, Transform.identity()
    return Action(on, axes, product(b.rotation.T, force), product(b.rotation.T, moment), mutual=True)
