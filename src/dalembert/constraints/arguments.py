"""What users give to a constrained system, checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dalembert.errors import ArgumentError, UnsupportedError
from dalembert.model import Mechanism
from dalembert.model.checks import expect_choice, expect_names, real_array
from dalembert.model.names import velocity_names
from dalembert.model.singularity import WHY, singular_motions


def single(state: tuple[Any, ...]) -> bool:
    """True if all arrays among the inputs, the first being one of them, have single precision.

    Args:
        state: the inputs of a kernel.
    """
    if not (state and isinstance(state[0], np.ndarray) and state[0].dtype == np.float32):
        return False
    return all(x.dtype == np.float32 for x in state if isinstance(x, np.ndarray))


def chosen_method(mechanism: Mechanism, method: str | None, methods: Sequence[str]) -> str:
    """How kernels find accelerations: by multipliers, unless something without mass is held by constraints only.

    Args:
        mechanism: the mechanism.
        method: what the user gave; None to choose.
        methods: those there are.
    """
    idle = singular_motions(mechanism)
    if method is None:
        return "projection" if idle else "multipliers"
    expect_choice(method, methods, "ConstrainedDynamics, method")
    if idle and method == "multipliers":
        raise UnsupportedError(
            f"{mechanism.name!r}: multipliers need a regular inertia matrix of the open tree, but "
            + idle[0].removesuffix(f": {WHY}"),
            argument="method",
            value="projection",
            remedy="use {setting}, the default here",
        )
    return method


def refuse_devices(dtype: Any, device: str) -> None:
    """What kernels of the open tree offer and those of constrained systems do not, with what does the same here.

    Args:
        dtype: what the user gave; None computes states of single precision in it and all others in double.
        device: what the user gave.
    """
    if expect_choice(device, ("cpu", "cuda"), "ConstrainedDynamics: device =") == "cuda":
        raise UnsupportedError(
            "ConstrainedDynamics chooses rows and assembles with NumPy, on the processor. On a card, "
            "rollout(..., device='cuda') moves constrained mechanisms, and export(quantity, 'cuda') writes kernels"
        )
    if dtype is not None:
        raise UnsupportedError(
            "ConstrainedDynamics has no precision of its own, since rows are chosen in double precision. Kernels "
            "compute float32 states in float32, or any state so with forward_dynamics(..., dtype='float32')"
        )


def independent_speeds(mechanism: Mechanism, method: str, independent: Sequence[str] | None) -> tuple[str, ...] | None:
    """Names of joints or velocities, each of them checked; None if none were chosen.

    Args:
        mechanism: has the joints.
        method: of the kernels; only projection has independent speeds.
        independent: what the user gave.
    """
    if independent is None:
        return None
    names = tuple(expect_names(independent, "ConstrainedDynamics, independent"))
    velocities_named(mechanism, names, "ConstrainedDynamics, independent")
    if method != "projection":
        raise ArgumentError(f"ConstrainedDynamics: the method {method!r} has no independent speeds, 'projection' has")
    return names


def velocities_named(mechanism: Mechanism, names: Sequence[str], where: str) -> list[int]:
    """Where the velocities of these names lie in v; the name of a joint stands for all of its velocities.

    Args:
        mechanism: the mechanism.
        names: of velocities or joints.
        where: they were given, for the message.
    """
    known = velocity_names(mechanism)
    found: list[int] = []
    joints = {joint.name for joint in mechanism.joints}
    for name in names:
        if name in joints:
            part = mechanism.v_slice(name)
            found += range(part.start, part.stop)
        elif name in known:
            found.append(known.index(name))
        else:
            raise ArgumentError(
                f"{where}: {mechanism.name!r} has no joint {name!r} and no velocity of that name; its velocities are "
                f"{', '.join(known)}"
            )
    return found


def values_of_symbols(mechanism: Mechanism, parameters: Any) -> np.ndarray:
    """One number for every symbol, or none at all.

    Args:
        mechanism: has the symbols.
        parameters: numbers by name, or in the order of the symbols; None for none.
    """
    where, symbols = "ConstrainedDynamics, parameters", [symbol.name for symbol in mechanism.symbols]
    if isinstance(parameters, Mapping):
        named = {str(name): x for name, x in parameters.items()}
        if missing := [name for name in symbols if name not in named]:
            raise ArgumentError(f"{where}: there is no value for {', '.join(missing)}")
        if other := [name for name in named if name not in symbols]:
            raise ArgumentError(f"{where}: {mechanism.name!r} has no symbol {', '.join(other)}")
        parameters = [named[name] for name in symbols]
    values = real_array(() if parameters is None else parameters, where)
    if values.shape not in ((0,), (len(symbols),)):
        raise ArgumentError(
            f"{where}: expected {len(symbols)} numbers ({', '.join(symbols) or 'there are no symbols'}), got shape "
            f"{values.shape}"
        )
    return values
