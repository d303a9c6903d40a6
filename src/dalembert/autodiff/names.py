"""Names under which frameworks know our operations."""

from __future__ import annotations

import hashlib

from dalembert.dynamics import Dynamics


def operation_name(dynamics: Dynamics, quantity: str) -> str:
    """A name that tells operations apart which compute something else, or elsewhere.

    Args:
        dynamics: gives the kernels.
        quantity: what is computed.
    """
    told = (dynamics.key(quantity), str(dynamics.dtype), dynamics.device, dynamics.parameter_values.tolist())
    return f"{quantity}_{hashlib.sha256(repr(told).encode()).hexdigest()[:16]}"
