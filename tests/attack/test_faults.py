"""Calls of the operating system fail one by one, or end the process: a sample of what faults.py runs in full."""

import shutil
import sys
from importlib.util import find_spec

import pytest

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="needs LD_PRELOAD"),
    pytest.mark.skipif(not (shutil.which("cc") or shutil.which("gcc")), reason="needs a C compiler"),
    pytest.mark.skipif(find_spec("_testcapi") is None, reason="needs CPython's own test module"),
]

SUBJECTS = {"cache": 6, "kernel": 7, "npz": 6, "parquet": 2, "zarr": 2, "motion.npz": 3, "motion.csv": 3}
"""What is tried, and how many places of each fault."""


@pytest.mark.parametrize("subject", SUBJECTS)
def test_whatever_fails_nothing_is_wrong_or_lost(subject):
    import faults

    if needed := {"parquet": "pyarrow", "zarr": "zarr"}.get(subject):
        pytest.importorskip(needed)
    ended = faults.preloaded(["--subjects", subject, "--most", str(SUBJECTS[subject])], capture_output=True)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "error of ours" in ended.stdout or subject in ("cache", "kernel"), "no fault was noticed"
    assert "ended" in ended.stdout, "no process was killed"
