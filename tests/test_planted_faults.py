"""The list of planted faults stays true: what `benchmarks/faults.py` changes is there, once, and so are its tests."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path

import pytest

from quick import SLOW, spread

ROOT = Path(__file__).parent.parent
SPEC = importlib.util.spec_from_file_location("planted_faults", ROOT / "benchmarks" / "faults.py")
faults = importlib.util.module_from_spec(SPEC)
sys.modules[SPEC.name] = faults  # where dataclasses look
SPEC.loader.exec_module(faults)

OWN_LAWS = {"algorithms", "kinematics"}
"""Rooms that `benchmarks/mutations.py` changes site by site."""

ONLY_WORDS = {"cli", "comparison", "costs", "pictures", "proof", "report", "text"}
"""Rooms that show, count or check what others compute."""


@pytest.mark.parametrize("fault", faults.FAULTS, ids=lambda fault: fault.file)
def test_a_fault_can_be_planted_and_its_tests_are_quick(fault):
    text = (faults.PACKAGE / fault.file).read_text(encoding="utf-8")
    assert text.count(fault.old) == 1, (
        f"{fault}: the old text stands there {text.count(fault.old)} times. Write the fault for the code as it is now, "
        f"in benchmarks/faults.py, and see that its tests fail: python benchmarks/faults.py --only {fault.file}"
    )
    assert fault.new != fault.old and fault.tests
    for address in fault.tests:
        file, _, name = address.partition("::")
        assert (ROOT / file).is_file(), address
        assert not name or re.search(rf"^def {name}\b", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE), (
            address
        )
        assert all(address not in listed for listed in SLOW.values()), f"{address} is slow"


def test_every_room_has_a_fault():
    rooms = {path.name for path in faults.PACKAGE.iterdir() if path.is_dir() and any(path.glob("*.py"))}
    assert rooms - OWN_LAWS - ONLY_WORDS <= {fault.room for fault in faults.FAULTS}
    assert len(faults.FAULTS) >= 70


@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_the_quick_run_keeps_the_last_case_of_a_list_which_is_its_hardest(count):
    kept = spread(range(20), count)
    assert len(kept) == count and kept[-1] == 19 and kept == sorted(set(kept))
    assert spread("abc", 5) == ["a", "b", "c"]
