"""Recursive algorithms, one per file, each written once over any scalar."""

from dalembert.algorithms.inverse_dynamics import inverse_dynamics

__all__ = ["inverse_dynamics"]
