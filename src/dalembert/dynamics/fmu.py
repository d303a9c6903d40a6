"""A mechanism as a functional mock-up unit: its states, inputs, parameters and outputs, and the programs behind them.

States are q and v. The rate of q is Gamma(q) v; that of a quaternion is half its product with the angular velocity,
which keeps its length. Everything else is computed of the quaternion brought to unit length, so that what the
importer's integrator makes of the length does not matter.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from itertools import product as combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.constraints.straight_line import by_multipliers, by_projection
from dalembert.dynamics.constrained import mass_matrix
from dalembert.errors import ArgumentError, ModelWarning, UnsupportedError
from dalembert.fmi.unit import FunctionalUnit, Variable, legal_names
from dalembert.kinematics.manifold import displaced, normalise_in_place, normalised, position_rate, quaternion_places
from dalembert.model.checks import expect_path
from dalembert.model.consumers import heed
from dalembert.model.names import named_positions, named_velocities, position_parts, velocity_parts
from dalembert.model.units import force_unit, parameter_units, velocity_unit
from dalembert.printing.names import identifier
from dalembert.tracing.evaluate import inline
from dalembert.tracing.passes import optimise
from dalembert.tracing.program import Program
from dalembert.tracing.trace import trace

if TYPE_CHECKING:
    pass

Output = str | tuple[str, Mapping[str, Any]]
"""A quantity, or a quantity with its options."""

GIVEN = frozenset({"q", "v", "a", "tau", "wrenches", "t", "parameters"})
"""What outputs may be computed of; ``a`` are the accelerations of forward dynamics."""

OUTPUT_UNITS = {
    "T": "J", "V": "J", "E": "J", "c": "m", "position": "m",
}  # fmt: skip
"""Units of the results of quantities, by their names, where all entries have the same."""

COMPONENTS = ("fx", "fy", "fz", "mx", "my", "mz")


def functional_unit(
    dynamics: Any, name: str | None, outputs: Sequence[Output], q: np.ndarray, v: np.ndarray
) -> FunctionalUnit:
    """The unit of a mechanism; names that FMI does not allow are changed, and a warning lists them.

    Args:
        dynamics: the mechanism and what acts on it; all parameters with values.
        name: of the model; that of the mechanism by default.
        outputs: quantities that are computed besides the states.
        q: positions in the beginning.
        v: velocities in the beginning.
    """
    m = dynamics.mechanism
    chosen = [_output(dynamics, given) for given in outputs]
    wrenches = dynamics.wrenches
    forces = [(part, force_unit(unit)) for joint in m.joints if joint.nv for part, unit in velocity_parts(joint)]
    if dynamics.input_names != dynamics.velocity_names():  # equations whose drives are others than all velocities
        known = dict(zip(dynamics.velocity_names(), (unit for _, unit in forces)))
        forces = [(name, known.get(name, "")) for name in dynamics.input_names]
    places = _Places(m.nq, m.nv, len(forces), len(wrenches), len(dynamics.parameter_names))
    compute = _compute(dynamics, chosen, places)
    states = list(_states(dynamics, q, v))
    inputs = [
        Variable(f"tau.{part}", unit, 0.0, "generalised force of a drive")
        for part, unit in forces
    ] + [
        Variable(f"wrench.{frame}.{part}", "N" if part[0] == "f" else "N.m", 0.0, "on the frame, in its axes")
        for frame in wrenches
        for part in COMPONENTS
    ]  # fmt: skip
    units = parameter_units(m)
    parameters = [
        Variable(address, units.get(address, ""), float(value), "")
        for address, value in zip(dynamics.parameter_names, dynamics.parameter_values)
    ]
    rates = [Variable(f"der({x.name})", _rate_unit(x.unit), None, "") for x in states]
    results = [variable for quantity in chosen for variable in quantity.variables()]
    groups = {"states": states, "inputs": inputs, "parameters": parameters, "outputs": results}
    groups, changed = _named(groups)
    rates = [Variable(f"der({x.name})", rate.unit) for x, rate in zip(groups["states"], rates)]
    title = m.name if name is None else name
    legal = identifier(title)
    if changed or (name is not None and legal != name):
        listed = [*([f"{title!r} -> {legal!r}"] if legal != title else []), *changed]
        warnings.warn(ModelWarning(f"{title}: names changed for FMI: {', '.join(listed)}"), stacklevel=4)
    acting = f", under {dynamics.constraints.count} constraint rows" if dynamics.constraints.count else ""
    for part in ("contacts", "limits"):
        if names := dynamics.acting[part]:
            acting += f"; {part} do not act: {', '.join(names)}"
    return FunctionalUnit(
        name=title,
        identifier=legal,
        meaning=f"rigid multibody system {m.name}{acting}",
        states=tuple(groups["states"]),
        rates=tuple(rates),
        inputs=tuple(groups["inputs"]),
        parameters=tuple(groups["parameters"]),
        outputs=tuple(groups["outputs"]),
        compute=compute,
        correct=_correct(dynamics, places) if dynamics.constraints.count else None,
        quaternions=tuple(quaternion_places(m.tree)),
    )


# ----------------------------------------------------------------------------------------------------------- variables


def _states(dynamics: Any, q: np.ndarray, v: np.ndarray) -> Iterator[Variable]:
    m = dynamics.mechanism
    placed = [joint for joint in m.joints if joint.nq]
    for (name, unit), start in zip((part for joint in placed for part in position_parts(joint)), q):
        yield Variable(f"q.{name}", "" if unit == "quaternion" else unit, float(start), "position")
    moving = [joint for joint in m.joints if joint.nv]
    for (name, unit), start in zip((part for joint in moving for part in velocity_parts(joint)), v):
        yield Variable(f"v.{name}", velocity_unit(unit), float(start), "velocity")


def _rate_unit(unit: str) -> str:
    if not unit:
        return "1/s"
    return f"{unit}2" if unit.endswith("/s") else f"{unit}/s"


def _named(groups: Mapping[str, Sequence[Variable]]) -> tuple[dict[str, list[Variable]], list[str]]:
    """All variables with legal names, and what was changed."""
    everything = [variable for group in groups.values() for variable in group]
    names = [variable.name for variable in everything]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ArgumentError(f"two variables of the unit are called {twice[0]!r}", argument="outputs", value=twice[0])
    legal, changed = legal_names(names)
    renamed = iter(Variable(new, x.unit, x.start, x.meaning) for new, x in zip(legal, everything))
    return {group: [next(renamed) for _ in variables] for group, variables in groups.items()}, changed


class _Places:
    """Where everything lies in z = [t, q, v, tau, wrenches, parameters]."""

    def __init__(self, nq: int, nv: int, inputs: int, wrenches: int, parameters: int):
        sizes = {"t": 1, "q": nq, "v": nv, "tau": inputs, "wrenches": 6 * wrenches, "parameters": parameters}
        self.slices: dict[str, slice] = {}
        self.size = 0
        for name, size in sizes.items():
            self.slices[name] = slice(self.size, self.size + size)
            self.size += size

    def parts(self, z: np.ndarray) -> dict[str, Any]:
        """What kernels call them, from the elements of z."""
        found: dict[str, Any] = {name: z[place] for name, place in self.slices.items()}
        found["t"] = z[0]
        found["wrenches"] = found["wrenches"].reshape(-1, 6)
        return found


class _Chosen:
    """A quantity that is computed as an output.

    Args:
        label: how its variables begin.
    """

    def __init__(self, label: str, program: Program):
        self.label, self.program = label, program

    def variables(self) -> Iterator[Variable]:
        """Its results, one for each element."""
        several = len(self.program.outputs) > 1
        for port in self.program.outputs:
            name = f"{self.label}.{port.name}" if several else self.label
            for index in combinations(*(range(1, n + 1) for n in port.shape)):
                at = f"[{','.join(map(str, index))}]" if index else ""
                yield Variable(name + at, OUTPUT_UNITS.get(port.name, ""))


def _output(dynamics: Any, given: Any) -> _Chosen:
    quantity, options = given if isinstance(given, tuple) and len(given) == 2 else (given, {})
    if not isinstance(quantity, str) or not isinstance(options, Mapping):
        raise ArgumentError(
            f"{{argument}}: {given!r} is no quantity; give its name, or (name, {{'frame': 'tool'}})",
            argument="outputs",
            value=given,
        )
    program = dynamics.program(quantity, **options)
    if strange := [port.name for port in program.inputs if port.name not in GIVEN]:
        raise ArgumentError(
            f"{{argument}}: {quantity} is computed of {strange[0]}, which is no part of the state or the inputs",
            argument="outputs",
            value=quantity,
        )
    frame = f".{options['frame']}" if "frame" in options else ""
    return _Chosen(quantity + frame, program)


# ------------------------------------------------------------------------------------------------------------- programs


def _compute(dynamics: Any, chosen: Sequence[_Chosen], places: _Places) -> Program:
    """z -> [rates of the states, outputs]."""
    tree = dynamics.mechanism.tree
    forward = dynamics.program("forward_dynamics")

    def compute(z: np.ndarray) -> np.ndarray:
        given = places.parts(z)
        rate = position_rate(tree, given["q"], given["v"])
        given["q"] = normalised(tree, given["q"])
        given["a"] = inline(forward, [given[port.name] for port in forward.inputs])[forward.outputs[0].name]
        found = [*rate, *given["a"]]
        for quantity in chosen:
            program = quantity.program
            results = inline(program, [given[port.name] for port in program.inputs])
            found += [x for port in program.outputs for x in np.ravel(results[port.name])]
        return np.array(found, dtype=object)

    return optimise(trace(compute, {"z": (places.size,)}, "rates", "f"))


def _correct(dynamics: Any, places: _Places) -> Program:
    """z -> states one step of Newton's method nearer to the constraints, the shortest in the metric of kinetic energy:

    dq = M^-1 G^T (G M^-1 G^T)^-1 (-phi),   dv = M^-1 G^T (G M^-1 G^T)^-1 (rate - G v).
    """
    pivots = dynamics.pivots
    names = [name for name in ("t", "q", "v", "parameters") if name != "parameters" or dynamics.parameter_names]

    def correct(z: np.ndarray) -> np.ndarray:
        given = places.parts(z)
        s = dynamics.setting(given["parameters"] if "parameters" in names else None)
        q, v = normalised(s.tree, given["q"]), given["v"]
        rows = s.constraints.at(s.state(q, v, given["t"]))
        M, still = mass_matrix(s, q), np.zeros(s.nv, dtype=int).astype(object)

        def nearest(right: np.ndarray) -> np.ndarray:
            if dynamics.method == "projection":
                return by_projection(M, rows.G, still, right, pivots, False)[0]
            kept = list(pivots.together)
            sizes = pivots.of_together(pivots.mobilities)
            return by_multipliers(
                M, s.tree.velocity_parents, rows.G[kept], still, right[kept], dynamics.regularisation, pivots.rank,
                sizes, pivots.kept_together,
            )[0]  # fmt: skip

        miss = rows.rate - np.array([sum(g * x for g, x in zip(row, v)) for row in rows.G], dtype=object)
        return np.array([*displaced(s.tree, q, nearest(-rows.phi)), *(v + nearest(miss))], dtype=object)

    return optimise(trace(correct, {"z": (places.size,)}, "correction", "x"))


# -------------------------------------------------------------------------------------------------------------- writing


def write(
    dynamics: Any,
    path: str | Path,
    version: int | str,
    name: str | None,
    outputs: Sequence[Output],
    q: Any,
    v: Any,
    binary: bool | None,
) -> None:
    """Write a mechanism as a functional mock-up unit; see :meth:`~dalembert.dynamics.Dynamics.fmu`."""
    from dalembert.fmi.archive import write_fmu

    m = dynamics.mechanism
    wanted = {"2": 2, "2.0": 2, "3": 3, "3.0": 3}.get(str(version))
    if wanted is None:
        raise ArgumentError(f"{{argument}} = {version!r}; FMI has the versions 2 and 3", argument="version")
    if speeds := getattr(m, "speeds", ()):
        raise UnsupportedError(
            f"the equations of {m.name!r} have speeds of their own, {', '.join(speeds)}, and the states of an FMU are "
            "velocities of joints: derive them without speeds"
        )
    if not m.nv:
        raise ArgumentError(f"{m.name!r} has no degree of freedom: there is nothing to integrate")
    unset = [name for name, x in zip(dynamics.parameter_names, dynamics.parameter_values) if not np.isfinite(x)]
    if unset:
        raise ArgumentError(
            f"{m.name!r} has symbols without values, and an FMU needs start values of its parameters: "
            f"{', '.join(unset)}",
            argument="parameters",
            remedy="make it from Dynamics(mechanism, parameters={name: value})",
        )
    if isinstance(outputs, str) or not isinstance(outputs, Sequence):
        raise ArgumentError(f"{{argument}} = {outputs!r}: a list of quantities is needed", argument="outputs")
    heed("Dynamics.fmu", dynamics, stacklevel=4)
    position, velocity = _start(dynamics, q, v)
    unit = functional_unit(dynamics, name, outputs, position, velocity)
    write_fmu(unit, expect_path(path, "fmu, path"), wanted, binary)


def _start(dynamics: Any, q: Any, v: Any) -> tuple[np.ndarray, np.ndarray]:
    """Positions and velocities that satisfy the constraints."""
    m = dynamics.mechanism
    position = dynamics.reference if q is None else named_positions(m, q, "q", dynamics.reference, batch=False)
    velocity = np.zeros(m.nv) if v is None else named_velocities(m, v, "v", batch=False)
    for what, array, size in (("q", position, m.nq), ("v", velocity, m.nv)):
        if array.shape != (size,):
            raise ArgumentError(
                f"{{argument}} has shape {array.shape}, but {m.name!r} needs ({size},)", argument=what, value=array
            )
    position = normalise_in_place(m.tree, np.array(position, dtype=float))
    if dynamics.constraints.count:
        position = dynamics.assemble(position)
        velocity = dynamics.project_velocity(position, velocity)
    return position, velocity
