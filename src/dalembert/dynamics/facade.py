"""The dynamics of a mechanism as kernels.

    dyn = Dynamics(arm)
    tau = dyn.inverse_dynamics(q, v, a)      # any batch shape (..., nv)

Each quantity is traced on first use with the mechanism's numbers folded in and compiled for this machine; the result
is kept on disk, so that the next start does not compile again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence, Set
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.algorithms.selection import plans, select_algorithm
from dalembert.dynamics.arrays import parts, ports
from dalembert.dynamics.building import Form, build_program
from dalembert.dynamics.frame_quantity import FrameQuantity
from dalembert.dynamics.parameters import Parameters
from dalembert.dynamics.words import kernel_doc, missing_input_hints, warn_of_open_loops
from dalembert.errors import ArgumentError
from dalembert.model import Mechanism
from dalembert.model.checks import expect, expect_choice, expect_items, expect_path, shown
from dalembert.native.arguments import precision
from dalembert.native.kernel import Kernel
from dalembert.quantities import ALL_QUANTITIES, Quantity, Setting, nonzeros
from dalembert.quantities.options import chosen_options
from dalembert.quantities.stages import STAGES
from dalembert.tracing.cost import Cost
from dalembert.tracing.program import Port, Program

if TYPE_CHECKING:  # imported when a device is asked for
    from dalembert.cuda.crew import Parts
    from dalembert.cuda.kernel import CudaKernel
    from dalembert.cuda.stages import Stage


SETTINGS = frozenset({"mechanism", "parameters", "wrenches", "include", "dtype", "device", "optimise"})
"""What kernels are made from; fixed, so that those made early and late agree."""


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
        parameters, wrenches = _names("parameters", parameters), _names("wrenches", wrenches)
        self.mechanism = mechanism
        if not expect(open_loops, bool, "Dynamics, open_loops"):
            warn_of_open_loops(mechanism)
        self.wrenches = wrenches
        for name in self.wrenches:
            mechanism.frame(name)
        self.include = _names("include", include, ordered=False)
        Setting(mechanism, self.include).joints  # noqa: B018 - raises for an unknown term
        self.dtype = precision("Dynamics", dtype)
        self.device = expect_choice(device, ("cpu", "cuda"), "Dynamics: device =")
        if type(optimise) is not int or optimise not in (0, 1, 2):
            raise ArgumentError(f"Dynamics: optimise = {shown(optimise)}; choose 0, 1 or 2")
        self.optimise = optimise
        self._parameters = Parameters(mechanism, parameters)
        self._kernels: dict[tuple[Any, ...], Kernel | CudaKernel] = {}
        self._chosen: dict[str, str] = {}  # quantity -> algorithm and reason, where its programs were compared

    # ------------------------------------------------------------------------------------------------------ parameters

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """What the input ``parameters`` consists of: the mechanism's symbols, then the named addresses.

        A symbol that occurs nowhere but in the named numbers is not among them: it would change nothing.
        """
        return self._parameters.names

    @property
    def parameter_values(self) -> np.ndarray:
        """Present values of the named addresses; symbols, and what depends on them, have none and are NaN."""
        return self._parameters.values

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
            inputs, outputs = ports(self.mechanism, spec, chosen, self.wrenches, self.parameter_names)
            thunk = self._thunk(quantity, spec, chosen, inputs, outputs)
            doc = kernel_doc(self.mechanism, spec, chosen, self.include, self._orders, inputs)
            if self.device == "cuda":
                from dalembert.cuda.kernel import CudaKernel

                parts = self._parts(inputs, outputs)
                steps = self._stages(quantity)
                made: Any = CudaKernel(quantity, inputs, outputs, thunk, self.dtype, doc, parts, steps)
            else:
                digest = self._digest(quantity, chosen)
                made = Kernel(quantity, inputs, outputs, thunk, digest, self.dtype, doc)
            made.arguments.hints.update(missing_input_hints(self.mechanism, self._orders))
            self._kernels[key] = made
        return self._kernels[key]

    def __getattr__(self, name: str) -> Any:
        spec = ALL_QUANTITIES.get(name)
        if spec is None:
            raise AttributeError(f"Dynamics has no attribute {name!r}; quantities are {', '.join(ALL_QUANTITIES)}")
        found = self.kernel(name) if not spec.options else FrameQuantity(self, name)
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
        return sorted({*super().__dir__(), *ALL_QUANTITIES})

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
        from dalembert.tracing.cost import cost

        return cost(self.program(quantity, **options))

    def export(
        self, quantity: str, language: str, path: str | Path | None = None, name: str | None = None, **options: Any
    ) -> str:
        """Source code of a quantity.

        Args:
            quantity: a name of :data:`~dalembert.quantities.ALL_QUANTITIES`.
            language: ``"c"``, ``"c-simd"``, ``"cuda"``, ``"python"``, ``"javascript"``, ``"latex"`` or ``"llvm"``.
            path: file to write, or a folder, which is made if its name ends in a slash; for C and CUDA a header of the
                same name is written beside it.
            name: of the function; that of the quantity by default.
            options: as for :meth:`kernel`.
        """
        from dalembert.export import export

        expect(language, str, "export, language")
        if path is not None:
            expect_path(path, "export, path")  # goes on as it is: a slash at its end says that it is a folder
        kernel = self.kernel(quantity, **options)
        if language != "cuda":
            return export(kernel, language, path, name, entries={"parameters": self.parameter_names})
        return export(kernel, language, path, name, self._parts(kernel.inputs, kernel.outputs), self._stages(quantity))

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

    def _thunk(
        self, name: str, spec: Quantity, options: dict[str, Any], inputs: tuple[Port, ...], outputs: tuple[Port, ...]
    ) -> Callable[[], Program]:
        def build() -> Program:
            program, chosen = build_program(
                name, spec, options, inputs, outputs, self._setting, self.optimise, self.mechanism.nv
            )
            if chosen:
                self._chosen[name] = chosen
            return program

        return build

    def _stages(self, quantity: str) -> Callable[[], list[Stage]] | None:
        """The quantity as programs that follow each other, if it is worth dividing."""
        if quantity not in STAGES:
            return None
        from dalembert.dynamics.stages import stages

        def build(name: str, spec: Quantity, inputs: tuple[Port, ...], outputs: tuple[Port, ...]) -> Program:
            return self._thunk(name, spec, {}, inputs, outputs)()

        return lambda: stages(self.mechanism, STAGES[quantity], self.wrenches, self.parameter_names, build)

    def _setting(self, options: dict[str, Any], given: dict[str, Any], form: Form) -> Setting:
        """What is traced: the mechanism and all that acts on it, with traced scalars for the inputs."""
        from dalembert.tracing.derivatives import forward

        wrenches = dict(zip(self.wrenches, given.get("wrenches", ())))
        traced = self._parameters.traced(given.get("parameters"))
        return Setting(traced, self.include, options, wrenches, forward, form)

    @property
    def _orders(self) -> dict[str, tuple[str, ...]]:
        """What the rows of the inputs beyond the state belong to."""
        return {"wrenches": self.wrenches, "parameters": self.parameter_names}

    def _parts(self, inputs: tuple[Port, ...], outputs: tuple[Port, ...]) -> Parts | None:
        return parts(self.mechanism, inputs, outputs, self.wrenches)

    def _digest(self, quantity: str, options: dict[str, Any]) -> str:
        told = (self.mechanism.digest, quantity, sorted(options.items(), key=str), self._parameters.addresses)
        return hashlib.sha256(repr((*told, self.wrenches, self.include, self.optimise)).encode()).hexdigest()

    def __repr__(self) -> str:
        told: dict[str, Any] = {"nq": self.mechanism.nq, "nv": self.mechanism.nv}
        lists = {"parameters": self.parameter_names, "wrenches": self.wrenches, "include": self.include}
        told |= {name: list(names) for name, names in lists.items() if names}
        told |= {} if self.dtype is None else {"dtype": self.dtype}
        told |= {} if self.device == "cpu" else {"device": self.device}
        return f"<Dynamics of {self.mechanism.name!r}: {', '.join(f'{name}={value}' for name, value in told.items())}>"


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
