"""Shared by all tests: helpers in this folder are importable, and hypothesis never fails for being slow on a busy box."""

from hypothesis import HealthCheck, settings

settings.register_profile("dalembert", deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("dalembert")
