"""Shared by all tests: helper modules of this folder are importable, and a busy machine fails no hypothesis test."""

from hypothesis import HealthCheck, settings

settings.register_profile("dalembert", deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("dalembert")
