"""Constraints as rows: closed loops, rolling, given motions and users' laws; their scale, rank, closure and analysis.

A map of the room:

- rows: ``rows`` (all constraints as rows), made of ``loops``, ``rolling``, ``joint_rows`` and ``user``, over the
  relative motion (``relative``) of frames at a ``state``; every row carries its unit
- ``scaling``: what is one of every coordinate and row; after it, numbers have no units
- ``rank``: how many rows count, what they allow and what follows from that; nobody else asks for a rank
- ``closure``: one damped Newton's method that closes loops
- ``vicinity``: assembled positions around a position, and their ranks; ``analysis``: the same in words
- ``pivots``: which rows kernels keep; ``straight_line`` and ``known_rank``: accelerations without branches
- ``solve``: accelerations in numbers, whatever the rank; ``violation``: whether states satisfy the constraints
- forces: ``forces``, ``action``, ``gravity_fields`` (also those of derivations)
- ``constrained``: what all of these ask of a mechanism; :class:`~dalembert.dynamics.Dynamics` has it
"""

from dalembert.constraints.forces import ForceSet, generalised_forces
from dalembert.constraints.gravity_fields import GravityField, InverseSquare, OblatePlanet
from dalembert.constraints.rows import ConstraintSet, Row, Rows, constraint_rows
from dalembert.constraints.state import State
from dalembert.model.user_function import coordinate_symbols

__all__ = [
    "ConstraintSet", "ForceSet", "GravityField", "InverseSquare", "OblatePlanet", "Row", "Rows", "State",
    "constraint_rows", "coordinate_symbols", "generalised_forces",
]  # fmt: skip
