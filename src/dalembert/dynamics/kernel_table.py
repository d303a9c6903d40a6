"""Quantities as kernels, made once and remembered: what the dynamics of a mechanism and of equations share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.cached import cached_property
from dalembert.constraints.arguments import single
from dalembert.constraints.design import Design
from dalembert.constraints.forces import ForceSet
from dalembert.constraints.rows import ConstraintSet, Row
from dalembert.contact.rows import ContactSet
from dalembert.dynamics.documentation import documentation, hints
from dalembert.dynamics.exporting import export_quantity
from dalembert.dynamics.naming import ByName
from dalembert.dynamics.quantity import Quantity
from dalembert.dynamics.results import RESULTS
from dalembert.errors import ArgumentError
from dalembert.labels import has_names
from dalembert.model import Mechanism
from dalembert.model.checks import real_array
from dalembert.model.consumers import CONSUMERS, heed
from dalembert.model.names import formula_names, velocity_names
from dalembert.native.kernel import Kernel
from dalembert.text.suggest import hint
from dalembert.tracing.cost import Cost
from dalembert.tracing.program import Port, Program

if TYPE_CHECKING:
    from dalembert.cuda.stages import Stage
    from dalembert.cuda.warps import Parts
    from dalembert.dynamics.fmu import Output


class KernelTable:
    """Whatever moves: a mechanism, or equations of motion of any origin.

    A subclass knows which quantities there are (:meth:`quantity`), their arrays (:meth:`ports`), how each is traced
    (:meth:`recipe`) and by which name its code is kept (:meth:`key_of`). What simulates, linearises, controls or
    exports takes any of them.

    Attributes:
        mechanism: the layout of q and v, with bodies where these are known.
        equations: what moves, if that is equations and not a mechanism; else None.
        dtype: float64 or float32, or None where the inputs decide.
        device: ``"cpu"`` or ``"cuda"``.
        optimise: 0 to 2, how hard to look for operations to save.
        constraints: those that hold.
        elements: the force elements that act.
        contacts: those that may close, with limits and dry friction of joints.
        wrenches: frames on which external wrenches act.
        include: terms of the joints that enter.
        limits: joints whose ranges end in stops.
        law: of the contacts.
        stabilisation: frequency with which violations of constraints decay, rad/s.
        reference: positions around which rows are compared, and motions begin by default.
    """

    mechanism: Mechanism
    equations: Any = None
    dtype: np.dtype | None
    device: str
    optimise: int
    constraints: ConstraintSet
    elements: ForceSet
    contacts: ContactSet
    wrenches: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    limits: tuple[str, ...] = ()
    law: str = "rigid"
    stabilisation: float = 0.0
    reference: np.ndarray

    def __init__(self, mechanism: Mechanism, parameters: Any):
        self.mechanism, self._parameters = mechanism, parameters
        self._kernels: dict[tuple[Any, ...], Any] = {}
        self._remembered: dict[tuple[Any, ...], Any] = {}
        self.heeded: set[Any] = set()  # what a user has been warned of

    # ------------------------------------------------------------------------------------------- what a subclass knows

    @property
    def is_tree(self) -> bool:
        """Whether neither constraints nor force elements act."""
        return not (self.constraints.count or self.elements.names)

    @property
    def rows(self) -> tuple[Row, ...]:
        """What every constraint row is, in order; empty for a tree."""
        return self.constraints.rows

    @property
    def takes_time(self) -> bool:
        """Whether what moves may depend on time, so that kernels of motion take it."""
        raise NotImplementedError

    @property
    def input_names(self) -> tuple[str, ...]:
        """What the entries of tau are called."""
        raise NotImplementedError

    @property
    def identity(self) -> str:
        """A digest of what moves."""
        raise NotImplementedError

    @property
    def digest(self) -> str:
        """A digest of what moves and of all settings."""
        raise NotImplementedError

    def has(self, quantity: str) -> bool:
        """Whether there is a quantity of that name.

        Args:
            quantity: its name.
        """
        raise NotImplementedError

    def replace(self, **changes: Any) -> Any:
        """The same with other settings; itself where nothing changes.

        Args:
            changes: settings by name, such as ``device="cuda"``.
        """
        raise NotImplementedError

    def with_parameters(self, values: Sequence[float] | np.ndarray) -> Any:
        """The same with other values of its parameters; itself where kernels take all values as an input.

        Args:
            values: in the order of :attr:`parameter_names`.
        """
        return self

    def open_loops(self, q: np.ndarray, t: Any, parameters: np.ndarray | None = None, name: str = "q") -> str:
        """Which loop positions leave open that equations of motion take for closed, and what to do; empty if none.

        The constraints of a mechanism are no such loops: they are rows of its own.

        Args:
            q: positions.
            t: time, s.
            parameters: values of the parameters.
            name: what positions are called.
        """
        return ""

    @property
    def acting(self) -> dict[str, tuple[str, ...]]:
        """Names of what acts, by part of :data:`~dalembert.model.consumers.PARTS`."""
        return {
            "contacts": () if self.law == "compliant" else self.contacts.names,  # those are among the elements
            "limits": self.limits,
            "constraints": tuple(item.name for item in self.mechanism.constraints),
            "forces": self.elements.names,
            "wrenches": self.wrenches,
            **{term: (term,) for term in self.include},
            "parameters": self.parameter_names,
        }

    def _heed(self, quantity: str) -> None:
        """Say what the kernel of a quantity leaves out."""
        if isinstance(quantity, str) and f"Dynamics.{quantity}" in CONSUMERS and self.has(quantity):
            heed(f"Dynamics.{quantity}", self, stacklevel=4)

    def quantity(self, name: str) -> Quantity:
        """How a quantity is computed; an error if there is none of this name.

        Args:
            name: of the quantity.
        """
        raise NotImplementedError

    def ports(self, spec: Quantity, options: Mapping[str, Any]) -> tuple[tuple[Port, ...], tuple[Port, ...]]:
        """The arrays that the kernel of a quantity takes and gives.

        Args:
            spec: of the quantity.
            options: its own, defaults filled in.
        """
        raise NotImplementedError

    def recipe(self, name: str, spec: Quantity, options: dict[str, Any]) -> Callable[[], Program]:
        """What writes the program of a quantity when it is needed.

        Args:
            name: of the quantity.
            spec: how it is computed.
            options: its own, defaults filled in.
        """
        raise NotImplementedError

    def key_of(self, name: str, spec: Quantity, options: Mapping[str, Any]) -> str:
        """A name that changes with everything on which the program depends.

        Args:
            name: of the quantity.
            spec: how it is computed.
            options: its own, defaults filled in.
        """
        raise NotImplementedError

    def stages(self, quantity: str) -> Callable[[], list[Stage]] | None:
        """Gives programs that compute a quantity one after the other, where devices gain by that.

        Args:
            quantity: its name.
        """
        return None

    def parts(self, inputs: Sequence[Port], outputs: Sequence[Port]) -> Parts | None:
        """The branches of the mechanism that elements of arrays belong to, where devices gain by that.

        Args:
            inputs: the arrays taken.
            outputs: the arrays given.
        """
        return None

    # --------------------------------------------------------------------------------------------------------- kernels

    def kernel(self, quantity: str, **options: Any) -> Any:
        """The kernel of a quantity; made once and remembered.

        Args:
            quantity: a name of :data:`~dalembert.dynamics.ALL_QUANTITIES` or
                :data:`~dalembert.dynamics.CONSTRAINT_QUANTITIES`.
            options: options of quantities of a frame: ``frame``, ``point`` (in the frame), ``axes`` (world or body),
                ``coordinates`` (such as ``"ZYX"``), ``damping`` (of a singular Jacobian); and ``algorithm`` of inverse
                dynamics, inertia matrix and forward dynamics of trees, which then works on the mechanism as it is
                described, without economical frames and regrouped masses.
        """
        self._heed(quantity)
        return self.made_kernel(quantity, options, self.device, self.dtype)

    def made_kernel(self, name: str, options: Mapping[str, Any], device: str, dtype: np.dtype | None) -> Any:
        """The same for any device and precision, without a word of what it leaves out.

        Args:
            name: of the quantity.
            options: its own.
            device: ``"cpu"`` or ``"cuda"``.
            dtype: the precision, or None where the inputs decide.
        """
        spec = self.quantity(name)
        chosen = spec.chosen(name, options)
        if "frame" in chosen:
            self.mechanism.frame(chosen["frame"])
        key = (device, dtype, name, *chosen.items())
        if key not in self._kernels:
            inputs, outputs = self.ports(spec, chosen)
            recipe = self.recipe(name, spec, chosen)
            doc, own_key = documentation(self, spec, chosen, inputs), self.key_of(name, spec, chosen)
            if device == "cuda":
                from dalembert.cuda.kernel import CudaKernel

                parts, stages = self.parts(inputs, outputs), self.stages(name)
                made: Any = CudaKernel(name, inputs, outputs, recipe, dtype, doc, parts, stages, own_key)
            else:
                made = Kernel(name, inputs, outputs, recipe, own_key, dtype, doc)
            made.arguments.hints.update(hints(self))
            made.arguments.by_name = self.by_name
            made.result = RESULTS.get(name)
            made.set_defaults(self._defaults)
            self._kernels[key] = made
        return self._kernels[key]

    def program(self, quantity: str, **options: Any) -> Program:
        """The straight-line program of a quantity.

        Args:
            quantity: as for :meth:`kernel`.
            options: as for :meth:`kernel`.
        """
        return self.made_kernel(quantity, options, self.device, self.dtype).program

    def key(self, quantity: str, **options: Any) -> str:
        """A name that changes with everything a quantity's program depends on; functions of users count by what they
        compute.

        Args:
            quantity: as for :meth:`kernel`.
            options: as for :meth:`kernel`.
        """
        spec = self.quantity(quantity)
        return self.key_of(quantity, spec, spec.chosen(quantity, options))

    def cost(self, quantity: str, **options: Any) -> Cost:
        """Exact operation counts of a quantity.

        Args:
            quantity: as for :meth:`kernel`.
            options: as for :meth:`kernel`.
        """
        from dalembert.tracing.cost import cost

        return cost(self.program(quantity, **options))

    def export(
        self, quantity: str, language: str, path: str | Path | None = None, name: str | None = None, *,
        max_code: int | None = None, dtype: Any = None, **options: Any,
    ) -> str:  # fmt: skip
        """Source code of a quantity.

        Args:
            quantity: as for :meth:`kernel`.
            language: ``"c"``, ``"c-simd"``, ``"cuda"``, ``"python"``, ``"javascript"``, ``"latex"`` or ``"llvm"``.
            path: file to write, or a folder, which is made if its name ends in a slash; for C and CUDA a header of the
                same name is written beside it.
            name: of the function; that of the quantity by default.
            max_code: for C, the most bytes of code and constants on a small processor, as estimated by
                :mod:`dalembert.printing.code_size`. What is longer when written out becomes loops over tables where
                these are shorter, and is refused if that does not suffice.
            dtype: float64 or float32, for numbers of type double or float; by default those of this Dynamics.
            options: as for :meth:`kernel`.
        """
        self._heed(quantity)
        return export_quantity(self, quantity, language, path, name, max_code, dtype, options)

    def casadi(self, quantity: str, *, derivatives: bool = False, **options: Any) -> Any:
        """A quantity as a ``casadi.Function`` over SX, callable on MX; its arguments have the names of the kernel's.

        Parameters, wrenches and time stay inputs. CasADi differentiates by the elements of ``q``, of which a free
        base has one more than directions to move in.

        Args:
            quantity: as for :meth:`kernel`.
            derivatives: where the function is called on MX, CasADi takes its Jacobian from a program of this library
                instead of deriving its own.
            options: as for :meth:`kernel`.
        """
        from dalembert.printing.casadi import to_casadi

        self._heed(quantity)
        return to_casadi(self.program(quantity, **options), derivatives)

    def fmu(
        self,
        path: str | Path,
        version: int | str = 3,
        *,
        name: str | None = None,
        outputs: Sequence[Output] = (),
        q: Any = None,
        v: Any = None,
        binary: bool | None = None,
    ) -> None:
        """Write the mechanism as a functional mock-up unit, for model exchange and co-simulation.

        Its states ``q.<joint>`` and ``v.<joint>`` are outputs as well; inputs are ``tau.<joint>`` and, for every frame
        with wrenches, ``wrench.<frame>.fx`` ... ``mz``; the parameters of this Dynamics are tunable parameters by their
        names. Constraints and force elements act. Initial states are brought to the constraints, those of
        co-simulation after every step, those of model exchange by an event when they have drifted by 1e-8. Directional
        derivatives are given. The C source is always inside.

        Args:
            path: of the file, which ends in ``.fmu``; one that is there is replaced.
            version: of FMI, 2 or 3.
            name: of the model; that of the mechanism by default.
            outputs: quantities that are computed besides, such as ``"kinetic_energy"`` or
                ``("pose", {"frame": "tool"})``; where they need accelerations, these are those of the motion.
            q: positions in the beginning; assembled from the reference by default.
            v: velocities in the beginning; zero by default, and then as constraints demand.
            binary: whether to compile for this machine; by default where there is a C compiler.
        """
        from dalembert.dynamics.fmu import write

        write(self, path, version, name, outputs, q, v, binary)

    def remembered(self, make: Callable[..., Any], *arguments: Any) -> Any:
        """``make(self, *arguments)``, made once: what upper rooms make of this, such as loops over steps.

        Args:
            make: a function or class; what it makes is found by it and by the arguments.
            arguments: hashable.
        """
        key = (make, *arguments)
        if key not in self._remembered:
            self._remembered[key] = make(self, *arguments)
        return self._remembered[key]

    # ------------------------------------------------------------------------------------------- names and parameters

    def velocity_names(self) -> tuple[str, ...]:
        """A name for every velocity: ``elbow``, ``base.vx``, ``base.wz``."""
        return velocity_names(self.mechanism)

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """What the input ``parameters`` consists of: the mechanism's symbols, then the named addresses.

        A symbol that occurs nowhere but in the named numbers is not among them: it would change nothing.
        """
        return self._parameters.names

    @property
    def parameter_values(self) -> np.ndarray:
        """Values of the parameters: the given ones, or of named addresses the mechanism's own; else NaN."""
        return self._parameters.values

    @cached_property
    def by_name(self) -> ByName:
        """Makes vectors of values by name: of joints, parameters, frames."""
        return ByName(self.mechanism, self.parameter_names, self.parameter_values, self.wrenches)

    @property
    def _defaults(self) -> dict[str, Any]:
        found: dict[str, Any] = {"t": np.zeros(())}
        if self.parameter_names and self._parameters.complete:
            found["parameters"] = self.parameter_values
        return found

    def design(self, parameters: Any) -> np.ndarray | None:
        """Values of the parameters as an array (..., p); None if none are given.

        Args:
            parameters: an array, or values by name, those that are left out being those of this Dynamics.
        """
        if parameters is None:
            return None
        if not self.parameter_names:
            raise ArgumentError(
                f"{self.mechanism.name!r} has no parameters", argument="parameters",
                remedy="leave symbols in the mechanism, or name numbers: Dynamics(mechanism, parameters=['link.mass'])",
            )  # fmt: skip
        if has_names(parameters):
            return self.by_name("parameters", "parameters", parameters)
        values = real_array(parameters, "parameters")
        if values.shape[-1:] != (len(self.parameter_names),):
            raise ArgumentError(
                f"parameters have shape {values.shape}, but {self.mechanism.name!r} needs "
                f"(..., {len(self.parameter_names)}): {', '.join(self.parameter_names)}"
            )
        return values

    def for_design(self, parameters: Any) -> Any:
        """The same dynamics as seen by numerics, with other values of its parameters, and the kernels it has.

        Args:
            parameters: as for :meth:`design`.
        """
        values = self.design(parameters)
        return self if values is None else Design(self, values)

    # ------------------------------------------------------------------------------------------- evaluation in NumPy

    def evaluate(self, quantity: str, *state: Any, wrenches: Any = None, parameters: Any = None, **options: Any) -> Any:
        """A kernel's results on the processor, states of double precision in double, with the values of parameters.

        Args:
            quantity: as for :meth:`kernel`.
            state: its inputs but wrenches and parameters.
            wrenches: external wrenches; zero by default.
            parameters: in the place of the values that were given for them, in the order of :attr:`parameter_names`,
                with any batch shape.
            options: of the kernel call: ``out``, ``threads``.
        """
        kernel = self.made_kernel(quantity, {}, "cpu", None)
        names = [port.name for port in kernel.inputs]
        # States of single precision are computed in it; time and parameters do not decide that.
        short = np.float32 if single(state) else None
        state = tuple(np.array(x, short) if isinstance(x, (int, float)) else x for x in state)  # the quick way in
        if "wrenches" in names:
            k = names.index("wrenches")
            zero = np.zeros((len(self.wrenches), 6), short)
            state = (*state[:k], zero if wrenches is None else wrenches, *state[k:])
        if "parameters" in names:
            if parameters is None:
                parameters = self._known_values
            if len(state) >= len(names):
                raise ArgumentError(
                    f"{quantity} takes {len(names) - 1} inputs here, got {len(state)}; values of parameters are given "
                    f"as parameters=[...], in the order {', '.join(self.parameter_names)}"
                )
            if "t" in names and len(state) == len(names) - 2:
                state = (*state, np.zeros((), short))
            if short is not None and (isinstance(parameters, (np.ndarray, Sequence)) or has_names(parameters)):
                parameters = np.asarray(self.design(parameters), short)
            state = (*state, parameters)
        return kernel(*state, **options)

    @property
    def _known_values(self) -> np.ndarray:
        if self._parameters.complete:
            return self.parameter_values
        unset = [name for name, x in zip(self.parameter_names, self.parameter_values) if not np.isfinite(x)]
        coordinates = [name for names in formula_names(self.mechanism.joints) for name in names]
        only = {symbol.name for symbol in self.mechanism.symbols_of_formulas}
        meant = [f"; {name} is no coordinate{hint(name, coordinates)}" for name in unset if name in only]
        raise ArgumentError(
            f"{self.mechanism.name!r} has the symbols {', '.join(unset)}; give their values by "
            "Dynamics(mechanism, parameters={name: value}): they decide which rows are independent" + "".join(meant)
        )

    @cached_property
    def numbers(self) -> Mechanism:
        """The mechanism with the values of the parameters in the place of its symbols."""
        if self.parameter_names:
            self._known_values  # noqa: B018 - raises where there are none
        return self._parameters.numeric


def traced(
    name: str, inputs: Sequence[Port], outputs: Sequence[Port], compute: Callable[[Mapping[str, Any]], Any]
) -> Program:
    """The program of a quantity as it is written down, not yet improved.

    Args:
        name: of the quantity.
        inputs: the arrays taken.
        outputs: the arrays given.
        compute: gives them, or the only one, from the arrays taken by name, over traced scalars.
    """
    from dalembert.tracing.trace import trace

    def whole(*arrays: Any) -> dict[str, Any]:
        result = compute(dict(zip((port.name for port in inputs), arrays)))
        results = zip(outputs, result if isinstance(result, tuple) else (result,))
        return {port.name: np.asarray(value, dtype=object).reshape(port.shape) for port, value in results}

    with np.errstate(all="ignore"):  # a mechanism without an answer has kernels that say infinity or NaN
        return trace(whole, {port.name: port.shape for port in inputs}, name)
