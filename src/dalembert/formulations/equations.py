"""The result of every derivation: equations of motion with the steps that lead to them.

    M(q) a + c(q, v) + G(q) = D tau + p(q, v) + e(q, ...) + A^T lambda ,    qdot = Gamma(q) v ,    A a + gamma = 0

M mass matrix, c centrifugal and Coriolis forces, G gravity, D the map of the drives tau, p passive forces (springs,
dampers), e external wrenches, A and gamma constraints with multipliers lambda. Parts that do not occur are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.algebra.arrays import product
from dalembert.algebra.scalar import is_sympy
from dalembert.algorithms.joint_forces import joint_forces
from dalembert.algorithms.triangular import factor
from dalembert.cached import cached_property
from dalembert.errors import ArgumentError, SingularityError, UnsupportedError
from dalembert.formulations.bounds import believed
from dalembert.formulations.linear import ZERO_SAMPLE, inverse
from dalembert.formulations.quantity import DerivedQuantity, kernel_of, named_inputs
from dalembert.formulations.sample_ranks import is_singular
from dalembert.formulations.scope import Scope
from dalembert.model.checks import expect
from dalembert.services import ask
from dalembert.text.layout import counted
from dalembert.tracing.evaluate import evaluate
from dalembert.typesetting.names import unlike

if TYPE_CHECKING:
    from dalembert.constraints.gravity_fields import GravityField
    from dalembert.formulations.motion import DerivedDynamics
    from dalembert.model import Mechanism

METHODS = {
    "lagrange": "Euler-Lagrange, explicit form",
    "kane": "Kane",
    "kronecker": "Lagrange in Kronecker form",
    "newton-euler": "Newton-Euler, recursive",
    "rigid-body": "Newton-Euler, one free body",
    "lagrangian": "Euler-Lagrange, from a given Lagrangian",
    "sympy": "finished SymPy model",
}
"""Methods of derivation, in words."""

CITATIONS = {
    "PARSA": "K. Parsa, The Lagrangian Derivation of Kane's Equations, Canadian Space Agency",
    "FORBES": "J. R. Forbes, Rigid-Body Equations of Motion, lecture notes MECH 642, McGill University, 2019",
    "THESIS": "C. A. Balafoutis, Dynamic Analysis of Rigid-Link Open-Chain Robot Manipulators Using Cartesian Tensor "
    "Methods, PhD thesis, Concordia University, Montreal, 1989",
    "NGUYEN": "Nguyen Thai Minh Tuan, Pham Thanh Chung, Do Dang Khoa, Phan Dang Phong, Kinematic and Dynamic Analysis "
    "of Multibody Systems Using the Kronecker Product, Vietnam Journal of Science and Technology 57(1), 2019, "
    "doi:10.15625/2525-2518/57/1/12285",
    "KHATIB": "O. Khatib, Lagrange Equations, Explicit Form, lecture slides",
    "KANE": "T. R. Kane, D. A. Levinson, Dynamics: Theory and Applications, McGraw-Hill, 1985",
    "SYMPY": "A. Meurer et al., SymPy: symbolic computing in Python, PeerJ Computer Science 3:e103, 2017",
}
"""The documents behind the formulations: short name -> reference."""

BODILESS = ("lagrangian", "sympy")
"""Methods that begin with expressions in the coordinates, and know of no bodies."""


@dataclass(frozen=True, eq=False)
class DerivationStep:
    """One step of a derivation.

    Args:
        title: a headline.
        text: what is done and why, with the equation numbers of the source.
        quantities: what the step arrives at, in order.
        formula: the general formula of the step in LaTeX, or empty.
    """

    title: str
    text: str
    quantities: tuple[DerivedQuantity, ...] = ()
    formula: str = ""

    def __str__(self) -> str:
        return "\n".join([self.title, f"  {self.text}", *(_indented(str(q)) for q in self.quantities)])


class Lazy(Mapping[str, DerivedQuantity]):
    """Quantities that are computed when they are asked for, and then kept.

    Args:
        makers: name -> function that makes the quantity.
    """

    def __init__(self, makers: Mapping[str, Callable[[], DerivedQuantity]]):
        self._makers = dict(makers)
        self._made: dict[str, DerivedQuantity] = {}

    def __getitem__(self, name: str) -> DerivedQuantity:
        if name not in self._made:
            self._made[name] = self._makers[name]()
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)

    def __contains__(self, name: object) -> bool:
        return name in self._makers


@dataclass(frozen=True, eq=False)
class Equations:
    """Equations of motion of one system.

    Args:
        name: of the system.
        method: one of :data:`METHODS`.
        scope: the symbols of the derivation.
        mass_matrix: M, n x n.
        coriolis: c, n; quadratic in the velocities unless there are quasi-velocities with drift.
        gravity: G, n; everything that does not depend on velocities.
        bias: c + G, n, by the cheapest way to have both.
        kinematics: qdot as a function of q and v.
        input_map: D, n x inputs: which velocities are driven.
        passive: p, generalised forces of springs and dampers, if there are any.
        external: e, generalised forces of external wrenches, if they were asked for.
        constraint_matrix: A, constraints x n, if there are constraints that multipliers enforce.
        constraint_bias: gamma, so that A a + gamma = 0.
        extras: everything else a method offers, by name.
        derivation: the steps.
        sources: keys of the documents that were used.
        include: terms of the joints that enter.
        omitted: what the mechanism has and these equations leave out, because it was not asked for: force elements,
            and rotor inertia, damping and friction of joints.
        gravity_field: gravity that depends on position, if it took the place of the mechanism's uniform gravity.
        reference: positions around which loops were closed, if they were given.
        driven: for each column of the input map the place in v of the velocity that it drives; none if inputs are no
            drives of single velocities.
        mechanism: what the equations were derived from, if it is a mechanism.
    """

    name: str
    method: str
    scope: Scope
    mass_matrix: DerivedQuantity
    coriolis: DerivedQuantity
    gravity: DerivedQuantity
    bias: DerivedQuantity
    kinematics: DerivedQuantity
    input_map: DerivedQuantity
    passive: DerivedQuantity | None = None
    external: DerivedQuantity | None = None
    constraint_matrix: DerivedQuantity | None = None
    constraint_bias: DerivedQuantity | None = None
    extras: Mapping[str, DerivedQuantity] = field(default_factory=dict)
    derivation: tuple[DerivationStep, ...] = ()
    sources: tuple[str, ...] = ()
    omitted: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    gravity_field: GravityField | None = None
    reference: np.ndarray | None = None
    driven: tuple[int, ...] = ()
    mechanism: Mechanism | None = None

    # ------------------------------------------------------------------------------------------------------- access

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Names of the position coordinates."""
        return tuple(map(str, self.scope.names["q"]))

    @property
    def velocities(self) -> tuple[str, ...]:
        """Names of the velocities (or quasi-velocities)."""
        return tuple(map(str, self.scope.names[self.velocity_port]))

    @property
    def velocity_port(self) -> str:
        """Name of the input that holds the velocities: ``u`` for quasi-velocities, ``v`` otherwise."""
        return "u" if "u" in self.scope.names else "v"

    @property
    def parameters(self) -> tuple[Any, ...]:
        """The symbols of the system: masses, lengths, ..."""
        symbols = self.scope.symbols
        return tuple(symbols[port][0] for port in self.scope.parameters)

    @property
    def inputs(self) -> tuple[Any, ...]:
        """The symbols of the drives' forces tau, one for each column of the input map."""
        import sympy

        if named := self.scope.symbols.get("tau"):
            return tuple(named)
        wanted = [f"tau{k}" for k in range(1, self.input_map.shape[1] + 1)]
        return tuple(map(sympy.Symbol, unlike(wanted, (str(x) for row in self.scope.names.values() for x in row))))

    def steps(self) -> tuple[DerivationStep, ...]:
        """The derivation, step by step."""
        return self.derivation

    def quantities(self) -> dict[str, DerivedQuantity]:
        """The parts of the equations that occur, by name, without the extras."""
        return {q.name: q for q in self._parts() if q is not None}

    def _parts(self) -> Iterator[DerivedQuantity | None]:
        yield from (self.mass_matrix, self.coriolis, self.gravity, self.bias, self.kinematics, self.input_map)
        yield from (self.passive, self.external, self.constraint_matrix, self.constraint_bias)

    def __getitem__(self, name: str) -> DerivedQuantity:
        """A part or an extra by name, or ``"accelerations"``, those of :meth:`accelerations`."""
        parts = self.quantities()
        if expect(name, str, "the name of a part") in parts:
            return parts[name]
        if name in self.extras:
            return self.extras[name]
        if name == "accelerations":
            return self.accelerations()
        raise ArgumentError(
            f"{self.method} of {self.name!r} has no {name!r}; it has {', '.join([*self, 'accelerations'])}"
        )

    def __contains__(self, name: object) -> bool:
        return name in self.quantities() or name in self.extras or (name == "accelerations" and self._is_solvable)

    def __iter__(self) -> Iterator[str]:
        """The names of parts and extras; accelerations, which are what they are solved for, are none of them."""
        return iter([*self.quantities(), *self.extras])

    @property
    def without_rotors(self) -> bool:
        """Whether the mechanism has rotor inertias that these equations leave out."""
        known = self.mechanism
        return (
            known is not None
            and "armature" not in self.include
            and joint_forces(known, ["armature"]).armature is not None
        )

    @property
    def _is_solvable(self) -> bool:
        """False where multipliers of constraints stand between forces and accelerations."""
        return self.constraint_matrix is None or self.method == "sympy"

    def __reduce__(self) -> tuple[Any, ...]:
        """For pickling: expressions of one graph travel as a program."""
        from dalembert.formulations.substitution import restored, stored

        return restored, (stored(self),)

    def __copy__(self) -> Equations:
        return self  # nothing in them changes

    def __deepcopy__(self, memo: dict[int, Any]) -> Equations:
        return self

    # --------------------------------------------------------------------------------------------------- mathematics

    def sympy(self, name: str | None = None, simplify: bool = True) -> Any:
        """Closed form: of one part by name, or of all parts as a dict.

        Args:
            name: part or extra, or None for all parts.
            simplify: bring it to textbook shape.
        """
        if name is not None:
            return self[name].sympy(simplify)
        return {key: quantity.sympy(simplify) for key, quantity in self.quantities().items()}

    def symbol(self, name: str) -> Any:
        """The SymPy symbol of a coordinate, velocity or parameter, by name."""
        name = expect(str(name) if is_sympy(name) else name, str, "the name of a symbol")
        for symbols in self.scope.symbols.values():
            for symbol in symbols:
                if str(symbol) == name:
                    return symbol
        names = (row for port, row in self.scope.names.items() if port not in self.scope.defined)
        known = ", ".join(str(symbol) for row in names for symbol in row)
        raise ArgumentError(f"{self.name!r} has no symbol {name!r}; it has {known}")

    def substitute(self, values: Mapping[Any, Any]) -> Equations:
        """The same equations with numbers, or other expressions, in the place of symbols.

        A coordinate or velocity with a value shows the finished equations in that state; it still has its row and its
        acceleration. To hold a joint, ``lock`` the mechanism and derive again.

        Args:
            values: by symbol, or name of a symbol, a finite number or SymPy expression.
        """
        from dalembert.formulations.substitution import substituted

        return substituted(self, values)

    def latex(self, name: str | None = None, form: str = "auto") -> str:
        """LaTeX: of one part by name, or of the equations of motion, part by part.

        Args:
            name: part or extra, or None for the equations.
            form: see :meth:`~dalembert.formulations.quantity.DerivedQuantity.latex`.
        """
        from dalembert.formulations.display import equations_latex

        return equations_latex(self, form) if name is None else self[name].latex(form)

    def _repr_html_(self) -> str | None:
        shown: str | None = ask("document of equations", self)
        return shown

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex()}$"

    def __str__(self) -> str:
        from dalembert.formulations.display import equations_text

        return equations_text(self)

    def __repr__(self) -> str:
        n = len(self.mass_matrix)
        if self.constraint_matrix is not None:  # rows may repeat each other: how many freedoms they leave is not told
            rows = counted(len(self.constraint_matrix), "constraint")
            return f"<Equations of {self.name!r} by {self.method}: {counted(n, 'velocity', 'velocities')}, {rows}>"
        if self.method == "sympy":  # whose mass matrix may have constraints among its rows
            return f"<Equations of {self.name!r} by {self.method}: {counted(n, 'velocity', 'velocities')}>"
        freedom = counted(n, "degree of freedom", "degrees of freedom")
        return f"<Equations of {self.name!r} by {self.method}: {freedom}>"

    def cite(self) -> str:
        """References of the documents behind exactly what was used."""
        return "\n".join(f"[{key}] {CITATIONS[key]}" for key in self.sources)

    # ------------------------------------------------------------------------------------------------------- numbers

    def evaluate(self, q: Any = None, v: Any = None, /, **inputs: Any) -> dict[str, np.ndarray]:
        """All parts at given states, any batch shape.

        Args:
            q: positions, (..., nq); q=... will do, too.
            v: velocities, (..., n), or v=..., for Kane's speeds also u=...; parts that need them are left out without.
            inputs: values of parameters by name, and of other inputs by port (``t``, wrenches, ...).
        """
        port = self.velocity_port
        q, v = _given_once(q, inputs, "q"), _given_once(v, inputs, "v", port)
        if q is None:
            raise ArgumentError(f"the equations of {self.name!r} need the positions q")
        given = {"q": q, **({} if v is None else {port: v}), **inputs}
        parts = self.quantities()
        if v is None:
            parts = {k: x for k, x in parts.items() if port not in (p.name for p in x.program.inputs)}
        return self.numbers(tuple(parts), given)

    def numbers(self, names: Sequence[str], inputs: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """Some parts or extras at given states, computed together.

        Args:
            names: parts or extras.
            inputs: arrays by input (``q``, ``v``, ...), parameters by symbol or name.
        """
        values = {name: believed(self.scope, self[name].values) for name in names}
        program = self.scope.program(values, "numbers")
        named = named_inputs(self.scope, inputs)
        missing = [port.name for port in program.inputs if port.name not in named]
        if missing:
            raise ArgumentError(f"the equations of {self.name!r} need {', '.join(missing)} too; pass {missing[0]}=...")
        return evaluate(program, {port.name: named[port.name] for port in program.inputs})

    def compile(self, name: str | None = None) -> Any:
        """Machine code: kernels of all parts by name, or of one part or extra.

        Inputs of a kernel are ``q``, the velocities if they matter, and the parameters that matter by name; more than
        sixteen parameters are one input ``parameters``, all in the order of :attr:`parameters`. Quaternions must have
        length one, which printed formulas use, and what is printed is compiled: ``mechanism.normalise(q)``.

        Args:
            name: part or extra, ``"accelerations"``, or None for a dict of all parts, which ``simulate``, ``rollout``
                and all that takes the equations themselves take as well.
        """
        if name is not None:
            return kernel_of(self[name])
        return CompiledEquations(self, {key: kernel_of(quantity) for key, quantity in self.quantities().items()})

    def dynamics(self, **settings: Any) -> DerivedDynamics:
        """These equations as something that moves: kernels of accelerations, linear models and so on.

        ``simulate``, ``rollout``, ``control`` and sweeps make it themselves; made once, it saves them the time.

        Args:
            settings: ``parameters``, ``dtype``, ``device``, ``optimise`` of
                :class:`~dalembert.formulations.DerivedDynamics`.
        """
        from dalembert.formulations.motion import DerivedDynamics

        return DerivedDynamics(self, **settings)

    @cached_property
    def moving(self) -> DerivedDynamics:
        """The dynamics of these equations, made once; see :meth:`dynamics`."""
        return self.dynamics()

    def accelerations(self) -> DerivedQuantity:
        """M^-1 (D tau + p + e - h): accelerations as a function of state and inputs ``tau``, without forming M^-1.

        Multipliers of a finished SymPy model are solved for with them. For a mechanism's equations with multipliers
        there is no such function; eliminate the constraints with Kane's method.
        """
        return _solved(self)


class CompiledEquations(dict[str, Any]):
    """Kernels of all parts of equations by name, which remember what they were made of.

    Args:
        equations: that were compiled.
        kernels: by name of the part.
    """

    def __init__(self, equations: Equations, kernels: Mapping[str, Any]):
        super().__init__(kernels)
        self.equations = equations

    @property
    def moving(self) -> DerivedDynamics:
        """The dynamics of the equations."""
        return self.equations.moving


def _given_once(value: Any, inputs: dict[str, Any], *names: str) -> Any:
    """What is given in its place or, among the inputs, by one of its names."""
    by_name = {name: inputs.pop(name) for name in names if name in inputs}
    found = [*([] if value is None else [value]), *by_name.values()]
    if len(found) > 1:
        name = list(by_name)[-1]
        raise ArgumentError(f"evaluate: {name} is given twice; a parameter called {name} is given by {name}_=...")
    return found[0] if found else None


def _indented(text: str) -> str:
    return "\n".join("  " + line for line in text.splitlines())


def _solved(equations: Equations) -> DerivedQuantity:
    """Equations of motion solved for the accelerations.

        M a = D tau + p + e - h         or, with multipliers,         [M  -A^T] [  a   ]   [D tau + p + e - h]
                                                                      [A    0 ] [lambda] = [     -gamma      ]

    Mass matrices of mechanisms are definite and need no pivots; those of a user's Lagrangian or model may not be.
    """
    scope, n = equations.scope, len(equations.mass_matrix)
    A, gamma = equations.constraint_matrix, equations.constraint_bias
    if not equations._is_solvable:
        raise UnsupportedError(
            f"{equations.name!r} has constraints that multipliers enforce",
            argument="method",
            value="kane",
            remedy="derive it by {setting} to eliminate them",
        )
    tau = scope.once("tau", map(str, equations.inputs))
    force = product(equations.input_map.values, tau) - equations.bias.values if len(tau) else -equations.bias.values
    for load in (equations.passive, equations.external):
        if load is not None:
            force = force + load.values
    matrix, what = equations.mass_matrix, "the mass matrix"
    if A is not None and gamma is not None:
        corner = np.zeros((len(A), len(A)), dtype=int)
        matrix = DerivedQuantity(scope, "matrix", "K", np.block([[matrix.values, -A.values.T], [A.values, corner]]))
        what, force = "the matrix of masses and constraints", np.concatenate([force, -gamma.values])
    samples = _sampled(matrix)
    if is_singular(samples):
        raise SingularityError(
            f"{what} of {equations.name!r} is singular at typical states: its rows are dependent and accelerations "
            "are not determined; leave out coordinates without inertia and redundant constraints"
        )
    if equations.method not in ("sympy", "lagrangian") or _is_definite(samples):
        solved = factor(matrix.values, range(-1, n - 1)).solve(force)
    else:
        solved = product(inverse(matrix.values, samples, what), force)[:n]
    return DerivedQuantity(scope, "accelerations", r"\dot{v}", solved)


def _sampled(quantity: DerivedQuantity) -> np.ndarray:
    """Numbers at five random states, to choose pivots."""
    rng = np.random.default_rng(1)
    inputs = {port.name: rng.uniform(0.5, 1.5, (5, *port.shape)) for port in quantity.program.inputs}
    return np.broadcast_to(quantity.evaluate(inputs), (5, *quantity.shape))


def _is_definite(samples: np.ndarray) -> bool:
    """Whether all matrices are symmetric and positive definite, as far as they are finite."""
    finite = [x for x in samples if x.size and np.isfinite(x).all()]
    symmetric = all(np.allclose(x, x.T, rtol=1e-12, atol=0) for x in finite)
    return symmetric and all(values[0] > ZERO_SAMPLE * values[-1] for values in map(np.linalg.eigvalsh, finite))
