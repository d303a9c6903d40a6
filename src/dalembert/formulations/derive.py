"""Equations of motion of a mechanism by any of the classical routes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.constraints.gravity_fields import GravityField
from dalembert.errors import ArgumentError, UnsupportedError
from dalembert.formulations.bodies import MovingBodies
from dalembert.formulations.equations import Equations
from dalembert.formulations.kane import kane
from dalembert.formulations.kronecker import kronecker
from dalembert.formulations.lagrange import lagrange
from dalembert.formulations.mechanism_system import left_out, system_of
from dalembert.formulations.newton_euler import newton_euler
from dalembert.formulations.system import MultibodySystem
from dalembert.model import Mechanism
from dalembert.model.checks import expect, expect_names
from dalembert.model.names import named_positions

ROUTES: dict[str, Callable[..., Equations]] = {"lagrange": lagrange, "kane": kane, "kronecker": kronecker}
"""Routes that start from bodies in motion; Newton-Euler starts from the tree of a mechanism."""


OPTIONS = {
    "lagrange": (),
    "kane": ("speeds", "pfaffian", "independent", "reference"),
    "kronecker": (),
    "newton-euler": ("algorithm", "inertia"),
}
"""What each method takes beyond the arguments of all of them."""


def derive(
    mechanism: Mechanism | MovingBodies,
    method: str = "lagrange",
    *,
    coordinates: Sequence[str] | None = None,
    elements: Sequence[str] | str = "all",
    include: Sequence[str] = (),
    field: GravityField | None = None,
    wrenches: Sequence[str] = (),
    actuated: Sequence[str] | None = None,
    **options: Any,
) -> Equations:
    """Derive the equations of motion, with symbols wherever the mechanism has them.

    Args:
        mechanism: a mechanism, or bodies whose motion is given by formulas.
        method: ``"lagrange"``, ``"kane"``, ``"kronecker"`` or ``"newton-euler"``.
        coordinates: names of the position coordinates, for display and for reading expressions.
        elements: names of the force elements that act, or ``"all"``.
        include: which of ``armature``, ``damping`` and ``friction`` of the joints enter; none by default.
            :attr:`Equations.omitted`, print and reports list what is left out.
        field: gravity that depends on position, in the place of the uniform gravity of the mechanism.
        wrenches: frames on which external wrenches ``[force; moment]`` act, frame axes; each becomes an input.
        actuated: names of the driven joints, in the order of the inputs; all by default.
        options: for ``kane``: ``speeds``, quasi-velocities as SymPy expressions linear in the velocities, or pairs
            (name, expression); ``pfaffian``, expressions linear in the velocities that vanish, in which ``t`` is time,
            or :class:`NoSlip`; ``independent``, names of the velocities to keep; ``reference``, nq positions or
            positions by joint name, near an assembly of the mode that is meant, where assembly modes differ in
            mobility (by default the neutral one). Forces of constraints are ``equations["multipliers"]``.
            For ``newton-euler``: ``algorithm``, ``inertia``, names of algorithms.
    """
    if not isinstance(mechanism, (Mechanism, MovingBodies)):
        raise ArgumentError(f"derive takes a Mechanism or MovingBodies, got {type(mechanism).__name__}")
    if field is not None and not isinstance(field, GravityField):
        raise ArgumentError(
            f"field = {field!r}: give an InverseSquare, an OblatePlanet or a GravityField of your own; a "
            "function of position is a force element of the kind 'gravity-field'"
        )
    _check_options(method, options)
    if not (isinstance(elements, str) and elements == "all"):
        elements = expect_names((elements,) if isinstance(elements, str) else elements, "elements")
    include, driven = expect_names(include, "include"), None if actuated is None else expect_names(actuated, "actuated")
    loads: dict[str, Any] = {"wrenches": expect_names(wrenches, "wrenches"), "actuated": driven}
    if method == "newton-euler":
        if not isinstance(mechanism, Mechanism):
            raise UnsupportedError(
                "the recursive Newton-Euler algorithms need a mechanism with joints; bodies given by formulas can be "
                "derived by 'lagrange', 'kane' or 'kronecker'"
            )
        found = newton_euler(
            mechanism, coordinates=coordinates, include=include, elements=elements, field=field, **loads, **options
        )
    else:
        system = _system(mechanism, coordinates, include, elements)
        if options.get("reference") is not None:
            if not isinstance(mechanism, Mechanism):
                raise ArgumentError("reference=...: bodies given by formulas have no loops to close")
            options["reference"] = positions_of(mechanism, options["reference"], "reference")
        if field is not None:
            system.gravity = system.reads(field)
        found = ROUTES[method](system, **loads, **options)
    origin = mechanism if isinstance(mechanism, Mechanism) else None
    omitted = () if origin is None else left_out(origin, include, elements)
    reference = options.get("reference")
    return replace(
        found, omitted=omitted, include=tuple(include), gravity_field=field, reference=reference, mechanism=origin
    )


def _check_options(method: str, options: dict[str, Any]) -> None:
    if not isinstance(method, str) or method not in OPTIONS:
        raise ArgumentError(f"method = {method!r}; choose one of {', '.join(OPTIONS)}")
    own = f"{method!r} has {', '.join(OPTIONS[method]) or 'none'}"
    for name in options:
        owner = next((other for other, known in OPTIONS.items() if name in known), None)
        if owner is None:
            raise ArgumentError(f"derive has no option {name!r}; {own}")
        if owner != method:
            raise UnsupportedError(f"{name} is an option of method={owner!r}; {own}")
        if method == "newton-euler":
            expect(options[name], str, name)


def _system(
    mechanism: Mechanism | MovingBodies,
    coordinates: Sequence[str] | None,
    include: Sequence[str],
    elements: Sequence[str] | str,
) -> MultibodySystem:
    if isinstance(mechanism, Mechanism):
        return system_of(mechanism, coordinates, include, elements)
    if coordinates is not None:
        raise ArgumentError("coordinates=...: bodies given by formulas have named their coordinates already")
    if include:
        raise ArgumentError(f"include={list(include)}: bodies given by formulas have no joints; use their potential")
    if elements not in ("all", ()):
        raise ArgumentError(
            f"elements={list(elements)}: bodies given by formulas have no force elements; use their potential"
        )
    return mechanism.system()


def positions_of(mechanism: Mechanism, given: Any, what: str) -> np.ndarray:
    """Positions as an array, quaternions of unit length.

    Args:
        given: nq numbers, or numbers by joint name, others at their neutral value.
        what: they are, for messages.
    """
    q = np.array(named_positions(mechanism, given, what, batch=False))
    if q.shape != (mechanism.nq,):
        raise ArgumentError(
            f"{{argument}}: got shape {q.shape}, but {mechanism.name!r} needs ({mechanism.nq},)", argument=what
        )
    if not np.isfinite(q).all():
        raise ArgumentError(f"{{argument}} = {q} is not finite", argument=what)
    return mechanism.normalise(q)
