"""What kernels say of themselves, and what callers learn who leave something out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dalembert.dynamics.quantity import Quantity
from dalembert.dynamics.settings import names
from dalembert.tracing.program import Port

if TYPE_CHECKING:
    from dalembert.dynamics.kernel_table import KernelTable

FOREIGN_HINTS = {
    "torch": "TorchDynamics takes it, and passes derivatives on",
    "jax": "JaxDynamics takes it, and passes derivatives on",
    "cuda": "for which kernels are made by Dynamics(..., device='cuda')",
}
"""What errors of kernels add for arguments that are no arrays of NumPy."""


def documentation(dynamics: KernelTable, spec: Quantity, options: Mapping[str, Any], inputs: Sequence[Port]) -> str:
    """What a kernel computes, of what, and in which order its inputs come: all that exported source says of it."""
    chosen = "".join(f", {name} {value}" for name, value in options.items() if value is not None)
    lines = [spec.doc, f"Of {dynamics.mechanism.name!r}{chosen}."]
    if dynamics.include:
        lines.append(f"Included where they enter: {', '.join(dynamics.include)}.")
    orders = {"wrenches": dynamics.wrenches, "parameters": dynamics.parameter_names}
    lines += [f"{port.name}: {', '.join(orders[port.name])}." for port in inputs if port.name in orders]
    return " ".join(lines)


def hints(dynamics: KernelTable) -> dict[str, str]:
    """What errors of kernels add, by the argument that is missing or unknown."""
    wrenches = f"one row [force; moment] for each of {', '.join(dynamics.wrenches)}"
    if not dynamics.wrenches:
        wrenches = "name the frames first: Dynamics(mechanism, wrenches=['flange'])"
    numbers = f"pass parameters=, the values of {', '.join(dynamics.parameter_names)} in this order"
    mend = (
        f"; or give the symbols of {dynamics.mechanism.name!r} numbers for good: Dynamics(mechanism, parameters="
        "{name: value}), dalembert.substitute(mechanism, {name: value}), or, for the default values of a TOML "
        "description, load(..., parameters='default')"
    )
    if not dynamics.parameter_names:
        numbers, mend = "name the numbers that vary first: Dynamics(mechanism, parameters=['flange.mass'])", ""
    inputs = {"mechanism", "wrenches", "parameters", "dtype"}
    settings = {
        name: f"that is a setting of all kernels: Dynamics(mechanism, {name}=...)"
        for name in names()
        if name not in inputs
    }
    return {"wrenches": wrenches, "parameters": numbers + mend, **FOREIGN_HINTS, **settings}
