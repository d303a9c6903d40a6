"""What kernels of a mechanism say of themselves: their documentation, hints for missing inputs, what they leave out."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from dalembert.errors import ModelWarning
from dalembert.model import Mechanism
from dalembert.quantities import Quantity
from dalembert.tracing.program import Port

Orders = Mapping[str, Sequence[str]]
"""What the rows of the inputs beyond the state belong to, by input."""

FOREIGN_HINTS = {
    "torch": "TorchDynamics takes it, and passes derivatives on",
    "jax": "JaxDynamics takes it, and passes derivatives on",
    "cuda": "for which kernels are made by Dynamics(..., device='cuda')",
    "mapping": "q_slice(joint) and v_slice(joint) of the mechanism say where a joint has its numbers",
}
"""What errors of kernels add for arguments that are no arrays of NumPy."""


def kernel_doc(
    mechanism: Mechanism,
    spec: Quantity,
    options: Mapping[str, Any],
    include: Sequence[str],
    orders: Orders,
    inputs: Sequence[Port],
) -> str:
    """What a kernel computes, of what, and in which order its inputs come: all that exported source says of it."""
    chosen = "".join(f", {name} {value}" for name, value in options.items() if value is not None)
    told = [spec.doc, f"Of {mechanism.name!r}{chosen}."]
    if include:
        told.append(f"Included where they enter: {', '.join(include)}.")
    told += [f"{port.name}: {', '.join(orders[port.name])}." for port in inputs if port.name in orders]
    return " ".join(told)


def missing_input_hints(mechanism: Mechanism, orders: Orders) -> dict[str, str]:
    """What to tell a caller who leaves out the parameters or the wrenches."""
    wrenches = f"one row [force; moment] for each of {', '.join(orders['wrenches'])}"
    numbers = f"pass parameters=, the values of {', '.join(orders['parameters'])} in this order"
    if mechanism.symbols:
        mend = (
            f"; or give the symbols of {mechanism.name!r} numbers for good: dalembert.substitute(mechanism, "
            "{name: value}), or, for the default values of a TOML description, load(..., parameters='default')"
        )
    else:
        mend = " (parameter_values has those of the mechanism)"
    return {"wrenches": wrenches, "parameters": numbers + mend, **FOREIGN_HINTS}


def warn_of_open_loops(mechanism: Mechanism) -> None:
    """Say which constraints and force elements kernels of the open tree leave out."""
    for items, what in ((mechanism.constraints, "loop closures and couplings"), (mechanism.forces, "force elements")):
        if items:
            names = ", ".join(repr(item.name) for item in items[:3]) + (", ..." if len(items) > 3 else "")
            warning = ModelWarning(
                f"{mechanism.name!r} has {what} ({names}), which the kernels of Dynamics leave out: they are those of "
                "the open tree",
                argument="open_loops",
                value=True,
                remedy="ConstrainedDynamics has them; {setting} says that the open tree is meant",
            )
            warnings.warn(warning, stacklevel=3)
