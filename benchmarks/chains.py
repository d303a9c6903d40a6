"""Random chains of revolute joints with general twists."""

from __future__ import annotations

import numpy as np

import dalembert as da


def chain_mechanism(n: int) -> da.Mechanism:
    """A chain of n joints; the same for the same n."""
    rng = np.random.default_rng(n)
    bodies, joints = [], []
    for k in range(n):
        place = da.Transform.modified_dh(rng.uniform(0.3, 1.3), rng.uniform(0.05, 0.2), 0, rng.uniform(0.05, 0.2))
        inertia = da.Inertia.box(rng.uniform(0.5, 2), rng.uniform(0.05, 0.3, 3), rng.normal(size=3) * 0.05)
        bodies.append(da.Body(f"link{k}", inertia))
        joints.append(da.Joint(f"joint{k}", "revolute", f"link{k - 1}" if k else "world", f"link{k}", place))
    return da.Mechanism(f"chain of {n}", tuple(bodies), tuple(joints))
