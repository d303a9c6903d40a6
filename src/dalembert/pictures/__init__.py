"""Pictures by matplotlib (the extra ``plot``): energies, eigenvalues, agreement, costs, kinematic trees.

Every function gives a ``matplotlib.figure.Figure``, to be saved (``figure.savefig("a.svg")``) or, as the last line of
a cell, shown by a notebook.
No window is opened and no global state of matplotlib is touched. Motions draw themselves, by ``Trajectory.plot``.
:func:`write_tree` needs no matplotlib.
"""

from dalembert.pictures.agreement import draw_agreement
from dalembert.pictures.counts import draw_counts
from dalembert.pictures.energies import draw_energies
from dalembert.pictures.poles import draw_locus, draw_poles
from dalembert.pictures.tree import draw_tree, write_tree

__all__ = [
    "draw_agreement", "draw_counts", "draw_energies", "draw_locus", "draw_poles", "draw_tree",
    "write_tree",
]  # fmt: skip
