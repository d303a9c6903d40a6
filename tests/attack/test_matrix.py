"""Real robots x quantities x methods x precisions: the cells that once aborted, and a sample of what matrix.py runs."""

import os

import pytest

if not hasattr(os, "fork"):
    pytest.skip("needs fork", allow_module_level=True)

import matrix

from quick import some

ONCE = [
    ("tiago/tiago_dual", "free", "rollout/rk4"),
    ("talos_data/talos_reduced", "free", "rollout/variational"),
    ("g1/g1_29dof_with_hand_rev_1_0", "free", "rollout/rk4"),
]
"""Their compiled loops were invalid: scratch from the heap, and a phi that named another block."""

SIZE = 20
CELLS = matrix.cells(list(matrix.ROBOTS), matrix.TASKS, 0)[:SIZE]


@pytest.mark.skipif(not matrix.ROBOTS, reason="needs example-robot-data")
@pytest.mark.parametrize("cell", some([*CELLS, *ONCE], 3), ids="-".join)
def test_every_cell_is_right_or_refused(cell, tmp_path):
    found = matrix.outcome(cell, 600, tmp_path / "log")
    assert found in ("right", "refused"), (tmp_path / "log").read_text()
