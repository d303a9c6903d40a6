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
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.algorithms.selection import contest, plans, select_algorithm
from dalembert.cached import cached_property
from dalembert.constraints.analysis import analyse
from dalembert.constraints.assemblies import assemble_mechanism, assemble_states, residual
from dalembert.constraints.closure import assembly_modes
from dalembert.constraints.forces import ForceSet
from dalembert.constraints.pivots import Pivots, choose_pivots, choose_positional
from dalembert.constraints.rank import Known
from dalembert.constraints.rows import ConstraintSet
from dalembert.constraints.scaling import Scaling
from dalembert.constraints.solve import project_acceleration, project_velocity, solve_states
from dalembert.constraints.vicinity import Sample, samples, usual_size
from dalembert.constraints.violation import relative_violation
from dalembert.contact.compliant import CompliantSet
from dalembert.contact.rows import ContactSet
from dalembert.dynamics import settings as described
from dalembert.dynamics.catalogue import ALL_QUANTITIES, CONSTRAINT_QUANTITIES, CONTACT_QUANTITIES, quantity_of
from dalembert.dynamics.devices import parts_of, stages_of
from dalembert.dynamics.drives import drive_forces
from dalembert.dynamics.frame_quantity import FrameQuantity
from dalembert.dynamics.kernel_table import KernelTable, traced
from dalembert.dynamics.linearization import linear_model
from dalembert.dynamics.parameters import Parameters
from dalembert.dynamics.quantity import Quantity, Setting, Solver, nonzeros
from dalembert.dynamics.reactions import find_reactions
from dalembert.dynamics.settings import Settings, image, text
from dalembert.errors import ArgumentError, SingularityError, UnsupportedError
from dalembert.model import Mechanism
from dalembert.model.checks import expect_choice, shown
from dalembert.model.record import content, fingerprint
from dalembert.model.singularity import idle_motions
from dalembert.model.tree import Tree
from dalembert.text.suggest import hint, near
from dalembert.tracing.program import Port, Program

if TYPE_CHECKING:  # imported when a device is asked for
    from dalembert.cuda.stages import Stage
    from dalembert.cuda.warps import Parts
    from dalembert.dynamics.attributes import QuantityAttributes
else:
    QuantityAttributes = object  # quantities are made when they are asked for; type checkers know them beforehand

Form = Callable[[Tree], Tree] | None

TREE = frozenset({"mechanism", "parameters", "wrenches", "include", "optimise"})
"""Settings on which programs of trees depend."""

ACTING = TREE | {"constraints", "elements", "contacts", "law", "stabilisation"}
"""Those of programs into which constraints and force elements enter, compliant contacts among them."""

TOUCHING = ACTING | {"limits"}
"""Those of steps with contacts."""

SOLVING = frozenset({"method", "independent", "reference", "regularisation"})
"""Those by which constrained accelerations are found."""


