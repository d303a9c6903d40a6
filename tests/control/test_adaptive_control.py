"""The adaptive law: its Lyapunov function falls as it must, and the arm follows although its masses are unknown."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert import algorithms
from dalembert.control import adaptive_control
from dalembert.errors import ArgumentError, UnsupportedError
from random_mechanisms import random_mechanism


def arm(seed=2):
    return random_mechanism(seed, 3, kinds=["revolute", "prismatic", "helical"], massless=0)


def test_the_lyapunov_function_falls_by_what_damping_takes():
    """V = (s.M s + p.p/adaptation)/2 has the rate -s.damping s at any state with any estimate (Slotine, Li 1987)."""
    mechanism = arm()
    dyn, law, rng = da.Dynamics(mechanism), adaptive_control(mechanism), np.random.default_rng(1)
    true = np.asarray(algorithms.parameter_vector(mechanism), dtype=float)
    n = mechanism.nv
    for _ in range(5):
        q, v, q_ref, v_ref, a_ref = rng.normal(size=(5, n))
        slope, damping, adaptation = rng.uniform(1, 3, n), rng.uniform(1, 3, n), rng.uniform(0.5, 2, len(true))
        estimate = true + rng.normal(size=len(true))
        tau, rate = law(q, v, q_ref, v_ref, a_ref, estimate, slope, damping, adaptation)
        a = dyn.forward_dynamics(q, v, tau)
        s = v - v_ref - slope * (q_ref - q)
        sd = a - a_ref - slope * (v_ref - v)
        h = 1e-5
        Mdot = (dyn.mass_matrix(q + h * v) - dyn.mass_matrix(q - h * v)) / (2 * h)
        slope_of_V = s @ dyn.mass_matrix(q) @ sd + s @ Mdot @ s / 2 + ((estimate - true) / adaptation) @ rate
        assert slope_of_V == pytest.approx(-s @ (damping * s), rel=1e-6, abs=1e-6)  # central differences of M


def test_the_arm_follows_with_wrong_masses():
    """Started from an estimate of half of everything, the error falls by two orders of magnitude."""
    mechanism = arm()
    dyn, law = da.Dynamics(mechanism), adaptive_control(mechanism)
    true = np.asarray(algorithms.parameter_vector(mechanism), dtype=float)
    n, dt = mechanism.nv, 2e-3
    ones = np.ones(n)

    def wanted(t):
        w = np.arange(1, n + 1)
        return 0.5 * np.sin(w * t), 0.5 * w * np.cos(w * t), -0.5 * w**2 * np.sin(w * t)

    def rate(t, x):
        q, v, estimate = x[:n], x[n : 2 * n], x[2 * n :]
        tau, change = law(q, v, *wanted(t), estimate, 5 * ones, 20 * ones, np.full(len(true), 2.0))
        return np.concatenate([v, dyn.forward_dynamics(q, v, tau), change])

    x, errors = np.concatenate([np.full(n, 0.3), np.zeros(n), true / 2]), []
    for k in range(5000):
        t = k * dt
        k1 = rate(t, x)
        k2 = rate(t + dt / 2, x + dt / 2 * k1)
        k3 = rate(t + dt / 2, x + dt / 2 * k2)
        x = x + dt / 6 * (k1 + 2 * k2 + 2 * k3 + rate(t + dt, x + dt * k3))
        errors.append(np.abs(x[:n] - wanted(t + dt)[0]).max())
    assert max(errors[-500:]) < 0.01 * max(errors[:500])


def test_what_the_law_is_not_for_is_refused():
    with pytest.raises(ArgumentError, match="turns freely"):
        adaptive_control(random_mechanism(1, 2, kinds=["spherical"]))
    with pytest.raises(ArgumentError, match="no motor"):
        adaptive_control(random_mechanism(1, 2, kinds=["revolute"], floating=True))
    with pytest.raises(UnsupportedError, match="needs numbers"):
        adaptive_control(da.load("rp_arm"))
