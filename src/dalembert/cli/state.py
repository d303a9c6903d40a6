"""A state, forces and terms of a mechanism from the arguments of a command."""

from __future__ import annotations

import argparse
import fnmatch
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dalembert.cli.options import by_name, number
from dalembert.errors import ArgumentError, ModelWarning

if TYPE_CHECKING:
    import numpy as np

    from dalembert.dynamics import Dynamics
    from dalembert.model import Mechanism

TERMS = ("armature", "damping", "friction")
"""Of the joints, those that enter when asked for."""

STARTS = 20
"""From how many positions loops are closed before giving up."""

Given = list[tuple[str, tuple[float, ...]]]
"""Numbers by name of a joint, or all of them under an empty name."""


def add_state(parser: argparse.ArgumentParser, velocity: bool = True) -> None:
    """--q, --v, --include, --constraints and --elements."""
    what = "or all numbers with commas (90deg, pi/2 work too); may be repeated"
    group = parser.add_argument_group("the state")
    group.add_argument(
        "--q",
        type=numbers,
        action="append",
        default=[],
        metavar="...",
        help=f"positions in rad or m: JOINT=VALUE, also '*_knee=VALUE', {what} (default: neutral)",
    )
    if velocity:
        group.add_argument(
            "--v",
            type=numbers,
            action="append",
            default=[],
            metavar="...",
            help=f"velocities in rad/s or m/s: JOINT=VALUE, a single one such as base.vx=VALUE, {what} (default: zero)",
        )
    add_acting(group)


def add_acting(group: Any) -> None:
    """--constraints, --elements and --include: what acts in the mechanism."""
    group.add_argument(
        "--constraints",
        metavar="NAME",
        action="append",
        help="a constraint that holds, or all (default), or none; may be repeated",
    )
    add_elements(group)


def add_elements(group: Any) -> None:
    """--elements and --include."""
    group.add_argument(
        "--elements",
        metavar="NAME",
        action="append",
        help="a force element that acts, or all (default), or none; may be repeated",
    )
    group.add_argument(
        "--include",
        type=term,
        choices=TERMS,
        action="append",
        default=[],
        help="a term of the joints that acts; may be repeated",
    )


def term(text: str) -> str:
    """A term of the joints; whoever means a force element is sent to its own option."""
    if text not in TERMS:
        raise argparse.ArgumentTypeError(f"choose among {', '.join(TERMS)}, not {text!r}; force elements: --elements")
    return text


def numbers(text: str) -> tuple[str, tuple[float, ...]]:
    """``JOINT=1.5``, ``JOINT=1,2,3`` or ``1,90deg,pi``: a name, or an empty one, and finite numbers."""
    name, equals, values = text.rpartition("=")
    if "=" in name and "," in name:
        raise argparse.ArgumentTypeError(f"{text!r}: repeat the option for every joint, such as --q a=0.1 --q b=0.2")
    try:
        found = tuple(number(value) for value in values.replace(",", " ").split())
    except ValueError:
        found = ()
    if not found or bool(equals) != bool(name.strip()):
        raise argparse.ArgumentTypeError(
            f"{text!r} is neither JOINT=VALUE nor numbers with commas, such as 0.1,-0.2 or 30deg,pi/2"
        )
    return name.strip(), found


def vector(given: Given, what: str, mechanism: Mechanism) -> Any:
    """What ``simulate`` and others take: None, numbers, or numbers by joint; ``*_knee`` names several."""
    if not given:
        return None
    whole = [values for name, values in given if not name]
    if whole and len(given) > 1:
        raise ArgumentError(f"give {what} either once with all numbers, or once for every joint")
    if whole:
        return list(whole[0])
    known = [joint.name for joint in mechanism.joints if joint.nv and joint.mimic is None]
    named = [
        (name, list(values), fnmatch.filter(known, name) if set("*?[") & set(name) else []) for name, values in given
    ]
    for name, _, found in named:
        if "*" in name and not found:
            raise ArgumentError(f"{what} {name}: no joint has such a name; they are {', '.join(known)}")
    several = {joint: values for _, values, found in named for joint in found}
    return several | by_name(((name, values) for name, values, found in named if not found), what)


def dynamics_of(
    mechanism: Mechanism,
    include: Sequence[str],
    constraints: Sequence[str] | None,
    elements: Sequence[str] | None,
    near: Any = None,
    **more: Any,
) -> Dynamics:
    """The dynamics of a mechanism, with loops and force elements where it has them.

    Args:
        include: terms of the joints that act.
        constraints: constraints that hold, all by default.
        elements: force elements that act, all by default.
        near: positions as :func:`vector` gives them, around which kernels with constraints choose their rows.
        more: other options of :class:`~dalembert.dynamics.Dynamics`.
    """
    from dalembert.dynamics import Dynamics
    from dalembert.simulation.state import as_position

    return Dynamics(
        mechanism,
        constraints=acting(constraints),
        elements=acting(elements),
        include=include,
        reference=as_position(mechanism, near),
        **more,
    )


