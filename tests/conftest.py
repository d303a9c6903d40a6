"""Shared by all tests: which are slow, how many examples hypothesis looks at, and where kernels are kept.

``make test`` runs everything but the slow tests, with the profile ``quick``: a fifth of the examples. ``make test-all``
runs everything with the profile ``thorough``, which is also what a plain ``pytest`` does. In both the examples are the
same in every run, so that a change is judged by the change alone. To look for new ones:
``HYPOTHESIS_PROFILE=explore pytest``.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).parent.parent

# ------------------------------------------------------------------------------------------------------------- kernels

# One folder of machine code for all workers and runs: most tests ask for kernels that another test has compiled.
os.environ.setdefault("DALEMBERT_CACHE", str(ROOT / ".kernel_cache"))

# ---------------------------------------------------------------------------------------------------------- hypothesis

EXAMPLES = 50
"""Examples of a law where its test does not say how many."""

QUICK = 5
"""The profile ``quick`` looks at one in so many, and at no fewer than this."""

patient = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}  # a busy machine fails no test
settings.register_profile("quick", derandomize=True, max_examples=EXAMPLES // QUICK, **patient)
settings.register_profile("thorough", derandomize=True, max_examples=EXAMPLES, **patient)
settings.register_profile("explore", max_examples=EXAMPLES, **patient)
PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "thorough")
settings.load_profile(PROFILE)


def look_at_fewer_examples(items: list[pytest.Item]) -> None:
    """Numbers of examples that tests ask for themselves shrink as the default does.

    Hypothesis has no setting for that; where it keeps those of a test is what its own pytest plugin reads, too.
    """
    place = "_hypothesis_internal_use_settings"
    functions = {getattr(function, "__func__", function) for item in items if (function := getattr(item, "obj", None))}
    for function in functions:  # cases of one test share it
        asked = getattr(function, place, None)
        if asked is not None and asked.max_examples != settings().max_examples:
            setattr(function, place, settings(asked, max_examples=min(asked.max_examples, fewer(asked.max_examples))))


def fewer(examples: int) -> int:
    """How many examples of so many the quick profile looks at."""
    return max(QUICK, examples // QUICK)


# ---------------------------------------------------------------------------------------------------------------- slow

SLOW: dict[str, str] = {}
"""Tests that only ``make test-all`` runs, with the reason: whole files, or single tests with all their cases."""


def is_slow(address: str) -> bool:
    """Whether a test is listed in :data:`SLOW`, by itself or by its file."""
    file, _, name = address.partition("::")
    return file in SLOW or f"{file}::{name.partition('[')[0]}" in SLOW


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if PROFILE == "quick":
        look_at_fewer_examples(items)
    for item in items:
        if is_slow(item.nodeid):
            item.add_marker(pytest.mark.slow)
