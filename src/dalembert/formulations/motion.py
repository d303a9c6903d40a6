"""Equations of motion as something that moves: the same kernels, by the same names, as of a mechanism.

Whatever has a mass matrix, generalised forces and qdot = Gamma(q) v can be simulated, swept, linearised and compiled.
:class:`DerivedDynamics` has the kernels of equations - of ``derive``, ``from_lagrangian``, ``from_sympy`` - as
:class:`~dalembert.dynamics.Dynamics` has those of a mechanism. Their accelerations are traced into integrators alike.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.algebra.arrays import product
from dalembert.algebra.scalar import is_zero, same
from dalembert.constraints.forces import ForceSet
from dalembert.constraints.rows import ConstraintSet
from dalembert.constraints.violation import violation
from dalembert.contact.rows import ContactSet
from dalembert.dynamics import ALL_QUANTITIES, Dynamics, FrameQuantity
from dalembert.dynamics.kernel_table import KernelTable, traced
from dalembert.dynamics.quantity import Quantity, Setting
from dalembert.dynamics.settings import effort
from dalembert.errors import ArgumentError, SingularityError, UnsupportedError
from dalembert.formulations.bounds import believed
from dalembert.formulations.equations import BODILESS, CompiledEquations, Equations
from dalembert.formulations.quantity import DerivedQuantity
from dalembert.kinematics.manifold import quaternion_places, tangent_map, tangent_rate
from dalembert.model import Mechanism
from dalembert.model.checks import expect_choice, real_array
from dalembert.model.record import fingerprint
from dalembert.model.state_space import StateSpace, space_of_coordinates
from dalembert.native.arguments import precision
from dalembert.native.kernel import Kernel
from dalembert.text.suggest import hint
from dalembert.tracing.derivatives import forward, jacobian
from dalembert.tracing.evaluate import inline
from dalembert.tracing.program import Port, Program

STATE = ("q", "v", "tau", "t")
"""Inputs of equations, beside parameters, that a motion can supply."""


class DerivedDynamics(KernelTable):
    """The dynamics that equations of motion describe.

    Kernels take ``q``, the velocities ``v`` (Kane's speeds, if these are the velocities), accelerations or the inputs
    ``tau`` of the equations, then the time ``t`` if it occurs, and ``parameters``, in the order of
    :attr:`parameter_names`. There are ``forward_dynamics``, ``inverse_dynamics``, ``mass_matrix``, ``bias``,
    ``gravity``, ``position_rate``, ``input_forces`` (D tau), ``linearize``, and derivatives of the first two; where
    they are known, ``kinetic_energy``, ``potential_energy`` and ``energy``; where bodies are known, what depends on
    positions alone, such as ``pose``. The state of ``linearize`` is (dq, dv), with dq in the coordinates if there are
    speeds, else along tangent vectors.

    Args:
        equations: of motion, whose accelerations are determined; or what ``compile()`` made of them.
        parameters: values by name of a symbol.
        dtype: float64 or float32 to compute in one precision always; by default the inputs decide.
        device: ``"cpu"`` or ``"cuda"``.
        optimise: 0 to 2, how hard to look for operations to save while tracing.
    """

    equations: Equations
    position_rate: Kernel
    input_forces: Kernel

    def __init__(
        self,
        equations: Equations | CompiledEquations,
        *,
        parameters: Mapping[str, float] | None = None,
        dtype: Any = None,
        device: str = "cpu",
        optimise: int = 1,
    ):
        if isinstance(equations, CompiledEquations):
            equations = equations.equations
        if not isinstance(equations, Equations):
            raise ArgumentError(f"expected Equations, got {type(equations).__name__}; derive(...) makes them")
        self.equations = equations
        scope = equations.scope
        if scope.fixed:
            raise UnsupportedError(
                f"{equations.name!r} has values in the place of {', '.join(scope.fixed)}: its equations hold in these "
                "states only, and cannot move. Substitute values for parameters only"
            )
        self._velocity = equations.velocity_port
        solved = equations.accelerations()
        self._values: dict[str, np.ndarray] = {
            name: believed(scope, quantity.values)
            for name, quantity in {**equations.quantities(), "accelerations": solved}.items()
        }
        self._refuse_unknown_inputs()
        layout = _layout(equations)
        super().__init__(layout, EquationParameters(layout, equations, parameters))
        self.dtype = precision("equations.dynamics", dtype)
        self.device = expect_choice(device, ("cpu", "cuda"), "equations.dynamics: device =")
        self.optimise = effort(optimise)
        # What acts on bodies is part of the equations: nothing else does.
        self.constraints, self.contacts = ConstraintSet(layout), ContactSet(layout)
        self.elements, self.reference = ForceSet(layout), layout.neutral
        self._table = self._quantities()

    def _refuse_unknown_inputs(self) -> None:
        """Wrenches and motions that are given from outside have no values here."""
        equations, known = self.equations, {*STATE, self._velocity, *self.equations.scope.parameters}
        for name, values in self._values.items():
            others = [p.name for p in equations.scope.program({name: values}, name).inputs if p.name not in known]
            if others:
                symbols = ", ".join(map(str, equations.scope.names[others[0]]))
                raise UnsupportedError(
                    f"the equations of {equations.name!r} contain {symbols}, which a motion does not determine: "
                    "substitute expressions in the time or in parameters for them, or, for wrenches, simulate the "
                    "mechanism with wrenches=..."
                )

    # ----------------------------------------------------------------------------------------- what acts, what is known

    @property
    def is_tree(self) -> bool:
        """True: constraints have been eliminated, and force elements are part of the equations."""
        return True

    @property
    def takes_time(self) -> bool:
        """Whether the equations depend on time explicitly."""
        return "t" in self.equations.scope.names

    @property
    def input_names(self) -> tuple[str, ...]:
        """What the entries of tau are called: the driven velocities, or the symbols of the inputs."""
        equations, names = self.equations, self.velocity_names()
        if equations.driven:
            every = names if self._plain else ()
            if every:
                return tuple(every[k] for k in equations.driven)
        if equations.input_map.shape[1] == len(names) and _is_identity(equations.input_map):
            return names
        return tuple(_plain_name(x) for x in equations.inputs)

    @property
    def _plain(self) -> bool:
        """Whether velocities are those of the layout's joints."""
        return not getattr(self.mechanism, "speeds", ())

    def open_loops(self, q: np.ndarray, t: Any, parameters: np.ndarray | None = None, name: str = "q") -> str:
        """Which constraint of the mechanism positions violate, for equations hold on closed loops only."""
        origin = self.equations.mechanism
        if origin is None or not origin.constraints:
            return ""
        known = self.parameter_values if parameters is None else parameters
        own = [x.name for x in origin.symbols]
        if not set(own) <= set(self.parameter_names):
            return ""  # where numbers stand in the place of lengths that the mechanism still has as symbols
        known = known[..., [self.parameter_names.index(x) for x in own]]
        closed = _closed(origin, tuple(known.reshape(-1, len(own))[0].tolist()) if own else ())
        options: dict[str, Any] = {"parameters": known} if own else {}
        return violation(closed, q, None, t, (name, ""), **options)

    @property
    def _settings(self) -> dict[str, Any]:
        own = {"parameters": self._parameters.given, "dtype": self.dtype, "device": self.device}
        return own | {"optimise": self.optimise}

    def replace(self, **changes: Any) -> DerivedDynamics:
        """The same with other settings; itself where nothing changes.

        Args:
            changes: ``parameters``, ``dtype``, ``device`` or ``optimise``.
        """
        if all(self._settings.get(name, ...) == value for name, value in changes.items()):
            return self
        return DerivedDynamics(self.equations, **{**self._settings, **changes})

    def __getstate__(self) -> dict[str, Any]:
        return {"equations": self.equations, **self._settings}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]

    # --------------------------------------------------------------------------------------------------------- kernels

    def part(self, name: str, given: Mapping[str, Any]) -> np.ndarray:
        """A part of the equations, or ``accelerations``, over other scalars.

        Args:
            name: of the part.
            given: by input of kernels - ``q``, ``v``, ``tau``, ``t``, ``parameters`` - arrays of scalars.
        """
        scope = self.equations.scope
        program = scope.program({name: self._values[name]}, name)
        parameters = dict(zip(scope.parameters, given.get("parameters", ())))
        arguments: dict[str, Any] = {}
        for port in program.inputs:
            if port.name in parameters:
                arguments[port.name] = parameters[port.name]
            elif port.name == "t":
                arguments["t"] = np.reshape(given.get("t", 0), ())[()]
            else:
                arguments[port.name] = given["v" if port.name == self._velocity else port.name]
        return np.asarray(inline(program, arguments)[name], dtype=object)

    def _loads(self, given: Mapping[str, Any]) -> np.ndarray:
        """h - p - e: what accelerations and inputs balance."""
        total = self.part("bias", given)
        for name in ("passive", "external"):
            if name in self._values:
                total = total - self.part(name, given)
        return total

    def _inverse(self, given: Mapping[str, Any]) -> np.ndarray:
        return product(self.part("mass_matrix", given), given["a"]) + self._loads(given)

    def _directions(self, q: np.ndarray) -> np.ndarray:
        """Columns along which positions are displaced: tangent vectors, or, with speeds, the coordinates."""
        return tangent_map(self.mechanism.tree, q) if self._plain else np.eye(len(q), dtype=int)

    def _derivatives(self, values: np.ndarray, given: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray]:
        return forward(values, given["q"], self._directions(given["q"])), jacobian(values, given["v"])

    def _forward_derivatives(self, given: Mapping[str, Any]) -> tuple[np.ndarray, ...]:
        a = self.part("accelerations", given)
        by_tau = jacobian(a, given["tau"]) if len(given["tau"]) else np.zeros((len(a), 0), dtype=int)
        return (*self._derivatives(a, given), by_tau)

    def _linearize(self, given: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray]:
        slopes = self._forward_derivatives(given)
        if self._plain:
            n = self.mechanism.nv
            upper = [np.asarray(tangent_rate(self.mechanism.tree, given["v"])), np.eye(n, dtype=int)]
        else:
            upper = list(self._derivatives(self.part("kinematics", given), given))
        A = np.block([upper, list(slopes[:2])])
        return A, np.concatenate([np.zeros((len(upper[0]), slopes[2].shape[1]), dtype=int), slopes[2]])

    def _quantities(self) -> dict[str, Quantity]:
        """Everything that these equations give, by name."""
        nq, nv, inputs = self.mechanism.nq, self.mechanism.nv, len(self.input_names)
        dq = nv if self._plain else nq
        state, driven, moved = ("q", "v"), ("q", "v", "tau"), ("q", "v", "a")

        def of(names: tuple[str, ...], outputs: Mapping[str, tuple[int, ...]], compute: Any, doc: str) -> Quantity:
            return Quantity((*names, "t") if self.takes_time else names, outputs, compute, doc)

        def part(name: str) -> Callable[[Mapping[str, Any]], np.ndarray]:
            return lambda given: self.part(name, given)

        found = {
            "mass_matrix": of(("q",), {"M": (nv, nv)}, part("mass_matrix"), "Mass matrix."),
            "gravity": of(("q",), {"gravity": (nv,)}, part("gravity"), "Generalised forces at rest."),
            "bias": of(state, {"bias": (nv,)}, part("bias"), "Generalised forces at zero acceleration, c + g."),
            "position_rate": of(state, {"qdot": (nq,)}, part("kinematics"), "Rates of the coordinates."),
            "forward_dynamics": of(driven, {"a": (nv,)}, part("accelerations"), "Accelerations."),
            "input_forces": of(
                driven, {"forces": (nv,)},
                lambda g: product(self.part("input_map", g), g["tau"]) if inputs else np.zeros(nv, dtype=int),
                "Generalised forces of the inputs, D tau."),
            "inverse_dynamics": of(
                moved, {"tau": (nv,)}, self._inverse,
                "Generalised forces D tau that produce the accelerations a: M a + h - p - e."),
            "inverse_dynamics_derivatives": of(
                moved, {"dtau_dq": (nv, dq), "dtau_dv": (nv, nv)},
                lambda g: self._derivatives(self._inverse(g), g), "P and V of d(D tau) = M da + V dv + P dq."),
            "forward_dynamics_derivatives": of(
                driven, {"da_dq": (nv, dq), "da_dv": (nv, nv), "da_dtau": (nv, inputs)}, self._forward_derivatives,
                "First derivatives of forward dynamics."),
            "linearize": of(
                driven, {"A": (dq + nv, dq + nv), "B": (dq + nv, inputs)}, self._linearize,
                "State-space matrices of x = (dq, dv): xdot = A x + B dtau."),
        }  # fmt: skip
        if any(self._parts_depend_on_velocity("mass_matrix", "gravity")):
            for name in ("mass_matrix", "gravity"):
                found[name] = of(state, found[name].outputs, found[name].compute, found[name].doc)
        if "energy" in self.equations.extras:
            self._values["energy"] = self.equations.extras["energy"].values
            found["energy"] = of(state, {"E": ()}, part("energy"), "Energy, conserved unless something drives, J.")
        extras = self.equations.extras
        drifts = "speed_drift" in extras and any(not is_zero(x) for x in extras["speed_drift"].values.flat)
        if self._has_bodies and not drifts:
            found["kinetic_energy"] = of(
                state, {"T": ()},
                lambda g: np.dot(g["v"], product(self.part("mass_matrix", g), g["v"])) / 2,
                "Kinetic energy, J.")  # fmt: skip
        return found

    def _parts_depend_on_velocity(self, *names: str) -> list[bool]:
        scope = self.equations.scope
        programs = (scope.program({name: self._values[name]}, name) for name in names)
        return [any(port.name == self._velocity for port in program.inputs) for program in programs]

    @property
    def _has_bodies(self) -> bool:
        return self.equations.mechanism is not None and self.equations.method not in BODILESS

    @property
    def _geometric(self) -> tuple[str, ...]:
        """Quantities of the bodies; potential energy where nothing but uniform gravity has any."""
        if not self._has_bodies:
            return ()
        others = self.equations.passive is not None or self.equations.gravity_field is not None
        return tuple(name for name in GEOMETRIC if not (others and name == "potential_energy"))

    def quantity(self, name: str) -> Quantity:
        """How a quantity is computed; an error if the equations do not give it.

        Args:
            name: of the quantity.
        """
        if type(name) is str and name in self._table:
            return self._table[name]
        if name in self._geometric:
            return ALL_QUANTITIES[name]
        raise UnsupportedError(
            f"the equations of {self.equations.name!r} ({self.equations.method}) do not give {name!r}; they give "
            f"{', '.join([*self._table, *self._geometric])}"
        )

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if "_table" in self.__dict__:
                if name in self._table:
                    found = self.__dict__[name] = self.kernel(name)
                    return found
                if name in self._geometric:
                    found = self.__dict__[name] = (
                        FrameQuantity(self, name) if ALL_QUANTITIES[name].options else self.kernel(name)
                    )
                    return found
                known = (*self._table, *self._geometric)
                raise AttributeError(f"these equations have no attribute {name!r}{hint(name, known, 'they give')}")
            raise AttributeError(name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._table, *self._geometric})

    def has(self, quantity: str) -> bool:
        """Whether these equations give a quantity.

        Args:
            quantity: its name.
        """
        return quantity in self._table or quantity in self._geometric

    def ports(self, spec: Quantity, options: Mapping[str, Any]) -> tuple[tuple[Port, ...], tuple[Port, ...]]:
        sizes = {"q": (self.mechanism.nq,), "tau": (len(self.input_names),), "t": ()}
        inputs = [Port(name, sizes.get(name, (self.mechanism.nv,))) for name in spec.inputs]
        if self.parameter_names:
            inputs.append(Port("parameters", (len(self.parameter_names),)))
        return tuple(inputs), spec.ports(Setting(self.mechanism), options, 0, len(self.parameter_names))[1]

    def recipe(self, name: str, spec: Quantity, options: dict[str, Any]) -> Callable[[], Program]:
        inputs, outputs = self.ports(spec, options)

        def of_bodies(given: Mapping[str, Any]) -> Any:
            mechanism, symbols = self._parameters.traced(given.get("parameters"))
            here = Setting(mechanism, options=options, derivative=forward, parameters=symbols)
            return spec.compute(here, *(given[k] for k in spec.inputs))

        def build() -> Program:
            from dalembert.tracing import passes

            program = traced(name, inputs, outputs, spec.compute if name in self._table else of_bodies)
            return passes.optimise(program, self.optimise)

        return build

    @property
    def identity(self) -> str:
        """SHA-256 of the traced equations themselves - every number in them - and of the names of their parameters."""
        if "_digest" not in self.__dict__:
            program = self.equations.scope.program(self._values, "equations")
            ports = [(port.name, port.shape) for port in program.inputs]
            names = self.parameter_names, self.input_names, self.velocity_names(), self._velocity
            whole = [program.digest, ports, names, self._layout_digest]
            self.__dict__["_digest"] = hashlib.sha256(fingerprint(whole).encode()).hexdigest()
        found: str = self.__dict__["_digest"]
        return found

    @property
    def digest(self) -> str:
        """A digest of the equations and of all settings."""
        known = [self.identity, list(self._parameters.given.items()), str(self.dtype), self.device, self.optimise]
        return hashlib.sha256(fingerprint(known).encode()).hexdigest()

    @property
    def _layout_digest(self) -> str:
        """Of what positions mean: quaternions are normalised."""
        return repr((self.mechanism.nq, self.mechanism.nv, quaternion_places(self.mechanism.tree)))

    def key_of(self, name: str, spec: Quantity, options: Mapping[str, Any]) -> str:
        own = self.identity if name in self._table else self.mechanism.digest
        whole = [own, self.parameter_names, name, sorted(options.items(), key=str), self.optimise]
        return hashlib.sha256(fingerprint(whole).encode()).hexdigest()

    def __repr__(self) -> str:
        sizes = f"nq={self.mechanism.nq}, nv={self.mechanism.nv}"
        return f"<Dynamics of the equations of {self.equations.name!r} by {self.equations.method}: {sizes}>"


