"""Constrained systems: closed loops, rolling, given motions; their dynamics, reactions, analysis and linearization."""

from dalembert.constraints.dynamics import ConstrainedDynamics
from dalembert.constraints.forces import ForceSet, generalised_forces
from dalembert.constraints.rows import ConstraintSet, Row, Rows, constraint_rows
from dalembert.constraints.state import State
from dalembert.constraints.user import coordinate_symbols

__all__ = [
    "ConstrainedDynamics", "ConstraintSet", "ForceSet", "Row", "Rows", "State", "constraint_rows", "coordinate_symbols",
    "generalised_forces",
]  # fmt: skip
