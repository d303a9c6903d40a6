"""Who takes what of a mechanism into account: one table, and the one function that refuses or warns by it.

Whatever computes something from a mechanism or its ``Dynamics`` is a row of :data:`CONSUMERS`, and every part that a
mechanism can have is a column. A part that matters to a consumer is taken, or refused, or left out with a warning, or
listed as left out in the answer itself. What reads parts of a mechanism that are never left out - its bodies, joints,
frames and shapes - is named in :data:`READERS`.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple

from dalembert.errors import ModelWarning, UnsupportedError
from dalembert.text.layout import aligned

PARTS = {
    "contacts": "rigid contacts that may close",
    "limits": "stops at the ends of joint ranges (`limits=`)",
    "constraints": "constraints: loops, couplings, rolling, given motions",
    "forces": "force elements, compliant contacts among them",
    "wrenches": "external wrenches (`wrenches=`)",
    "armature": "armature of joints (`include=`)",
    "damping": "damping of joints (`include=`)",
    "friction": "dry friction of joints (`include=`)",
    "parameters": "symbols, and numbers that stay inputs (`parameters=`)",
}
"""What a mechanism can have beside bodies, joints and gravity, or a Dynamics of it can be asked for."""

TERMS = ("armature", "damping", "friction")

ACTIONS = {
    "takes": "it acts",
    "refuses": "an error says so",
    "warns": "it is left out, and a warning says so",
    "lists": "it is left out, and the answer says so",
    "unconcerned": "it does not matter to the answer",
}
"""What can be done about a part."""


class Treatment(NamedTuple):
    """What a consumer does about one part; its text is a sentence.

    Args:
        action: one of :data:`ACTIONS`.
        reason: why it does not act.
        remedy: what to do instead, where it is refused or left out.
    """

    action: str
    reason: str = ""
    remedy: str = ""

    def __str__(self) -> str:
        return ": ".join([self.action, *filter(None, ["; ".join(filter(None, self[1:]))])])


TAKES = Treatment("takes")

_STEPS = "what they bear is known of a step only"
_NONE = "Dynamics(mechanism, contacts=(), limits=()) has none of them, and nothing is said"
OPEN = Treatment("warns", _STEPS, f"contact_step, simulate and rollout take them; {_NONE}")
OPEN_CONTACTS = {"contacts": OPEN, "limits": OPEN}
"""Of quantities that would depend on contacts if these had no impacts."""


def _row(default: Treatment = TAKES, **cells: Treatment) -> dict[str, Treatment]:
    return {part: cells.get(part, default) for part in PARTS}


def _unconcerned(reason: str) -> Treatment:
    return Treatment("unconcerned", reason)


def _each(treatment: Treatment, *parts: str) -> dict[str, Treatment]:
    return dict.fromkeys(parts, treatment)


_INVERSE = _row(
    **_each(_unconcerned("what contacts and constraints bear is part of the answer"), "contacts", "limits",
            "constraints"),
)  # fmt: skip
_ASKED = _unconcerned("stops, joint terms and wrenches act where they are asked for; here nobody can")
_FREE_MOTION = Treatment(
    "warns", "it is of free motion", "say so by Dynamics(mechanism, contacts=(), limits=()), or by "
    "mechanism.replace(contacts=())"
)  # fmt: skip
_FREE = {"contacts": _FREE_MOTION, "limits": _FREE_MOTION}
_GRADIENT = Treatment(
    "refuses", "the steps that it differentiates have no impacts", "Dynamics(mechanism, law='compliant') makes force "
    f"elements of contacts, which it takes; {_NONE}"
)  # fmt: skip
_ROLLOUT_GRADIENT = _row(contacts=_GRADIENT, limits=_GRADIENT)
_NO_WRENCHES = Treatment(
    "refuses", "it has no input for them", "make a Dynamics without them, and add J^T times the wrenches to tau, or "
    "subtract it where forces are asked for"
)  # fmt: skip
_NUMBERS = Treatment("refuses", "it needs numbers", "da.substitute(mechanism, values) puts numbers in their places")
_LAW = {
    **_FREE,
    "constraints": Treatment(
        "refuses", "these laws are for trees", "Dynamics.drive_forces finds the forces of drives; linearize, lqr and "
        "state_feedback regulate around a state"
    ),
    "wrenches": _NO_WRENCHES,
}  # fmt: skip
_GRAVITY_ONLY = Treatment(
    "warns", "the law compensates gravity only", "Dynamics(mechanism, elements=()) has none; computed_torque takes them"
)
_AT_REST = _unconcerned("it vanishes at rest")
_GRAVITY_LAW = {**_LAW, "forces": _GRAVITY_ONLY, **_each(_AT_REST, *TERMS)}
_ADAPTIVE = Treatment("warns", "the law adapts to inertias only", "make a Dynamics without them")
_IDENTIFIED = Treatment(
    "refuses", "identification does not know their forces", "subtract their forces from the measured ones, and give "
    "the mechanism without them"
)  # fmt: skip
_IDENTIFICATION = _row(**_FREE, constraints=_IDENTIFIED, forces=_IDENTIFIED, wrenches=_IDENTIFIED, parameters=_NUMBERS)
_KINEMATIC = _unconcerned("it is of positions and velocities, not of forces")
_GIVEN_PATH = _unconcerned("the path is given; limit_use says whether it keeps the ranges")
_TREES = Treatment("refuses", "efforts do not scale like this with them", "give a tree without them")
_TIMING = {"contacts": _FREE_MOTION, "limits": _GIVEN_PATH, **_each(_TREES, "constraints", "forces", "wrenches")}
_SQUARES = Treatment("refuses", "it is not linear in the square of the speed", "leave it out of include=")
_IN_STATE = _unconcerned("it is asked for with the state: `wrenches=` of the call")
_OWN_TERMS = "each has its own derivation of them"

CONSUMERS: dict[str, dict[str, Treatment]] = {
    "simulate": _row(),
    "rollout": _row(),
    "RolloutTask": _row(),
    "autodiff.rollout.DifferentiableRollout": _ROLLOUT_GRADIENT,
    "autodiff.torch.TorchDynamics.rollout": _ROLLOUT_GRADIENT,
    "autodiff.jax.JaxDynamics.rollout": _ROLLOUT_GRADIENT,
    "autodiff.torch.TorchDynamics.forward_dynamics": _row(**OPEN_CONTACTS),
    "autodiff.jax.JaxDynamics.forward_dynamics": _row(**OPEN_CONTACTS),
    "Dynamics.forward_dynamics": _row(**OPEN_CONTACTS),
    "Dynamics.forward_dynamics_derivatives": _row(**OPEN_CONTACTS),
    "Dynamics.forward_dynamics_variation": _row(**OPEN_CONTACTS),
    "Dynamics.linearize": _row(
        **OPEN_CONTACTS,
        constraints=Treatment(
            "refuses", "its state matrices are those of independent coordinates", "linear_model(q, v, tau) has them"
        ),
    ),
    "Dynamics.multipliers": _row(**OPEN_CONTACTS),
    "Dynamics.inverse_dynamics": _INVERSE,
    "Dynamics.solve": _row(**OPEN_CONTACTS),
    "Dynamics.drive_forces": _row(**OPEN_CONTACTS, wrenches=_NO_WRENCHES),
    "Dynamics.reactions": _row(**OPEN_CONTACTS, wrenches=_NO_WRENCHES),
    "Dynamics.linear_model": _row(**OPEN_CONTACTS, wrenches=_NO_WRENCHES),
    "Dynamics.fmu": _row(
        **_each(Treatment("warns", "a mock-up unit has no impacts", "Dynamics(mechanism, law='compliant') makes force "
                          f"elements of contacts, which act in it; {_NONE}"), "contacts", "limits"),
    ),
    "dynamics.AttitudeCoordinates.redundant_equations": _row(**OPEN_CONTACTS, wrenches=_NO_WRENCHES),
    "control.linearize": _row(**OPEN_CONTACTS, wrenches=_NO_WRENCHES),
    "control.equilibrium": _row(
        **OPEN_CONTACTS, wrenches=_NO_WRENCHES, armature=_unconcerned("accelerations vanish")
    ),
    "control.computed_torque": _row(**_LAW),
    "control.operational_space": _row(**_LAW),
    "control.gravity_compensation": _row(**_GRAVITY_LAW),
    "control.pd_with_gravity": _row(**_GRAVITY_LAW),
    "control.adaptive_control": _row(
        **_LAW, **_each(_ADAPTIVE, "forces", *TERMS), parameters=_NUMBERS
    ),
    "identification.identify": _IDENTIFICATION,
    "identification.choose_friction": _IDENTIFICATION,
    "identification.LinearTorques": _IDENTIFICATION,
    "planning.inverse_kinematics": _row(
        _KINEMATIC, limits=_unconcerned("ranges of joints are kept anyway, unless limits=False"),
        contacts=_unconcerned("overlaps are not looked at"), parameters=TAKES,
        constraints=Treatment(
            "refuses", "it knows nothing of loops", "Dynamics.assemble closes them, with keep= for the joints that are "
            "given"
        ),
    ),
    "planning.manipulability": _row(
        _KINEMATIC, armature=TAKES, parameters=TAKES,
        constraints=Treatment("refuses", "it is that of the open tree", "give a tree"),
    ),
    "planning.minimum_time": _row(**_TIMING, damping=_SQUARES, friction=_SQUARES),
    "planning.time_scaling": _row(**_TIMING),
    "planning.limit_use": _row(
        contacts=_FREE_MOTION, limits=_unconcerned("it says whether ranges of joints are kept, with and without stops"),
        **_each(Treatment("refuses", "efforts of inverse dynamics do not know them", "give the efforts as tau="),
                "constraints", "wrenches"),
    ),
    "derive": _row(
        contacts=Treatment("lists", "the equations are those of open contacts", "simulate the mechanism itself"),
        limits=_ASKED,
    ),
    "formulations.verify": _row(limits=_ASKED, wrenches=_ASKED),
    "prove": _row(
        limits=_ASKED, wrenches=_ASKED, parameters=_unconcerned("it holds for all values of all numbers")
    ),
    "compare": _row(
        limits=_ASKED, wrenches=_ASKED, parameters=_NUMBERS,
        **_each(Treatment("lists", "at random states the trees are compared", "look at these parts in the two models"),
                "constraints", "forces"),
    ),
    "report.document": _row(limits=_ASKED),
}  # fmt: skip
"""Consumer -> part -> what it does about it. Names are those under which users reach it."""

READERS: dict[str, tuple[str, ...]] = {
    "algorithms of the open tree by their very name: bodies, joints, gravity, and what the call passes": (
        "algorithms", "kinematics",
    ),
    "quantities of positions and velocities, or of the open tree by definition": (
        "Dynamics.acceleration", "Dynamics.acceleration_derivatives", "Dynamics.analytic_jacobian",
        "Dynamics.analytic_jacobian_rate", "Dynamics.analytic_jacobian_second_rate", "Dynamics.bias",
        "Dynamics.cartesian_dynamics", "Dynamics.cartesian_inverse_dynamics", "Dynamics.cartesian_linearization",
        "Dynamics.center_of_mass", "Dynamics.centroidal", "Dynamics.centroidal_matrix_rate",
        "Dynamics.coriolis_matrix", "Dynamics.frame_coordinates", "Dynamics.generalised_momentum",
        "Dynamics.generalized_links", "Dynamics.gravity", "Dynamics.hessian", "Dynamics.inverse_dynamics_derivatives",
        "Dynamics.inverse_dynamics_derivatives_nonzeros", "Dynamics.inverse_dynamics_hessian",
        "Dynamics.inverse_dynamics_variation", "Dynamics.jacobian", "Dynamics.jacobian_rate",
        "Dynamics.kinetic_energy", "Dynamics.kinetic_energy_gradient", "Dynamics.kinetic_energy_regressor",
        "Dynamics.mass_matrix", "Dynamics.mass_matrix_inverse", "Dynamics.mass_matrix_nonzeros",
        "Dynamics.mass_matrix_packed", "Dynamics.momentum", "Dynamics.parsa_coriolis", "Dynamics.pose",
        "Dynamics.potential_energy", "Dynamics.potential_energy_regressor", "Dynamics.reference_regressor",
        "Dynamics.regressor", "Dynamics.relative_motion", "Dynamics.sensitivities", "Dynamics.velocity",
        "Dynamics.velocity_derivatives",
    ),
    "parts of a mechanism themselves, or what a Dynamics is made of": (
        "Dynamics", "constraints", "contact", "contacts", "ContactSelection", "coordinate_symbols", "dynamics",
        "model", "parameters", "Equations", "formulations.DerivedDynamics", "KroneckerFrame", "MovingBodies",
        "autodiff.jax.JaxDynamics", "autodiff.torch.TorchDynamics",
    ),
    "a changed mechanism, with all its parts": (
        "add_payload", "attach", "lock", "merge_fixed", "reroot", "rerooted_state", "substitute", "subtree",
        "symbolise", "with_base", "with_gravity",
    ),
    "files: what has no place in a format is named in a warning": ("formats", "load"),
    "layouts of states, and records of motions": (
        "conventions", "control.state_feedback", "identification.Identification", "identification.Log",
        "identification.fourier_motion", "identification.read_log", "planning.drive_limits", "simulation.Rollout",
        "simulation.Trajectory", "simulation.load_trajectory",
    ),
    "pictures of mechanisms and motions": ("pictures", "view", "viewer"),
    "others of the table, which they call": (
        "identification.exciting_motion", "proof.check", "proof.prove_symbolically", "report.report", "verify",
    ),
}  # fmt: skip
"""Reason -> who reads parts of a mechanism that are never left out. A room stands for all that it has."""


def listed() -> str:
    """The table in words: a row for every consumer, a column for every part."""
    words = {action: "-" if action == "unconcerned" else action for action in ACTIONS}
    rows = [[name, *(words[treatment.action] for treatment in row.values())] for name, row in CONSUMERS.items()]
    return "\n".join(aligned([["", *PARTS], *rows], 1 + len(PARTS)))


MOST_NAMED = 4
"""Names of a part that a message lists."""


def heed(consumer: str, given: Any, stacklevel: int = 3) -> None:
    """Refuse what a consumer does not take, and warn, once for each Dynamics and reason, of what it leaves out.

    Args:
        consumer: one of :data:`CONSUMERS`.
        given: a mechanism, or a Dynamics, whose ``acting`` are names by part.
        stacklevel: of the warning; 3 is the caller of who calls this.
    """
    row = CONSUMERS[consumer]
    acting: Mapping[str, tuple[str, ...]] = given.acting
    heeded: set[Any] = getattr(given, "heeded", set())  # a mechanism forgets
    name = getattr(given, "mechanism", given).name
    for part, names in acting.items():
        action, reason, remedy = treatment = row[part]
        if not names or action not in ("refuses", "warns") or (part, treatment) in heeded:
            continue
        few = names if len(names) <= MOST_NAMED else (*names[: MOST_NAMED - 1], f"{len(names) - MOST_NAMED + 1} more")
        listed = "" if part in TERMS else f" ({', '.join(few)})"
        text = f"{name!r} has {part}{listed}, "
        if action == "refuses":
            raise UnsupportedError(f"{text}which {consumer} does not take: {reason}", remedy=remedy)
        heeded.add((part, treatment))
        message = f"{text}which {consumer} leaves out: {reason}"
        warnings.warn(ModelWarning(message, remedy=remedy), stacklevel=stacklevel)
