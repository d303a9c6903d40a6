"""Further kernels of a mechanism, made from the programs of its dynamics."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from dalembert.algebra.scalar import Array
from dalembert.compiler.kernel import Kernel
from dalembert.compiler.program import Port, Program
from dalembert.dynamics import Dynamics

_made: WeakKeyDictionary[Dynamics, dict[Any, Kernel]] = WeakKeyDictionary()


def input_ports(dynamics: Dynamics, names: Sequence[str]) -> tuple[Port, ...]:
    """The named inputs that this mechanism has: q, everything of nv entries, wrenches and parameters if it has any.

    Args:
        dynamics: the mechanism.
        names: in calling order.
    """
    m = dynamics.mechanism
    ports = []
    for name in names:
        if name == "wrenches":
            if dynamics.wrenches:
                ports.append(Port(name, (len(dynamics.wrenches), 6)))
        elif name == "parameters":
            if dynamics.parameter_names:
                ports.append(Port(name, (len(dynamics.parameter_names),)))
        else:
            ports.append(Port(name, (m.nq if name == "q" else m.nv,)))
    return tuple(ports)


def state_kernel(
    dynamics: Dynamics,
    name: str,
    inputs: Sequence[str],
    size: int,
    function: Callable[[Dynamics, dict[str, Array]], Array],
) -> Kernel:
    """A kernel with one output vector; made once for each Dynamics, its code kept on disk as that of all kernels.

    Args:
        dynamics: the mechanism.
        name: of the kernel and its output; with the mechanism it must determine the function.
        inputs: names of the inputs, in calling order.
        size: of the output.
        function: of the dynamics and the traced inputs by name.
    """
    store = _made.setdefault(dynamics, {})
    if name not in store:
        ports = input_ports(dynamics, inputs)

        def program() -> Program:
            return traced(dynamics, name, ports, function)

        store[name] = Kernel(name, ports, (Port(name, (size,)),), program, key=digest(dynamics, name))
    return store[name]


def traced(
    dynamics: Dynamics, name: str, ports: Sequence[Port], function: Callable[[Dynamics, dict[str, Array]], Array]
) -> Program:
    """The program of such a function; its parts are optimised already, so only repetitions are removed.

    Args:
        dynamics: the mechanism.
        name: of the program and its output.
        ports: its inputs.
        function: of the dynamics and the traced inputs by name.
    """
    from dalembert.compiler.passes import rebuild
    from dalembert.compiler.trace import trace

    def compute(*arrays: Any) -> dict[str, Any]:
        return {name: function(dynamics, dict(zip((p.name for p in ports), arrays)))}

    return rebuild(trace(compute, {p.name: p.shape for p in ports}, name))


def digest(dynamics: Dynamics, *what: object) -> str:
    """A name for something that a mechanism, the options of its dynamics and ``what`` determine.

    Args:
        dynamics: the mechanism.
        what: anything with a faithful ``repr``.
    """
    return hashlib.sha256(repr((dynamics.kernel("forward_dynamics").key, what)).encode()).hexdigest()