GEOMETRIC = ("pose", "center_of_mass", "potential_energy", "jacobian")
"""Quantities of bodies that depend on positions alone, so that they hold whatever the velocities are."""


class EquationParameters:
    """The symbols of equations, then those of the bodies that do not occur in them.

    Args:
        mechanism: the layout of the states, with bodies if these are known.
        given: values by name.
    """

    addresses: tuple[str, ...] = ()

    def __init__(self, mechanism: Mechanism, equations: Equations, given: Mapping[str, Any] | None):
        self.mechanism = mechanism
        own = [_plain_name(x) for x in equations.parameters]
        self.names = (*own, *(s.name for s in mechanism.symbols if s.name not in own))
        self.given: dict[str, float] = {}
        for name, value in (given or {}).items():
            if str(name) not in self.names:
                raise ArgumentError(
                    f"{equations.name!r} has no parameter {str(name)!r}; it has {', '.join(self.names) or 'none'}"
                )
            number = real_array(value, f"parameters, {name}")
            if number.shape != () or not np.isfinite(number):
                raise ArgumentError(f"parameters: the value of {name} is {value!r}; it must be a finite number")
            self.given[str(name)] = float(number)

    @property
    def values(self) -> np.ndarray:
        """The given values, else NaN."""
        return np.array([self.given.get(name, np.nan) for name in self.names], dtype=float)

    @property
    def complete(self) -> bool:
        """Whether every parameter has a value."""
        return bool(np.isfinite(self.values).all())

    @property
    def numeric(self) -> Mechanism:
        """The bodies with the values in the place of their symbols."""
        from dalembert.model.parameters import substitute

        values = dict(zip(self.names, self.values.tolist()))
        mine = {s: values[s.name] for s in self.mechanism.symbols}
        return substitute(self.mechanism.replace(strict=False), mine) if mine else self.mechanism

    def traced(self, values: Any) -> tuple[Mechanism, Any]:
        """The bodies with traced scalars instead of their symbols.

        Args:
            values: one for each of :attr:`names`, or None.
        """
        if values is None or not self.mechanism.symbols:
            return self.mechanism, None
        from dalembert.algebra.scalar import is_sympy
        from dalembert.model.parameters import map_scalars
        from dalembert.tracing.sympy import from_sympy

        by_name = dict(zip(self.names, values))
        table = {symbol: by_name[symbol.name] for symbol in self.mechanism.symbols}
        moved = map_scalars(self.mechanism, lambda x: from_sympy(x, table) if is_sympy(x) else x)
        return moved, list(table.values())


