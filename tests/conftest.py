"""Shared by all tests: helper modules of this folder are importable, and a busy machine fails no hypothesis test.

The default examples are the same in every run, so that a change is judged by the change alone. To look for new ones:
``HYPOTHESIS_PROFILE=explore pytest``.
"""

import os

from hypothesis import HealthCheck, settings

patient = {"deadline": None, "max_examples": 50, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("dalembert", derandomize=True, **patient)
settings.register_profile("explore", **patient)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dalembert"))
