"""Kernels of one's own: of a Python function, of SymPy expressions, of a CasADi function, of a program.

    pendulum = da.kernel(lambda q, m: m * 9.81 * np.sin(q), {"q": (), "m": ()}, wrt="q")
    torque, stiffness = pendulum(angles, 2.0)

What comes out is compiled like every quantity of ``Dynamics``: for batches, on the processor or a CUDA device, and it
can be exported to every language of :data:`dalembert.export.LANGUAGES`. A kernel that the function calls, such as a
quantity of a ``Dynamics``, becomes part of it:

    dyn = da.Dynamics(arm)
    step = da.kernel(lambda q, v: dyn.forward_dynamics(q, v, -10 * v), {"q": (arm.nq,), "v": (arm.nv,)})
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.errors import ArgumentError
from dalembert.native.arguments import named_tuple
from dalembert.native.cache import digest
from dalembert.native.kernel import Kernel
from dalembert.tracing.program import Program, derivative_ports

DEVICES = ("cpu", "cuda")


def kernel(
    what: Any,
    inputs: Mapping[str, Any] | Sequence[Any] | None = None,
    *,
    wrt: str | Sequence[str] = (),
    name: str | None = None,
    outputs: str | Sequence[str] | None = None,
    device: str = "cpu",
    dtype: Any = None,
    optimise: int = 1,
) -> Any:
    """Compile a function, expressions of SymPy, a function of CasADi or a program.

    Args:
        what: a Python function over scalars, called with an object array for each input (a scalar for shape ``()``),
            twice, to see that it is neither random nor keeps a state; or a SymPy expression, an array or ``Matrix`` of
            them, or a dict of these by output; or a ``casadi.Function``; or a program.
        inputs: of a Python function the shape of each input, by name; of SymPy expressions their symbols, each an input
            of its own, or arrays of symbols by the name of the input. The others have their own.
        wrt: names of inputs. After the outputs, the kernel gives the derivative of each output by each of them; it has
            the shape of the output, then that of the input.
        name: of the kernel; by default that of the function.
        outputs: names of what a Python function returns or of the SymPy expression; not if these come in a dict.
        device: ``"cpu"``, or ``"cuda"``: the kernel then takes and gives arrays on the device.
        dtype: float64 or float32 to compute in one precision always; by default the arguments decide.
        optimise: 0 to 2, how hard to look for operations to save.

    Returns:
        A :class:`~dalembert.native.kernel.Kernel`, or on a device a :class:`~dalembert.cuda.kernel.CudaKernel`. Several
        results are a named tuple.
    """
    if device not in DEVICES:
        raise ArgumentError(f"kernel: device = {device!r}; choose one of {', '.join(DEVICES)}")
    if type(optimise) is not int or optimise not in (0, 1, 2):
        raise ArgumentError(f"kernel: optimise = {optimise!r}; choose 0, 1 or 2")
    program = _program(what, inputs, name, outputs)
    by = (wrt,) if isinstance(wrt, str) else tuple(wrt)
    results = (*program.outputs, *derivative_ports(program, by))
    key = digest("composed", program.digest, by, optimise)

    def whole() -> Program:
        from dalembert.tracing.calls import expanded
        from dalembert.tracing.derivatives import jacobians
        from dalembert.tracing.passes import optimise as improve

        found = expanded(program)
        return improve(jacobians(found, by) if by else found, optimise)

    doc = str(getattr(what, "__doc__", "") or "") if callable(what) and not _is_casadi(what) else ""
    if device == "cuda":
        from dalembert.cuda.kernel import CudaKernel

        made: Any = CudaKernel(program.name, program.inputs, results, whole, dtype, doc, key=key)
    else:
        made = Kernel(program.name, program.inputs, results, whole, key, dtype, doc)
    if len(results) > 1:
        made.result = named_tuple(program.name, tuple(port.name for port in results))
    return made


def from_casadi(function: Any, **options: Any) -> Any:
    """The kernel of a ``casadi.Function`` of SX, or of MX if it expands.

    A column becomes a vector, a matrix of one element a scalar.

    Args:
        function: the function.
        options: ``wrt``, ``name``, ``device``, ``dtype`` and ``optimise`` of :func:`kernel`.
    """
    from dalembert.tracing.casadi import require_casadi

    casadi = require_casadi("a kernel of a CasADi function")
    if not isinstance(function, casadi.Function):
        raise ArgumentError(f"from_casadi takes a casadi.Function, got {type(function).__name__}; da.kernel takes more")
    return kernel(function, **options)


def _program(what: Any, inputs: Any, name: str | None, outputs: Any) -> Program:
    """The program of whatever was given."""
    if isinstance(what, Program) or _is_casadi(what):
        if inputs is not None or outputs is not None:
            raise ArgumentError(f"a {type(what).__name__} has its own inputs and outputs; leave out inputs and outputs")
        if isinstance(what, Program):
            program = what
        else:
            from dalembert.tracing.casadi import from_casadi as read

            program = read(what)
        return replace(program, name=name) if name else program
    if callable(what) and not _is_symbolic(what):
        from dalembert.tracing.trace import repeatable, trace_with_calls

        if inputs is None:
            raise ArgumentError("kernel: a Python function needs inputs=, a dict of shapes by name such as {'q': (3,)}")
        return repeatable(
            lambda: trace_with_calls(what, inputs, name, outputs),
            f"kernel: {getattr(what, '__name__', type(what).__name__)}",
            "its inputs",
            "draw random numbers with da.random, and make whatever the function remembers an input",
        )
    if _is_symbolic(what):
        return _program_of_expressions(what, inputs, name, outputs)
    raise ArgumentError(
        f"kernel takes a Python function, SymPy expressions, a casadi.Function or a Program, got {type(what).__name__}"
    )


def _program_of_expressions(what: Any, inputs: Any, name: str | None, outputs: Any) -> Program:
    from dalembert.tracing.sympy import from_sympy
    from dalembert.tracing.trace import trace

    if not inputs:
        raise ArgumentError("kernel: SymPy expressions need inputs=, their symbols in order or arrays of them by name")
    named = dict(inputs) if isinstance(inputs, Mapping) else {str(symbol): symbol for symbol in inputs}
    symbols = {port: _array(given) for port, given in named.items()}

    def compute(*arrays: Any) -> Any:
        scalars = {s: x for port, array in zip(symbols, arrays) for s, x in _pairs(symbols[port], array)}
        if isinstance(what, Mapping):
            return {output: from_sympy(expressions, scalars) for output, expressions in what.items()}
        return from_sympy(what, scalars)

    return trace(compute, {port: array.shape for port, array in symbols.items()}, name or "expressions", outputs)


def _pairs(symbols: np.ndarray, scalars: Any) -> list[tuple[Any, Any]]:
    return list(zip(symbols.flat, np.asarray(scalars, dtype=object).flat))


def _array(given: Any) -> np.ndarray:
    """Symbols as an array; a column of SymPy is a vector."""
    if hasattr(given, "tolist") and hasattr(given, "shape") and not isinstance(given, np.ndarray):
        shape = given.shape[:1] if len(given.shape) == 2 and given.shape[1] == 1 else given.shape
        return np.array(given.tolist(), dtype=object).reshape(shape)
    return np.array(given, dtype=object)


def _is_casadi(what: Any) -> bool:
    casadi = sys.modules.get("casadi")
    return casadi is not None and isinstance(what, casadi.Function)


def _is_symbolic(what: Any) -> bool:
    """Whether this is a SymPy expression, or holds some."""
    sympy = sys.modules.get("sympy")
    if sympy is None or isinstance(what, type):
        return False
    if isinstance(what, Mapping):
        return any(_is_symbolic(each) for each in what.values())
    if isinstance(what, (list, tuple, np.ndarray)):
        return any(_is_symbolic(each) for each in np.array(what, dtype=object).flat)
    return isinstance(what, (sympy.Basic, sympy.MatrixBase))
