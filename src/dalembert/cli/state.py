"""A state, forces and terms of a mechanism from the arguments of a command."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dalembert.cli.options import by_name, number
from dalembert.errors import ArgumentError

if TYPE_CHECKING:
    import numpy as np

    from dalembert.constraints import ConstrainedDynamics
    from dalembert.dynamics import Dynamics
    from dalembert.model import Mechanism

TERMS = ("armature", "damping", "friction")
"""Of the joints, those that enter when asked for."""

STARTS = 20
"""From how many positions loops are closed before giving up."""

Given = list[tuple[str, tuple[float, ...]]]
"""Numbers by name of a joint, or all of them under an empty name."""


def add_state(parser: argparse.ArgumentParser, velocity: bool = True) -> None:
    """--q, --v, --include and --elements."""
    what = "or all numbers with commas (90deg, pi/2 work too); may be repeated"
    group = parser.add_argument_group("the state")
    group.add_argument(
        "--q",
        type=numbers,
        action="append",
        default=[],
        metavar="...",
        help=f"positions in rad or m: JOINT=VALUE {what} (default: neutral)",
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
    group.add_argument(
        "--include",
        type=term,
        choices=TERMS,
        action="append",
        default=[],
        help="a term of the joints that acts; may be repeated",
    )
    group.add_argument(
        "--elements",
        metavar="NAME",
        action="append",
        help="a force element that acts, or all, or none; may be repeated",
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


def vector(given: Given, what: str) -> Any:
    """What ``simulate`` and others take: None, numbers, or numbers by joint.

    Args:
        given: the parsed arguments.
        what: the name of the option, for messages.
    """
    if not given:
        return None
    whole = [values for name, values in given if not name]
    if whole and len(given) > 1:
        raise ArgumentError(f"give {what} either once with all numbers, or once for every joint")
    return list(whole[0]) if whole else by_name(((name, list(values)) for name, values in given), what)


def dynamics_of(
    mechanism: Mechanism, include: Sequence[str], elements: Sequence[str] | None, near: Any = None
) -> Dynamics | ConstrainedDynamics:
    """The dynamics of a mechanism, with loops and force elements where it has them.

    Args:
        mechanism: the mechanism.
        include: terms of the joints that act.
        elements: force elements that act; must be said if there are any.
        near: positions as :func:`vector` gives them, around which kernels with constraints choose their rows.
    """
    from dalembert.constraints import ConstrainedDynamics
    from dalembert.dynamics import Dynamics
    from dalembert.simulation.state import as_position

    if not (mechanism.constraints or mechanism.forces):
        if elements and elements != ["none"] and elements != ["all"]:
            raise ArgumentError(f"{mechanism.name!r} has no force elements; leave out --elements")
        return Dynamics(mechanism, include=include)
    if elements is None and mechanism.forces:
        names = ", ".join(force.name for force in mechanism.forces)
        raise ArgumentError(f"{mechanism.name!r} has force elements ({names}); say which act: --elements all, or none")
    chosen: Any = "all" if elements == ["all"] else [] if elements in (None, ["none"]) else elements
    return ConstrainedDynamics(mechanism, forces=chosen, include=include, reference=as_position(mechanism, near))


def tidy(values: Sequence[float], digits: int = 5) -> list[str]:
    """Numbers of one column; what is nothing beside the largest is written as 0.

    Args:
        values: the numbers.
        digits: that are shown.
    """
    least = 1e-11 * max((abs(x) for x in values), default=0.0)
    return [f"{0.0 if abs(x) <= least else x:.{digits}g}" for x in values]


def start(system: Dynamics | ConstrainedDynamics, q: Any, v: Any) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Positions and velocities that satisfy the constraints, and what was done to get there.

    Args:
        system: the dynamics.
        q: positions as :func:`vector` gives them; those of named joints are kept while loops are closed.
        v: velocities, likewise.
    """
    import numpy as np

    from dalembert.dynamics import Dynamics
    from dalembert.simulation.state import as_position, as_velocity

    model = system.mechanism
    position, velocity = as_position(model, q), as_velocity(model, v)
    if isinstance(system, Dynamics) or not system.constraints.count:
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


def _projected(system: ConstrainedDynamics, q: np.ndarray, v: np.ndarray, named: list[str]) -> np.ndarray:
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


def _assembled(system: ConstrainedDynamics, guess: np.ndarray, named: list[str]) -> np.ndarray:
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
