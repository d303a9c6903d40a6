"""Mechanism + algorithms + compiler -> kernels.

    dyn = Dynamics(arm)
    tau = dyn.inverse_dynamics(q, v, a)      # any batch shape (..., nv)

Each quantity is traced on first use with the mechanism's numbers folded in and compiled for this machine; the result
is kept on disk, so that the next start does not compile again.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.algorithms.analytic_jacobian import coordinate_count
from dalembert.algorithms.selection import select_algorithm
from dalembert.compiler.cost import Cost
from dalembert.compiler.kernel import Kernel
from dalembert.compiler.program import Port, Program
from dalembert.errors import ArgumentError, ModelWarning
from dalembert.model import Mechanism
from dalembert.model.branches import branches, coordinate_branches, element_branches
from dalembert.model.checks import expect, expect_choice, expect_items, expect_path, shown
from dalembert.model.parameters import map_scalars, parameters, symbolise
from dalembert.model.tree import Tree
from dalembert.quantities import ALL_QUANTITIES, Quantity, Setting, nonzeros, sizes
from dalembert.quantities.contest import contest, plans
from dalembert.quantities.options import chosen_options

if TYPE_CHECKING:  # imported when a device is asked for
    from dalembert.compiler.cuda.crew import Parts
    from dalembert.compiler.cuda.kernel import CudaKernel


class Dynamics:
    """The dynamics of one mechanism as compiled kernels.

    Every attribute named in :data:`~dalembert.quantities.ALL_QUANTITIES` is a kernel: ``inverse_dynamics``,
    ``mass_matrix``, ``forward_dynamics`` and so on. Quantities of a frame - ``pose``, ``jacobian``, ``velocity``, ... -
    are functions of the state with the frame's name as keyword: ``dyn.pose(q, frame="tool")``.

    If the mechanism has symbols, or parameters are named, every kernel takes one more input ``parameters`` at the end,
    a vector in the order of :attr:`parameter_names`. If wrenches are named, kernels into which they enter take an input
    ``wrenches`` of shape (number of frames, 6) after the state.

    Args:
        mechanism: the mechanism.
        parameters: addresses of numbers that stay inputs, such as ``"link7.mass"``; see
            :func:`dalembert.model.parameters.parameters`.
        wrenches: names of frames on which external wrenches ``[force; moment]`` act, frame axes, at its origin.
        include: which of ``armature``, ``damping`` and ``friction`` of the joints enter; none by default.
        dtype: float64 or float32 to compute in one precision always; by default the inputs decide.
        device: ``"cpu"``, or ``"cuda"``: kernels then take and give arrays of CuPy, PyTorch or JAX on the device.
        optimise: 0 to 2, how hard to look for operations to save while tracing.
        open_loops: say nothing about loop closures and force elements of the mechanism, which these kernels leave out.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        *,
        parameters: Sequence[str] = (),
        wrenches: Sequence[str] = (),
        include: Sequence[str] = (),
        dtype: Any = None,
        device: str = "cpu",
        optimise: int = 1,
        open_loops: bool = False,
    ):
        if not isinstance(mechanism, Mechanism):
            raise ArgumentError(f"Dynamics takes a Mechanism, got {type(mechanism).__name__}; use dalembert.load(...)")
        for what, names in (("parameters", parameters), ("wrenches", wrenches), ("include", include)):
            if isinstance(names, str):
                raise ArgumentError(f"{what} = {names!r}: a list of names is needed, [{names!r}]")
            names = expect_items(names, str, f"Dynamics, {what}")
            if twice := sorted({name for name in names if names.count(name) > 1}):
                raise ArgumentError(f"{what} has {twice[0]!r} twice: {', '.join(names)}; name everything once")
        self.mechanism = mechanism
        if not expect(open_loops, bool, "Dynamics, open_loops"):
            _say_what_is_left_out(mechanism)
        self.wrenches = tuple(wrenches)
        for name in self.wrenches:
            mechanism.frame(name)
        self.include = tuple(include)
        Setting(mechanism, self.include).joints  # noqa: B018 - raises for an unknown term
        self.dtype = _precision(dtype)
        self.device = expect_choice(device, ("cpu", "cuda"), "Dynamics: device =")
        if type(optimise) is not int or optimise not in (0, 1, 2):
            raise ArgumentError(f"Dynamics: optimise = {shown(optimise)}; choose 0, 1 or 2")
        self.optimise = optimise
        self._addresses = tuple(parameters)
        _check_addresses(mechanism, self._addresses)
        self._kernels: dict[tuple[Any, ...], Kernel | CudaKernel] = {}
        self._chosen: dict[str, str] = {}  # quantity -> algorithm and reason, where its programs were compared

    # ------------------------------------------------------------------------------------------------------ parameters

    @cached_property
    def _symbolic(self) -> Mechanism:
        """The mechanism with the named parameters turned into symbols."""
        if not self._addresses:
            return self.mechanism
        import sympy

        symbols = {address: sympy.Symbol(f"parameter {k}") for k, address in enumerate(self._addresses)}
        return symbolise(self.mechanism, symbols)

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """What the input ``parameters`` consists of: the mechanism's symbols, then the named addresses."""
        return (*(s.name for s in self.mechanism.symbols), *self._addresses)

    @property
    def parameter_values(self) -> np.ndarray:
        """Present values of the named addresses; symbols have none and are NaN."""
        values = parameters(self.mechanism) if self._addresses else {}
        return np.array([*(np.nan for _ in self.mechanism.symbols), *(float(values[a]) for a in self._addresses)])

    # --------------------------------------------------------------------------------------------------------- kernels

    def kernel(self, quantity: str, **options: Any) -> Any:
        """The kernel of a quantity; made once and remembered.

        Args:
            quantity: a name of :data:`~dalembert.quantities.ALL_QUANTITIES`.
            options: options of quantities of a frame: ``frame``, ``point`` (in the frame), ``axes`` (world or body),
                ``coordinates`` (such as ``"ZYX"``), ``damping`` (of a singular Jacobian); and ``algorithm`` of inverse
                dynamics, inertia matrix and forward dynamics, which then works on the mechanism as it is described,
                without economical frames and regrouped masses.
        """
        expect_choice(quantity, ALL_QUANTITIES, "there is no quantity")
        spec = ALL_QUANTITIES[quantity]
        chosen = chosen_options(quantity, spec, options)
        if "frame" in chosen:
            self.mechanism.frame(chosen["frame"])
        key = (quantity, *chosen.items())
        if key not in self._kernels:
            inputs, outputs = self._ports(spec, chosen)
            thunk = self._thunk(quantity, spec, chosen, inputs, outputs)
            if self.device == "cuda":
                from dalembert.compiler.cuda.kernel import CudaKernel

                parts = self._parts(inputs, outputs)
                self._kernels[key] = CudaKernel(quantity, inputs, outputs, thunk, self.dtype, spec.doc, parts)
            else:
                digest = self._digest(quantity, chosen)
                made = Kernel(quantity, inputs, outputs, thunk, digest, self.dtype, spec.doc)
                made.arguments.hints.update(self._hints())
                self._kernels[key] = made
        return self._kernels[key]

    def __getattr__(self, name: str) -> Any:
        spec = ALL_QUANTITIES.get(name)
        if spec is None:
            raise AttributeError(f"Dynamics has no attribute {name!r}; quantities are {', '.join(ALL_QUANTITIES)}")
        found = self.kernel(name) if not spec.options else FrameQuantity(self, name)
        self.__dict__[name] = found  # so that the next look-up costs nothing
        return found

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *ALL_QUANTITIES]

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if k not in ALL_QUANTITIES and k != "_kernels"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _kernels={})

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
            quantity: a name of :data:`~dalembert.quantities.ALL_QUANTITIES`.
            options: as for :meth:`kernel`.
        """
        return self.kernel(quantity, **options).program

    def cost(self, quantity: str, **options: Any) -> Cost:
        """Exact operation counts of a quantity.

        Args:
            quantity: a name of :data:`~dalembert.quantities.ALL_QUANTITIES`.
            options: as for :meth:`kernel`.
        """
        from dalembert.compiler.cost import cost

        return cost(self.program(quantity, **options))

    def export(self, quantity: str, language: str, path: str | Path | None = None, **options: Any) -> str:
        """Source code of a quantity.

        Args:
            quantity: a name of :data:`~dalembert.quantities.ALL_QUANTITIES`.
            language: ``"c"``, ``"c-simd"``, ``"cuda"``, ``"python"``, ``"javascript"``, ``"latex"`` or ``"llvm"``.
            path: file to write; for C and CUDA a header of the same name is written beside it.
            options: as for :meth:`kernel`.
        """
        from dalembert.compiler.export import export

        expect(language, str, "export, language")
        path = None if path is None else expect_path(path, "export, path")
        kernel = self.kernel(quantity, **options)
        parts = self._parts(kernel.inputs, kernel.outputs) if language == "cuda" else None
        return export(kernel, language, path, parts=parts)

    def algorithms(self) -> dict[str, str]:
        """Which algorithm each dynamic quantity uses for this mechanism, and why."""
        found = {}
        for choice in select_algorithm(self.mechanism).values():
            found[choice.quantity] = f"{choice.algorithm}: {choice.reason}"
            spec = ALL_QUANTITIES[choice.quantity]
            if plans(spec.rivals, self.mechanism.nv):  # decided by the programs themselves
                if choice.quantity not in self._chosen:
                    self.program(choice.quantity)
                found[choice.quantity] = self._chosen[choice.quantity]
        return found

    # -------------------------------------------------------------------------------------------------------- internal

    def _ports(self, spec: Quantity, options: dict[str, Any]) -> tuple[tuple[Port, ...], tuple[Port, ...]]:
        m = self.mechanism
        letters = sizes(m, spec, options)
        own = {"q": m.nq, "xdd": coordinate_count(options["coordinates"]) if "xdd" in spec.inputs else 0}
        inputs = [Port(name, (own.get(name, m.nv),)) for name in spec.inputs]
        if spec.loads and self.wrenches:
            inputs.append(Port("wrenches", (len(self.wrenches), 6)))
        if self.parameter_names:
            inputs.append(Port("parameters", (len(self.parameter_names),)))
        outputs = [Port(name, tuple(letters.get(d, d) for d in shape)) for name, shape in spec.outputs.items()]
        return tuple(inputs), tuple(outputs)

    def _thunk(
        self, name: str, spec: Quantity, options: dict[str, Any], inputs: tuple[Port, ...], ports: tuple[Port, ...]
    ) -> Callable[[], Program]:
        def build() -> Program:
            from dalembert.compiler.cost import cost
            from dalembert.compiler.derivatives import forward
            from dalembert.compiler.passes import optimise
            from dalembert.compiler.trace import trace

            def write(options: dict[str, Any], form: Callable[[Tree], Tree] | None = None) -> Program:
                def compute(*arrays: Any) -> dict[str, Any]:
                    given = dict(zip((p.name for p in inputs), arrays))
                    wrenches = dict(zip(self.wrenches, given.get("wrenches", ())))
                    mechanism = self._traced(given.get("parameters"))
                    setting = Setting(mechanism, self.include, options, wrenches, forward, form)
                    result = spec.compute(setting, *(given[k] for k in spec.inputs))
                    results = zip(ports, result if isinstance(result, tuple) else (result,))
                    return {port.name: np.asarray(value, dtype=object).reshape(port.shape) for port, value in results}

                return trace(compute, {p.name: p.shape for p in inputs}, name)

            def improve(program: Program) -> Program:
                return optimise(program, self.optimise)

            candidates = [] if "algorithm" in options else plans(spec.rivals, self.mechanism.nv)
            if not candidates:
                return improve(write(options))
            by_plan = lambda plan, form: write({"algorithm": plan.algorithm}, form)  # noqa: E731 - short
            outcome = contest(candidates, by_plan, improve, lambda program: cost(program).operations)
            self._chosen[name] = f"{outcome.plan.algorithm}: {outcome.reason}"
            return outcome.program

        return build

    def _hints(self) -> dict[str, str]:
        """What to tell a caller who leaves out the parameters or the wrenches."""
        wrenches = f"one row [force; moment] for each of {', '.join(self.wrenches)}"
        numbers = f"pass parameters=, the values of {', '.join(self.parameter_names)} in this order"
        if self.mechanism.symbols:
            mend = (
                f"; or give the symbols of {self.mechanism.name!r} numbers for good: dalembert.substitute(mechanism, "
                "{name: value}), or, for the default values of a TOML description, load(..., parameters='default')"
            )
        else:
            mend = " (parameter_values has those of the mechanism)"
        return {"wrenches": wrenches, "parameters": numbers + mend}

    def _parts(self, inputs: tuple[Port, ...], outputs: tuple[Port, ...]) -> Parts | None:
        """The branches of the mechanism that the elements of the arrays belong to, if there are several."""
        from dalembert.compiler.cuda.crew import Parts

        tree = self.mechanism.tree
        q, v = coordinate_branches(tree)
        if len({*v} - {0}) < 2:
            return None
        links = (*branches(tree), 0)  # the world comes last: its index is -1
        loaded = [links[tree.carriers[self.mechanism.frame(name).body][0]] for name in self.wrenches]
        own = {
            "q": q,
            "wrenches": tuple(branch for branch in loaded for _ in range(6)),
            "parameters": (0,) * len(self.parameter_names),  # a change of one may concern all
        }

        def of(port: Port) -> tuple[int, ...]:
            return own[port.name] if port.name in own else element_branches(v, port.shape)

        return Parts(tuple(map(of, inputs)), tuple(map(of, outputs)))

    def _traced(self, values: Any) -> Mechanism:
        """The mechanism with its symbols replaced by traced scalars."""
        if values is None:
            return self.mechanism
        from dalembert.algebra.scalar import is_sympy
        from dalembert.compiler.printers.sympy import from_sympy

        own = [s for s in self._symbolic.symbols if s.name.startswith("parameter ")]
        own.sort(key=lambda s: int(s.name.split()[1]))
        table = dict(zip([*self.mechanism.symbols, *own], values))
        return map_scalars(self._symbolic, lambda x: from_sympy(x, table) if is_sympy(x) else x)

    def _digest(self, quantity: str, options: dict[str, Any]) -> str:
        told = (self.mechanism.digest, quantity, sorted(options.items(), key=str), self._addresses, self.wrenches)
        return hashlib.sha256(repr((*told, self.include, self.optimise)).encode()).hexdigest()

    def __repr__(self) -> str:
        extra = f", parameters={list(self.parameter_names)}" if self.parameter_names else ""
        return f"<Dynamics of {self.mechanism.name!r}: nq={self.mechanism.nq}, nv={self.mechanism.nv}{extra}>"


def _precision(dtype: Any) -> Any:
    """float32 or float64, however it is written, or None."""
    if dtype is None:
        return None
    try:
        found = np.dtype(dtype)
    except (TypeError, ValueError):
        found = np.dtype(object)
    if found not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise ArgumentError(f"Dynamics: dtype = {shown(dtype)}; choose numpy.float32, numpy.float64 or None")
    return found


class FrameQuantity:
    """A quantity of a frame as a function of the state, with the frame's options as keywords.

    Args:
        dynamics: gives the kernels.
        name: of the quantity.
    """

    def __init__(self, dynamics: Dynamics, name: str):
        self.dynamics, self.name = dynamics, name
        spec = ALL_QUANTITIES[name]
        self.__doc__ = f"{spec.doc} Options: {', '.join(spec.options)}."

    def __call__(self, *state: Any, out: Any = None, threads: int | None = None, **options: Any) -> Any:
        """Evaluate.

        Args:
            state: the inputs of the quantity, any batch shape.
            out: arrays to write to; made if None.
            threads: how many threads to use at most; CPU only.
            options: of the quantity, such as ``frame``; inputs may be given by name too.
        """
        inputs = ALL_QUANTITIES[self.name].inputs
        named = {k: options.pop(k) for k in list(options) if k in (*inputs, "wrenches", "parameters")}
        limits = {} if threads is None else {"threads": threads}
        return self.dynamics.kernel(self.name, **options)(*state, out=out, **named, **limits)

    def __repr__(self) -> str:
        spec = ALL_QUANTITIES[self.name]
        return f"<{self.name}({', '.join((*spec.inputs, *(f'{k}=' for k in spec.options)))})>"


def _say_what_is_left_out(mechanism: Mechanism) -> None:
    for items, what in ((mechanism.constraints, "loop closures and couplings"), (mechanism.forces, "force elements")):
        if items:
            names = ", ".join(repr(item.name) for item in items[:3]) + (", ..." if len(items) > 3 else "")
            warnings.warn(
                f"{mechanism.name!r} has {what} ({names}), which the kernels of Dynamics leave out: they are those of "
                "the open tree. ConstrainedDynamics has them; open_loops=True says that the open tree is meant",
                ModelWarning,
                stacklevel=3,
            )


def _check_addresses(mechanism: Mechanism, addresses: tuple[str, ...]) -> None:
    """Refuse what is no parameter, with a hint."""
    known = parameters(mechanism)
    for address in addresses:
        if address not in known:
            symbolise(mechanism, {address: 0.0})  # says which ones are near
