"""A mechanism against the same robot in another library: where the first difference is, in words.

compare         the question
difference      what it finds: differences, errors at random states, remarks
peer            what is asked of a library; one file per library answers: mechanism, pinocchio, mujoco, drake
structure       joints, axes, placements, masses, gravity: what explains a difference; with drives and frames
descriptions    what two mechanisms of ours say beyond that
states          poses and forces at random states: whether there is one
"""

from dalembert.comparison.compare import compare
from dalembert.comparison.difference import Comparison, Difference

__all__ = ["Comparison", "Difference", "compare"]
