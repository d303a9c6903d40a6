"""Kernels of a constrained mechanism: traced with the rows that are independent, compiled on first use."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.algebra.scalar import is_sympy
from dalembert.compiler.kernel import Kernel
from dalembert.compiler.program import Port, Program
from dalembert.constraints.arguments import (
    chosen_method,
    independent_speeds,
    refuse_devices,
    single,
    values_of_symbols,
)
from dalembert.constraints.catalogue import catalogue
from dalembert.constraints.forces import ForceSet
from dalembert.constraints.pivots import Pivots, choose_pivots, choose_positional
from dalembert.constraints.quantities import Setting
from dalembert.constraints.rank import Known
from dalembert.constraints.rows import ConstraintSet, Row
from dalembert.constraints.scaling import Scaling
from dalembert.constraints.vicinity import Sample, samples, usual_size
from dalembert.constraints.violation import relative_violation
from dalembert.errors import ArgumentError, SingularityError
from dalembert.model import Mechanism
from dalembert.model.by_joint import by_joint
from dalembert.model.checks import expect, expect_names, expect_path, expect_real, real_array, shown
from dalembert.model.names import velocity_names
from dalembert.model.parameters import map_scalars, substitute
from dalembert.model.record import content

if TYPE_CHECKING:
    from dalembert.compiler.cost import Cost

METHODS = ("multipliers", "projection")
"""How a kernel finds accelerations; see :mod:`dalembert.constraints.straight_line`."""


class ConstrainedKernels:
    """What :class:`~dalembert.constraints.dynamics.ConstrainedDynamics` is made of; see there for the arguments."""

    def __init__(
        self,
        mechanism: Mechanism,
        *,
        forces: Sequence[str] | str | None = None,
        include: Sequence[str] = (),
        method: str | None = None,
        independent: Sequence[str] | None = None,
        reference: Any = None,
        regularisation: float = 0.0,
        stabilisation: float = 0.0,
        parameters: Sequence[float] | Mapping[str, float] | None = None,
        optimise: int = 1,
        dtype: Any = None,
        device: str = "cpu",
    ):
        if not isinstance(mechanism, Mechanism):
            raise ArgumentError(f"ConstrainedDynamics takes a Mechanism, got {type(mechanism).__name__}")
        refuse_devices(dtype, device)
        method = chosen_method(mechanism, method, METHODS)
        if isinstance(optimise, bool) or not isinstance(optimise, int) or optimise not in (0, 1, 2):
            raise ArgumentError(f"ConstrainedDynamics, optimise: expected 0, 1 or 2, got {shown(optimise)}")
        self.mechanism = mechanism
        self.constraints = ConstraintSet(mechanism)
        self.forces = ForceSet(mechanism, forces)
        self.include, self.method = expect_names(include, "ConstrainedDynamics, include"), method
        self.independent = independent_speeds(mechanism, method, independent)
        if isinstance(reference, Mapping):
            reference = by_joint(mechanism, reference, "reference", mechanism.neutral, mechanism.q_slice)
        self.reference = mechanism.neutral if reference is None else real_array(reference, "reference")
        if self.reference.shape != (mechanism.nq,):
            raise ArgumentError(
                f"reference has shape {self.reference.shape}, but {mechanism.name!r} needs ({mechanism.nq},)"
            )
        self.regularisation = expect_real(regularisation, "ConstrainedDynamics, regularisation", 0)
        self.stabilisation = expect_real(stabilisation, "ConstrainedDynamics, stabilisation", 0)
        self.parameters = values_of_symbols(mechanism, parameters)
        self.optimise = optimise
        self._kernels: dict[str, Kernel] = {}
        Setting(mechanism, self.constraints, self.forces, self.include).joints  # noqa: B018 - raises for unknown terms

    @property
    def rows(self) -> tuple[Row, ...]:
        """What every constraint row is, in order."""
        return self.constraints.rows

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """What the input ``parameters`` consists of: the mechanism's symbols."""
        return tuple(symbol.name for symbol in self.mechanism.symbols)

    def kernel(self, quantity: str) -> Kernel:
        """The kernel of a quantity; made once and remembered.

        Args:
            quantity: ``"forward_dynamics"``, ``"multipliers"`` (accelerations and multipliers), ``"reactions"``,
                ``"places"``, ``"linearization"`` or a name of :data:`~dalembert.constraints.quantities.QUANTITIES`.
        """
        if expect(quantity, str, "quantity") not in self._kernels:
            inputs, outputs, compute, doc = self._specification(quantity)
            self._kernels[quantity] = Kernel(
                quantity, inputs, outputs, self._thunk(quantity, inputs, outputs, compute),
                key=self._key(quantity), doc=doc,
            )  # fmt: skip
        return self._kernels[quantity]

    def _specification(self, quantity: str) -> tuple[tuple[Port, ...], tuple[Port, ...], Callable[..., Any], str]:
        m = self.mechanism
        sizes: dict[Any, int] = {
            "n": m.nv, "m": self.constraints.count, "k": len(self.forces.names),
            "joints": len(m.joints), "constraints": len(m.constraints),
        }  # fmt: skip
        known = catalogue(self)
        found = known.get(quantity)
        if found is None:
            raise ArgumentError(f"there is no quantity {quantity!r}; choose one of {', '.join(known)}")
        ports = {"q": (m.nq,), "v": (m.nv,), "a": (m.nv,), "tau": (m.nv,), "t": (), "multipliers": (sizes["m"],)}
        inputs = [Port(name, ports[name]) for name in found.inputs]
        if m.symbols:
            inputs.append(Port("parameters", (len(m.symbols),)))
        outputs = [Port(name, tuple(sizes.get(d, d) for d in shape)) for name, shape in found.outputs.items()]
        return tuple(inputs), tuple(outputs), found.compute, found.doc

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
            if not isinstance(parameters, (Sequence, np.ndarray)) or len(parameters) != len(mechanism.symbols):
                raise ArgumentError(
                    f"{mechanism.name!r} needs {len(mechanism.symbols)} parameters, got {shown(parameters)}"
                )
            from dalembert.compiler.printers.sympy import from_sympy

            table = dict(zip(mechanism.symbols, parameters))
            mechanism = map_scalars(mechanism, lambda x: from_sympy(x, table) if is_sympy(x) else x)
        return Setting(mechanism, self.constraints, self.forces, self.include, self.stabilisation, parameters)

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

    def evaluate(self, quantity: str, *state: Any, **options: Any) -> Any:
        """A kernel's results, with the parameters that were given for the mechanism's symbols.

        Args:
            quantity: as for :meth:`kernel`.
            state: its inputs but the parameters.
            options: of the kernel call: ``out``, ``threads``; and ``parameters`` in the place of those of this system,
                in the order of :attr:`parameter_names`, with any batch shape.
        """
        if options.get("parameters") is None:
            options.pop("parameters", None)
        # States of single precision are computed in it; time and parameters do not decide that.
        precision = np.float32 if single(state) else None
        state = tuple(np.array(x, precision) if isinstance(x, (int, float)) else x for x in state)  # the quick way in
        if not self.parameter_names:
            return self.kernel(quantity)(*state, **options)
        parameters = options.pop("parameters", self.parameters if len(self.parameters) else None)
        if parameters is None:
            raise ArgumentError(
                f"{self.mechanism.name!r} has the symbols {', '.join(self.parameter_names)}; give their values where "
                "the system is made, "
                "ConstrainedDynamics(mechanism, parameters=...): they decide which rows are independent"
            )
        if len(state) >= (most := len(self.kernel(quantity).inputs)):
            raise ArgumentError(
                f"{quantity} takes {most - 1} inputs here, got {len(state)}; values of symbols are the system's, or "
                f"given as parameters=[...], in the order {', '.join(self.parameter_names)}"
            )
        if precision is not None and isinstance(parameters, (np.ndarray, Sequence)):
            parameters = real_array(parameters, f"{quantity}, parameters").astype(precision)
        return self.kernel(quantity)(*state, parameters, **options)

    def cost(self, quantity: str) -> Cost:
        """Exact operation counts of a kernel.

        Args:
            quantity: as for :meth:`kernel`.
        """
        from dalembert.compiler.cost import cost

        return cost(self.kernel(quantity).program)

    def export(self, quantity: str, language: str, path: str | Path | None = None, name: str | None = None) -> str:
        """Source code of a kernel.

        Args:
            quantity: as for :meth:`kernel`.
            language: ``"c"``, ``"cuda"``, ``"python"``, ...; see :mod:`dalembert.compiler.export`.
            path: file to write.
            name: of the function; that of the quantity by default.
        """
        from dalembert.compiler.export import export

        if path is not None:
            expect_path(path, "export, path")  # goes on as it is: a slash at its end says that it is a folder
        return export(self.kernel(quantity), language, path, name)

    @cached_property
    def numbers(self) -> Mechanism:
        """The mechanism with the parameters in the place of its symbols."""
        symbols = self.mechanism.symbols
        if not symbols:
            return self.mechanism
        loose = self.mechanism.replace(strict=False)  # kernels take any values, also those that no body has
        return substitute(loose, dict(zip(symbols, self.parameters.tolist())))

    @cached_property
    def scaling(self) -> Scaling:
        """What is one of every coordinate and of every constraint row."""
        return Scaling(self)

    @cached_property
    def usual_size(self) -> float:
        """The least singular value of the rows that counts, relative to the largest, where it is largest around the
        reference: what singular configurations are measured by.
        """
        return usual_size(self)

    @cached_property
    def samples(self) -> list[Sample]:
        """Assembled positions around the reference, and when: where rows are compared."""
        return samples(self)

    @cached_property
    def known_rank(self) -> int | None:
        """The rank of G around the reference; None where that cannot be assembled."""
        try:
            return self.pivots.rank
        except (ArgumentError, SingularityError):
            return None

    def known(self, q: Any, t: Any, positional: bool = False) -> Known:
        """What is known of the rank of G at positions.

        Args:
            q: positions, (..., nq).
            t: time, s, (...).
            positional: of the rows on positions alone.
        """
        rank = self.known_positional_rank if positional else self.known_rank
        if rank is None or rank == self.constraints.count:
            return Known(rank)
        return Known(rank, relative_violation(self, np.asarray(q, dtype=float), t))

    @cached_property
    def known_positional_rank(self) -> int | None:
        """The same of the rows on positions."""
        return None if self.known_rank is None else self.positional.rank

    @cached_property
    def pivots(self) -> Pivots:
        """Which rows are kept and which velocities eliminated, chosen at positions around the reference."""
        return choose_pivots(self)

    @cached_property
    def positional(self) -> Pivots:
        """Which rows bring positions back to the constraints; those of :attr:`pivots` if all rows are on positions."""
        return self.pivots if self.constraints.holonomic.all() else choose_positional(self)

    def velocity_names(self) -> tuple[str, ...]:
        """A name for every velocity: ``elbow``, ``base.vx``, ``base.wz``."""
        return velocity_names(self.mechanism)

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if k != "_kernels"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _kernels={})

    def __repr__(self) -> str:
        m = self.mechanism
        rows = f"{self.constraints.count} constraint row{'s' * (self.constraints.count != 1)}"
        return f"<{type(self).__name__} of {m.name!r}: nv={m.nv}, {rows}>"
