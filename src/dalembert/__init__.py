"""dalembert: equations of motion of rigid multibody systems - derived, proved equal, compiled.

import dalembert as da

arm = da.load("panda.urdf")              # also .xml (MJCF), .toml, da.from_dh(...), da.Mechanism(...)
print(arm)                               # a table: bodies, joints, what was assumed
dyn = da.Dynamics(arm)                   # kernels compile on first use, cached on disk
tau = dyn.inverse_dynamics(q, v, a)      # any batch shape (..., nv)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dalembert.installation import PACKAGE as _PACKAGE  # noqa: F401 - before all others: it stamps their files
from dalembert.services import provide as _provide

__version__ = "0.1.0.dev0"

_HOMES = {
    "Body": "dalembert.model", "Constraint": "dalembert.model", "Force": "dalembert.model",
    "Contact": "dalembert.model", "Ground": "dalembert.model", "Surface": "dalembert.model",
    "Frame": "dalembert.model", "Inertia": "dalembert.model", "Joint": "dalembert.model",
    "Limits": "dalembert.model", "Mechanism": "dalembert.model", "Mimic": "dalembert.model",
    "Shape": "dalembert.model", "Transform": "dalembert.algebra",
    "load": "dalembert.formats", "robots": "dalembert.formats", "from_dh": "dalembert.formats",
    "read_urdf": "dalembert.formats", "write_urdf": "dalembert.formats", "read_toml": "dalembert.formats",
    "write_toml": "dalembert.formats", "read_mjcf": "dalembert.formats",
    "read_sdf": "dalembert.formats", "read_srdf": "dalembert.formats", "read_xacro": "dalembert.formats",
    "lock": "dalembert.model.operations", "with_gravity": "dalembert.model.operations",
    "with_base": "dalembert.model.operations", "merge_fixed": "dalembert.model.operations",
    "attach": "dalembert.model.operations", "add_payload": "dalembert.model.operations",
    "subtree": "dalembert.model.operations", "reroot": "dalembert.model.reroot",
    "rerooted_state": "dalembert.model.reroot",
    "parameters": "dalembert.model.parameters", "symbolise": "dalembert.model.parameters",
    "substitute": "dalembert.model.parameters",
    "contacts": "dalembert.contact", "ContactSelection": "dalembert.contact",
    "Dynamics": "dalembert.dynamics", "Settings": "dalembert.dynamics", "Kernel": "dalembert.native.kernel",
    "Equations": "dalembert.formulations", "derive": "dalembert.formulations",
    "prove": "dalembert.proof", "verify": "dalembert.proof",
    "from_lagrangian": "dalembert.formulations", "from_sympy": "dalembert.formulations",
    "rigid_body": "dalembert.formulations", "MovingBodies": "dalembert.formulations",
    "MovingBodyFormula": "dalembert.formulations", "NoSlip": "dalembert.formulations",
    "KroneckerFrame": "dalembert.formulations", "GravityField": "dalembert.constraints",
    "InverseSquare": "dalembert.constraints", "OblatePlanet": "dalembert.constraints",
    "Goal": "dalembert.planning", "inverse_kinematics": "dalembert.planning",
    "simulate": "dalembert.simulation", "rollout": "dalembert.simulation", "sweep": "dalembert.simulation",
    "Trajectory": "dalembert.simulation", "Event": "dalembert.simulation", "grid": "dalembert.simulation",
    "samples": "dalembert.simulation", "RolloutTask": "dalembert.simulation",
    "SimulationError": "dalembert.simulation",
    "kernel": "dalembert.kernels", "from_casadi": "dalembert.kernels",
    "scan": "dalembert.algebra.loops", "repeat": "dalembert.algebra.loops", "for_each": "dalembert.algebra.loops",
    "along": "dalembert.algebra.loops", "read_at": "dalembert.algebra.loops", "write_at": "dalembert.algebra.loops",
    "select": "dalembert.algebra.comparisons", "less": "dalembert.algebra.comparisons",
    "less_equal": "dalembert.algebra.comparisons", "equal": "dalembert.algebra.comparisons",
    "logical_and": "dalembert.algebra.comparisons", "logical_or": "dalembert.algebra.comparisons",
    "logical_not": "dalembert.algebra.comparisons", "minimum": "dalembert.algebra.scalar",
    "maximum": "dalembert.algebra.scalar", "clip": "dalembert.algebra.comparisons", "linalg": "dalembert.algebra",
    "random": "dalembert.algebra", "coordinate_symbols": "dalembert.constraints",
    "compare": "dalembert.comparison", "view": "dalembert.viewer",
}  # fmt: skip
"""Public name -> module that defines it. Names are loaded when first used, so that importing dalembert is quick."""

_ROOMS = (
    "algebra", "algorithms", "comparison", "constraints", "control", "conventions", "errors", "formats",
    "formulations", "identification", "model", "pictures", "planning", "proof", "report", "simulation", "tracing",
    "viewer",
)  # fmt: skip

if TYPE_CHECKING:
    from dalembert import (
        algebra,
        algorithms,
        constraints,
        control,
        conventions,
        errors,
        formats,
        formulations,
        identification,
        model,
        pictures,
        planning,
        simulation,
        tracing,
    )
    from dalembert import comparison as comparison  # not in __all__: a report needs SymPy, which is slow to load
    from dalembert import proof as proof
    from dalembert import report as report
    from dalembert import viewer as viewer
    from dalembert.algebra import Transform, linalg, random
    from dalembert.algebra.comparisons import (
        clip,
        equal,
        less,
        less_equal,
        logical_and,
        logical_not,
        logical_or,
        select,
    )
    from dalembert.algebra.loops import along, for_each, read_at, repeat, scan, write_at
    from dalembert.algebra.scalar import maximum, minimum
    from dalembert.comparison.compare import compare
    from dalembert.constraints import GravityField, InverseSquare, OblatePlanet, coordinate_symbols
    from dalembert.contact import ContactSelection, contacts
    from dalembert.dynamics import Dynamics, Settings
    from dalembert.formats import (
        from_dh,
        load,
        read_mjcf,
        read_sdf,
        read_srdf,
        read_toml,
        read_urdf,
        read_xacro,
        robots,
        write_toml,
        write_urdf,
    )
    from dalembert.formulations import Equations, KroneckerFrame, MovingBodies, MovingBodyFormula, NoSlip
    from dalembert.formulations.derive import derive
    from dalembert.formulations.from_sympy import from_sympy
    from dalembert.formulations.lagrangian import from_lagrangian
    from dalembert.formulations.rigid_body import rigid_body
    from dalembert.kernels import from_casadi, kernel
    from dalembert.model import (
        Body,
        Constraint,
        Contact,
        Force,
        Frame,
        Ground,
        Inertia,
        Joint,
        Limits,
        Mechanism,
        Mimic,
        Shape,
        Surface,
    )
    from dalembert.model.operations import add_payload, attach, lock, merge_fixed, subtree, with_base, with_gravity
    from dalembert.model.parameters import parameters, substitute, symbolise
    from dalembert.model.reroot import reroot, rerooted_state
    from dalembert.native.kernel import Kernel
    from dalembert.planning.inverse_kinematics import Goal, inverse_kinematics
    from dalembert.proof.prove import prove
    from dalembert.proof.verify import verify
    from dalembert.simulation import Event, RolloutTask, SimulationError, Trajectory, grid, samples
    from dalembert.simulation.rollout import rollout
    from dalembert.simulation.simulate import simulate
    from dalembert.simulation.sweep import sweep
    from dalembert.viewer.view import view

__all__ = [
    "Body", "Constraint", "Contact", "ContactSelection", "Dynamics", "Equations", "Event", "Force", "Frame", "Goal",
    "GravityField", "Ground", "Inertia", "InverseSquare", "Joint", "Kernel", "KroneckerFrame", "Limits", "Mechanism",
    "Mimic", "MovingBodies", "MovingBodyFormula", "NoSlip", "OblatePlanet", "RolloutTask", "Settings", "Shape",
    "SimulationError", "Surface", "Trajectory", "Transform", "add_payload", "algebra", "algorithms", "along", "attach",
    "clip", "compare", "constraints", "contacts", "control", "conventions", "coordinate_symbols", "derive", "equal",
    "errors", "for_each", "formats", "formulations", "from_casadi", "from_dh", "from_lagrangian", "from_sympy", "grid",
    "identification", "inverse_kinematics", "kernel", "less", "less_equal", "linalg", "load", "lock", "logical_and",
    "logical_not", "logical_or", "maximum", "merge_fixed", "minimum", "model", "parameters", "pictures", "planning",
    "prove", "random", "read_at", "read_mjcf", "read_sdf", "read_srdf", "read_toml", "read_urdf", "read_xacro",
    "repeat", "reroot", "rerooted_state", "rigid_body", "robots", "rollout", "samples", "scan", "select", "simulate",
    "simulation", "substitute", "subtree", "sweep", "symbolise", "tracing", "verify", "view", "with_base",
    "with_gravity", "write_at", "write_toml", "write_urdf",
]  # fmt: skip


if not TYPE_CHECKING:  # with it, type checkers would take every misspelt name for one of ours

    def __getattr__(name: str) -> Any:
        from importlib import import_module

        if name in _HOMES:
            value = getattr(import_module(_HOMES[name]), name)
        elif name in _ROOMS:
            value = import_module(f"dalembert.{name}")
        else:
            raise AttributeError(f"module 'dalembert' has no attribute {name!r}{_meant(name)}")
        globals()[name] = value
        return value


for _service, _place in {
    "picture of a mechanism": "viewer.inline:thumbnail",
    "picture of a motion": "viewer.inline:motion_html",
    "view": "viewer:view",
    "document of equations": "report.inline:equations_html",
    "document of formulas": "report.inline:rows_html",
    "convex shape of a mesh": "formats.hulls:convex",
}.items():
    _provide(_service, f"dalembert.{_place}")

_ELSEWHERE = {
    "ConstrainedDynamics": "Dynamics, which has constraints and force elements, too",
    "linearize": "control.linearize",
    "normalise": "Mechanism.normalise",
    "assemble": "Dynamics.assemble",
    "forward_dynamics": "Dynamics.forward_dynamics",
    "inverse_dynamics": "Dynamics.inverse_dynamics",
    "mass_matrix": "Dynamics.mass_matrix",
}
"""What is looked for in the package, and where it is."""


def _meant(name: str) -> str:
    if name.startswith("_"):  # asked by tools, not by people
        return ""
    from dalembert.text.suggest import near

    close = near(name, {*__all__, *_ROOMS, *_ELSEWHERE}, alike=0.75)
    return f"; did you mean {' or '.join(_ELSEWHERE.get(word, word) for word in close)}?" if close else ""


def __dir__() -> list[str]:
    return sorted({*(name for name in globals() if name.startswith("__")), *__all__, *_ROOMS})
