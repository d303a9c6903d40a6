"""A constrained mechanism as compiled kernels, and what is computed with them in NumPy.

system = ConstrainedDynamics(four_bar)
q = system.assemble(q_guess, keep=["crank"])
v = system.project_velocity(q, v_guess)
a = system.forward_dynamics(q, v, tau)               # kernel, any batch shape
found = system.solve(q, v, tau)                      # any rank; found.multipliers, found.unique
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from dalembert.compiler.kernel import Kernel
from dalembert.compiler.program import Port, Program
from dalembert.constraints import assembly, numeric
from dalembert.constraints.forces import ForceSet
from dalembert.constraints.pivots import Pivots, find_pivots
from dalembert.constraints.quantities import QUANTITIES, Setting, dynamics
from dalembert.constraints.rows import ConstraintSet, Row
from dalembert.errors import ArgumentError
from dalembert.model import Mechanism
from dalembert.model.parameters import map_scalars
from dalembert.model.record import content

METHODS = ("multipliers", "projection")
"""How a kernel finds accelerations; see :mod:`dalembert.constraints.straight_line`."""


class ConstrainedDynamics:
    """The dynamics of a mechanism with all its constraints.

    Kernels take ``(q, v, tau, t)`` or fewer of these, in that order, each with any batch shape; time ``t`` comes last
    and is a scalar. A mechanism with symbols has one more input ``parameters``, in the order of ``mechanism.symbols``.

    Kernels are straight-line code for the rows that are independent around ``reference``; redundant rows are left out
    and their multipliers are zero. Where the kept rows lose rank - a singular position - results are infinite or NaN
    unless there is a regularisation. :meth:`solve` works everywhere.

    Args:
        mechanism: the mechanism.
        forces: names of the force elements that act, or ``"all"``; must be said if there are any.
        include: which of ``armature``, ``damping`` and ``friction`` of the joints enter.
        method: ``"multipliers"`` or ``"projection"``.
        independent: names of joints whose velocities are the independent speeds, for projection; by default they are
            chosen.
        reference: positions around which rows and speeds are chosen; need not satisfy the constraints.
        regularisation: added to the diagonal of the matrix of the multipliers.
        stabilisation: frequency, rad/s, with which violations decay (Baumgarte); 0 for none.
        parameters: numbers for the mechanism's symbols, wherever NumPy works: assembly, solve, choice of rows.
        optimise: 0 to 2, how hard to look for operations to save.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        *,
        forces: Sequence[str] | str | None = None,
        include: Sequence[str] = (),
        method: str = "multipliers",
        independent: Sequence[str] | None = None,
        reference: Any = None,
        regularisation: float = 0.0,
        stabilisation: float = 0.0,
        parameters: Sequence[float] = (),
        optimise: int = 1,
    ):
        if not isinstance(mechanism, Mechanism):
            raise ArgumentError(f"ConstrainedDynamics takes a Mechanism, got {type(mechanism).__name__}")
        if method not in METHODS:
            raise ArgumentError(f"there is no method {method!r} for kernels; choose one of {', '.join(METHODS)}")
        self.mechanism = mechanism
        self.constraints = ConstraintSet(mechanism)
        self.forces = ForceSet(mechanism, forces)
        self.include, self.method = tuple(include), method
        self.independent = None if independent is None else tuple(independent)
        self.reference = mechanism.neutral if reference is None else np.asarray(reference, dtype=float)
        self.regularisation, self.stabilisation = float(regularisation), float(stabilisation)
        self.parameters = np.asarray(parameters, dtype=float)
        self.optimise = optimise
        self._kernels: dict[str, Kernel] = {}
        Setting(mechanism, self.constraints, self.forces, self.include).joints  # noqa: B018 - raises for unknown terms

    @property
    def rows(self) -> tuple[Row, ...]:
        """What every constraint row is, in order."""
        return self.constraints.rows

    # --------------------------------------------------------------------------------------------------------- kernels

    def kernel(self, quantity: str) -> Kernel:
        """The kernel of a quantity; made once and remembered.

        Args:
            quantity: ``"forward_dynamics"``, ``"multipliers"`` (accelerations and multipliers), or a name of
                :data:`~dalembert.constraints.quantities.QUANTITIES`.
        """
        if quantity not in self._kernels:
            inputs, outputs, compute, doc = self._specification(quantity)
            self._kernels[quantity] = Kernel(
                quantity, inputs, outputs, self._thunk(quantity, inputs, outputs, compute),
                key=self._key(quantity), doc=doc,
            )  # fmt: skip
        return self._kernels[quantity]

    def _specification(self, quantity: str) -> tuple[tuple[Port, ...], tuple[Port, ...], Callable[..., Any], str]:
        m = self.mechanism
        sizes: dict[Any, int] = {"n": m.nv, "m": self.constraints.count, "k": len(self.forces.names)}
        if quantity in ("forward_dynamics", "multipliers"):
            both = quantity == "multipliers"
            names: tuple[str, ...] = ("q", "v", "tau", "t")
            shapes: dict[str, tuple[Any, ...]] = {"a": ("n",), **({"multipliers": ("m",)} if both else {})}

            def compute(s: Setting, q: Any, v: Any, tau: Any, t: Any) -> Any:
                found = dynamics(s, q, v, tau, t, self.method, self.pivots, self.regularisation, both)
                return found if both else found[0]

            doc = "Accelerations under the constraints" + (", and the multipliers of every row." if both else ".")
        elif quantity in QUANTITIES:
            found = QUANTITIES[quantity]
            names, shapes, compute, doc = found.inputs, found.outputs, found.compute, found.doc
        else:
            known = ", ".join(("forward_dynamics", "multipliers", *QUANTITIES))
            raise ArgumentError(f"there is no quantity {quantity!r}; choose one of {known}")
        ports = {"q": (m.nq,), "v": (m.nv,), "tau": (m.nv,), "t": ()}
        inputs = [Port(name, ports[name]) for name in names]
        if m.symbols:
            inputs.append(Port("parameters", (len(m.symbols),)))
        outputs = [Port(name, tuple(sizes.get(d, d) for d in shape)) for name, shape in shapes.items()]
        return tuple(inputs), tuple(outputs), compute, doc

    def _thunk(
        self, name: str, inputs: tuple[Port, ...], outputs: tuple[Port, ...], compute: Callable[..., Any]
    ) -> Callable[[], Program]:
        def build() -> Program:
            from dalembert.compiler.passes import optimise
            from dalembert.compiler.trace import trace

            def traced(*arrays: Any) -> dict[str, Any]:
                given = dict(zip((port.name for port in inputs), arrays))
                setting = self.setting(given.pop("parameters", None))
                result = compute(setting, *given.values())
                return dict(zip((port.name for port in outputs), result if len(outputs) > 1 else (result,)))

            return optimise(trace(traced, {port.name: port.shape for port in inputs}, name), self.optimise)

        return build

    def setting(self, parameters: Any = None) -> Setting:
        """The mechanism ready for evaluation over any scalar, with its symbols replaced by given scalars.

        Args:
            parameters: one scalar for each symbol of the mechanism.
        """
        mechanism = self.mechanism
        if parameters is not None:
            from dalembert.algebra.scalar import is_sympy
            from dalembert.compiler.printers.sympy import from_sympy

            table = dict(zip(mechanism.symbols, parameters))
            mechanism = map_scalars(mechanism, lambda x: from_sympy(x, table) if is_sympy(x) else x)
        return Setting(mechanism, self.constraints, self.forces, self.include, self.stabilisation)

    def _key(self, quantity: str) -> str:
        """Changes with everything the program depends on; users' functions count by what they compute."""
        told: list[Any] = [content(self.mechanism.replace(constraints=(), forces=())), quantity]
        items: list[tuple[Any, dict[str, Program]]] = [
            *((item, self.constraints.programs) for item in self.mechanism.constraints),
            *((item, self.forces.programs) for item in self.mechanism.forces),
        ]
        for item, programs in items:
            values = {f.name: content(getattr(item, f.name)) for f in dataclasses.fields(item)}
            program = programs.get(item.name)
            values["function"] = program.digest if program is not None else None
            told.append((type(item).__name__, values))
        told += [self.forces.names, self.include, self.stabilisation, self.optimise]
        if quantity in ("forward_dynamics", "multipliers"):
            told += [self.method, self.pivots, self.regularisation]
        return hashlib.sha256(repr(told).encode()).hexdigest()

    # ------------------------------------------------------------------------------------------------ dynamics

    def evaluate(self, quantity: str, *state: Any, **options: Any) -> Any:
        """A kernel's results, with the parameters that were given for the mechanism's symbols.

        Args:
            quantity: as for :meth:`kernel`.
            state: its inputs but the parameters.
            options: of the kernel call: ``out``, ``threads``.
        """
        count = len(self.mechanism.symbols)
        if not count:
            return self.kernel(quantity)(*state, **options)
        if self.parameters.shape != (count,):
            names = ", ".join(symbol.name for symbol in self.mechanism.symbols)
            raise ArgumentError(f"{self.mechanism.name!r} has the symbols {names}; give their values as parameters=")
        return self.kernel(quantity)(*state, self.parameters, **options)

    def forward_dynamics(self, q: Any, v: Any, tau: Any, t: Any = 0.0, **options: Any) -> np.ndarray:
        """Accelerations under the constraints, by the kernel; any batch shape.

        Args:
            q: positions.
            v: velocities that satisfy the constraints.
            tau: generalised forces of the drives.
            t: time, s.
            options: of the kernel call: ``out``, ``threads``.
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
        tolerance: float = numeric.TOLERANCE,
    ) -> numeric.Solution:
        """Accelerations and multipliers at any position, also where rows are redundant or lose rank; any batch shape.

        Args:
            q: positions.
            v: velocities that satisfy the constraints.
            tau: generalised forces of the drives.
            t: time, s.
            method: one of :data:`dalembert.constraints.numeric.METHODS`.
            tolerance: below this fraction of the largest, singular values count as zero.
        """
        M, f, G, gamma = self.evaluate("terms", q, v, tau, t)
        return numeric.solve(M, G, f, gamma, method, tolerance)

    # ------------------------------------------------------------------------------------------------ positions

    def residual(self, q: Any, t: float = 0.0) -> dict[str, np.ndarray]:
        """Residuals of the constraints on positions, by name of the constraint.

        Args:
            q: positions.
            t: time, s.
        """
        phi = self.evaluate("positions", q, t)[0]
        return {name: phi[..., self.constraints.slice(name)] for name in self.constraints.info}

    def assemble(self, q: Any = None, t: float = 0.0, keep: Sequence[str] = (), **options: Any) -> np.ndarray:
        """Positions that satisfy the constraints, nearest in the sense of Gauss and Newton to the given ones.

        Args:
            q: where to start; the reference by default. Which of several assemblies is found depends on it.
            t: time, s.
            keep: joints whose positions must not change.
            options: of :func:`dalembert.constraints.assembly.assemble`.
        """
        return assembly.assemble(self, self.reference if q is None else q, t, keep, **options)

    def project_velocity(self, q: Any, v: Any, t: float = 0.0, keep: Sequence[str] = ()) -> np.ndarray:
        """Velocities that satisfy the constraints, nearest to the given ones in kinetic energy.

        Args:
            q: positions that satisfy the constraints.
            v: velocities to start from.
            t: time, s.
            keep: joints whose velocities must not change.
        """
        return assembly.project_velocity(self, q, v, t, keep)

    # ------------------------------------------------------------------------------------------------ pivots

    @cached_property
    def pivots(self) -> Pivots:
        """Which rows are kept and which velocities eliminated, chosen at positions around the reference."""
        keep: list[int] = []
        for name in self.independent or ():
            part = self.mechanism.v_slice(name)
            keep += range(part.start, part.stop)
        states = assembly.samples(self)
        G = np.stack([self.evaluate("positions", q, 0.0)[1] for q in states])
        pattern = np.abs(G).max(axis=0) > 0
        found = find_pivots(G, pattern, keep)
        if self.independent is not None and sorted(keep) != list(found.independent):
            names = ", ".join(self._velocity_names(found.independent))
            raise ArgumentError(
                f"{', '.join(map(repr, self.independent)) or 'no joint'} cannot be the independent speeds of "
                f"{self.mechanism.name!r}: {len(found.independent)} velocities are needed, for example {names}"
            )
        return found

    def _velocity_names(self, indices: Sequence[int]) -> list[str]:
        names = [""] * self.mechanism.nv
        for link in self.mechanism.tree.links:
            for k in range(link.nv):
                names[link.v + k] = link.coordinate + (f"[{k}]" if link.nv > 1 else "")
        return [names[k] for k in indices]

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if k != "_kernels"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _kernels={})

    def __repr__(self) -> str:
        m = self.mechanism
        return f"<ConstrainedDynamics of {m.name!r}: nv={m.nv}, {self.constraints.count} constraint rows>"