@lru_cache(maxsize=16)
def _closed(origin: Mechanism, values: tuple[float, ...]) -> Dynamics:
    """The mechanism of equations with its constraints, for the values of its symbols."""
    own = dict(zip((x.name for x in origin.symbols), values))
    return Dynamics(origin.replace(contacts=(), forces=(), strict=False), parameters=own or ())


def _plain_name(symbol: Any) -> str:
    """``theta`` of theta(t)."""
    return symbol.func.__name__ if getattr(symbol, "is_Function", False) else str(symbol)


def _is_identity(quantity: DerivedQuantity) -> bool:
    return all(map(same, quantity.values.flat, np.eye(len(quantity), dtype=int).flat))


def _layout(equations: Equations) -> Mechanism:
    """How states are laid out: as those of the mechanism, or of coordinates, with speeds of their own if need be."""
    scope = equations.scope
    n, velocities = len(equations.velocities), scope.arrays[equations.velocity_port]
    if n == 0:
        raise SingularityError(f"{equations.name!r} has no degree of freedom: nothing can move")
    origin = equations.mechanism
    own = equations.velocity_port == "v"
    speeds = tuple(_plain_name(x) for x in scope.symbols[equations.velocity_port])
    if origin is not None:
        bare = origin.replace(constraints=(), forces=(), contacts=(), strict=False)
        if own:
            return bare
        fields = {name: getattr(bare, name) for name in ("name", "bodies", "joints", "frames", "gravity", "notes")}
        return StateSpace(**fields, strict=False, speeds=speeds)
    coordinates = [_plain_name(x) for x in scope.symbols["q"]]
    rates = equations.kinematics.values
    are_rates = own and len(rates) == n and all(map(same, rates, velocities))
    return space_of_coordinates(equations.name, coordinates, speeds, are_rates)
