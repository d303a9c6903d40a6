"""The dynamics of a mechanism as kernels.

    dyn = Dynamics(arm)
    tau = dyn.inverse_dynamics(q, v, a)      # any batch shape (..., nv)

    dyn = Dynamics(four_bar)                 # everything that is in the mechanism acts: constraints, force elements
    q = dyn.assemble(q_guess, keep=["crank"])
    v = dyn.project_velocity(q, v_guess)
    a = dyn.forward_dynamics(q, v, tau)      # a kernel, any batch shape
    found = dyn.solve(q, v, tau)             # any rank; found.multipliers, found.unique

Each quantity is traced on first use with the mechanism's numbers folded in and compiled for this machine; the result
is kept on disk, so that the next start does not compile again.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Mapping, Sequence, Set
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.algorithms.joint_forces import joint_forces
from dalembert.algorithms.selection import contest, plans, select_algorithm
from dalembert.cached import cached_property
from dalembert.constraints import closure
from dalembert.constraints.analysis import Analysis, analyse
from dalembert.constraints.arguments import single, velocities_named
from dalembert.constraints.assemblies import AssembledStates, assemble_all
from dalembert.constraints.design import Design
from dalembert.constraints.forces import ForceSet
from dalembert.constraints.pivots import Pivots, choose_pivots, choose_positional
from dalembert.constraints.rank import Known
from dalembert.constraints.rows import ConstraintSet, Row
from dalembert.constraints.scaling import Scaling
from dalembert.constraints.solve import Solution, project_acceleration, project_velocity, solve
from dalembert.constraints.state import States
from dalembert.constraints.vicinity import Sample, samples, usual_size
from dalembert.constraints.violation import relative_violation
from dalembert.contact.compliant import CompliantSet
from dalembert.contact.rows import ContactSet
from dalembert.dynamics.catalogue import ALL_QUANTITIES, CONSTRAINT_QUANTITIES, CONTACT_QUANTITIES, quantity_of
from dalembert.dynamics.contacting import LAWS
from dalembert.dynamics.drives import Drives, drive_forces
from dalembert.dynamics.frame_quantity import FrameQuantity
from dalembert.dynamics.linearization import LinearModel, linear_model
from dalembert.dynamics.naming import ByName
from dalembert.dynamics.parameters import Parameters
from dalembert.dynamics.quantity import Quantity, Setting, Solver, nonzeros
from dalembert.dynamics.reactions import Reaction, find_reactions
from dalembert.dynamics.results import RESULTS
from dalembert.dynamics.stages import STAGES
from dalembert.dynamics.tree import IN_LOOPS
from dalembert.errors import ArgumentError, SingularityError, UnsupportedError
from dalembert.labels import as_mapping, has_names
from dalembert.model import Mechanism
from dalembert.model.checks import (
    expect,
    expect_choice,
    expect_items,
    expect_names,
    expect_path,
    expect_real,
    real_array,
    shown,
)
from dalembert.model.consumers import CONSUMERS, heed
from dalembert.model.names import formula_names, named_positions, velocity_names
from dalembert.model.record import content, fingerprint
from dalembert.model.singularity import WHY, singular_motions
from dalembert.model.tree import Tree, branches, coordinate_branches, element_branches
from dalembert.native.arguments import precision
from dalembert.native.kernel import Kernel
from dalembert.text.suggest import hint, near
from dalembert.tracing.cost import Cost
from dalembert.tracing.program import Port, Program

if TYPE_CHECKING:  # imported when a device is asked for
    from dalembert.cuda.stages import Stage
    from dalembert.cuda.warps import Parts
    from dalembert.dynamics.attributes import QuantityAttributes
    from dalembert.dynamics.fmu import Output
else:
    QuantityAttributes = object  # quantities are made when they are asked for; type checkers know them beforehand

METHODS = ("multipliers", "projection")
"""How a kernel finds accelerations; see :mod:`dalembert.constraints.straight_line`."""

SETTINGS = frozenset({
    "mechanism", "constraints", "elements", "contacts", "limits", "wrenches", "include", "method", "independent",
    "law", "reference", "regularisation", "stabilisation", "parameters", "dtype", "device", "optimise",
})  # fmt: skip
"""What kernels are made from; fixed, so that those made early and late agree."""

_DERIVED = {"mechanism", "constraints", "elements", "contacts", "method", "parameters"}
"""Settings that are kept in another form than they were given in."""

Form = Callable[[Tree], Tree] | None

FOREIGN_HINTS = {
    "torch": "TorchDynamics takes it, and passes derivatives on",
    "jax": "JaxDynamics takes it, and passes derivatives on",
    "cuda": "for which kernels are made by Dynamics(..., device='cuda')",
}
"""What errors of kernels add for arguments that are no arrays of NumPy."""


class Dynamics(QuantityAttributes):
    """The dynamics of one mechanism, with everything that is in it, as compiled kernels.

    Every attribute named in :data:`~dalembert.dynamics.ALL_QUANTITIES` is a kernel: ``inverse_dynamics``,
    ``mass_matrix``, ``forward_dynamics`` and so on. Quantities of a frame - ``pose``, ``jacobian``, ``velocity``, ... -
    are functions of the state with the frame's name as keyword: ``dyn.pose(q, frame="tool")``. Those of
    :data:`~dalembert.dynamics.CONSTRAINT_QUANTITIES` are given by :meth:`kernel`.

    Constraints and force elements of the mechanism act unless others are named. ``forward_dynamics`` gives the
    accelerations under them. Mass matrix, Jacobians, Coriolis matrix and energies are those of the tree.
    ``inverse_dynamics`` is M a + bias minus the force elements: the generalised forces of drives *and* constraints
    together; :meth:`drive_forces` finds those of chosen drives. Where constraints or force elements enter, kernels
    have the input ``t``, time, 0 by default.

    If the mechanism has symbols, or parameters are named, every kernel takes one more input ``parameters`` at the end,
    a vector in the order of :attr:`parameter_names`; it may be left out if all of them have values. If wrenches
    are named, kernels into which they enter take an input ``wrenches`` of shape (number of frames, 6) after the state.
    The order of all inputs is q, v, a or tau, wrenches, t, parameters.

    Kernels of a mechanism with constraints are straight-line code for the rows that are independent around
    ``reference``. Redundant rows that follow from the others everywhere in the same way are left out, with multipliers
    zero; others are kept by the method of multipliers (with the rank they have there; of all multipliers those of
    least norm, each measured by the acceleration it typically causes) and left out by projection. Where the kept ones
    happen to be dependent, so that those left out matter, or states violate the constraints by a millionth, projection
    gives NaN (and it loses digits where an orbit of a million kilometres is described by its angle: use multipliers
    there); so do both methods where a row that depends on time contradicts the others by more than a thousandth of its
    terms; lesser contradictions are found when rows are chosen, at 0, 0.37, 1 and 3.1 s, by :meth:`analyse` at any
    time, and by ``simulate`` along its motion. Where rows lose rank - singular configurations, see :meth:`analyse` -
    results are infinite, NaN or, after rounding, large and meaningless, unless there is a regularisation.
    :meth:`solve` works everywhere.

    Args:
        mechanism: the mechanism.
        constraints: names of the constraints that hold, or ``"all"``.
        elements: names of the force elements that act, or ``"all"``.
        contacts: names of the contacts that may close, or ``"all"``. Rigid ones act in ``contact_step``, and in
            ``simulate`` and ``rollout``; ``forward_dynamics`` is that of open contacts, and warns.
        limits: names of the joints whose ranges end in stops, or ``"all"``; they are rows beside contacts.
        law: of the contacts. ``"rigid"`` and ``"convex"`` ones, the latter MuJoCo's, act in steps; ``"compliant"`` ones
            are springs, dampers and smooth friction, which act everywhere as force elements do and are listed with
            ``elements``.
        wrenches: names of frames on which external wrenches ``[force; moment]`` act, frame axes, at its origin.
        include: which of ``armature``, ``damping`` and ``friction`` of the joints enter; none by default.
        parameters: addresses of numbers that stay inputs, such as ``"link7.mass"``, see
            :func:`dalembert.model.parameters.parameters`; or values by name of a symbol or by address.
        method: how constrained accelerations are found, ``"multipliers"`` or ``"projection"``; by default multipliers,
            unless a motion of the open tree moves no mass (a rod without mass in a loop), which projection can do.
        independent: names of the independent speeds (see :meth:`velocity_names`), or of joints for all of theirs;
            for projection only. By default they are chosen.
        reference: positions around which rows and speeds are chosen, or by joint name, others neutral; need not satisfy
            the constraints.
        regularisation: added to the diagonal of the matrix of the multipliers.
        stabilisation: frequency, rad/s, with which constraint violations decay (Baumgarte); 0 for none.
        dtype: float64 or float32 to compute in one precision always; by default the inputs decide.
        device: ``"cpu"``, or ``"cuda"``: kernels then take and give arrays of CuPy, PyTorch or JAX on the device.
        optimise: 0 to 2, how hard to look for operations to save while tracing.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        *,
        constraints: Sequence[str] | str = "all",
        elements: Sequence[str] | str = "all",
        contacts: Sequence[str] | str = "all",
        limits: Sequence[str] | str = (),
        law: str = "rigid",
        wrenches: Sequence[str] = (),
        include: Sequence[str] = (),
        parameters: Sequence[str] | Mapping[str, float] = (),
        method: str | None = None,
        independent: Sequence[str] | None = None,
        reference: Any = None,
        regularisation: float = 0.0,
        stabilisation: float = 0.0,
        dtype: Any = None,
        device: str = "cpu",
        optimise: int = 1,
    ):
        if not isinstance(mechanism, Mechanism):
            derived = type(mechanism).__name__ in ("Equations", "CompiledEquations")
            mend = "those of equations are equations.dynamics(...)" if derived else "use dalembert.load(...)"
            raise ArgumentError(f"Dynamics takes a Mechanism, got {type(mechanism).__name__}; {mend}")
        mechanism = _with_constraints(mechanism, constraints)
        wrenches = _names("wrenches", wrenches)
        self.mechanism = mechanism
        self.constraints = ConstraintSet(mechanism)
        parameters = as_mapping(parameters)
        if not isinstance(parameters, Mapping):
            parameters = _names("parameters", parameters)
        self._parameters = Parameters(mechanism, parameters)
        varied = self._parameters.addresses
        self.law = expect_choice(law, LAWS, "there is no law of contact")
        compliant = self.law == "compliant"
        self.elements = (
            CompliantSet(mechanism, elements, contacts, varied) if compliant else ForceSet(mechanism, elements)
        )
        self.wrenches = wrenches
        for name in wrenches:
            mechanism.frame(name)
        self.include = _names("include", include, ordered=False)
        joint_forces(mechanism, self.include)  # raises for an unknown term
        self.contacts = ContactSet(mechanism, contacts, limits, "friction" in self.include, varied)
        self.limits = self.contacts.limited
        if compliant and self.limits:
            raise UnsupportedError(
                f"stops of joints are rigid here, and law = 'compliant' has none ({', '.join(self.limits)})",
                argument="limits",
                remedy="give stops as force elements of kind 'joint-stop', or law='rigid'",
            )
        self._method = None if method is None else expect_choice(method, METHODS, "Dynamics, method")
        if self._method is not None:
            self.method  # noqa: B018 - raises where it does not suit the mechanism
        self.independent = self._independent(independent)
        self.reference = _reference(mechanism, reference)
        self.regularisation = expect_real(regularisation, "Dynamics, regularisation", 0)
        self.stabilisation = expect_real(stabilisation, "Dynamics, stabilisation", 0)
        self.dtype = precision("Dynamics", dtype)
        self.device = expect_choice(device, ("cpu", "cuda"), "Dynamics: device =")
        if type(optimise) is not int or optimise not in (0, 1, 2):
            raise ArgumentError(f"Dynamics: optimise = {shown(optimise)}; choose 0, 1 or 2")
        self.optimise = optimise
        self._chosen: dict[str, str] = {}  # quantity -> algorithm and reason, where its programs were compared
        self.made: dict[Any, Any] = {}  # what other rooms make of this, such as steps of integrators
        self._kernels: dict[tuple[Any, ...], Any] = {}

    @cached_property
    def method(self) -> str:
        """How kernels find constrained accelerations."""
        idle = singular_motions(self.mechanism)
        if self._method is None:
            return "projection" if idle else "multipliers"
        if idle and self._method == "multipliers":
            raise UnsupportedError(
                f"{self.mechanism.name!r}: multipliers need a regular inertia matrix of the open tree, but "
                f"{idle[0].removesuffix(f': {WHY}')}. Use method='projection', the default here"
            )
        return self._method

    def _independent(self, given: Sequence[str] | None) -> tuple[str, ...] | None:
        if given is None:
            return None
        names = tuple(expect_names(given, "Dynamics, independent"))
        velocities_named(self.mechanism, names, "Dynamics, independent")
        if self.method != "projection":
            raise ArgumentError(f"Dynamics: the method {self.method!r} has no independent speeds, 'projection' has")
        return names

    # ----------------------------------------------------------------------------------------- what acts, what is known

    @property
    def rows(self) -> tuple[Row, ...]:
        """What every constraint row is, in order; empty for a tree."""
        return self.constraints.rows

    @property
    def is_tree(self) -> bool:
        """Whether neither constraints nor force elements act."""
        return not (self.constraints.count or self.elements.names)

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

    @property
    def takes_time(self) -> bool:
        """Whether what moves may depend on time, so that kernels of motion take it."""
        return not self.is_tree

    @property
    def identity(self) -> str:
        """A digest of what moves."""
        return self.mechanism.digest

    @property
    def input_names(self) -> tuple[str, ...]:
        """What the entries of tau are called: the velocities on which they act."""
        return self.velocity_names()

    def has(self, quantity: str) -> bool:
        """Whether there is a quantity of that name.

        Args:
            quantity: its name.
        """
        return quantity_of(quantity, bool(self.constraints.count), bool(self.elements.names)) is not None

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

    def with_parameters(self, values: Sequence[float] | np.ndarray) -> Dynamics:
        """The same dynamics with other values of its parameters; itself if there are no constraints and elements,
        whose kernels take all values as an input.

        Args:
            values: in the order of :attr:`parameter_names`.
        """
        if self.is_tree:
            return self
        return self._with(parameters=dict(zip(self.parameter_names, np.asarray(values, float).tolist(), strict=True)))

    def on(self, device: str) -> Dynamics:
        """The same dynamics with kernels for another device.

        Args:
            device: ``"cpu"`` or ``"cuda"``.
        """
        return self if device == self.device else self._with(device=device)

    def including(self, include: Sequence[str]) -> Dynamics:
        """The same dynamics with other terms of the joints.

        Args:
            include: which of ``armature``, ``damping`` and ``friction`` enter.
        """
        return self if tuple(include) == self.include else self._with(include=tuple(include))

    def _with(self, **changes: Any) -> Dynamics:
        options = {name: getattr(self, name) for name in SETTINGS - _DERIVED}
        given = self._parameters.given or self._parameters.addresses
        options |= {
            "elements": self.elements.chosen,
            "contacts": self.contacts.names,
            "method": self._method,
            "parameters": given,
            **changes,
        }
        return Dynamics(self.mechanism, **options)

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
        return self._kernel(quantity, options, self.device, self.dtype)

    def _heed(self, quantity: str) -> None:
        """Say what the kernel of a quantity leaves out."""
        if type(quantity) is str and f"Dynamics.{quantity}" in CONSUMERS and self.has(quantity):
            heed(f"Dynamics.{quantity}", self, stacklevel=4)

    def _kernel(self, name: str, options: Mapping[str, Any], device: str, dtype: np.dtype | None) -> Any:
        spec = self._quantity(name)
        chosen = spec.chosen(name, options)
        if "frame" in chosen:
            self.mechanism.frame(chosen["frame"])
        key = (device, dtype, name, *chosen.items())
        if key not in self._kernels:
            inputs, outputs = self._ports(spec, chosen)
            thunk = self._thunk(name, spec, chosen, inputs, outputs)
            doc = self._doc(spec, chosen, inputs)
            if device == "cuda":
                from dalembert.cuda.kernel import CudaKernel

                parts, own_key = self._parts(inputs, outputs), self._key(name, spec, chosen)
                made: Any = CudaKernel(name, inputs, outputs, thunk, dtype, doc, parts, self._stages(name), own_key)
            else:
                made = Kernel(name, inputs, outputs, thunk, self._key(name, spec, chosen), dtype, doc)
            made.arguments.hints.update(self._hints)
            made.arguments.by_name = self.by_name
            made.result = RESULTS.get(name)
            if defaults := self._defaults:
                made.set_defaults(defaults)
            self._kernels[key] = made
        return self._kernels[key]

    def _quantity(self, name: str) -> Quantity:
        act = bool(self.constraints.count), bool(self.elements.names)
        spec = quantity_of(name, *act) if isinstance(name, str) else None
        if spec is None:
            known = (*ALL_QUANTITIES, *CONSTRAINT_QUANTITIES, *CONTACT_QUANTITIES)
            expect_choice(name, known, "there is no quantity")
        assert spec is not None
        if name.startswith("contact_step") and self.law == "compliant":
            raise UnsupportedError(
                f"the contacts of {self.mechanism.name!r} are compliant here, and contact_step is that of rigid ones",
                argument="law",
                remedy="use forward_dynamics, in which they act, or Dynamics(..., law='rigid')",
            )
        return spec

    if not TYPE_CHECKING:  # which would let every misspelt name pass

        def __getattr__(self, name: str) -> Any:
            spec = ALL_QUANTITIES.get(name) or CONSTRAINT_QUANTITIES.get(name) or CONTACT_QUANTITIES.get(name)
            if spec is None or "_kernels" not in self.__dict__:
                known = (*ALL_QUANTITIES, *CONSTRAINT_QUANTITIES, *CONTACT_QUANTITIES)
                meant = near(name, {*known, *(own for own in dir(Dynamics) if not own.startswith("_"))})
                suggested = hint(name, meant or known, "quantities are")
                raise AttributeError(f"Dynamics has no attribute {name!r}{suggested}")
            self._heed(name)
            found = self._kernel(name, {}, self.device, self.dtype) if not spec.options else FrameQuantity(self, name)
            self.__dict__[name] = found  # so that the next look-up costs nothing
            return found

    def __setattr__(self, name: str, value: Any) -> None:
        if name in SETTINGS and "_kernels" in self.__dict__:
            raise AttributeError(
                f"{name} of {self!r} is fixed, because kernels are made from it; make another Dynamics"
            )
        if name in ALL_QUANTITIES:
            changed = "da.with_gravity(mechanism, g)" if name == "gravity" else "a changed mechanism"
            raise AttributeError(
                f"{name} of {self!r} is computed and cannot be set; make another Dynamics, of {changed}"
            )
        super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *ALL_QUANTITIES, *CONSTRAINT_QUANTITIES, *CONTACT_QUANTITIES})

    def __getstate__(self) -> dict[str, Any]:
        quantities = {*ALL_QUANTITIES, *CONSTRAINT_QUANTITIES, *CONTACT_QUANTITIES} - SETTINGS
        return {k: v for k, v in self.__dict__.items() if k not in quantities and k not in ("_kernels", "made")}

    def __identity__(self) -> dict[str, Any]:
        """What its answers depend on, for :func:`~dalembert.model.identity.identify`."""
        settings = "wrenches", "include", "_method", "independent", "reference", "regularisation", "stabilisation"
        own = {name.strip("_"): getattr(self, name) for name in (*settings, "dtype", "device", "mechanism")}
        return (
            own
            | {"elements": self.elements.chosen, "parameters": self._parameters.__getstate__()["given"]}
            | {"addresses": self._parameters.addresses}
        )

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _kernels={}, made={})

    @property
    def mass_matrix_pattern(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows and columns of the entries that ``mass_matrix_nonzeros`` gives."""
        pairs = np.array(nonzeros(self.mechanism), dtype=int).reshape(-1, 2)
        return pairs[:, 0], pairs[:, 1]

    @property
    def derivatives_pattern(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows and columns of the entries that ``inverse_dynamics_derivatives_nonzeros`` gives."""
        pairs = np.array(nonzeros(self.mechanism, both_halves=True), dtype=int).reshape(-1, 2)
        return pairs[:, 0], pairs[:, 1]

    def program(self, quantity: str, **options: Any) -> Program:
        """The straight-line program of a quantity.

        Args:
            quantity: as for :meth:`kernel`.
            options: as for :meth:`kernel`.
        """
        return self._kernel(quantity, options, self.device, self.dtype).program

    def cost(self, quantity: str, **options: Any) -> Cost:
        """Exact operation counts of a quantity.

        Args:
            quantity: as for :meth:`kernel`.
            options: as for :meth:`kernel`.
        """
        from dalembert.tracing.cost import cost

        return cost(self.program(quantity, **options))

    def export(
        self,
        quantity: str,
        language: str,
        path: str | Path | None = None,
        name: str | None = None,
        *,
        max_code: int | None = None,
        dtype: Any = None,
        **options: Any,
    ) -> str:
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
        from dalembert.export import export

        expect(language, str, "export, language")
        if path is not None:
            expect_path(path, "export, path")  # goes on as it is: a slash at its end says that it is a folder
        kernel = self._kernel(
            quantity, options, self.device, self.dtype if dtype is None else precision("export", dtype)
        )
        if max_code is not None:
            kernel = self._small(kernel, quantity, language, max_code, options)
        if language != "cuda":
            return export(kernel, language, path, name, entries={"parameters": self.parameter_names}, dtype=dtype)
        parts, stages = self._parts(kernel.inputs, kernel.outputs), self._stages(quantity)
        return export(kernel, language, path, name, parts, stages, dtype=dtype)

    def _small(self, kernel: Any, quantity: str, language: str, most: int, options: Mapping[str, Any]) -> Any:
        """The kernel, or one of the same quantity in loops, whose C takes no more than so many bytes."""
        from dalembert.printing.code_size import code_size, shown_size

        if language != "c":
            raise ArgumentError(f"export, max_code: sizes are known for language 'c' only, not for {language!r}")
        if isinstance(most, bool) or not isinstance(most, (int, np.integer)) or most <= 0:
            raise ArgumentError(
                f"export, max_code: {most!r} is no number of bytes; give a positive one, such as 16_000"
            )
        real = "float" if kernel.dtype == "float32" else "double"
        size = code_size(kernel.program, real)
        if size <= most:
            return kernel
        found = f"{shown_size(size)} written out"
        if IN_LOOPS.get(quantity) in self._quantity(quantity).algorithms and "algorithm" not in options:
            rolled = self.kernel(quantity, algorithm=IN_LOOPS[quantity], **options)
            rolled_size = code_size(rolled.program, real)
            if rolled_size <= most:
                return rolled
            if rolled_size < size:
                found += f", {shown_size(rolled_size)} in loops"
        single = "" if real == "float" else "; with dtype='float32' it is about half as long"
        raise ArgumentError(
            f"export, max_code: {quantity} of {self.mechanism.name!r} takes {found}, and {shown_size(most)} are allowed"
            f"{single}"
        )

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

    def algorithms(self) -> dict[str, str]:
        """Which algorithm each dynamic quantity of the tree uses for this mechanism, and why."""
        found = {}
        for choice in select_algorithm(self.mechanism).values():
            found[choice.quantity] = f"{choice.algorithm}: {choice.reason}"
            if plans(self._quantity(choice.quantity).rivals, self.mechanism.nv):  # decided by the programs themselves
                if choice.quantity not in self._chosen:
                    self.program(choice.quantity)
                found[choice.quantity] = self._chosen[choice.quantity]
        return found

    def velocity_names(self) -> tuple[str, ...]:
        """A name for every velocity: ``elbow``, ``base.vx``, ``base.wz``."""
        return velocity_names(self.mechanism)

    # ------------------------------------------------------------------------------------------- from setting to kernel

    def _setting(self, options: Mapping[str, Any], given: Mapping[str, Any], form: Form = None) -> Setting:
        """What is traced: the mechanism and all that acts on it, with traced scalars for the inputs."""
        from dalembert.tracing.derivatives import forward

        wrenches = dict(zip(self.wrenches, given.get("wrenches", ())))
        mechanism, symbols = self._parameters.traced(given.get("parameters"))
        return Setting(
            mechanism, self.include, options, wrenches, forward, form, self.constraints, self.elements, symbols,
            Solver(self.method if self.rows else "multipliers", lambda: self.pivots, self.regularisation,
                   self.stabilisation), self.contacts, self.law, given.get("parameters", ()),
        )  # fmt: skip

    def setting(self, parameters: Any = None) -> Setting:
        """The mechanism ready for evaluation over any scalar, with its parameters replaced by given scalars.

        Args:
            parameters: one scalar for each of :attr:`parameter_names`.
        """
        if parameters is None:
            return self._setting({}, {})
        if not isinstance(parameters, (Sequence, np.ndarray)) or len(parameters) != len(self.parameter_names):
            raise ArgumentError(
                f"{self.mechanism.name!r} needs {len(self.parameter_names)} parameters, got {shown(parameters)}"
            )
        return self._setting({}, {"parameters": parameters})

    def _ports(self, spec: Quantity, options: Mapping[str, Any]) -> tuple[tuple[Port, ...], tuple[Port, ...]]:
        here = Setting(self.mechanism, rows=self.constraints, elements=self.elements, touching=self.contacts)
        return spec.ports(here, options, len(self.wrenches), len(self.parameter_names))

    def _thunk(
        self, name: str, spec: Quantity, options: dict[str, Any], inputs: tuple[Port, ...], outputs: tuple[Port, ...]
    ) -> Callable[[], Program]:
        """Writes the program of a quantity; where several algorithms compete, that of the one with the fewest
        operations.
        """

        def write(options: dict[str, Any], form: Form = None) -> Program:
            from dalembert.tracing.trace import trace

            def compute(*arrays: Any) -> dict[str, Any]:
                given = dict(zip((port.name for port in inputs), arrays))
                result = spec.compute(self._setting(options, given, form), *(given[k] for k in spec.inputs))
                results = zip(outputs, result if isinstance(result, tuple) else (result,))
                return {port.name: np.asarray(value, dtype=object).reshape(port.shape) for port, value in results}

            with np.errstate(all="ignore"):  # a mechanism without an answer has kernels that say infinity or NaN
                return trace(compute, {port.name: port.shape for port in inputs}, name)

        def build() -> Program:
            from dalembert.tracing import passes
            from dalembert.tracing.cost import operation_count

            def improve(program: Program) -> Program:
                return passes.optimise(program, self.optimise)

            candidates = [] if "algorithm" in options else plans(spec.rivals, self.mechanism.nv)
            if not candidates:
                return improve(write(options))
            outcome = contest(
                candidates,
                lambda plan, form: write({**options, "algorithm": plan.algorithm}, form),
                improve,
                operation_count,
            )
            self._chosen[name] = f"{outcome.plan.algorithm}: {outcome.reason}"
            return outcome.program

        return build

    def _stages(self, quantity: str) -> Callable[[], list[Stage]] | None:
        """The quantity as programs that follow each other, if it is worth dividing."""
        if quantity not in STAGES or not self.is_tree:
            return None

        def build() -> list[Stage]:
            from dalembert.cuda.stages import Stage
            from dalembert.tracing.trace import trace

            found = []
            for step in STAGES[quantity]:
                spec = step.quantity
                if step.columns:  # as it was written down: matrices side by side share what they read
                    bare = Setting(self.mechanism)
                    inputs, outputs = spec.ports(bare, {}, 0, 0)
                    shapes = {port.name: port.shape for port in inputs}
                    names = [port.name for port in outputs]
                    column = trace(lambda *x, f=spec.compute, s=bare: f(s, *x), shapes, step.name, names)
                    found.append(Stage(column, step.gives, columns=self.mechanism.nv))
                    continue
                inputs, outputs = self._ports(spec, {})
                program = self._thunk(step.name, spec, {}, inputs, outputs)()
                found.append(Stage(program, step.gives, self._parts(inputs, outputs)))
            return found

        return build

    def _parts(self, inputs: Sequence[Port], outputs: Sequence[Port]) -> Parts | None:
        """The branches of the mechanism that the elements of the arrays belong to, if there are several that nothing
        but the trunk connects.
        """
        from dalembert.cuda.warps import Parts

        tree = self.mechanism.tree
        q, v = coordinate_branches(tree)
        if len({*v} - {0}) < 2 or any(port.name == "t" for port in inputs):
            return None
        links = (*branches(tree), 0)  # the world comes last: its index is -1
        loaded = [links[tree.carriers[self.mechanism.frame(name).body][0]] for name in self.wrenches]
        sparse = tuple(v[row] for row, _ in nonzeros(self.mechanism))
        own = {"q": q, "wrenches": tuple(branch for branch in loaded for _ in range(6))}

        def of(port: Port) -> tuple[int, ...]:
            if port.name == "parameters":
                return (0,) * port.size  # a change of one may concern all
            if port.shape == (len(sparse),):
                return sparse
            return own[port.name] if port.name in own else element_branches(v, port.shape)

        return Parts(tuple(map(of, inputs)), tuple(map(of, outputs)))

    def key(self, quantity: str, **options: Any) -> str:
        """A name that changes with everything a quantity's program depends on; functions of users count by what they
        compute.

        Args:
            quantity: as for :meth:`kernel`.
            options: as for :meth:`kernel`.
        """
        spec = self._quantity(quantity)
        return self._key(quantity, spec, spec.chosen(quantity, options))

    def _key(self, name: str, spec: Quantity, options: Mapping[str, Any]) -> str:
        chosen = sorted(options.items(), key=str)
        if spec is ALL_QUANTITIES.get(name):
            content: list[Any] = [self.mechanism.digest, name, chosen, self._parameters.addresses]
            content += [self.wrenches, self.include, self.optimise]
            return hashlib.sha256(fingerprint(content).encode()).hexdigest()
        content = [self._content, name, chosen, self._parameters.addresses, self.wrenches, self.elements.names]
        content += [self.include, self.stabilisation, self.optimise]
        if name in CONTACT_QUANTITIES:
            content += [self.contacts.key, self.law]
        if spec.solves and (self.rows or name not in CONTACT_QUANTITIES):
            content += [self.method, self.pivots, self.regularisation]
        return hashlib.sha256(fingerprint(content).encode()).hexdigest()

    @cached_property
    def _content(self) -> list[Any]:
        m = self.mechanism
        acting = ("constraints", "forces")
        found: list[Any] = [content(getattr(m, f.name)) for f in dataclasses.fields(m) if f.name not in acting]
        programs = {**self.elements.programs, **self.constraints.programs}
        items: tuple[Any, ...] = (*m.constraints, *m.forces)
        for item in items:
            values = {f.name: content(getattr(item, f.name)) for f in dataclasses.fields(item)}
            program = programs.get(item.name)
            values["function"] = program.digest if program is not None else None
            found.append((type(item).__name__, values))
        return found

    @property
    def _orders(self) -> dict[str, tuple[str, ...]]:
        """What the rows of the inputs beyond the state belong to."""
        return {"wrenches": self.wrenches, "parameters": self.parameter_names}

    def _doc(self, spec: Quantity, options: Mapping[str, Any], inputs: Sequence[Port]) -> str:
        """What a kernel computes, of what, and in which order its inputs come: all that exported source says of it."""
        chosen = "".join(f", {name} {value}" for name, value in options.items() if value is not None)
        lines = [spec.doc, f"Of {self.mechanism.name!r}{chosen}."]
        if self.include:
            lines.append(f"Included where they enter: {', '.join(self.include)}.")
        orders = self._orders
        lines += [f"{port.name}: {', '.join(orders[port.name])}." for port in inputs if port.name in orders]
        return " ".join(lines)

    @property
    def _hints(self) -> dict[str, str]:
        """What a caller learns who leaves out the parameters or the wrenches."""
        wrenches = f"one row [force; moment] for each of {', '.join(self.wrenches)}"
        if not self.wrenches:
            wrenches = "name the frames first: Dynamics(mechanism, wrenches=['flange'])"
        numbers = f"pass parameters=, the values of {', '.join(self.parameter_names)} in this order"
        mend = (
            f"; or give the symbols of {self.mechanism.name!r} numbers for good: Dynamics(mechanism, parameters="
            "{name: value}), dalembert.substitute(mechanism, {name: value}), or, for the default values of a TOML "
            "description, load(..., parameters='default')"
        )
        if not self.parameter_names:
            numbers, mend = "name the numbers that vary first: Dynamics(mechanism, parameters=['flange.mass'])", ""
        settings = {
            name: f"that is a setting of all kernels: Dynamics(mechanism, {name}=...)"
            for name in SETTINGS - {"mechanism", "wrenches", "parameters", "dtype"}
        }
        return {"wrenches": wrenches, "parameters": numbers + mend, **FOREIGN_HINTS, **settings}

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

    # ---------------------------------------------------------------------------------- numbers: evaluation in NumPy

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
        kernel = self._kernel(quantity, {}, "cpu", None)
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

    def solve(
        self,
        q: Any,
        v: Any,
        tau: Any,
        t: Any = 0.0,
        *,
        method: str = "projection",
        tolerance: float | None = None,
        wrenches: Any = None,
        damping: float = 0.0,
        parameters: Any = None,
    ) -> Solution:
        """Accelerations and multipliers at any position, also where rows are redundant or lose rank; any batch shape.

        At a singular position the rows that are left do not determine the motion: accelerations are those of least
        constraint among the ones they allow, and need not be the limit along any motion through that position.

        Args:
            q: positions.
            v: velocities that satisfy the constraints.
            tau: generalised forces of the drives.
            t: time, s.
            method: one of :data:`dalembert.constraints.solve.METHODS`. Where masses differ by many powers of ten,
                ``"udwadia-kalaba"`` loses most digits.
            tolerance: below this fraction of the largest, singular values count as zero, whatever their number; by
                default below 1e-9, and those beyond the rank around the reference, at states that violate the
                constraints by e, below 100 sqrt(e), at most 1e-2, so that redundant rows stay so there.
            wrenches: on the frames that have any, (..., frames, 6); zero by default.
            damping: of singular values below this part of the largest less is demanded the smaller they are.
            parameters: values of the parameters, (..., p) or by name; those of this Dynamics by default.
        """
        heed("Dynamics.solve", self)
        own = self.for_design(parameters)
        M, f, G, gamma = own.evaluate("terms", q, v, tau, t, wrenches=wrenches)
        if tolerance is not None:
            return solve(M, G, f, gamma, method, tolerance, damping=damping)
        return solve(M, G, f, gamma, method, known=own.known(q, t), damping=damping)

    def drive_forces(
        self,
        q: Any,
        v: Any,
        a: Any,
        t: Any = 0.0,
        *,
        actuated: Sequence[str],
        weights: Sequence[float] | None = None,
        parameters: Any = None,
    ) -> Drives:
        """Forces of the drives for a motion, any batch shape; with surplus drives, of least sum of (tau / weight)^2.

        What a constraint ``motion`` moves needs no drive; :meth:`reactions` has the torque of its motor.

        Args:
            q: positions that satisfy the constraints; more than 1e-3 m or rad off them is refused.
            v: velocities that satisfy the constraints; likewise.
            a: accelerations that satisfy the constraints; what differences of samples lose, up to a hundredth of what a
                row is the sum of, is made up for as by :meth:`project_acceleration`, which leaves the drives as they
                are.
            t: time, s.
            actuated: names of the driven joints, or of single velocities (see :meth:`velocity_names`).
            weights: one per driven velocity, larger for stronger drives; all equal by default.
            parameters: values of the parameters, (..., p) or by name; those of this Dynamics by default.
        """
        heed("Dynamics.drive_forces", self)
        states = States(self.mechanism, q, {"v": v, "a": a}, t, self.design(parameters))
        return drive_forces(self, states, actuated, weights)

    def reactions(
        self,
        q: Any,
        v: Any,
        tau: Any,
        t: Any = 0.0,
        *,
        axes: str | None = None,
        point: Sequence[float] | None = None,
    ) -> dict[str, Reaction]:
        """Force and moment of every joint and every constraint between frames, by name; any batch shape.

        Where a joint and a constraint share a name, their keys are ``joint:pin``, ``constraint:pin``. What has no place
        between bodies - couplings, mimic joints, given motions, users' laws and generalised forces - acts as if drives
        in the joints did it, and is part of what these transmit; so forces between the teeth of gears are not in here.

        Args:
            q: positions that satisfy the constraints; more than 1e-3 m or rad off them is refused, less is taken for
                drift, and forces are off by as much, or, near singular positions, by that over the distance from them.
            v: velocities that satisfy the constraints; likewise.
            tau: generalised forces of the drives.
            t: time, s.
            axes: a frame in whose axes all components are given, ``"world"`` for instance; by default each joint's
                child, and each constraint's frame a (b for rolling).
            point: about which moments are given, components in ``axes`` from its origin; by default the origin of the
                frame acted upon.
        """
        heed("Dynamics.reactions", self)
        return find_reactions(self, q, v, tau, t, axes, point)

    def linear_model(
        self,
        q: Any,
        v: Any,
        tau: Any,
        t: Any = 0.0,
        *,
        positions: Sequence[str] | None = None,
        speeds: Sequence[str] | None = None,
    ) -> LinearModel:
        """State matrices reduced to independent positions and speeds, at one state or along a motion (any batch).

        Args:
            q: positions that satisfy the constraints.
            v: velocities that satisfy the constraints.
            tau: generalised forces of the drives.
            t: time, s.
            positions: names of the independent positions (see :meth:`velocity_names`), or of joints for all of
                theirs; by default chosen for good condition at the first state.
            speeds: names of the independent speeds; likewise.
        """
        heed("Dynamics.linear_model", self)
        return linear_model(self, States(self.mechanism, q, {"v": v, "tau": tau}, t), positions, speeds)

    def analyse(self, q: Any, t: float = 0.0, *, v: Any = None) -> Analysis:
        """Degrees of freedom, redundancy, contradictions and singularity at a position, with reasons.

        Args:
            q: positions, assembled.
            t: time, s.
            v: velocities for what is demanded of accelerations; by default the smallest that satisfy the constraints.
        """
        return analyse(self, q, t, v=v)

    def open_loops(self, q: np.ndarray, t: Any, parameters: np.ndarray | None = None, name: str = "q") -> str:
        """Which loop positions leave open that equations of motion take for closed, and what to do; empty if none.

        The constraints of a mechanism are no such loops: they are rows of its own.
        """
        return ""

    def residual(self, q: Any, t: float = 0.0, *, parameters: Any = None) -> dict[str, np.ndarray]:
        """Residuals of the constraints on positions, by name of the constraint: m, and of angles x sin(x).

        Of a distance d that should be L, it is (d^2 - L^2) / 2L, which is d - L where that is small.

        Args:
            q: positions.
            t: time, s.
            parameters: values of the parameters, (..., p) or by name; those of this Dynamics by default.
        """
        phi = self.evaluate("positions", q, t, parameters=self.design(parameters))[0]
        return {name: phi[..., self.constraints.slice(name)] for name in self.constraints.info}

    def assemble(
        self, q: Any = None, t: Any = 0.0, keep: Sequence[str] = (), *, parameters: Any = None, **options: Any
    ) -> np.ndarray:
        """Positions that satisfy the constraints, downhill from the given ones, or else from others around them; any
        batch shape. SingularityError where there is a state from which none are found; :meth:`assemblies` gives every
        state a status instead.

        Args:
            q: where to start; the reference by default, also for joints that are left out where it is given by joint
                name. Which of several assemblies is found depends on it.
            t: time, s.
            keep: joints whose positions must not change.
            parameters: values of the parameters, (..., p) or by name: a batch of designs; those of this Dynamics by
                default.
            options: of :func:`dalembert.constraints.closure.assemble`: ``tolerance``, ``iterations``, ``restarts``
                (0: only downhill from the given ones) and ``seed``.
        """
        start = self.reference if q is None else q
        start = named_positions(self.mechanism, start, "q", self.reference)
        if parameters is None and np.ndim(start) < 2 and np.ndim(t) == 0:
            return closure.assemble(self, start, t, keep, **options)
        found = self.assemblies(start, t, keep, parameters=parameters, **options)
        if not found.assembled.all():
            where = tuple(np.argwhere(~found.assembled)[0].tolist())
            which = f"state {list(where)} of the batch" if where else "this design"
            many = f"{np.count_nonzero(~found.assembled)} of {found.assembled.size} states; " if where else ""
            raise SingularityError(
                f"{self.mechanism.name!r} cannot be assembled: {many}{which} is {found.status[where]!s}, residual "
                f"{found.residual[where]:.3g} rad or lengths of the loop",
                argument="parameters" if parameters is not None else "q",
                remedy="assemblies(...) gives positions of those that can be, and a status for every one",
            )
        return found.q

    def assemblies(
        self, q: Any = None, t: Any = 0.0, keep: Sequence[str] = (), *, parameters: Any = None, **options: Any
    ) -> AssembledStates:
        """The same for many starts, times and designs, with a status for every one of them: a study of lengths.

        Each is found from its own start alone, so that neighbours may be assembled in different ways, elbow up and
        elbow down, all ``"assembled"``. To follow one of them over a turn, begin each angle at the positions found for
        the one before; :meth:`assembly_modes` lists them at one angle.

        Args:
            q: where to start, (..., nq), or by joint name; the reference by default, also for joints that are left out.
            t: time, s, (...).
            keep: joints whose positions must not change.
            parameters: values of the parameters, (..., p) or by name; those of this Dynamics by default.
            options: of :func:`dalembert.constraints.assemblies.assemble_all`: ``tolerance``, ``iterations``,
                ``restarts``, ``seed`` and ``progress``.
        """
        own, values = self, self.design(parameters)
        if values is not None and not self._parameters.complete:  # units of rows need numbers: those of the first
            own = self._with(
                parameters=dict(zip(self.parameter_names, values.reshape(-1, values.shape[-1])[0].tolist()))
            )
        return assemble_all(own, own.reference if q is None else q, t, keep, parameters=values, **options)

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

    def assembly_modes(
        self, q: Any = None, t: float = 0.0, keep: Sequence[str] = (), **options: Any
    ) -> list[np.ndarray]:
        """Different assemblies with some joints held - elbow up, elbow down - found from many random starts.

        Args:
            q: positions of the held joints, and the first start; the reference by default.
            t: time, s.
            keep: joints whose positions are held; so many that assemblies are isolated, or it is an error. Those where
                others can move nevertheless are left out, with a warning.
            options: of :func:`dalembert.constraints.closure.assembly_modes`: ``starts``, ``spread``, ``seed``.
        """
        return closure.assembly_modes(self, q, t, keep, **options)

    def project_velocity(
        self, q: Any, v: Any, t: Any = 0.0, keep: Sequence[str] = (), *, parameters: Any = None
    ) -> np.ndarray:
        """Velocities that satisfy the constraints, nearest to the given ones in kinetic energy; any batch shape.

        Args:
            q: positions that satisfy the constraints; more than 1e-3 m or rad off them is refused.
            v: velocities to start from, or by joint name, others zero.
            t: time, s.
            keep: joints, or single velocities (see :meth:`velocity_names`), whose velocities must not change.
            parameters: values of the parameters, (..., p) or by name; those of this Dynamics by default.
        """
        return project_velocity(self, q, v, t, keep, parameters=parameters)

    def project_acceleration(
        self, q: Any, v: Any, a: Any, t: Any = 0.0, keep: Sequence[str] = (), *, parameters: Any = None
    ) -> np.ndarray:
        """Accelerations that satisfy the constraints, nearest to the given ones in the sense of Gauss; any batch shape.

        Args:
            q: positions that satisfy the constraints.
            v: velocities that satisfy the constraints.
            a: accelerations to start from, or by joint name, others zero.
            t: time, s.
            keep: joints, or single velocities (see :meth:`velocity_names`), whose accelerations must not change.
            parameters: values of the parameters, (..., p) or by name; those of this Dynamics by default.
        """
        return project_acceleration(self, q, v, a, t, keep, parameters=parameters)

    def __repr__(self) -> str:
        fields: dict[str, Any] = {"nq": self.mechanism.nq, "nv": self.mechanism.nv}
        if self.constraints.count:
            fields["rows"] = self.constraints.count
        lists = {"parameters": self.parameter_names, "wrenches": self.wrenches, "include": self.include}
        fields |= {name: list(names) for name, names in lists.items() if names}
        fields |= {} if self.dtype is None else {"dtype": self.dtype}
        fields |= {} if self.device == "cpu" else {"device": self.device}
        return f"<Dynamics of {self.mechanism.name!r}: {', '.join(f'{name}={x}' for name, x in fields.items())}>"


def _names(what: str, given: Any, ordered: bool = True) -> tuple[str, ...]:
    """Different names, in their order if that matters."""
    if isinstance(given, str):
        raise ArgumentError(f"{what} = {given!r}: a list of names is needed, [{given!r}]")
    if ordered and isinstance(given, Set):
        raise ArgumentError(f"{what} = {given!r}: a set has no order, but the values of the input must have one")
    names = expect_items(given, str, f"Dynamics, {what}")
    if isinstance(given, Set):
        names = tuple(sorted(names))
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ArgumentError(f"{what} has {twice[0]!r} twice: {', '.join(names)}; name everything once")
    return names


def _with_constraints(mechanism: Mechanism, names: Sequence[str] | str) -> Mechanism:
    """The mechanism with those of its constraints that hold."""
    known = [item.name for item in mechanism.constraints]
    if isinstance(names, str) and names == "all":
        return mechanism
    chosen = expect_names(names, "Dynamics, constraints")
    if unknown := [name for name in chosen if name not in known]:
        remedy = "none of them hold with constraints=()" if "none" in unknown else ""
        raise ArgumentError(
            f"{mechanism.name!r} has no constraint {unknown[0]!r}; it has {', '.join(known) or 'none'}", remedy=remedy
        )
    if set(chosen) == set(known):
        return mechanism
    # Not strict: without its loop a rod may move no mass, which only accelerations need.
    kept = tuple(item for item in mechanism.constraints if item.name in chosen)
    return mechanism.replace(constraints=kept, strict=False)


def _reference(mechanism: Mechanism, given: Any) -> np.ndarray:
    found = mechanism.neutral if given is None else named_positions(mechanism, given, "reference", batch=False)
    if found.shape != (mechanism.nq,):
        raise ArgumentError(f"reference has shape {found.shape}, but {mechanism.name!r} needs ({mechanism.nq},)")
    return found