def acting(names: Sequence[str] | None) -> Sequence[str] | str:
    """Constraints or force elements as :class:`~dalembert.dynamics.Dynamics` takes them.

    Args:
        names: of an option: those that act, or all, or none; all if it was not given.
    """
    return "all" if names in (None, ["all"]) else () if names == ["none"] else list(names or ())


def tree_of(mechanism: Mechanism, **options: Any) -> Dynamics:
    """The dynamics of the open tree, with a warning if that leaves something out.

    Args:
        options: of :class:`~dalembert.dynamics.Dynamics`.
    """
    from dalembert.dynamics import Dynamics

    left_out = [repr(x.name) for x in mechanism.constraints] + [repr(x.name) for x in mechanism.forces]
    if left_out:
        names = ", ".join(left_out[:3]) + (", ..." if len(left_out) > 3 else "")
        warnings.warn(
            f"{mechanism.name!r} has constraints or force elements ({names}), which are left out here: numbers are "
            "those of the open tree. simulate, linearize and export have them",
            ModelWarning,
            stacklevel=2,
        )
    return Dynamics(mechanism, constraints=(), elements=(), **options)


def tidy(values: Sequence[float], digits: int = 5) -> list[str]:
    """Numbers of one column; what is nothing beside the largest is written as 0."""
    least = 1e-11 * max((abs(x) for x in values), default=0.0)
    return [f"{0.0 if abs(x) <= least else x:.{digits}g}" for x in values]


def start(system: Dynamics, q: Any, v: Any) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Positions and velocities that satisfy the constraints, and what was done to get there.

    Args:
        q: positions as :func:`vector` gives them; those of named joints are kept while loops are closed.
        v: velocities, likewise.
    """
    import numpy as np

    from dalembert.simulation.state import as_position, as_velocity

    model = system.mechanism
    position, velocity = as_position(model, q), as_velocity(model, v)
    if not system.rows:
        return position, velocity, []
    given_whole = q is not None and not isinstance(q, dict)
    closed = system.assemble(position) if given_whole else _assembled(system, position, list(q or ()))
    moving = _projected(system, closed, velocity, list(v) if isinstance(v, dict) else [])
    remarks = []
    moved = [j.name for j in model.joints if j.nq and np.abs((closed - position)[model.q_slice(j.name)]).max() > 1e-9]
    if moved:
        remarks.append(f"moved to where the loops close: {', '.join(moved)}")
    if np.abs(moving - velocity).max(initial=0) > 1e-9:
        remarks.append("velocities were changed to those that the constraints allow")
    return closed, moving, remarks


def _projected(system: Dynamics, q: np.ndarray, v: np.ndarray, named: list[str]) -> np.ndarray:
    """Velocities that the constraints allow, with those of the named joints, or single ones, held."""
    from dalembert.errors import SingularityError
    from dalembert.model.names import velocity_names

    model = system.mechanism
    whole = [name for name in named if any(joint.name == name for joint in model.joints)]
    try:
        return system.project_velocity(q, v, keep=named)
    except SingularityError as error:
        parts = [velocity_names(model)[model.v_slice(name)] for name in whole]
        several = next((part for part in parts if len(part) > 1), None)
        if several is None:
            raise
        hint = f"--v {several[0]}=... gives a single velocity and leaves the others to the constraints"
        raise SingularityError(f"{error}\n{hint}") from error


def _assembled(system: Dynamics, guess: np.ndarray, named: list[str]) -> np.ndarray:
    """Loops closed with as many of the named joints held as possible, those named first before others.

    Positions that nobody gave are neutral, and there links often lie in one line, where no direction leads to an
    assembly; so other starts follow, the same ones every time.
    """
    import numpy as np

    from dalembert.errors import DalembertError
    from dalembert.kinematics.manifold import moved

    model = system.mechanism
    failures: list[DalembertError] = []
    for count in range(len(named), -1, -1):
        held = named[:count]
        free = np.ones(model.nv)
        for name in held:
            free[model.v_slice(name)] = 0
        rng = np.random.default_rng(0)
        for trial in range(STARTS):
            try:
                step = (trial > 0) * free * rng.normal(size=model.nv)
                return system.assemble(moved(model.tree, guess, step), keep=held)
            except DalembertError as error:  # too much is held, or this start leads nowhere
                failures.append(error)
    raise failures[-STARTS]  # of the start that was meant, nothing held
