"""Shared by all tests: how many examples hypothesis looks at, where kernels are kept, which tests are slow.

``make test`` runs everything but the slow tests, with the profile ``quick``: a tenth of the examples. ``make test-all``
goes on with what that left out, with the profile ``thorough``: those marked ``left_out``. A plain ``pytest`` runs
everything with that profile. In both the examples are the same in every run, so that a change is judged by the change
alone. To look for new ones: ``HYPOTHESIS_PROFILE=explore pytest``.

No test may depend on the last digit of one processor: ``DALEMBERT_CPU`` (see :mod:`dalembert.native.llvm.target`) shows
those of others, and ``MOVED_STARTS=1`` moves every start of a motion by one rounding error.
"""

from __future__ import annotations

import importlib
import os
import signal
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, is_hypothesis_test, settings

from quick import QUICK, REPEATED, SLOW, spread

ROOT = Path(__file__).parent.parent

# ------------------------------------------------------------------------------------------------------------- kernels

# One folder of machine code for all workers and runs: most tests ask for kernels that another test has compiled.
os.environ.setdefault("DALEMBERT_CACHE", str(ROOT / ".kernel_cache"))

# ---------------------------------------------------------------------------------------------------------- hypothesis

EXAMPLES = 50
"""Examples of a law where its test does not say how many."""

FEWER = 10
"""The profile ``quick`` looks at one example in so many, and at three at least."""

patient = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}  # a busy machine fails no test
settings.register_profile("quick", derandomize=True, max_examples=EXAMPLES // FEWER, **patient)
settings.register_profile("thorough", derandomize=True, max_examples=EXAMPLES, **patient)
settings.register_profile("explore", max_examples=EXAMPLES, **patient)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "thorough"))


def look_at_fewer_examples(items: list[pytest.Item]) -> None:
    """Numbers of examples that tests ask for themselves shrink as the default does.

    Hypothesis has no setting for that; where it keeps those of a test is what its own pytest plugin reads, too.
    """
    place = "_hypothesis_internal_use_settings"
    functions = {getattr(function, "__func__", function) for item in items if (function := getattr(item, "obj", None))}
    for function in functions:  # cases of one test share it
        asked = getattr(function, place, None)
        if asked is not None and asked.max_examples != settings().max_examples:
            setattr(function, place, settings(asked, max_examples=fewer(asked.max_examples)))


def fewer(examples: int) -> int:
    """How many examples of so many the quick profile looks at."""
    return min(examples, max(3, examples // FEWER))


# ---------------------------------------------------------------------------------------------------------------- slow


def mark_slow_tests(items: list[pytest.Item]) -> None:
    """Mark what quick.py lists: whole tests, and the cases that only repeat a law."""
    listed = {address for addresses in SLOW.values() for address in addresses}
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for address, found in cases.items():
        if address in listed or address.partition("::")[0] in listed:
            kept = []
        else:
            kept = spread(found, REPEATED.get(address, len(found)))
        for item in found:
            if item not in kept:
                item.add_marker(pytest.mark.slow)


def mark_what_is_left_out(items: list[pytest.Item]) -> None:
    """Mark what ``make test`` does not run, or on fewer examples or cases, which tests of whole modules may do."""
    for item in items:
        shortened = vars(getattr(item, "module", object)).keys() & {"some", "QUICK"}
        if shortened or is_hypothesis_test(getattr(item, "obj", None)) or item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.left_out)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if QUICK:
        look_at_fewer_examples(items)
    mark_slow_tests(items)
    mark_what_is_left_out(items)


# -------------------------------------------------------------------------------------------------------------- starts


def move_starts(patch: pytest.MonkeyPatch) -> None:
    """Let ``simulate`` and ``rollout`` begin one rounding error beside where they are asked to, to either side; that of
    a radian or a metre at least.
    """

    def moving(read):
        def moved(*arguments, **options):
            x = np.asarray(read(*arguments, **options))
            side = np.where(np.arange(x.shape[-1]) % 2, -1, 1).astype(x.dtype)
            return x + side * np.spacing(np.maximum(np.abs(x), 1))

        return moved

    for name in ("simulate", "batch"):
        module = importlib.import_module(f"dalembert.simulation.{name}")
        for reader in ("as_position", "as_velocity"):
            patch.setattr(module, reader, moving(getattr(module, reader)))


@pytest.fixture(autouse=bool(os.environ.get("MOVED_STARTS")))
def moved_starts(request, monkeypatch):
    if not request.node.get_closest_marker("exact_start"):
        move_starts(monkeypatch)


@pytest.fixture
def heard():
    """Interrupts are heard: shells let what runs behind them ignore Ctrl-C, and what runs there inherits it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
