"""Pictures by matplotlib (the extra ``plot``): motions, energies, eigenvalues, agreement, costs, kinematic trees.

Every function gives a ``matplotlib.figure.Figure``, to be saved (``figure.savefig("a.svg")``) or shown by a notebook.
No window is opened and no global state of matplotlib is touched. :func:`write_tree` needs no matplotlib.
"""

from dalembert.pictures.agreement import draw_agreement
from dalembert.pictures.counts import draw_counts
from dalembert.pictures.motion import draw_energies, draw_motion
from dalembert.pictures.poles import draw_locus, draw_poles
from dalembert.pictures.tree import draw_tree, write_tree

__all__ = [
    "draw_agreement", "draw_counts", "draw_energies", "draw_locus", "draw_motion", "draw_poles", "draw_tree",
    "write_tree",
]  # fmt: skip
