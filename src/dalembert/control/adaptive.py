"""Adaptive control: a mechanism follows a motion although its masses are unknown (Slotine and Li 1987).

    v_r = v_ref + slope e ,    a_r = a_ref + slope (v_ref - v) ,    s = v - v_r
    tau = Y(q, v, v_r, a_r) pi - damping s ,         d pi/dt = -adaptation Y^T s

e is the deviation q_ref - q as a tangent vector, Y the regressor with a reference, in which Mdot - 2C is skew. With the
error p of the parameters, V = (s.M s + p . p / adaptation)/2 obeys dV/dt = -s.damping s, whatever the masses are: s
goes to zero, and with it e. The parameters need not become the true ones; those of
:func:`~dalembert.algorithms.base_parameters` that the motion excites do.
"""

from __future__ import annotations

import hashlib
from typing import Any

from dalembert import algorithms
from dalembert.algebra.arrays import Array, product
from dalembert.control.laws import tree_dynamics
from dalembert.dynamics import Dynamics
from dalembert.errors import ArgumentError
from dalembert.kinematics.manifold import difference, quaternions
from dalembert.model import Mechanism
from dalembert.model.record import fingerprint
from dalembert.native.kernel import Kernel, traced_kernel
from dalembert.tracing.program import Port


def adaptive_control(mechanism: Mechanism | Dynamics, *, driven_base: bool = False) -> Kernel:
    """tau and d pi/dt of the law of Slotine and Li, as one kernel.

    Inputs: q, v, q_ref, v_ref, a_ref, pi (the estimate: ten inertial parameters of every body, as
    :func:`~dalembert.algorithms.parameter_vector` orders them), slope and damping per velocity, adaptation per
    parameter; all three positive, adaptation zero for parameters that are known. The caller integrates the estimate.

    Args:
        mechanism: the mechanism, or its dynamics; its own masses do not matter.
        driven_base: a free joint is refused, because no motor gives the six forces that the law asks of it; true allows
            it, for vehicles that have thrusters.
    """
    dynamics = tree_dynamics("adaptive_control", mechanism, driven_base)
    model = dynamics.mechanism
    if quaternions(model.tree):
        joint = next(link.joint for link in model.tree.links if link.kind == "spherical")
        raise ArgumentError(
            f"joint {joint!r} turns freely: the rate of its deviation is not v_ref - v, so the law does not hold there"
        )
    n, count = model.nv, 10 * len(model.bodies)
    sizes = {"q": model.nq, "q_ref": model.nq, "pi": count, "adaptation": count}
    names = ("q", "v", "q_ref", "v_ref", "a_ref", "pi", "slope", "damping", "adaptation")

    def law(g: dict[str, Any]) -> tuple[Array, Array]:
        v_r = g["v_ref"] + g["slope"] * difference(model.tree, g["q"], g["q_ref"])
        a_r = g["a_ref"] + g["slope"] * (g["v_ref"] - g["v"])
        s = g["v"] - v_r
        Y = algorithms.reference_regressor(model, g["q"], g["v"], v_r, a_r)
        return product(Y, g["pi"]) - g["damping"] * s, -(g["adaptation"] * product(Y.T, s))

    inputs = [Port(name, (sizes.get(name, n),)) for name in names]
    outputs = [Port("tau", (n,)), Port("pi_rate", (count,))]
    key = hashlib.sha256(fingerprint((model.digest, "adaptive control")).encode()).hexdigest()
    return traced_kernel("adaptive_control", inputs, outputs, law, key, dynamics.dtype, "adaptive control")
