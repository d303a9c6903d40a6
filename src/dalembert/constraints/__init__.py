"""Constraints: closed loops, rolling, given motions and users' laws as rows; assembly, rank and projection of states.

rows, loops, rolling, joint_rows, user   what each constraint demands
forces, gravity_fields                   what each force element does
assembly, projection, analysis           positions, velocities and accelerations that satisfy the rows
straight_line, known_rank, numeric       accelerations: in compiled code, and at any rank in NumPy
"""

from dalembert.constraints.forces import ForceSet, generalised_forces
from dalembert.constraints.rows import ConstraintSet, Row, Rows, constraint_rows
from dalembert.constraints.state import State
from dalembert.constraints.user import coordinate_symbols

__all__ = [
    "ConstraintSet", "ForceSet", "Row", "Rows", "State", "constraint_rows", "coordinate_symbols", "generalised_forces",
]  # fmt: skip