class Dynamics(KernelTable, QuantityAttributes):
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
        mechanism: the mechanism; or the :class:`~dalembert.dynamics.Settings` of another Dynamics.
        settings: fields of :class:`~dalembert.dynamics.Settings`: ``constraints``, ``elements``, ``contacts``,
            ``limits``, ``law``, ``wrenches``, ``include``, ``parameters``, ``method``, ``independent``, ``reference``,
            ``regularisation``, ``stabilisation``, ``dtype``, ``device``, ``optimise``. They are fixed, because kernels
            are made from them.
    """

    settings: Settings
    independent: tuple[str, ...] | None
    regularisation: float

    def __init__(self, mechanism: Mechanism | Settings, **settings: Any):
        own = Settings.of(mechanism, settings)
        mechanism = _holding(own.mechanism, own.constraints)
        super().__init__(mechanism, Parameters(mechanism, own.parameters))
        fixed = {name: value for name, value in own if name not in KEPT_OTHERWISE}
        self.__dict__.update(fixed, settings=own)
        varied = self._parameters.addresses
        self.constraints = ConstraintSet(mechanism)
        compliant = own.law == "compliant"
        self.elements = (
            CompliantSet(mechanism, own.elements, own.contacts, varied)
            if compliant
            else ForceSet(mechanism, own.elements)
        )
        self.contacts = ContactSet(mechanism, own.contacts, own.limits, "friction" in own.include, varied)
        if compliant and own.limits:
            raise UnsupportedError(
                f"stops of joints are rigid here, and law = 'compliant' has none ({', '.join(own.limits)})",
                argument="limits",
                remedy="give stops as force elements of kind 'joint-stop', or law='rigid'",
            )
        if own.method is not None or own.independent is not None:
            self._check_method()
        self._chosen: dict[str, str] = {}  # quantity -> algorithm and reason, where its programs were compared

    def _check_method(self) -> None:
        """Refuse a method that does not suit the mechanism, and speeds for one that has none."""
        if self.independent is not None and self.method != "projection":
            raise ArgumentError(f"Dynamics: the method {self.method!r} has no independent speeds, 'projection' has")
        if self.method == "multipliers" and (idle := idle_motions(self.mechanism)):
            raise UnsupportedError(
                f"{self.mechanism.name!r}: multipliers need a regular inertia matrix of the open tree, but {idle[0]}. "
                "Use method='projection', the default here"
            )

    @cached_property
    def method(self) -> str:
        """How kernels find constrained accelerations."""
        return self.settings.method or ("projection" if idle_motions(self.mechanism) else "multipliers")

    def replace(self, **changes: Any) -> Dynamics:
        """The same dynamics with other settings; itself where nothing changes.

        Args:
            changes: fields of :class:`~dalembert.dynamics.Settings`, such as ``device="cuda"``.
        """
        settings = self.settings.replace(**changes)
        return self if settings == self.settings else Dynamics(settings)

    def with_parameters(self, values: Sequence[float] | np.ndarray) -> Dynamics:
        """The same dynamics with other values of its parameters; itself if there are no constraints and elements,
        whose kernels take all values as an input.

        Args:
            values: in the order of :attr:`parameter_names`.
        """
        if self.is_tree:
            return self
        return self.replace(parameters=dict(zip(self.parameter_names, np.asarray(values, float).tolist(), strict=True)))

    # ----------------------------------------------------------------------------------------- what acts, what is known

    @property
    def takes_time(self) -> bool:
        """Whether what moves may depend on time, so that kernels of motion take it."""
        return not self.is_tree

    @property
    def identity(self) -> str:
        """A digest of what moves."""
        return self.mechanism.digest

    @property
    def digest(self) -> str:
        """A digest of all settings."""
        return self.settings.digest

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

    # ------------------------------------------------------------------------------------------------------ attributes

    if not TYPE_CHECKING:  # which would let every misspelt name pass

        def __getattr__(self, name: str) -> Any:
            spec = ALL_QUANTITIES.get(name) or CONSTRAINT_QUANTITIES.get(name) or CONTACT_QUANTITIES.get(name)
            if spec is None or "_kernels" not in self.__dict__:
                known = (*ALL_QUANTITIES, *CONSTRAINT_QUANTITIES, *CONTACT_QUANTITIES)
                meant = near(name, {*known, *(own for own in dir(Dynamics) if not own.startswith("_"))})
                suggested = hint(name, meant or known, "quantities are")
                raise AttributeError(f"Dynamics has no attribute {name!r}{suggested}")
            self._heed(name)
            found = (
                self.made_kernel(name, {}, self.device, self.dtype) if not spec.options else FrameQuantity(self, name)
            )
            self.__dict__[name] = found  # so that the next look-up costs nothing
            return found

    def __setattr__(self, name: str, value: Any) -> None:
        if name in FIXED and "_chosen" in self.__dict__:
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

    def __reduce__(self) -> tuple[Any, ...]:
        return Dynamics, (self.settings,)

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

    def algorithms(self) -> dict[str, str]:
        """Which algorithm each dynamic quantity of the tree uses for this mechanism, and why."""
        found = {}
        for choice in select_algorithm(self.mechanism).values():
            found[choice.quantity] = f"{choice.algorithm}: {choice.reason}"
            if plans(self.quantity(choice.quantity).rivals, self.mechanism.nv):  # decided by the programs themselves
                if choice.quantity not in self._chosen:
                    self.program(choice.quantity)
                found[choice.quantity] = self._chosen[choice.quantity]
        return found

    # ------------------------------------------------------------------------------------------- from setting to kernel

    def quantity(self, name: str) -> Quantity:
        """How a quantity is computed; an error if there is none of this name.

        Args:
            name: of the quantity.
        """
        spec = (
            quantity_of(name, bool(self.constraints.count), bool(self.elements.names))
            if isinstance(name, str)
            else None
        )
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

    def ports(self, spec: Quantity, options: Mapping[str, Any]) -> tuple[tuple[Port, ...], tuple[Port, ...]]:
        here = Setting(self.mechanism, rows=self.constraints, elements=self.elements, touching=self.contacts)
        return spec.ports(here, options, len(self.wrenches), len(self.parameter_names))

    def recipe(self, name: str, spec: Quantity, options: dict[str, Any]) -> Callable[[], Program]:
        """Where several algorithms compete, the program of the one with the fewest operations.

        Args:
            name: of the quantity.
            spec: how it is computed.
            options: its own, defaults filled in.
        """
        inputs, outputs = self.ports(spec, options)

        def write(options: dict[str, Any], form: Form = None) -> Program:
            def compute(given: Mapping[str, Any]) -> Any:
                return spec.compute(self._setting(options, given, form), *(given[k] for k in spec.inputs))

            return traced(name, inputs, outputs, compute)

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

    def stages(self, quantity: str) -> Callable[[], list[Stage]] | None:
        return stages_of(self, quantity) if self.is_tree else None

    def parts(self, inputs: Sequence[Port], outputs: Sequence[Port]) -> Parts | None:
        return parts_of(self, inputs, outputs)

    def key_of(self, name: str, spec: Quantity, options: Mapping[str, Any]) -> str:
        known = [(entry, self._entering(entry)) for entry in sorted(settings_of(name, spec, bool(self.rows)))]
        whole = [name, sorted(options.items(), key=str), known]
        return hashlib.sha256(fingerprint(whole).encode()).hexdigest()

    def _entering(self, name: str) -> Any:
        """What programs depend on of a setting."""
        match name:
            case "mechanism":
                return self._bodies
            case "parameters":
                return self._parameters.addresses
            case "constraints":
                return [_acting(item, self.constraints.programs) for item in self.mechanism.constraints]
            case "elements":
                items = [item for item in self.mechanism.forces if item.name in self.elements.chosen]
                return self.elements.names, [_acting(item, self.elements.programs) for item in items]
            case "contacts":
                return self.contacts.names, content(self.mechanism.contacts)
            case "method":
                return self.method
            case "reference" | "independent":  # which matter by the rows and speeds that are chosen by them
                return self.pivots
        return image(getattr(self.settings, name))

    @cached_property
    def _bodies(self) -> list[Any]:
        """The mechanism without what acts on it."""
        acting = ("constraints", "forces", "contacts")
        m = self.mechanism
        return [
            content(getattr(m, entry.name))
            for entry in dataclasses.fields(m)
            if entry.compare and entry.name not in acting
        ]

    # ------------------------------------------------------------------------------- what numerics of constraints need

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

    solve = solve_states
    analyse = analyse
    residual = residual
    assemble = assemble_mechanism
    assemblies = assemble_states
    assembly_modes = assembly_modes
    project_velocity = project_velocity
    project_acceleration = project_acceleration
    reactions = find_reactions
    drive_forces = drive_forces
    linear_model = linear_model

    def __repr__(self) -> str:
        sizes = f"nq={self.mechanism.nq}, nv={self.mechanism.nv}"
        rows = f", rows={self.constraints.count}" if self.constraints.count else ""
        own = "".join(f", {name}={text(value)}" for name, value in self.settings.changed())
        return f"<Dynamics of {self.mechanism.name!r}: {sizes}{rows}{own}>"


KEPT_OTHERWISE = frozenset({"mechanism", "constraints", "elements", "contacts", "method", "parameters"})
"""Settings that are attributes of a Dynamics in another form than that of the record."""

FIXED = frozenset({*described.names(), "settings"})
"""What kernels are made from; fixed, so that those made early and late agree."""


MOST_KEPT = 8
"""Dynamics of one mechanism that are kept for whoever asks for the same again."""


def dynamics_of(mechanism: Mechanism, **settings: Any) -> Dynamics:
    """The dynamics of a mechanism, made once: asked for again with the same settings, they are those made before.

    Args:
        mechanism: keeps them as long as it lives.
        settings: fields of :class:`~dalembert.dynamics.Settings`.
    """
    made: dict[Any, Dynamics] = mechanism.__dict__.setdefault("_made_dynamics", {})
    key = tuple((name, image(settings[name])) for name in sorted(settings))
    found = made.get(key)
    if found is None:
        found = Dynamics(mechanism, **settings)
        for oldest in list(made)[: len(made) + 1 - MOST_KEPT]:  # other threads may do the same
            made.pop(oldest, None)
        made[key] = found
    return found


def settings_of(name: str, spec: Quantity, rows: bool) -> frozenset[str]:
    """The settings on which the program of a quantity depends.

    Args:
        name: of the quantity.
        spec: how it is computed.
        rows: whether constraints hold.
    """
    if spec is ALL_QUANTITIES.get(name):
        return TREE
    touching = name in CONTACT_QUANTITIES
    found = TOUCHING if touching else ACTING
    return found | SOLVING if spec.solves and (rows or not touching) else found


def _acting(item: Any, programs: Mapping[str, Program]) -> tuple[Any, ...]:
    """A constraint or force element, users' functions by the program that they are traced to."""
    program = programs.get(item.name)
    known = [content(getattr(item, entry.name)) for entry in dataclasses.fields(item) if entry.name != "function"]
    return (type(item).__name__, *known, None if program is None else program.digest)


def _holding(mechanism: Mechanism, names: Sequence[str]) -> Mechanism:
    """The mechanism with those of its constraints that hold."""
    if len(names) == len(mechanism.constraints):
        return mechanism
    # Not strict: without its loop a rod may move no mass, which only accelerations need.
    kept = tuple(item for item in mechanism.constraints if item.name in names)
    return mechanism.replace(constraints=kept, strict=False)


def _signature() -> inspect.Signature:
    """Of ``Dynamics``: the mechanism, and every setting by name."""
    own = inspect.signature(Settings)
    first, *others = own.parameters.values()
    named = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in others]
    return own.replace(parameters=[first.replace(default=inspect.Parameter.empty), *named])


Dynamics.__signature__ = _signature()  # type: ignore[attr-defined]
Dynamics.__doc__ = "    Args:".join(
    str(each.__doc__).partition("    Args:")[2 * k] for k, each in enumerate((Dynamics, Settings))
)
