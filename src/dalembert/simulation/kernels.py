"""Further kernels of a mechanism, made from the programs of its dynamics."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dalembert.algebra.arrays import Array
from dalembert.compiler.kernel import Kernel
from dalembert.compiler.program import Port, Program
from dalembert.simulation.stabiliser import Stabiliser

Traceable = Callable[[Stabiliser, dict[str, Array]], Array]
"""A function of a system and its traced inputs by name."""


def input_ports(system: Stabiliser, names: Sequence[str]) -> tuple[Port, ...]:
    """The named inputs that this system has: q, everything of nv entries; wrenches, time and parameters if it has any.

    Args:
        system: what moves.
        names: in calling order.
    """
    m, dynamics = system.mechanism, system.dynamics
    shapes = {
        "q": (m.nq,),
        "wrenches": (len(dynamics.wrenches), 6) if dynamics.wrenches else None,
        "t": None if dynamics.is_tree else (),
        "parameters": (len(dynamics.parameter_names),) if dynamics.parameter_names else None,
    }
    found = [(name, shapes.get(name, (m.nv,))) for name in names]
    return tuple(Port(name, shape) for name, shape in found if shape is not None)


def state_kernel(system: Stabiliser, name: str, inputs: Sequence[str], size: int, function: Traceable) -> Kernel:
    """A kernel with one output vector; made once for each system, its code kept on disk as that of all kernels.

    Args:
        system: what moves.
        name: of the kernel and its output; with the system it must determine the function.
        inputs: names of the inputs, in calling order.
        size: of the output.
        function: what to compute.
    """
    if name not in system.made:
        ports = input_ports(system, inputs)

        def program() -> Program:
            from dalembert.compiler.passes import rebuild
            from dalembert.compiler.trace import trace

            def compute(*arrays: Any) -> dict[str, Any]:
                return {name: function(system, dict(zip((p.name for p in ports), arrays)))}

            return rebuild(trace(compute, {p.name: p.shape for p in ports}, name))  # its parts are optimised already

        key = system.digest("part", name)
        dtype = system.dynamics.dtype
        system.made[name] = Kernel(name, ports, (Port(name, (size,)),), program, key=key, dtype=dtype)
    return system.made[name]
